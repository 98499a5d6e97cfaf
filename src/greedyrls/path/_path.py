"""The result of a search: every step, the model at every size, no data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import Float, counted, exported, number
from ._linear import column_count, linear_values
from ._methods import HasMethods, Task, check_task, combined, methods_of
from ._sets import best_sets
from ._size import SizeChoice, model_in_words
from ._steps import Counters, FeatureSet, Moments, Settings, Step, StopReason, solved
from ._surface import AlphaSurface

if TYPE_CHECKING:
    import pandas


@exported("greedyrls")
@dataclass(frozen=True)
class SelectionPath:
    """The best features found of every size, with loss and model, and the steps to them.

    Made by `greedy_path`, `extend_path` and `SelectionPath.from_json`. Holds no data: its size is
    O(k² + k·t) for k features and t targets, and the names of the features.

    Attributes
    ----------
    steps : tuple of Step
        The steps of the search in order: one for each feature that was added or removed.
    sets : tuple of FeatureSet
        For each size 1, 2, … the best set of features that the search has seen. If features were
        only added, these are the first 1, 2, … of them. With feature groups the size counts groups.
    start : FeatureSet or None
        The set of all features, if the search went backward from it.
    initial_loss : float
        Loss of the model without features (the intercept alone, or zero).
    settings : Settings
        Penalty, intercept, size of the data, names.
    counters : Counters
        Passes over the data, exact evaluations, seconds.
    stop_reason : StopReason
        Why the search ended.
    size_choice : SizeChoice or None
        The chosen number of features, the rule that chose it, and the reason.
    surface, size_surface : AlphaSurface or None
        The losses that the penalty was chosen by, and those that the size was chosen by if they
        differ.
    refit_alphas : tuple of float or None
        Penalty of the model at each size, if it differs from that of the search.
    moments : Moments
        Sums over the chosen features from which the models of all sizes are computed.

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
    size_surface: AlphaSurface | None = field(default=None, repr=False)
    refit_alphas: tuple[float, ...] | None = None
    sets: tuple[FeatureSet, ...] = field(default=(), repr=False)
    start: FeatureSet | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.sets:
            object.__setattr__(self, "sets", best_sets(self.steps, self.start))

    def __len__(self) -> int:
        return len(self.sets)

    def __repr__(self) -> str:
        names = self.group_names()
        shown = ", ".join(names[:5])
        more = ", …" if len(names) > 5 else ""
        last = number(float(self.losses[-1]) if len(self) else self.initial_loss, 6)
        chosen = f", {self.chosen_size} chosen" if self.chosen_size != len(self) else ""
        return (
            f"<SelectionPath of {counted(len(self), self.unit)} [{shown}{more}]{chosen}, loss "
            f"{last} at alpha={number(self.settings.alpha, 6)}, {self.stop_reason.value}>"
        )

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks display."""
        from .._notebook import path_html

        return path_html(self)

    @property
    def indices(self) -> NDArray[np.intp]:
        """Column numbers of the largest set, in the order of selection."""
        return self.features()

    def features(self, k: int | None = None) -> NDArray[np.intp]:
        """Column numbers of the set of size k, in the order of selection; none for size 0.

        Parameters
        ----------
        k : int, default: the largest
            Size.
        """
        return np.array(self._set(k), dtype=np.intp)

    def entries(self, k: int | None = None) -> NDArray[np.intp]:
        """Return column numbers of the entries that a size counts: features, or first columns of
        groups.

        Parameters
        ----------
        k : int, default: the largest
            Size.
        """
        owner = {
            column: group[0] for group in self.settings.feature_groups or () for column in group
        }
        firsts = dict.fromkeys(owner.get(column, column) for column in self.features(k).tolist())
        return np.array(list(firsts), dtype=np.intp)

    @property
    def is_nested(self) -> bool:
        """Whether each set is the previous one plus one feature (or group)."""
        return all(one.order is self.sets[0].order for one in self.sets)

    @property
    def losses(self) -> Float:
        """Loss of the search at each size, with its penalty, shape (k,); lower is better."""
        return np.array([best.loss for best in self.sets])

    @property
    def standard_errors(self) -> Float:
        """Standard errors of `losses` as means over samples or splits, shape (k,)."""
        return np.array([best.standard_error for best in self.sets])

    @property
    def runners_up(self) -> tuple[tuple[tuple[int, float], ...], ...]:
        """The next best features at each size, with the exact loss that each would have given."""
        return tuple(best.runners_up for best in self.sets)

    @property
    def interrupted(self) -> bool:
        """Whether the search was interrupted before it was complete."""
        return self.stop_reason is StopReason.INTERRUPTED

    @property
    def fold_losses(self) -> Float | None:
        """Loss of each size on each split, shape (k, K); None for leave-one-out."""
        if not self.sets or not self.sets[0].fold_losses:
            return None
        return np.array([best.fold_losses for best in self.sets])

    @property
    def held_out(self) -> tuple[Float, Float] | None:
        """Held-out losses (k,) of the models on the path in the outer folds, and standard errors.

        These are losses of models with the penalty that the path's models have, on samples that
        took no part in their selection. None unless they chose the penalty or the size; NaN for
        sizes that were not reached there.
        """
        surface = self.outer_surface
        return None if surface is None else surface.curve(len(self))

    @property
    def outer_surface(self) -> AlphaSurface | None:
        """Losses of the outer folds for the path's penalty and sizes; None without outer folds."""
        surface = self.surface if self.size_surface is None else self.size_surface
        return None if surface is None or surface.rule != "nested" else surface

    @property
    def chosen_size(self) -> int:
        """The number of features chosen by the size rule; the length of the path without a rule.

        It is 0 if no features do better than the mean of the targets.
        """
        if self.size_choice is None:
            return len(self)
        return min(self.size_choice.size, len(self))

    @property
    def sentence(self) -> str:
        """Readable sentences on what was chosen and why."""
        why = self.stop_reason.sentence if self.size_choice is None else self.size_choice.sentence
        parts = [why]
        if self.surface is not None:
            parts.append(self.surface.sentence_for(self.settings.loss))
        penalties = self.refit_alphas if self.chosen_size else None
        penalty = None if penalties is None else penalties[self.chosen_size - 1]
        return model_in_words(parts, penalty, self.unit)

    def methods_text(self, *assessed: HasMethods, task: Task | None = None) -> str:
        """Return a paragraph for the methods section of a paper, with references.

        It states what was selected from what, by which criterion, and how penalty and size were
        chosen. Brackets mark what only you know, such as the preprocessing.

        Parameters
        ----------
        *assessed : PathAssessment, Stability or PermutationNull
            Results of `greedyrls.assess` for the same data, described in further sentences.
        task : {"regression", "classification", "ranking"}, optional
            What y is. By default it is inferred from the loss or, for a ranker with queries, from
            the folds; otherwise the text is worded for any task.

        Returns
        -------
        str
            The paragraph, an empty line and the references. The version is that of the installed
            package.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from greedyrls import greedy_path
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> text = greedy_path(X, y, 3, alpha=0.01).methods_text(task="regression")
        >>> "The 3 selected features, in the order of selection, were bmi, s5 and bp." in text
        True
        """
        return combined(methods_of(self, check_task(task)), assessed).text

    @property
    def unit(self) -> str:
        """The unit that sizes count: "feature", "group", or "centre" for a kernel model."""
        if self.moments.penalty is not None:
            return "centre"
        return "feature" if self.settings.feature_groups is None else "group"

    @property
    def best_size(self) -> int:
        """The number of features with the smallest loss, at least 1; the smallest if tied."""
        if not self.sets:
            raise ValueError("The path has no features.")
        return int(np.argmin(self.losses)) + 1

    def names(self, k: int | None = None) -> list[str]:
        """Return names of the features of size k; ``x0``, ``x1``, … if the data had none.

        Parameters
        ----------
        k : int, optional
            Number of features; the largest by default.
        """
        return [self._name(index) for index in self.features(k).tolist()]

    def _name(self, index: int) -> str:
        names = self.settings.feature_names_in
        return names[index] if names else f"x{index}"

    def group_names(self, k: int | None = None) -> list[str]:
        """Return names of the groups of size k (or of ungrouped features) in the order of
        selection.

        Parameters
        ----------
        k : int, default: the largest
            Size.
        """
        return self._groups(self.features(k).tolist())

    def name_of(self, index: int) -> str:
        """Return the name of a feature, or of its group.

        Parameters
        ----------
        index : int
            Column number of the feature.
        """
        return self._groups([index])[0]

    def _groups(self, features: list[int]) -> list[str]:
        """Return the names of the groups (or of ungrouped features) that contain the features."""
        groups = zip(
            self.settings.feature_groups or (), self.settings.group_names or (), strict=True
        )
        owner = {index: (group[0], name) for group, name in groups for index in group}
        # Keyed by column number: an ungrouped feature may have the same name as a group.
        names = dict(owner.get(index, (index, self._name(index))) for index in features)
        return list(names.values())

    @property
    def costs(self) -> Float | None:
        """Total cost of the features of each size, shape (k,); None without costs."""
        costs = self.settings.feature_costs
        if costs is None:
            return None
        each = np.array(costs)
        return np.array([math.fsum(each[list(best.features)]) for best in self.sets])

    def changes(self) -> list[str]:
        """Names of the features that each size adds to the previous one; "−" marks removed ones.

        A group of features has the name of the group.
        """
        changes, before = [], set[int]()
        for best in self.sets:
            now = best.features
            parts = self._groups([index for index in now if index not in before])
            lost = sorted(before.difference(now))
            changes.append(", ".join([*parts, *(f"−{self._name(index)}" for index in lost)]))
            before = set(now)
        return changes

    def _size(self, k: int | None) -> int:
        if k is None:
            return len(self)
        if isinstance(k, bool) or not isinstance(k, int | np.integer):
            raise TypeError(f"k must be a whole number, got {k!r}.")
        if not 0 <= k <= len(self):
            raise ValueError(f"k={k} is not on the path, which has 0 to {len(self)} features.")
        return int(k)

    def _set(self, k: int | None) -> tuple[int, ...]:
        """Return the column numbers of the set of size k."""
        size = self._size(k)
        return self.sets[size - 1].features if size else ()

    def _solve(self, k: int | None) -> Float:
        """Compute coefficients (k × t) by a Cholesky factorisation from scratch."""
        size = self._size(k)
        moments = self.moments.of(self._set(size))
        if not size:
            return moments.correlation
        penalties = self.refit_alphas
        alpha = self.settings.alpha if penalties is None else penalties[size - 1]
        return solved(moments.penalised(alpha), moments.correlation)

    def _offset(self, k: int | None, solution: Float) -> Float:
        """Return the intercepts (t) for coefficients (k × t)."""
        moments = self.moments.of(self._set(k))
        return moments.target_means - moments.feature_means @ solution

    def coef(self, k: int | None = None) -> Float:
        """Coefficients of the model of size k, in the order of `features`.

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
        """Intercept of the model of size k: a float, or (t,) if y had two dimensions.

        Parameters
        ----------
        k : int, default: all
            Number of features. With 0 it is the (weighted) mean of the targets.
        """
        values = self._offset(k, self._solve(k))
        return float(values[0]) if self.settings.single_target else values

    def predict(self, X: ArrayLike, k: int | None = None) -> Float:
        """Predictions of the model of size k.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Data with all columns that the path was selected from.
        k : int, default: all
            Number of features; 0 predicts the mean of the targets for all rows.

        Returns
        -------
        ndarray of shape (m,), or (m, t) if y had two dimensions
            For a Dask array or data frame, a lazy Dask array; for a device array (such as a PyTorch
            tensor), an array of the same kind on its device.
        """
        size = self._size(k)
        columns = getattr(X, "columns", None)
        names = self.settings.feature_names_in
        if names is not None and columns is not None and tuple(columns) != names:
            raise ValueError(
                "The columns of X are not those that the path was selected from, or are in "
                f"another order; expected {', '.join(names[:5])}{', …' if len(names) > 5 else ''}."
            )
        n_columns = column_count(X)
        if n_columns != self.settings.n_features_in:
            raise ValueError(
                f"X has {n_columns} features; the path was selected from "
                f"{self.settings.n_features_in}."
            )
        solution, features = self._solve(size), self.features(size)
        offset = self._offset(size, solution)
        predictions: Float = linear_values(X, features, solution.T, offset)
        return predictions[:, 0] if self.settings.single_target else predictions

    def truncated(self, k: int) -> SelectionPath:
        """Return the path up to size k.

        If features were only added, steps are kept up to that size; otherwise all steps are kept.

        Parameters
        ----------
        k : int
            Number of features.
        """
        size = self._size(k)
        if not size:
            raise ValueError(
                f"A path has at least 1 feature, got k={k}; the model without any is that of "
                "predict(X, 0)."
            )
        sets = self.sets[:size]
        is_growing = all(step.action == "add" for step in self.steps)
        union = dict.fromkeys(index for best in sets for index in best.features)
        if self.is_nested:
            order = sets[-1].features  # nested sets share this object
            union = dict.fromkeys(order)
            sets = tuple(replace(best, order=order) for best in sets)
        return replace(
            self,
            steps=self.steps[:size] if is_growing else self.steps,
            sets=sets,
            stop_reason=(
                StopReason.REACHED
                if size < len(self) and self.stop_reason is StopReason.EXHAUSTED
                else self.stop_reason
            ),
            moments=self.moments.of(tuple(union)),
            size_choice=None,
            refit_alphas=None if self.refit_alphas is None else self.refit_alphas[:size],
        )

    def to_frame(self) -> pandas.DataFrame:
        """A pandas data frame with a row for each size: feature, loss, its error, gain, runner-up.

        With a penalty chosen by the nested rule also the losses of the models in the outer folds;
        "loss" is that of the search, with its penalty. Indexed by the number of features.
        """
        from ._frame import path_frame

        return path_frame(self)

    def to_json(self, *, indent: int | None = None) -> str:
        """The path as text in the stable JSON format (docs/reference/path-format.md).

        Parameters
        ----------
        indent : int, optional
            Indentation, as in `json.dumps`.
        """
        from ._path_format import PATH_FORMAT

        return PATH_FORMAT.encode(self, indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> SelectionPath:
        """Read a path from the text that `to_json` wrote; loading never runs code.

        Parameters
        ----------
        text : str or bytes
            What `to_json` wrote.

        Returns
        -------
        SelectionPath
        """
        from ._path_format import PATH_FORMAT

        path: SelectionPath = PATH_FORMAT.decode(text)
        return path
