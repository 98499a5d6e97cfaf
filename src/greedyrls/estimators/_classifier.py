"""Common base of the classifiers: labels and probabilities from values of a model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._base import Float, GreedyRLSWarning
from .._problem import Calibration
from .._select import Selected, calibrate
from ..path import map_rows

_INTERRUPTED = "predict_proba is not available because the fit was interrupted; fit again."


def _has_probabilities(estimator: Any) -> bool:
    """Whether `predict_proba` is available; otherwise an AttributeError says why not."""
    if not estimator.probability:
        raise AttributeError(
            "predict_proba is not available with probability=False; fit with probability=True."
        )
    if not estimator.__sklearn_is_fitted__():
        return True  # calling it raises NotFittedError
    calibration = estimator.calibration_
    if calibration is None:
        raise AttributeError(_INTERRUPTED)
    if calibration.size != estimator._model_size:
        raise AttributeError(
            f"predict_proba is available for the size that was fitted, {calibration.size}, not for "
            f"the {estimator._model_size} of this copy; fit with that size."
        )
    return True


class NoProbabilities:
    """Replacement of `ProbabilityMixin` for estimators that are not classifiers."""

    @property
    def _wants_probabilities(self) -> bool:
        """Whether to call `_calibrate`."""
        return False

    def _calibrate(self, selected: Selected, verbose: int) -> None:
        """Do nothing."""


class ProbabilityMixin(ClassifierMixin):
    """Mixin for probabilities from a sigmoid of the model's values."""

    classes_: NDArray[Any]
    calibration_: Calibration | None
    probability: bool

    @property
    def _wants_probabilities(self) -> bool:
        """Whether to fit sigmoids."""
        if not isinstance(self.probability, bool | np.bool_):
            raise TypeError(f"probability must be True or False, got {self.probability!r}.")
        return bool(self.probability)

    def _calibrate(self, selected: Selected, verbose: int) -> None:
        """Fit sigmoids to margins of held-out samples."""
        self.calibration_ = None
        if selected.path.interrupted:
            return
        try:
            self.calibration_ = calibrate(selected, verbose)
        except KeyboardInterrupt:
            warnings.warn(
                "Interrupted while probabilities were fitted: the model is complete, but has no "
                "predict_proba.",
                GreedyRLSWarning,
                stacklevel=5,
            )

    def _labels(self, values: Float) -> NDArray[Any]:
        """Return the labels for values of the decision function."""
        indices = (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[indices]
        return labels

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_proba(self, X: Any) -> Float:
        """Probabilities of the classes.

        A sigmoid of the values of `decision_function` (Platt scaling), fitted with `sample_weight`
        and without `class_weight` to values of models that did not see their sample
        (``calibration_.sentence`` says which). Of several classes each has a sigmoid against the
        rest, and these are divided by their sum.

        The class of largest probability need not be that of `predict`, which goes by the sign (or
        the largest) of the values: they may differ where a class is rare, where classes have
        weights, and of several classes.

        Parameters
        ----------
        X : array-like of shape (m, n)
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (m, c)
            In the order of ``classes_``. For a device array, an array of the same kind on its
            device.
        """
        check_is_fitted(self)
        calibration = self.calibration_
        assert calibration is not None
        values = self._predictions(X)
        n_classes = len(self.classes_)
        rows: Float = map_rows(calibration.probabilities, values, n_classes, np.float64)
        return rows

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_log_proba(self, X: Any) -> Float:
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (m, n)
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (m, c)
            In the order of ``classes_``.
        """
        probabilities = self.predict_proba(X)
        logs: Float = map_rows(_logarithms, probabilities, len(self.classes_), np.float64)
        return logs


def _logarithms(probabilities: Float) -> Float:
    with np.errstate(divide="ignore"):
        logs: Float = np.log(probabilities)
    return logs
