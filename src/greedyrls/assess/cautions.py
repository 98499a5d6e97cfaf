"""Warnings in words: what numbers alone would not tell a reader who does not look twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import special

from .._base import Float, agree, count, counted, number, percent, plural, score, with_error
from ..path import Reading

# More features than this many times the samples, and some fit by chance.
_MANY = 10
# A curve still falls if its last tenth brings this share of all that was gained; or that one, where
# the error of the drop is not known.
_STILL = 0.01
_STILL_UNKNOWN = 0.05
# A runner-up is as good if it would have given all but this share of the gain.
_NEAR = 0.05
# The selection's own estimate is misleading if it is off by so many standard errors, and by this
# share of the loss.
_ERRORS = 2.0
_SHARE = 0.1
_SHARE_WITHOUT_ERROR = 0.25
# Below this, stability is called poor in the literature: for samples that share half of their rows
# at most. Folds share more, and selections on the same rows are alike: on pure noise the index is
# 0.45 in ten folds (benchmarks/suites/claims.py). So much is added for each share more.
_POOR = 0.4
_MORE_ALIKE = 0.65
_SIGNIFICANT = 0.05
_SHOWN = 3
# A feature that alone leaves no more than this share of the loss without features predicts almost
# exactly: of squared loss, of absolute loss (about its root), of the errors of a classification.
LEFT_OF_SQUARES = 1e-3
_LEFT_OF_DISTANCES = 0.03
LEFT_OF_CLASSES = 2e-3
# It is said if noise would do so with less than this probability.
NOT_BY_CHANCE = 1e-3
# Where that probability is not known.
_ENOUGH_ROWS = 50
# How the sentence begins that a path and its assessment may both have.
MORE = "More than"


def by_chance(n_rows: int, n_features: int, n_rare: int | None) -> float:
    """How likely one of some features of noise alone predicts almost exactly, at most.

    n_rare is the number of rows of the rarest class; None for numbers, of which 99.9 % of the
    variance would have to be explained.
    """
    if n_rare is None:
        if n_rows <= 2:
            return 1.0
        return n_features * float(special.betainc((n_rows - 2) / 2.0, 0.5, LEFT_OF_SQUARES))
    # Only the two orders that part the classes, of all ways to place the rows of the rare one.
    ways = -special.betaln(n_rows - n_rare + 1, n_rare + 1) - np.log(n_rows + 1.0)
    return float(2.0 * n_features * np.exp(-ways))


def is_too_good(
    loss: float, initial_loss: float, measure: str, n_rows: int, n_features: int
) -> bool:
    """Whether the loss of a single feature is next to nothing, and not by chance."""
    if not (np.isfinite(loss) and initial_loss > 0.0):
        return False
    if measure in ("squared", "absolute"):
        bar = LEFT_OF_SQUARES if measure == "squared" else _LEFT_OF_DISTANCES
        return loss <= bar * initial_loss and by_chance(n_rows, n_features, None) < NOT_BY_CHANCE
    if measure not in ("zero_one", "balanced_zero_one", "auc"):
        return False
    chance = 0.0 if n_rows >= _ENOUGH_ROWS else 1.0
    if measure == "zero_one":
        chance = by_chance(n_rows, n_features, round(initial_loss * n_rows))
    return loss <= LEFT_OF_CLASSES * initial_loss and chance < NOT_BY_CHANCE


def too_good(names: Sequence[str], target: str = "the target", option: str = "") -> list[str]:
    """Of features that predict almost exactly alone: they may be known only after the target."""
    if not names:
        return []
    how = f" ({option})" if option else ""
    if len(names) == 1:
        return [
            f"{names[0]} alone predicts {target} almost exactly: is it known before {target} is? "
            f"If not, leave it out{how}."
        ]
    shown = ", ".join(names[:_SHOWN])
    if len(names) <= _SHOWN:
        shown = f"{', '.join(names[:-1])} and {names[-1]}"
    else:
        shown += f" and {len(names) - _SHOWN} more"
    return [
        f"{shown} each predict {target} almost exactly alone: are they known before {target} is? "
        f"If not, leave them out{how}."
    ]


def many_features(n_features: int, n_samples: int) -> list[str]:
    """Where there are many more features than samples."""
    if n_features <= _MANY * n_samples:
        return []
    return [
        f"There are {counted(n_features, 'feature')} for {counted(n_samples, 'sample')}: with so "
        "many to choose from some fit by chance, and leave-one-out losses after the selection are "
        "too good. Go by held-out losses (assess.cross_validate_path)."
    ]


def still_falling(
    losses: Float,
    initial_loss: float,
    is_exhausted: bool,
    reading: Reading,
    clear_drop: Callable[[int, int], float] | None = None,
) -> list[str]:
    """Where the loss is smallest at the last size, and fell until there.

    It is told as `reading` has it. ``clear_drop(first, last)`` is what the loss has to fall by from
    one place to another to be more than noise; not a number where that is unknown.
    """
    known = losses[np.isfinite(losses)]
    size = len(known)
    if is_exhausted or size < 2 or int(np.argmin(known)) != size - 1:
        return []
    tail = max(1, size // 10)
    before = float(known[-1 - tail])
    gained = max(initial_loss, float(known[0])) - float(known[-1])
    least = np.nan if clear_drop is None else clear_drop(size - 1 - tail, size - 1)
    bar = _STILL_UNKNOWN * gained if np.isnan(least) else max(least, _STILL * gained)
    if not gained > 0.0 or before - float(known[-1]) < bar:
        return []
    first, last = reading.column(known[[-1 - tail, -1]])
    went = "rose" if reading.is_score else "fell"
    which = "the last feature" if tail == 1 else f"the last {counted(tail, 'feature')}"
    return [
        f"{MORE} {counted(size, 'feature')} may do better: with {which} the {reading.name} "
        f"{went} from {first} to {last}."
    ]


def as_good_with_fewer(
    fewer: int, size: int, losses: tuple[float, float], error: float, unit: str, reading: Reading
) -> list[str]:
    """Where fewer features have about the held-out loss of those chosen, and what the two are."""
    spread = float(reading.error(losses[1], error))
    pair = reading.column(np.array(losses))
    difference = f" (standard error of the difference {number(spread, 2)})"
    return [
        f"With {counted(fewer, unit)} the held-out {reading.name} is the same within one standard "
        f"error: {pair[0]} against {pair[1]} with {count(size)}"
        f"{'' if np.isnan(spread) else difference}. Fewer {plural(unit)} may be enough."
    ]


def better_with_fewer(
    fewer: int, size: int, losses: tuple[float, float], unit: str, reading: Reading, loss: str
) -> list[str]:
    """Where fewer features have a better measure on test folds than those chosen by a loss."""
    pair = reading.column(np.array(losses))
    how = "higher" if reading.is_score else "lower"
    return [
        f"On test folds {counted(fewer, unit)} {agree(fewer, 'has', 'have')} a {how} "
        f"{reading.name} than {count(size)}: {pair[0]} against {pair[1]}. The number of "
        f"{plural(unit)} was chosen by the {loss}; fewer may be better."
    ]


def gain_of_noise(loss: float, n_samples: int, n_features: int, size: int) -> float:
    """How much the best of some features of noise may lower a squared loss, as it is selected.

    Of each the drop is ℓ/(m − k) times a χ² of one degree of freedom, and the largest of n such is
    below 2 ln(n/p) but for a probability p.
    """
    degrees = max(1, n_samples - size - 1)
    return 2.0 * float(np.log(max(1, n_features) / _SIGNIFICANT)) * loss / degrees


def overfitted(test: float, own: float, error: float, many: str, reading: Reading) -> list[str]:
    """Where the selection's own loss is much better than the test loss.

    error is that of the difference, and `many` says with how many features.
    """
    difference = test - own
    bar = _SHARE_WITHOUT_ERROR if np.isnan(error) else _SHARE
    if not difference > bar * abs(test) or difference <= _ERRORS * error:
        return []
    believed, tested = reading.column(np.array([own, test]))
    shown = abs(float(reading.value(test)) - float(reading.value(own)))
    spread = with_error(shown, float(reading.error(test, error)))
    return [
        f"Overfitted selection: with {many} the selection's own estimate of the {reading.name} is "
        f"{believed}, the test folds say {tested} (difference {spread}). Report the latter."
    ]


def no_better(
    mean: float,
    initial_loss: float,
    gain: float,
    error: float,
    reading: Reading,
    where: str = "test folds",
) -> list[str]:
    """Where the chosen model does not beat the one without features; error is that of the gain."""
    if gain > (0.0 if np.isnan(error) else error):
        return []
    own, without = reading.column(np.array([mean, initial_loss]))
    return [
        f"On {where} the {reading.name} of the chosen features, {own}, is not clearly better "
        f"than that of a model without any, {without}."
    ]


def none_chosen(n_folds: int, initial_loss: float, reading: Reading) -> list[str]:
    """Where no fold chose any features."""
    folds = "The only fold" if n_folds == 1 else f"Each of the {n_folds} folds"
    return [
        f"{folds} chose no features: the {reading.name} of {reading.written(initial_loss)} is that "
        "of a model without any."
    ]


def unstable(index: float, size: int, n_folds: int) -> list[str]:
    """Where selections differ from fold to fold, judged as if they had been made on halves."""
    shared = (n_folds - 2) / (n_folds - 1)
    if not index < _POOR + _MORE_ALIKE * max(0.0, shared - 0.5):
        return []
    return [
        f"The selections differ from fold to fold (stability {score(index, 2)} at "
        f"{counted(size, 'feature')}): do not read much into whether a single feature is chosen."
    ]


def ended_early(reached: list[int], size: int) -> list[str]:
    """Where searches did not get as far as they were asked to."""
    short = sum(count < size for count in reached)
    if not short:
        return []
    return [
        f"In {short} of {counted(len(reached), 'fold')} the search ended before "
        f"{counted(size, 'feature')}, at {min(reached)} the earliest; larger sizes are left out of "
        "the curves."
    ]


def near_ties(
    losses: Float,
    initial_loss: float,
    names: list[str],
    runners: list[tuple[str, float] | None],
) -> list[str]:
    """Steps at which another feature would have done nearly as well."""
    before = np.concatenate(([initial_loss], losses[:-1]))
    found = []
    for place, runner in enumerate(runners):
        gain = float(before[place] - losses[place])
        if runner is not None and gain > 0.0 and runner[1] - losses[place] < _NEAR * gain:
            found.append(f"{runner[0]!r} for {names[place]!r} at step {place + 1}")
    if not found:
        return []
    more = "" if len(found) <= _SHOWN else f", and {len(found) - _SHOWN} more"
    return [
        f"Near ties: another feature would have given all but {percent(_NEAR)} of the gain "
        f"({', '.join(found[:_SHOWN])}{more}). Which of them is chosen is little more than chance."
    ]


def noise(p_value: float, count: int) -> list[str]:
    """Where permuted targets do as well."""
    if p_value <= _SIGNIFICANT:
        return []
    least = 1.0 / (count + 1)
    hint = "" if least <= _SIGNIFICANT else " (with so few permutations it could not be)"
    return [
        f"The selection is not significantly better than on permuted targets: p = "
        f"{number(p_value, 2)}{hint}."
    ]
