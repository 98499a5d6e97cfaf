"""The data sets: the paper's six from a folder, and those that ship with scikit-learn.

The folder of `--data-dir` is that of the suite paper.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine

from harness import data_sets

from .tasks import Array, Labels

Loaded = tuple[Array, Labels]


def load(name: str, data_dir: Path | None) -> Loaded:
    """All rows of a data set: float64 features, and classes as whole numbers or a real target."""
    if name in SHIPPED:
        X, y = SHIPPED[name](return_X_y=True)
        return X, y
    if data_dir is None:
        raise FileNotFoundError(f"{name} is read from a folder: pass --data-dir.")
    X, y = data_sets.load(data_sets.DATA_SETS[name], data_dir)
    return X, (y > 0).astype(int)


SHIPPED: dict[str, Callable[..., Loaded]] = {
    "diabetes": load_diabetes,
    "breast_cancer": load_breast_cancer,
    "wine": load_wine,
    "digits": load_digits,
}
FROM_FOLDER = ("australian", "german.numer", "colon-cancer", "adult", "ijcnn1", "mnist5")
NAMES = (*SHIPPED, *FROM_FOLDER)
QUICK = ("diabetes", "wine", "breast_cancer", "australian")
