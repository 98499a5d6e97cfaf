"""scikit-learn's own checks of estimators."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import check_classifiers_train, parametrize_with_checks

from greedyrls import (
    GreedyKernelRLS,
    GreedyKernelRLSClassifier,
    GreedyRLSClassifier,
    GreedyRLSRanker,
    GreedyRLSRegressor,
)


def expected_failures(estimator: Any) -> dict[str, str]:
    """Checks that cannot hold, each with its reason."""
    is_kernel = isinstance(estimator, GreedyKernelRLS | GreedyKernelRLSClassifier)
    found = {}
    if isinstance(estimator, GreedyRLSClassifier | GreedyKernelRLSClassifier):
        found["check_classifiers_train"] = (
            "predict goes by the margin, also with class_weight, and probabilities are calibrated: "
            "the class of largest probability need not be the predicted one (as with SVC); with "
            "probability=False the check passes"
        )
    if not is_kernel and estimator.n_features_to_select == 1.0 and estimator.alpha == 1.0:
        return found
    reason = (
        "leave-one-out leaves out a sample of weight 2 whole, but two equal rows one at a time: "
        "the selected features may differ (as with RidgeCV); with all features selected the check "
        "passes"
    )
    kinds = ("dense", "sparse")
    return found | {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in kinds}


@parametrize_with_checks(
    [
        GreedyRLSRegressor(1.0, alpha=1.0),
        GreedyRLSClassifier(1.0, alpha=1.0),
        GreedyRLSRanker(1.0, alpha=1.0),
        GreedyKernelRLS(0.3, alpha=0.1, kernel="laplacian", cv=3),
        GreedyKernelRLSClassifier(3, alpha=1.0, kernel="poly", loss="zero_one"),
    ],
    expected_failed_checks=expected_failures,
)
def test_estimator_checks(estimator: Any, check: Any) -> None:
    check(estimator)


# Penalties and sizes are chosen: many searches for each of scikit-learn's fits.
@pytest.mark.slow
@parametrize_with_checks(
    [
        GreedyRLSRegressor(),
        GreedyRLSClassifier(),
    ],
    expected_failed_checks=expected_failures,
)
# Many checks have targets that nothing predicts, and then no features are chosen.
@pytest.mark.filterwarnings("ignore:No (features|centres) were (chosen|selected)")
def test_estimator_checks_where_all_is_chosen(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    "estimator",
    [
        GreedyRLSClassifier(1.0, alpha=1.0, probability=False),
        GreedyKernelRLSClassifier(3, alpha=1.0, kernel="poly", loss="zero_one", probability=False),
    ],
)
def test_classifiers_train_without_probabilities(estimator: Any) -> None:
    check_classifiers_train(type(estimator).__name__, estimator)
