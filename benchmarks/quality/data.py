"""The data sets: the paper's six from a folder, and those that ship with scikit-learn.

The folder of `--data-dir` has a folder for each of the six: LIBSVM text files under their usual
names, packed by xz or bz2, and the four gzipped IDX files of MNIST.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_svmlight_file,
    load_wine,
)
from tasks import Array, Labels

Loaded = tuple[Array, Labels]


def load(name: str, data_dir: Path | None) -> Loaded:
    """All rows of a data set: float64 features, and classes as whole numbers or a real target."""
    if name in SHIPPED:
        X, y = SHIPPED[name](return_X_y=True)
        return X, y
    if data_dir is None:
        raise FileNotFoundError(f"{name} is read from a folder: pass --data-dir.")
    return FROM_FOLDER[name](data_dir)


def _adult(folder: Path) -> Loaded:
    return _svmlight([folder / "adult" / "a9a.xz"], 123)


def _australian(folder: Path) -> Loaded:
    return _svmlight([folder / "australian" / "australian.xz"], 14)


def _colon_cancer(folder: Path) -> Loaded:
    return _svmlight([folder / "colon-cancer" / "colon-cancer.xz"], 2000)


def _german(folder: Path) -> Loaded:
    return _svmlight([folder / "german.numer" / "german.numer.xz"], 24)


def _ijcnn1(folder: Path) -> Loaded:
    return _svmlight([folder / "ijcnn1" / part for part in ("ijcnn1.bz2", "ijcnn1.t.bz2")], 22)


def _mnist5(folder: Path) -> Loaded:
    """Digit 5 against the rest, the first 780 pixels: the others are 0 everywhere."""
    files = [folder / "mnist" / part for part in ("train", "t10k")]
    images = [_idx(f"{file}-images-idx3-ubyte.gz", 16).reshape(-1, 784) for file in files]
    labels = [_idx(f"{file}-labels-idx1-ubyte.gz", 8) for file in files]
    X = np.concatenate(images)[:, :780].astype(np.float64) / 255.0
    return X, (np.concatenate(labels) == 5).astype(np.int64)


def _svmlight(files: list[Path], features: int) -> Loaded:
    parts = [_svmlight_file(file, features) for file in files]
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def _svmlight_file(file: Path, features: int) -> Loaded:
    unpack = lzma.open if file.suffix == ".xz" else bz2.open
    with unpack(file, "rb") as stream:
        X, y = load_svmlight_file(stream, n_features=features)
    return X.toarray(), (y > 0).astype(np.int64)


def _idx(file: str, header: int) -> NDArray[np.uint8]:
    with gzip.open(file, "rb") as stream:
        return np.frombuffer(stream.read(), dtype=np.uint8, offset=header)


SHIPPED: dict[str, Callable[..., Loaded]] = {
    "diabetes": load_diabetes,
    "breast_cancer": load_breast_cancer,
    "wine": load_wine,
    "digits": load_digits,
}
FROM_FOLDER: dict[str, Callable[[Path], Loaded]] = {
    "australian": _australian,
    "german.numer": _german,
    "colon-cancer": _colon_cancer,
    "adult": _adult,
    "ijcnn1": _ijcnn1,
    "mnist5": _mnist5,
}
NAMES = (*SHIPPED, *FROM_FOLDER)
QUICK = ("diabetes", "wine", "breast_cancer", "australian")
