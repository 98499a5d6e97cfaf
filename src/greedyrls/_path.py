"""The result of a search: every step, the model at every size, no data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse
from sklearn.utils import check_array

from ._cluster import is_dask
from ._dask import linear
from ._device import as_device_matrix
from ._device import linear as linear_on_device
from ._kernels import Float
from ._namespace import is_foreign
from ._size import SizeChoice
from ._steps import Counters, Moments, Settings, Step, StopReason
from ._surface import AlphaSurface

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class SelectionPath:
    """Features in the order of their selection, with loss and model at every size.

    Made by `greedy_path`, `extend_path` and `SelectionPath.from_json`. Holds no data: its size is
    O(k² + k·t) for k features and t targets, and the names of the features.

    Attributes
    ----------
    steps : tuple of Step
        One for each feature, in the order of selection.
    initial_loss : float
        Loss of the model without features (the intercept alone, or zero).
    settings : Settings
        Penalty, intercept, size of the data, names.
    counters : Counters
        Passes over the data, exact evaluations, seconds.
    stop_reason : StopReason
        Why the search ended.
    size_choice : SizeChoice or None
        The number of features chosen, by which rule, and why.
    surface : AlphaSurface or None
        What the penalty was chosen on, if it was chosen.
    refit_alphas : tuple of float or None
        Penalty of the model at each size, where it is not that of the search.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from greedyrls import greedy_path
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> path = greedy_path(X, y, 3, alpha=0.01)
    >>> path.indices.tolist(), path.names(3)
    ([2, 8, 3], ['bmi', 's5', 'bp'])
    >>> path.losses.round(1).tolist()
    [3923.0, 3247.7, 3139.1]
    >>> path.predict(X, 2).shape
    (442,)
    """

    steps: tuple[Step, ...]
    initial_loss: float
    settings: Settings
    moments: Moments = field(repr=False)
    counters: Counters
    stop_reason: StopReason
    size_choice: SizeChoice | None = None
    surface: AlphaSurface | None = field(default=None, repr=False)
    refit_alphas: tuple[float, ...] | None = None

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        shown = ", ".join(self.names(min(len(self), 5)))
        more = ", …" if len(self) > 5 else ""
        last = f"{self.losses[-1]:.6g}" if len(self) else f"{self.initial_loss:.6g}"
        chosen = f", {self.chosen_size} chosen" if self.chosen_size != len(self) else ""
        return (
            f"<SelectionPath of {len(self)} features [{shown}{more}]{chosen}, loss {last} at "
            f"alpha={self.settings.alpha:g}, {self.stop_reason.value}>"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from ._html import path_html

        return path_html(self)

    @property
    def indices(self) -> NDArray[np.intp]:
        """Column numbers in the order of selection, (k)."""
        return np.array([step.index for step in self.steps], dtype=np.intp)

    @property
    def losses(self) -> Float:
        """Loss that the search went by after each step, with its penalty, (k); lower is better."""
        return np.array([step.loss for step in self.steps])

    @property
    def standard_errors(self) -> Float:
        """Standard errors of `losses` as means over samples or splits, (k)."""
        return np.array([step.standard_error for step in self.steps])

    @property
    def runners_up(self) -> tuple[tuple[tuple[int, float], ...], ...]:
        """At each step the next best features with the exact loss each would have given."""
        return tuple(step.runners_up for step in self.steps)

    @property
    def interrupted(self) -> bool:
        """Whether the search was interrupted before it was done."""
        return self.stop_reason is StopReason.INTERRUPTED

    @property
    def fold_losses(self) -> Float | None:
        """The loss of each size on each split, (k, K); None for leave-one-out."""
        if not self.steps or not self.steps[0].fold_losses:
            return None
        return np.array([step.fold_losses for step in self.steps])

    @property
    def held_out(self) -> tuple[Float, Float] | None:
        """Losses (k,) of the models on the path in the outer folds, and their standard errors.

        These are losses of models with the penalty that the path's models have, on samples that
        took no part in their selection. None unless the penalty was chosen by the nested rule; not
        a number for sizes that were not reached there.
        """
        surface = self.surface
        if surface is None or surface.rule != "nested":
            return None
        row, known = surface.row, min(len(self), surface.losses.shape[1])
        values = np.full((2, len(self)), np.nan)
        values[0, :known] = surface.losses[row, :known]
        values[1, :known] = surface.standard_errors[row, :known]
        return values[0], values[1]

    @property
    def chosen_size(self) -> int:
        """The number of features chosen by the size rule; all of the path where none was asked."""
        if self.size_choice is None:
            return len(self)
        return min(self.size_choice.size, len(self))

    @property
    def sentence(self) -> str:
        """What was chosen and why, in readable sentences."""
        why = self.stop_reason.sentence if self.size_choice is None else self.size_choice.sentence
        parts = [why] if self.surface is None else [why, self.surface.sentence]
        if self.refit_alphas is not None and self.steps:
            penalty = self.refit_alphas[self.chosen_size - 1]
            parts.append(f"The model on the chosen features has the penalty {penalty:.4g}.")
        return " ".join(parts)

    @property
    def best_size(self) -> int:
        """The number of features with the smallest loss, at least 1; the smallest if tied."""
        if not self.steps:
            raise ValueError("The path has no features.")
        return int(np.argmin(self.losses)) + 1

    def names(self, k: int | None = None) -> list[str]:
        """Names of the first k features; ``x0``, ``x1``, … where the data had none."""
        known = self.settings.feature_names_in
        chosen = self.steps[: self._size(k)] if self.steps else ()
        return [known[step.index] if known else f"x{step.index}" for step in chosen]

    def _size(self, k: int | None) -> int:
        if k is None:
            return len(self)
        if isinstance(k, bool) or not isinstance(k, int | np.integer):
            raise TypeError(f"k must be a whole number, got {k!r}.")
        if not 1 <= k <= len(self):
            raise ValueError(f"k={k} is not on the path, which has 1 to {len(self)} features.")
        return int(k)

    def _solve(self, k: int | None) -> Float:
        """Coefficients (k × t) by a fresh Cholesky factorisation."""
        size = self._size(k)
        penalties = self.refit_alphas
        alpha = self.settings.alpha if penalties is None else penalties[size - 1]
        A = self.moments.gram[:size, :size] + alpha * np.eye(size)
        right = self.moments.correlation[:size]
        try:
            solution = linalg.cho_solve(linalg.cho_factor(A, lower=True), right)
        except linalg.LinAlgError:
            # The penalty is below the rounding of the data: the least-norm solution is left.
            solution = linalg.lstsq(A, right)[0]
        return np.asarray(solution, dtype=np.float64)

    def _offset(self, solution: Float) -> Float:
        """Intercepts (t) that belong to coefficients (k × t)."""
        return self.moments.target_means - self.moments.feature_means[: len(solution)] @ solution

    def coef(self, k: int | None = None) -> Float:
        """Coefficients of the model on the first k features, in the order of selection.

        Parameters
        ----------
        k : int, default: all
            Number of features.

        Returns
        -------
        ndarray of shape (k,), or (t, k) if y had two dimensions
        """
        solution = self._solve(k)
        return solution[:, 0] if self.settings.single_target else np.ascontiguousarray(solution.T)

    def intercept(self, k: int | None = None) -> Any:
        """Intercept of the model on the first k features: a float, or (t,) if y had two dimensions.

        Parameters
        ----------
        k : int, default: all
            Number of features.
        """
        values = self._offset(self._solve(k))
        return float(values[0]) if self.settings.single_target else values

    def predict(self, X: ArrayLike, k: int | None = None) -> Float:
        """Predictions of the model on the first k features.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Data with all columns that the path was selected from.
        k : int, default: all
            Number of features.

        Returns
        -------
        ndarray of shape (m,), or (m, t) if y had two dimensions
            Of a Dask array or data frame a Dask array, not computed yet; of a device array (a
            tensor of PyTorch, say) an array of the same kind, on its device.
        """
        size = self._size(k)
        given = getattr(X, "columns", None)
        names = self.settings.feature_names_in
        if names is not None and given is not None and tuple(given) != names:
            raise ValueError(
                "The columns of X are not those that the path was selected from, or are in "
                f"another order; expected {', '.join(names[:5])}{', …' if len(names) > 5 else ''}."
            )
        checked: Any = X
        if not is_dask(X) and not is_foreign(X):
            checked = check_array(X, accept_sparse="csc", dtype="numeric", ensure_all_finite=False)
        if is_foreign(X):
            as_device_matrix(X)
        if checked.shape[1] != self.settings.n_features_in:
            raise ValueError(
                f"X has {checked.shape[1]} features; the path was selected from "
                f"{self.settings.n_features_in}."
            )
        solution = self._solve(size)
        predictions: Float
        if is_dask(X) or is_foreign(X):
            compute = linear if is_dask(X) else linear_on_device
            predictions = compute(X, self.indices[:size], solution.T, self._offset(solution))
            return predictions[:, 0] if self.settings.single_target else predictions
        selected = checked[:, self.indices[:size]]
        columns = check_array(
            selected.toarray() if sparse.issparse(selected) else selected,
            dtype=np.float64,
            input_name="X (selected columns)",
        )
        predictions = columns @ solution + self._offset(solution)
        return predictions[:, 0] if self.settings.single_target else predictions

    def truncated(self, k: int) -> SelectionPath:
        """The path up to its first k features."""
        size = self._size(k)
        moments = self.moments
        return replace(
            self,
            steps=self.steps[:size],
            stop_reason=(
                StopReason.REACHED
                if size < len(self) and self.stop_reason is StopReason.EXHAUSTED
                else self.stop_reason
            ),
            moments=Moments(
                moments.gram[:size, :size].copy(),
                moments.correlation[:size].copy(),
                moments.feature_means[:size].copy(),
                moments.target_means,
            ),
            size_choice=None,
            refit_alphas=None if self.refit_alphas is None else self.refit_alphas[:size],
        )

    def to_frame(self) -> pandas.DataFrame:
        """A pandas data frame with a row for each size: feature, loss, its error, gain, runner-up.

        With a penalty chosen by the nested rule also the losses of the models in the outer folds;
        "loss" is that of the search, with the penalty of the search.

        Returns
        -------
        pandas.DataFrame
            Indexed by the number of features.
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install 'greedyrls[pandas]'.") from error

        before = np.concatenate(([self.initial_loss], self.losses[:-1]))
        first = [step.runners_up[0] if step.runners_up else (None, np.nan) for step in self.steps]
        names = self.settings.feature_names_in
        runner_names = [
            None if index is None else (names[index] if names else f"x{index}")
            for index, _ in first
        ]
        honest = {}
        if self.held_out is not None:
            losses, errors = self.held_out
            honest = {"held_out_loss": losses, "held_out_error": errors}
        return pandas.DataFrame(
            {
                "index": self.indices,
                "feature": self.names(),
                "loss": self.losses,
                "standard_error": self.standard_errors,
                "gain": before - self.losses,
                **honest,
                "runner_up": runner_names,
                "runner_up_loss": [loss for _, loss in first],
                "forced": [step.forced for step in self.steps],
                "seconds": [step.seconds for step in self.steps],
            },
            index=pandas.RangeIndex(1, len(self) + 1, name="n_features"),
        )

    def to_json(self, *, indent: int | None = None) -> str:
        """The path as text in the stable JSON format (docs/path-format.md).

        Parameters
        ----------
        indent : int, optional
            As in `json.dumps`.

        Returns
        -------
        str
        """
        from ._path_format import encode

        return encode(self, indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> SelectionPath:
        """A path from the text that `to_json` wrote; loading never runs code.

        Parameters
        ----------
        text : str or bytes

        Returns
        -------
        SelectionPath
        """
        from ._path_format import decode

        return decode(text)
