"""Similarity of selections on different samples: frequencies and a chance-corrected index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._base import ArrayValue, Float, agree, counted, exported, percent, required, score
from ..path import Methods
from ._methods import stability_methods

if TYPE_CHECKING:
    import pandas

Order = NDArray[np.intp]


@exported("greedyrls.assess")
@dataclass(frozen=True, eq=False)
class Stability(ArrayValue):
    """Stability of several selections from the same features, by size.

    The index is that of Nogueira, Sechidis and Brown (2018): 1 where all selections are the same,
    0 on average where features are drawn at random, whatever the number of features. It needs at
    least two selections, and is undefined (NaN) if all features are selected.

    It is the index of selections on parts of the same samples, which have rows in common. On fresh
    samples it would be lower: on pure noise it is 0 there, about 0.1 for random halves, and about
    0.25 to 0.55 for the training sets of ten folds, which share 8/9 of their rows.

    Attributes
    ----------
    selections : tuple of ndarray
        Column numbers in the order of selection, one array for each selection.
    n_features_in : int
        Number of features to choose from.
    feature_names_in : tuple of str or None
    source : str
        Description of the data that the selections were made on.
    level : float
        Confidence level of `interval`.
    n_available : int or None
        Number of features that could be selected, if some were excluded.
    forced : tuple of int
        Features that were forced into every selection; the index ignores them.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyrls.assess import Stability
    >>> selections = (np.array([3, 1]), np.array([3, 2]), np.array([3, 1]))
    >>> stability = Stability(selections, n_features_in=5, source="three samples")
    >>> stability.index.round(2).tolist()
    [1.0, 0.44]
    >>> stability.frequencies(2).round(2).tolist()
    [0.0, 0.67, 0.33, 1.0, 0.0]
    """

    selections: tuple[Order, ...]
    n_features_in: int
    feature_names_in: tuple[str, ...] | None = None
    source: str = ""
    level: float = 0.95
    n_available: int | None = None
    forced: tuple[int, ...] = ()
    _table: Float = field(init=False, repr=False)  # (k × 2) index and its standard error

    def __post_init__(self) -> None:
        selections = tuple(np.asarray(order, dtype=np.intp) for order in self.selections)
        for number, order in enumerate(selections):
            _check_order(order, self.n_features_in, number)
        if not 0.0 < self.level < 1.0:
            raise ValueError(f"level must be between 0 and 1, got {self.level!r}.")
        object.__setattr__(self, "selections", selections)
        count = self.n_features_in if self.n_available is None else self.n_available
        values = [self._index_at(size, count - len(self.forced)) for size in self.sizes]
        table = np.array(values).reshape(-1, 2)
        object.__setattr__(self, "_table", table)
        super().__post_init__()

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        from .._notebook import stability_html

        return stability_html(self)

    @property
    def sizes(self) -> range:
        """The sizes, 1 to the length of the longest selection."""
        return range(1, max((len(order) for order in self.selections), default=0) + 1)

    @property
    def index(self) -> Float:
        """Chance-corrected stability of the first 1, 2, … features, (k)."""
        return self._values(0)

    @property
    def standard_error(self) -> Float:
        """Monte-Carlo error of the index, (k): how much it depends on which rows were drawn."""
        return self._values(1)

    @property
    def interval(self) -> tuple[Float, Float]:
        """Lower and upper ends of the Monte-Carlo interval of the index, (k) each.

        It contains the index of infinitely many draws from the same samples with probability
        `level`. It is not a confidence interval of the index on fresh samples, which is lower
        because the draws share rows. It uses the normal approximation and is not clipped to −1 and
        1.
        """
        width = NormalDist().inv_cdf(0.5 + self.level / 2.0) * self.standard_error
        return self.index - width, self.index + width

    def _index_at(self, size: int, count: int) -> tuple[float, float]:
        """Return the index of the first `size` features and its error, without forced features."""
        free = tuple(order[:size][~np.isin(order[:size], self.forced)] for order in self.selections)
        return _index(free, self.n_features_in, count)

    def _values(self, column: int) -> Float:
        return self._table[:, column].copy()

    def frequencies(self, k: int | None = None) -> Float:
        """Return the share of selections that have each feature among their first k, (n,).

        Parameters
        ----------
        k : int, default: the longest selection
            Number of features. A shorter selection counts with all its features.
        """
        if not self.selections:
            raise ValueError("There are no selections.")
        longest = len(self.sizes)
        size = longest if k is None else k
        if isinstance(size, bool) or not isinstance(size, int | np.integer):
            raise TypeError(f"k must be a whole number, got {k!r}.")
        # All selections may be empty.
        if k is not None and not 1 <= size <= longest:
            raise ValueError(f"k={k} is not among the sizes selected, 1 to {longest}.")
        return _counts(self.selections, self.n_features_in, int(size)) / len(self.selections)

    def names(self, indices: Sequence[int] | Order) -> list[str]:
        """Return names of features; ``x0``, ``x1``, … if the data had none.

        Parameters
        ----------
        indices : sequence of int
            Column numbers.
        """
        names = self.feature_names_in
        return [names[index] if names else f"x{index}" for index in indices]

    def to_frame(self, k: int | None = None) -> pandas.DataFrame:
        """A pandas data frame of the features selected at size k, the most frequent first.

        Parameters
        ----------
        k : int, optional
            Number of features, as in `frequencies`.
        """
        pd = required("pandas", "to_frame needs pandas: pip install 'greedyrls[pandas]'.")
        shares = self.frequencies(k)
        order = np.argsort(-shares, kind="stable")[: np.count_nonzero(shares)]
        frame: pandas.DataFrame = pd.DataFrame(
            {"index": order, "feature": self.names(order), "frequency": shares[order]}
        )
        return frame

    def methods_text(self) -> str:
        """Return sentences for the methods section of a paper, with references.

        `SelectionPath.methods_text` combines them with those on the selection.
        """
        return self._methods().text

    def _methods(self) -> Methods:
        return stability_methods(self)

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the object as text in the stable JSON format; `indent` as in `json.dumps`.

        Parameters
        ----------
        indent : int, optional
            Number of spaces of a level, as in `json.dumps`; None for one line.
        """
        from ._assessment_format import STABILITY_FORMAT

        return STABILITY_FORMAT.encode(self, indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> Stability:
        """Read the text that `to_json` wrote; loading never runs code.

        Parameters
        ----------
        text : str or bytes
            What `to_json` wrote.
        """
        from ._assessment_format import STABILITY_FORMAT

        value: Stability = STABILITY_FORMAT.decode(text)
        return value

    @property
    def sentence(self) -> str:
        """A sentence on the index at the largest size."""
        count = len(self.selections)
        if count < 2:
            return "Stability needs at least two selections."
        if not len(self.sizes):
            return f"None of {count} selections ({self.source}) has any features."
        k = len(self.sizes)
        value = float(self.index[-1])
        if np.isnan(value):
            return f"At {counted(k, 'feature')} every selection is the same: there are no others."
        low, high = (float(end[-1]) for end in self.interval)
        always = int(np.count_nonzero(self.frequencies(k) == 1.0)) - len(self.forced)
        besides = f" besides the {len(self.forced)} forced" if self.forced else ""
        word = "excellent" if value > 0.75 else "intermediate to good" if value >= 0.4 else "poor"
        shortest = min(len(order) for order in self.selections)
        described = f"first {counted(k, 'feature')}" if k != 1 else "first feature"
        if shortest < k:
            described = f"{shortest} to {k} features chosen"
        empty = sum(not len(order) for order in self.selections)
        without = f" {empty} of them {agree(empty, 'has', 'have')} no features." if empty else ""
        ends = f"{score(low, 2)} to {score(high, 2)}"
        judged = f" ({percent(self.level)} Monte-Carlo interval {ends}), {word}"
        caveat = ""
        if self.source.startswith("folds"):
            # The words are for fresh rows; with shared rows even pure noise often earns good ones.
            judged = ""
            caveat = (
                " Folds share most of their training rows, so this is higher than it would be on "
                "fresh samples, even on pure noise."
            )
        return (
            f"Stability of the {described} over {count} selections ({self.source}): "
            f"{score(value, 2)}{judged}; {counted(always, 'feature')} in every "
            f"selection{besides}.{without}{caveat}"
        )


def index_by_size(
    selections: Sequence[Order], n_available: int, forced: Sequence[int], size: int
) -> Float:
    """Return the index of the first 1, 2, …, `size` features of some selections, (size).

    It is NaN if there is a single selection, or if all selections are necessarily the same. The
    cost does not depend on the number of candidate features.
    """
    everything, relabelled = np.unique(np.concatenate(selections), return_inverse=True)
    ends = np.cumsum([len(order) for order in selections])[:-1]
    is_forced_column = np.flatnonzero(np.isin(everything, forced))
    values = np.empty(size)
    orders = np.split(relabelled, ends)
    for row in range(size):
        free = [order[: row + 1] for order in orders]
        free = [order[~np.isin(order, is_forced_column)] for order in free]
        values[row] = _index(tuple(free), len(everything), n_available - len(forced))[0]
    return values


def _check_order(order: Order, n: int, number: int) -> None:
    """Raise an error unless the selection has valid column numbers, each once."""
    if order.ndim != 1 or (len(order) and not 0 <= order.min() <= order.max() < n):
        raise ValueError(
            f"Selection {number} must have column numbers from 0 to {n - 1}, got {order.tolist()}."
        )
    if len(np.unique(order)) < len(order):
        raise ValueError(f"Selection {number} has a feature more than once: {order.tolist()}.")


def _counts(selections: tuple[Order, ...], n: int, size: int) -> Float:
    """Return how many selections have each feature among their first `size`, (n)."""
    counts = np.zeros(n)
    for order in selections:
        counts[order[:size]] += 1.0
    return counts


def _index(selections: tuple[Order, ...], n_columns: int, n: int) -> tuple[float, float]:
    """Return the index of selections from n available features, and its standard error.

    With M selections of k_i of n features, p_f the share that has feature f and k̄ = Σ p_f:
    Φ = 1 − (1/n) Σ_f M/(M−1) p_f (1 − p_f) / (k̄/n (1 − k̄/n)). Its variance is 4/M² Σ (Φ_i − Φ̄)².
    """
    M = len(selections)
    counts = _counts(selections, n_columns, n_columns)
    p = counts / M
    mean = float(p.sum()) / max(1, n)  # k̄/n
    chance = mean * (1.0 - mean)
    if M < 2 or chance <= 1e-15:
        return np.nan, np.nan
    spread = float((p * (1.0 - p)).sum()) * M / (M - 1) / n
    index = 1.0 - spread / chance
    parts = np.empty(M)
    for row, order in enumerate(selections):
        share = len(order) / n  # k_i/n
        parts[row] = (
            float(p[order].sum()) / n
            - share * mean
            + 0.5 * index * (2.0 * share * mean - share - mean + 1.0)
        ) / chance
    error = 2.0 / M * float(np.sqrt(np.square(parts - parts.mean()).sum()))
    return index, error
