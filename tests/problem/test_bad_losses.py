"""Losses that give no number, and folds that lack a class, get an error that says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bad_data import M, data
from greedyrls import GreedyRLSClassifier, greedy_path


@pytest.mark.parametrize("cv", ["loo", 3])
@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (np.nan, ValueError, "loss 'callable:bad' must return a finite number, got nan"),
        (np.inf, ValueError, "loss 'callable:bad' must return a finite number, got inf"),
        (np.ones(3), ValueError, r"must return one number, got an array of shape \(3,\); average"),
        (None, TypeError, "loss 'callable:bad' must return one number, got None"),
        ("0.5", TypeError, "must return one number, got '0.5' of type str"),
    ],
)
def test_functions_that_give_no_number(
    value: Any, error: type[Exception], message: str, cv: Any
) -> None:
    X, y = data()

    def bad(y_true: Any, y_pred: Any) -> Any:
        return value

    with pytest.raises(error, match=message):
        greedy_path(X, y, 3, loss=bad, cv=cv)


def test_a_loss_that_raises_is_not_hidden() -> None:
    X, y = data()

    def bad(y_true: Any, y_pred: Any) -> float:
        raise RuntimeError("no such metric")

    with pytest.raises(RuntimeError, match="no such metric"):
        greedy_path(X, y, 3, loss=bad)


@pytest.mark.parametrize("loss", ["auc", "balanced_zero_one"])
def test_a_class_that_a_test_fold_lacks(loss: str) -> None:
    X, y = data()
    codes = np.where(y > np.median(y), 1.0, -1.0)
    ids = np.where(codes > 0, np.arange(M) % 2, np.arange(M) % 3)
    message = rf"loss='{loss}' needs every class in each fold; fold 2 has no test sample of class "
    with pytest.raises(ValueError, match=message + r"\+1.*StratifiedKFold"):
        greedy_path(X, codes, 3, loss=loss, cv=ids)
    with pytest.raises(ValueError, match=message):
        greedy_path(X, codes, 3, loss=loss, alpha=[1.0, 2.0], alpha_cv=ids)
    with pytest.raises(ValueError, match=message):
        GreedyRLSClassifier(3, loss=loss, cv=ids, alpha=1.0).fit(X, codes)


def test_a_class_that_training_rows_lack() -> None:
    X, y = data()
    labels = np.where(y > np.median(y), "high", "low")
    ids = np.where(labels == "high", 1, np.arange(M) % 3)
    message = "Split 1 has no training rows of class 'high'; use fewer folds, StratifiedKFold"
    with pytest.raises(ValueError, match=message):
        GreedyRLSClassifier(3, cv=ids, alpha=1.0).fit(X, labels)
    with pytest.raises(ValueError, match=message):
        GreedyRLSClassifier(3, alpha_cv=ids).fit(X, labels)
