"""Rules that choose the number of features from a curve of losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .._base import Float, counted, exported, number
from ._surface import SAME_ERROR, difference_errors, tie_of

SizeRule = Literal["min", "1se"]


@exported("greedyrls")
@dataclass(frozen=True, slots=True)
class SizeChoice:
    """The chosen size, the rule that chose it, and a sentence on why.

    Attributes
    ----------
    size : int
        Number of features.
    rule : {"given", "min", "1se"}
        "given" if the number was given by the caller.
    sentence : str
        A readable sentence.
    """

    size: int
    rule: str
    sentence: str


def fold_covariance(fold_losses: Float, shares: Float) -> Float | None:
    """Return the covariance (k × k) of mean losses from fold losses (k × K); None for one fold."""
    count = fold_losses.shape[1]
    if count < 2:
        return None
    scaled = (fold_losses - (fold_losses @ shares)[:, None]) * shares
    result: Float = scaled @ scaled.T * (count / (count - 1))
    return result


def choose_size(
    rule: SizeRule,
    losses: Float,
    covariance: Float | None,
    least: int,
    measure: str,
    stopped: str,
    unit: str = "feature",
    initial_loss: float = 0.0,
) -> SizeChoice:
    """Choose a size of at least `least` by a rule; losses[k − 1] is the loss of k features.

    Of losses that tie on the scale of `initial_loss` the smaller size is taken. `measure` is the
    name of the losses and `stopped` a sentence on why the search ended; `unit` is what sizes count.
    """

    offset = min(max(1, least), len(losses)) - 1  # a search may end before all forced features
    open_losses = losses[offset:]
    smallest = float(np.nanmin(open_losses))
    tied = open_losses <= smallest + tie_of(smallest, initial_loss)
    best = int(np.flatnonzero(tied)[0]) + offset
    at_best = f"the smallest {measure}, {_number(losses[best])} at {counted(best + 1, unit)}"
    if rule == "min":
        return SizeChoice(
            best + 1, rule, f"{counted(best + 1, unit)} chosen by rule 'min': {at_best}. {stopped}"
        )
    if covariance is None:
        raise ValueError(
            "size_rule='1se' needs standard errors, which are undefined for a callable loss with "
            "leave-one-out, or for a single split; use size_rule='min', or several folds."
        )
    errors = difference_errors(covariance, best)
    within = losses - losses[best] <= errors * (1.0 + SAME_ERROR)
    within[best] = True
    size = int(np.flatnonzero(within[offset:])[0]) + offset + 1
    if size == best + 1:
        sentence = (
            f"{counted(size, unit)} chosen by rule '1se': {at_best}; no smaller size is within one "
            f"standard error of the difference. {stopped}"
        )
        return SizeChoice(size, rule, sentence)
    sentence = (
        f"{counted(size, unit)} chosen by rule '1se': the fewest whose {measure} "
        f"({_number(losses[size - 1])}) is within one standard error of the difference "
        f"({_number(errors[size - 1])}) of {at_best}. {stopped}"
    )
    return SizeChoice(size, rule, sentence)


def model_in_words(sentences: list[str], penalty: float | None, unit: str) -> str:
    """Join sentences on the choice of size and penalties, and add one on the model's penalty.

    In sentences on a kernel model, "feature" becomes "centre".
    """
    if penalty is not None:
        has = f"The model on the chosen features has the penalty {number(penalty)}."
        sentences = [*sentences, has]
    text = " ".join(sentences)
    return text.replace("feature", unit) if unit == "centre" else text


def _number(value: float) -> str:
    return number(value, 6)
