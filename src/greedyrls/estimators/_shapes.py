"""Number and names of the columns of an X that scikit-learn cannot read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._problem import feature_names_of


class TakesShape:
    """What `validate_data` does with the shape and names of X, without reading it.

    Used for X in a file, on a cluster or on a device.
    """

    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def _take_shape(self, X: Any) -> None:
        """Record the number and names of the columns of X."""
        if len(X.shape) != 2:
            raise ValueError(f"X must have 2 dimensions, got an array of shape {tuple(X.shape)}.")
        self.n_features_in_ = int(X.shape[1])
        names = feature_names_of(X)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _check_columns(self, X: Any) -> None:
        """Raise an error unless X has the columns that the model was fitted to."""
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        names, names_in_X = getattr(self, "feature_names_in_", None), feature_names_of(X)
        if names is not None and names_in_X is not None and tuple(names) != names_in_X:
            raise ValueError("The feature names should match those that were passed during fit.")
