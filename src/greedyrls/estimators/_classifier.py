"""What the classifiers share: labels and probabilities of the values of a model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._base import Float, GreedyRLSWarning, is_foreign, numpy_of, place_of, send, take
from .._cluster import probabilities_of
from .._data import RemoteMatrix, is_dask
from .._problem import Calibration
from .._select import Selected, calibrate

_ON_CLUSTER = (
    "predict_proba is not available for a model that was fitted to Dask collections; fit to arrays "
    "or files, or wrap the classifier in sklearn.calibration.CalibratedClassifierCV."
)
_INTERRUPTED = "predict_proba is not available because the fit was interrupted; fit again."


def _has_probabilities(estimator: Any) -> bool:
    """Whether there is `predict_proba`; an AttributeError says why not."""
    if not estimator.probability:
        raise AttributeError(
            "predict_proba is not available with probability=False; fit with probability=True."
        )
    if not estimator.__sklearn_is_fitted__():
        return True  # then it raises NotFittedError
    calibration = estimator.calibration_
    if calibration is None:
        raise AttributeError(estimator._no_calibration)
    if calibration.size != estimator._model_size:
        raise AttributeError(
            f"predict_proba is available for the size that was fitted, {calibration.size}, not for "
            f"the {estimator._model_size} of this copy; fit with that size."
        )
    return True


class NoProbabilities:
    """What stands for them in an estimator that is no classifier."""

    @property
    def _wants_probabilities(self) -> bool:
        """Whether to call `_calibrate`."""
        return False

    def _calibrate(self, selected: Selected, verbose: int) -> None:
        """There is nothing to fit."""


class ProbabilityMixin(ClassifierMixin):
    """Probabilities, from a sigmoid of the model's values."""

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
        """Fit sigmoids to margins of samples held out."""
        self.calibration_, self._no_calibration = None, _INTERRUPTED
        if isinstance(selected.problem.X, RemoteMatrix):
            self._no_calibration = _ON_CLUSTER
        elif not selected.path.interrupted:
            try:
                self.calibration_ = calibrate(selected, verbose)
            except KeyboardInterrupt:
                warnings.warn(
                    "Interrupted while probabilities were fitted: the model is complete, but has "
                    "no predict_proba.",
                    GreedyRLSWarning,
                    stacklevel=5,
                )

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
        if is_dask(values):
            lazy: Float = probabilities_of(values, calibration, len(self.classes_))
            return lazy
        if is_foreign(values):
            there: Float = send(place_of(values), calibration.probabilities(numpy_of(values)))
            return there
        return calibration.probabilities(values)

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
        if is_foreign(probabilities):
            logs: Float = place_of(probabilities).xp.log(probabilities)
            return logs
        with np.errstate(divide="ignore"):
            logs = np.log(probabilities)
        return logs


def labels_on_device(values: Any, classes: NDArray[Any]) -> NDArray[Any]:
    """Labels where the values of a decision function are; on the host if they are no numbers."""
    place = place_of(values)
    xp = place.xp
    is_binary = values.ndim == 1
    places = xp.astype(values > 0.0, xp.int64) if is_binary else xp.argmax(values, axis=1)
    labels: NDArray[Any]
    if classes.dtype.kind in "biuf":
        labels = take(send(place, classes), places)
    else:
        labels = classes[numpy_of(places)]
    return labels
