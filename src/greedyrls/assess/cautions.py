"""Warnings in words about what the numbers alone do not make obvious."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import special

from .._base import Float, agree, count, counted, number, percent, plural, score, with_error
from ..path import Reading

# With more features than this many times the samples, some fit by chance.
_MANY = 10
# A curve still falls if its last tenth brings this share of the whole gain; the second number is
# used if the error of the drop is unknown.
_STILL = 0.01
_STILL_UNKNOWN = 0.05
# A runner-up is as good if it would have given all but this share of the gain.
_NEAR = 0.05
# The selection's own estimate is misleading if it is off by this many standard errors, and by this
# share of the loss.
_ERRORS = 2.0
_SHARE = 0.1
_SHARE_WITHOUT_ERROR = 0.25
# Below this, stability is called poor in the literature, for samples that share at most half of
# their rows. Folds share more, and selections on the same rows are alike: on pure noise the index
# is 0.45 in ten folds (benchmarks/suites/claims.py). The bound rises by this much times the
# additional share.
_POOR = 0.4
_MORE_ALIKE = 0.65
_SIGNIFICANT = 0.05
_SHOWN = 3
# A feature that alone leaves no more than this share of the loss without features predicts almost
# exactly: for squared loss, absolute loss (about its root), and errors of a classification.
LEFT_OF_SQUARES = 1e-3
_LEFT_OF_DISTANCES = 0.03
LEFT_OF_CLASSES = 2e-3
# The warning is given if noise would do so with less than this probability.
NOT_BY_CHANCE = 1e-3
# Rows required if that probability is unknown.
_ENOUGH_ROWS = 50
# First words of the sentence that a path and its assessment may both produce.
MORE = "More than"


def by_chance(n_rows: int, n_features: int, n_rare: int | None) -> float:
    """Return an upper bound of the probability that a noise feature predicts almost exactly alone.

    n_rare is the number of rows of the rarest class; None for a regression, of whose variance 99.9
    % would have to be explained.
    """
    if n_rare is None:
        if n_rows <= 2:
            return 1.0
        return n_features * float(special.betainc((n_rows - 2) / 2.0, 0.5, LEFT_OF_SQUARES))
    # Of all ways to place the rows of the rare class, only two orders separate the classes.
    ways = -special.betaln(n_rows - n_rare + 1, n_rare + 1) - np.log(n_rows + 1.0)
    return float(2.0 * n_features * np.exp(-ways))


def is_too_good(
    loss: float, initial_loss: float, measure: str, n_rows: int, n_features: int
) -> bool:
    """Whether the loss of a single feature is almost zero, and not by chance."""
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
    """Return a warning about features that predict almost exactly alone, and may be leaks."""
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
    """Return a warning if there are many more features than samples."""
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
    """Return a warning if the loss is smallest at the last size, and fell until there.

    It is presented as in `reading`. ``clear_drop(first, last)`` is the drop from one index to
    another that exceeds noise; NaN if that is unknown.
    """
    finite = losses[np.isfinite(losses)]
    size = len(finite)
    if is_exhausted or size < 2 or int(np.argmin(finite)) != size - 1:
        return []
    tail = max(1, size // 10)
    before = float(finite[-1 - tail])
    gained = max(initial_loss, float(finite[0])) - float(finite[-1])
    least = np.nan if clear_drop is None else clear_drop(size - 1 - tail, size - 1)
    bar = _STILL_UNKNOWN * gained if np.isnan(least) else max(least, _STILL * gained)
    if not gained > 0.0 or before - float(finite[-1]) < bar:
        return []
    first, last = reading.column(finite[[-1 - tail, -1]])
    went = "rose" if reading.is_score else "fell"
    which = "the last feature" if tail == 1 else f"the last {counted(tail, 'feature')}"
    return [
        f"{MORE} {counted(size, 'feature')} may do better: with {which} the {reading.name} "
        f"{went} from {first} to {last}."
    ]


def as_good_with_fewer(
    fewer: int, size: int, losses: tuple[float, float], error: float, unit: str, reading: Reading
) -> list[str]:
    """Return a warning that fewer features have about the same held-out loss as those chosen."""
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
    """Return a warning that fewer features have a better measure on test folds."""
    pair = reading.column(np.array(losses))
    how = "higher" if reading.is_score else "lower"
    return [
        f"On test folds {counted(fewer, unit)} {agree(fewer, 'has', 'have')} a {how} "
        f"{reading.name} than {count(size)}: {pair[0]} against {pair[1]}. The number of "
        f"{plural(unit)} was chosen by the {loss}; fewer may be better."
    ]


def gain_of_noise(loss: float, n_samples: int, n_features: int, size: int) -> float:
    """Return by how much the best of n noise features may lower a squared loss when selected.

    The drop of each is ℓ/(m − k) times a χ² variable with one degree of freedom, and the largest of
    n such variables is below 2 ln(n/p) except with probability p.
    """
    degrees = max(1, n_samples - size - 1)
    return 2.0 * float(np.log(max(1, n_features) / _SIGNIFICANT)) * loss / degrees


def overfitted(test: float, loss: float, error: float, sizes: str, reading: Reading) -> list[str]:
    """Return a warning if the selection's own loss is much better than the test loss.

    `error` is the standard error of the difference, and `sizes` is the number of features in words.
    """
    difference = test - loss
    bar = _SHARE_WITHOUT_ERROR if np.isnan(error) else _SHARE
    if not difference > bar * abs(test) or difference <= _ERRORS * error:
        return []
    believed, tested = reading.column(np.array([loss, test]))
    shown = abs(float(reading.value(test)) - float(reading.value(loss)))
    spread = with_error(shown, float(reading.error(test, error)))
    return [
        f"Overfitted selection: with {sizes} the selection's own estimate of the {reading.name} is "
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
    """Return a warning if the gain over no features is not above its standard error."""
    if gain > (0.0 if np.isnan(error) else error):
        return []
    chosen, without = reading.column(np.array([mean, initial_loss]))
    return [
        f"On {where} the {reading.name} of the chosen features, {chosen}, is not clearly better "
        f"than that of a model without any, {without}."
    ]


def none_chosen(n_folds: int, initial_loss: float, reading: Reading) -> list[str]:
    """Return a warning that no fold chose any features."""
    folds = "The only fold" if n_folds == 1 else f"Each of the {n_folds} folds"
    return [
        f"{folds} chose no features: the {reading.name} of {reading.written(initial_loss)} is that "
        "of a model without any."
    ]


def unstable(index: float, size: int, n_folds: int) -> list[str]:
    """Return a warning if selections differ much from fold to fold."""
    shared = (n_folds - 2) / (n_folds - 1)
    if not index < _POOR + _MORE_ALIKE * max(0.0, shared - 0.5):
        return []
    return [
        f"The selections differ from fold to fold (stability {score(index, 2)} at "
        f"{counted(size, 'feature')}): do not read much into whether a single feature is chosen."
    ]


def ended_early(reached: list[int], size: int) -> list[str]:
    """Return a warning if searches ended before the size asked for."""
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
    """Return a warning about steps at which another feature would have done nearly as well."""
    before = np.concatenate(([initial_loss], losses[:-1]))
    ties = []
    for step, runner in enumerate(runners):
        gain = float(before[step] - losses[step])
        if runner is not None and gain > 0.0 and runner[1] - losses[step] < _NEAR * gain:
            ties.append(f"{runner[0]!r} for {names[step]!r} at step {step + 1}")
    if not ties:
        return []
    more = "" if len(ties) <= _SHOWN else f", and {len(ties) - _SHOWN} more"
    return [
        f"Near ties: another feature would have given all but {percent(_NEAR)} of the gain "
        f"({', '.join(ties[:_SHOWN])}{more}). Which of them is chosen is little more than chance."
    ]


def noise(p_value: float, count: int) -> list[str]:
    """Return a warning if the selection does as well on permuted targets."""
    if p_value <= _SIGNIFICANT:
        return []
    least = 1.0 / (count + 1)
    hint = "" if least <= _SIGNIFICANT else " (with so few permutations it could not be)"
    return [
        f"The selection is not significantly better than on permuted targets: p = "
        f"{number(p_value, 2)}{hint}."
    ]
