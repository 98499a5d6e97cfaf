"""The six data sets of the paper: where their files are, how they are read, what is done to them.

A data folder has a folder for each set with the files named below, plain or packed by xz, bz2 or
gzip. `download.py` fetches them where there is a network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .data_files import Array, find, read_idx, read_svmlight

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
_MNIST = "https://storage.googleapis.com/cvdf-datasets/mnist/"


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file: its name without the ending of a packer, where to get it, what must be in it.

    `digest` is the SHA-256 of the content of the copy that the results were made with: of the
    numbers for svmlight text, which may be written and packed in more than one way; of the unpacked
    bytes for IDX. None where that copy is known not to be the one of `url`.
    """

    stem: str
    url: str
    digest: str | None


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set as in the paper's table, and how it is made from its files."""

    name: str
    rows: int
    features: int
    files: tuple[DataFile, ...]
    prepared: str
    is_scaled_here: bool = False
    is_images: bool = False


def load(data: DataSet, folder: Path) -> tuple[Array, Array]:
    """All rows of a data set, m × n in C order, and labels −1 and +1."""
    files = [_existing(data, file, folder) for file in data.files]
    X, y = _digit_five(files, data.features) if data.is_images else _rows(files, data.features)
    if X.shape != (data.rows, data.features):
        raise ValueError(
            f"{data.name} should be {data.rows:,} × {data.features:,} and its files in {folder} "
            f"make {X.shape[0]:,} × {X.shape[1]:,}; are they of another version?"
        )
    return (scaled(X) if data.is_scaled_here else X), y


def missing(data: DataSet, folder: Path) -> list[DataFile]:
    """The files that are not there."""
    return [file for file in data.files if find(folder, file.stem) is None]


def scaled(X: Array) -> Array:
    """Each column mapped linearly to [−1, 1], as in the `_scale` files of LIBSVM."""
    low, spread = X.min(axis=0), np.ptp(X, axis=0)
    return np.where(spread > 0, 2.0 * (X - low) / np.where(spread > 0, spread, 1.0) - 1.0, 0.0)


def _existing(data: DataSet, file: DataFile, folder: Path) -> Path:
    found = find(folder, file.stem)
    if found is None:
        raise FileNotFoundError(
            f"{data.name} needs {folder / file.stem}, plain or with .xz, .bz2 or .gz: pass the "
            f"folder that has it as --data-dir, or pass --download to get it from {file.url}"
        )
    return found


def _rows(files: Sequence[Path], features: int) -> tuple[Array, Array]:
    parts = [read_svmlight(file, features) for file in files]
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def _digit_five(files: Sequence[Path], pixels: int) -> tuple[Array, Array]:
    """Images and labels take turns in `files`; +1 is the digit 5."""
    images = np.concatenate([read_idx(file) for file in files[::2]])
    labels = np.concatenate([read_idx(file) for file in files[1::2]])
    X = images.reshape(len(images), -1)[:, :pixels] / 255.0
    return X, np.where(labels == 5, 1.0, -1.0)


def _libsvm(stem: str, url: str, digest: str | None) -> DataFile:
    return DataFile(stem, _LIBSVM + url, digest)


def _mnist(name: str, digest: str) -> DataFile:
    return DataFile(f"mnist/{name}-ubyte", f"{_MNIST}{name}-ubyte.gz", digest)


_ALL = (
    DataSet(
        "adult",
        32_561,
        123,
        (
            _libsvm(
                "adult/a9a",
                "a9a",
                "dea57d8026b83a6d2ccab6368f9ccc170f639826db4b5993e8b18813198ce262",
            ),
        ),
        "a9a, all 0 and 1",
    ),
    DataSet(
        "australian",
        690,
        14,
        (
            _libsvm(
                "australian/australian",
                "australian",
                "06f1898b2cd7d4d8ab7f4e8e3baf4d0ff1c6ba90382758eef1548fb201d15d0c",
            ),
        ),
        "each feature scaled to [−1, 1]",
        is_scaled_here=True,
    ),
    DataSet(
        "colon-cancer",
        62,
        2_000,
        (_libsvm("colon-cancer/colon-cancer", "colon-cancer.bz2", None),),
        "logarithms, each sample and then each gene standardised: made from the data of Alon et "
        "al., since the file of LIBSVM, which --download gets, was not at hand",
    ),
    DataSet(
        "german.numer",
        1_000,
        24,
        (
            _libsvm(
                "german.numer/german.numer",
                "german.numer",
                "c8a0cfd0dae9d8d9e54721b8af9ec399056f8b4489cbd80af1ffdc0a28ef0e33",
            ),
        ),
        "each feature scaled to [−1, 1]",
        is_scaled_here=True,
    ),
    DataSet(
        "ijcnn1",
        141_691,
        22,
        (
            _libsvm(
                "ijcnn1/ijcnn1",
                "ijcnn1.bz2",
                "765021f5b74c227222df93f41933acb6f4e7305398c656ac5eacf388e2550d9f",
            ),
            _libsvm(
                "ijcnn1/ijcnn1.t",
                "ijcnn1.t.bz2",
                "36abaa16dd0736ba65f95602da1255105458c779ce67bc00f226d738839cfb5d",
            ),
        ),
        "training, validation and test part together",
    ),
    DataSet(
        "mnist5",
        70_000,
        780,
        (
            _mnist(
                "train-images-idx3",
                "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            ),
            _mnist(
                "train-labels-idx1",
                "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            ),
            _mnist(
                "t10k-images-idx3",
                "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            ),
            _mnist(
                "t10k-labels-idx1",
                "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            ),
        ),
        "digit 5 against the rest, training and test part together, pixels / 255 without the last "
        "four, which are 0 everywhere",
        is_images=True,
    ),
)
DATA_SETS = {data.name: data for data in _ALL}
