"""Repeat the selection on permuted targets, which are unrelated to the features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._base import ArrayValue, Float, counted, exported, number
from ..path import Methods, Reading, measure_in_words
from ._methods import null_methods

# Losses are equal if they differ by less than this, relatively.
_TIE = 1e-10


@exported("greedyrls.assess")
@dataclass(frozen=True, eq=False)
class PermutationNull(ArrayValue):
    """Losses of the whole selection on the targets as given, and on permuted ones.

    Returned by `permutation_null`. Losses are the selection's own, in `measure`; they are
    optimistic, and equally so for permuted targets, so that they can be compared.

    Attributes
    ----------
    measure : str
        The loss in which all curves are given.
    losses : ndarray of shape (k,)
        Losses of the targets as given, by size.
    null_losses : ndarray of shape (P, k)
        Losses of each permutation, by size; NaN for sizes that it did not reach.
    chosen_loss : float
        Loss of the targets as given, at the chosen size.
    null_chosen_losses : ndarray of shape (P,)
        Loss of each permutation, at the size chosen for it.
    initial_loss : float
        Loss of the model without features.
    """

    measure: str
    losses: Float
    null_losses: Float
    chosen_loss: float
    null_chosen_losses: Float
    initial_loss: float

    def __repr__(self) -> str:
        return (
            f"<PermutationNull of {counted(len(self.losses), 'size')}, "
            f"{counted(len(self.null_losses), 'permutation')}: p = "
            f"{number(self.chosen_p_value, 3)}>"
        )

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        from .._notebook import null_html

        return null_html(self)

    @property
    def p_values(self) -> Float:
        """For each size, the share of permutations that do as well or better, (k).

        The targets as given count as one of them, so that no p-value is below 1/(P + 1), and each
        is valid for its size. A permutation that ended before a size counts as better.
        """
        return _p_values(self.losses, self.null_losses)

    @property
    def chosen_p_value(self) -> float:
        """P-value of the loss at the chosen size: of the procedure including the choice of size."""
        return float(_p_values(np.array([self.chosen_loss]), self.null_chosen_losses[:, None])[0])

    @property
    def best_p_value(self) -> float:
        """P-value of the best of all sizes, corrected for choosing the best.

        The smallest of `p_values` is not a p-value: with many sizes one of them is small by chance.
        Here every permutation is judged as the targets as given are, by its own smallest p-value
        over all sizes (min-p, Westfall and Young 1993).
        """
        # A permutation that ended before a size counts as better there, as in `p_values`.
        losses = np.vstack([self.losses, self.null_losses])
        losses[np.isnan(losses)] = -np.inf
        values = np.empty_like(losses)
        for size, column in enumerate(losses.T):
            bars = column + _TIE * np.abs(np.where(np.isfinite(column), column, 0.0))
            values[:, size] = np.searchsorted(np.sort(column), bars, side="right")
        smallest = values.min(axis=1)
        return float(np.count_nonzero(smallest <= smallest[0]) / len(smallest))

    def band(self, level: float = 0.9) -> tuple[Float, Float]:
        """Return lower and upper ends of the middle `level` of the permutations, (k,) each.

        Parameters
        ----------
        level : float, default=0.9
            Share of the permutations between the ends.
        """
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must be between 0 and 1, got {level!r}.")
        tail = (1.0 - level) / 2.0
        low, high = np.quantile(self.null_losses, (tail, 1.0 - tail), axis=0)
        return low, high

    def methods_text(self) -> str:
        """Return sentences for the methods section of a paper, with references.

        `SelectionPath.methods_text` combines them with those on the selection.
        """
        return self._methods().text

    def _methods(self) -> Methods:
        return null_methods(self)

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the object as text in the stable JSON format; `indent` as in `json.dumps`.

        Parameters
        ----------
        indent : int, optional
            Number of spaces of a level, as in `json.dumps`; None for one line.
        """
        from ._assessment_format import NULL_FORMAT

        return NULL_FORMAT.encode(self, indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> PermutationNull:
        """Read the text that `to_json` wrote; loading never runs code.

        Parameters
        ----------
        text : str or bytes
            What `to_json` wrote.
        """
        from ._assessment_format import NULL_FORMAT

        value: PermutationNull = NULL_FORMAT.decode(text)
        return value

    @property
    def sentence(self) -> str:
        """A sentence on the result of the permutations."""
        words = measure_in_words(self.measure)
        return self.sentence_for(Reading(words, words, "loss"))

    def sentence_for(self, reading: Reading) -> str:
        """A sentence on the result of the permutations, with losses presented as in `reading`.

        Parameters
        ----------
        reading : Reading
            How losses are presented.
        """
        count = len(self.null_losses)
        typical = float(np.nanmedian(self.null_chosen_losses))
        permuted, chosen = reading.column(np.array([typical, self.chosen_loss]))
        return (
            f"The same selection on permuted targets has a median {reading.name} of {permuted} by "
            f"its own estimate, against {chosen} on the targets as given: p = "
            f"{number(self.chosen_p_value, 3)} from {counted(count, 'permutation')}."
        )


def _p_values(losses: Float, null_losses: Float) -> Float:
    """Return (1 + the number of permutations whose loss is not above) / (1 + P), by column."""
    bar = losses + _TIE * np.abs(losses)
    # The negation counts NaN as not above.
    better = np.count_nonzero(~(null_losses > bar), axis=0)
    values: Float = (1.0 + better) / (1.0 + len(null_losses))
    return values
