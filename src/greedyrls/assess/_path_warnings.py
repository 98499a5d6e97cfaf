"""Warnings in words for a path, and for its assessment if there is one."""

from __future__ import annotations

from functools import partial

import numpy as np

from .._base import Float
from ..path import (
    SAME_ERROR,
    Reading,
    SelectionPath,
    StopReason,
    difference_errors,
    fold_covariance,
    measure_in_words,
)
from . import cautions
from ._assessment import PathAssessment
from ._null import PermutationNull

# A feature that the penalty shrinks by more than this is not checked for a leak.
_SHRUNK = 0.3

# A feature chosen later is distinct from an earlier one if it still gains this share of what it
# would have gained in its place. A copy gains next to nothing; held-out gains of single steps vary
# by a factor of two.
_OWN = 0.25


def path_warnings(
    path: SelectionPath,
    assessment: PathAssessment | None = None,
    null: PermutationNull | None = None,
) -> tuple[str, ...]:
    """Return warnings about a path, in sentences; often there are none.

    Parameters
    ----------
    path : SelectionPath
        A feature that predicts almost exactly alone (a copy of the target, perhaps), many more
        features than samples, a loss that still falls at the last size, held-out losses by which
        half of the features or fewer do as well as those chosen, and (with ``n_runners_up=1`` or
        more) steps at which another feature would have done as well.
    assessment : PathAssessment, optional
        Adds warnings of the assessment: a selection whose own loss is much better than the test
        loss, selections that differ from fold to fold, a model no better than one without features.
    null : PermutationNull, optional
        Adds a warning if permuted targets do as well.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from greedyrls import greedy_path
    >>> from greedyrls.assess import path_warnings
    >>> X, y = load_diabetes(return_X_y=True)
    >>> for sentence in path_warnings(greedy_path(X, y, 2, alpha=0.01)):
    ...     print(sentence)
    More than 2 features may do better: with the last feature the loss fell from 3923 to 3248.
    """
    if not isinstance(path, SelectionPath):
        raise TypeError(
            f"path must be a SelectionPath, such as model.path_; got {type(path).__name__}."
        )
    for name, value, kind in (
        ("assessment", assessment, PathAssessment),
        ("null", null, PermutationNull),
    ):
        if value is not None and not isinstance(value, kind):
            raise TypeError(
                f"{name} must be a {kind.__name__} or None, got {type(value).__name__}."
            )
    sentences = cautions.too_good(leaking_features(path, assessment))
    of_path = path_cautions(path, path.losses)
    if assessment is not None:
        more = assessment_cautions(path, assessment)
        of_path = not_said_by(more, of_path)
        of_path += [sentence for sentence in more if sentence not in of_path]
    sentences += of_path
    if null is not None:
        sentences += cautions.noise(null.chosen_p_value, len(null.null_losses))
    return tuple(sentences)


def not_said_by(tested: list[str], sentences: list[str]) -> list[str]:
    """Return the warnings of a path that the warnings of its test folds do not repeat."""
    said = {words.split(":")[0] for words in tested if words.startswith(cautions.MORE)}
    return [sentence for sentence in sentences if sentence.split(":")[0] not in said]


def assessment_cautions(path: SelectionPath, assessment: PathAssessment) -> list[str]:
    """Return warnings of an assessment, without those that the path gives itself or rules out."""
    repeated = cautions.too_good(assessment.leaks)
    if _is_done(path) or _is_next_noise(path):
        repeated += assessment._still_falling()
    sentences = [sentence for sentence in assessment.warnings if sentence not in repeated]
    return sentences + _better_with_fewer(path, assessment)


def _better_with_fewer(path: SelectionPath, assessment: PathAssessment) -> list[str]:
    """Return a warning if fewer features do clearly better on test folds than those chosen.

    It is given only if the measure differs from the loss by which the size was chosen, such as the
    error rate. Otherwise it would be a second choice of size, made on the test folds.
    """
    size, losses = path.chosen_size, assessment.test_losses
    if assessment.measure == path.settings.loss or not 1 < size <= losses.shape[1]:
        return []
    means = assessment.test.mean[:size]
    if not np.isfinite(means).all():
        return []
    best = int(np.argmin(means))
    gain, error = assessment._mean(losses[:, size - 1] - losses[:, best], is_corrected=True)
    if not gain > (0.0 if np.isnan(error) else error):
        return []
    pair = float(means[best]), float(means[-1])
    loss = measure_in_words(path.settings.loss)
    return cautions.better_with_fewer(best + 1, size, pair, path.unit, assessment.reading, loss)


def path_cautions(path: SelectionPath, losses: Float, reading: Reading | None = None) -> list[str]:
    """Return warnings about a path alone; `losses` (k) are those of its models.

    Losses are presented as in `reading`. A path does not record whether its targets are codes of
    classes; without a reading, losses are presented as they are.
    """
    settings, size = path.settings, path.chosen_size
    sentences = cautions.many_features(settings.n_features_in, settings.n_samples)
    shown = _best_estimate(path, losses)
    is_done = _is_done(path) or _is_next_noise(path)
    clear_drop = partial(_drop_by_noise, path, losses)
    if shown is not losses:
        clear_drop = partial(_difference_error, path)
    shown_as = Reading("loss", "loss", "loss") if reading is None else reading
    sentences += cautions.still_falling(shown, path.initial_loss, is_done, shown_as, clear_drop)
    sentences += _fewer(path, reading)
    rivals = [_rival(path, step, shown) for step in range(size)]
    # Runners-up have losses of the search, and only ties within the model matter.
    ties = cautions.near_ties(path.losses[:size], path.initial_loss, path.changes(), rivals)
    return sentences + ties


def _best_estimate(path: SelectionPath, losses: Float) -> Float:
    """Return held-out losses if they reach the chosen size, otherwise the given losses."""
    if path.held_out is None or not np.isfinite(path.held_out[0][: path.chosen_size]).all():
        return losses
    return path.held_out[0]


def _is_done(path: SelectionPath) -> bool:
    """Whether there was a reason not to select more features."""
    is_stopped = path.stop_reason is not StopReason.REACHED or path.chosen_size < len(path)
    return is_stopped or path.settings.budget is not None


def _difference_error(path: SelectionPath, first: int, last: int) -> float:
    """Return the standard error of the difference between two sizes of the held-out curve."""
    surface = path.outer_surface
    assert surface is not None
    if surface.fold_losses is None or surface.fold_shares is None:
        return np.nan
    pair = surface.fold_losses[:, surface.row, [first, last]]
    covariance = fold_covariance(pair.T, surface.fold_shares)
    return np.nan if covariance is None else float(difference_errors(covariance, 1)[0])


def _fewer(path: SelectionPath, reading: Reading | None) -> list[str]:
    """Return a warning if far fewer features do as well as those chosen, by the held-out losses.

    Far fewer means at most half, within one standard error of the difference. There is no warning
    if the outer folds did not reach the chosen size.
    """
    size, held_out = path.chosen_size, path.held_out
    if held_out is None or size < 2 or not np.isfinite(held_out[0][size - 1]):
        return []
    losses = held_out[0]
    least = max(1, sum(chosen_set.forced for chosen_set in path.sets))
    for fewer in range(least, size // 2 + 1):
        error = _difference_error(path, fewer - 1, size - 1)
        if losses[fewer - 1] - losses[size - 1] <= error * (1.0 + SAME_ERROR):
            pair = float(losses[fewer - 1]), float(losses[size - 1])
            unit = "feature" if path.settings.feature_groups is None else "group"
            words = measure_in_words(path.settings.loss)
            shown_as = Reading(words, words, "loss") if reading is None else reading
            return cautions.as_good_with_fewer(fewer, size, pair, error, unit, shown_as)
    return []


def _drop_by_noise(path: SelectionPath, losses: Float, first: int, last: int) -> float:
    """Return the largest drop of the loss between two sizes that noise features may cause."""
    if path.settings.loss != "squared":
        return np.nan
    return (last - first) * _noise(path, float(losses[first]), last)


def _is_next_noise(path: SelectionPath) -> bool:
    """Whether the runner-up of the last step, the next candidate, is no better than noise.

    This is known only if runners-up were recorded. A penalty that shrinks a coefficient by a share
    λ reduces its gain by a share λ².
    """
    if path.settings.loss != "squared" or not path.sets or not path.sets[-1].runners_up:
        return False
    before = float(path.losses[-2]) if len(path) > 1 else path.initial_loss
    moments = path.moments.of(path.sets[-1].features)
    shrunk = 1.0 - float(moments.gram[-1, -1] / moments.penalised(path.settings.alpha)[-1, -1])
    noise = _noise(path, before, len(path)) * (1.0 - min(1.0, shrunk * shrunk))
    return before - path.sets[-1].runners_up[0][1] <= noise


def _noise(path: SelectionPath, loss: float, size: int) -> float:
    """Return the largest drop of the loss that a single noise feature may cause."""
    settings = path.settings
    n = settings.n_features_in - len(settings.excluded_features)
    return cautions.gain_of_noise(loss, settings.n_samples, n, size)


def _share(path: SelectionPath, step: int, loss: float) -> float:
    """Return the gain of a runner-up as a share of the gain of the feature chosen in that step."""
    before = path.losses[step - 1] if step else path.initial_loss
    gain = float(before - path.losses[step])
    return float(before - loss) / gain if gain > 0.0 else 0.0


def _rival(path: SelectionPath, step: int, losses: Float) -> tuple[str, float] | None:
    """Return the name and loss of the best runner-up of a step that is a real alternative.

    A runner-up that is chosen later with a gain of its own is none. If its later gain is only a
    small part of what it would have gained in this step, it carries the same information and is
    one.
    """
    chosen = path.entries(path.chosen_size).tolist()
    gains = -np.diff(losses, prepend=path.initial_loss)
    for index, loss in path.sets[step].runners_up:
        if index in chosen:
            later = float(gains[chosen.index(index)])
            if not path.is_nested or later >= _OWN * _share(path, step, loss) * gains[step]:
                continue
        return path.name_of(index), loss
    return None


def leaking_features(path: SelectionPath, assessment: PathAssessment | None) -> tuple[str, ...]:
    """Return features that predict almost exactly alone, by the path or its assessment."""
    tested = () if assessment is None else assessment.leaks
    return tuple(dict.fromkeys((*_path_leaks(path), *tested)))


def _path_leaks(path: SelectionPath) -> tuple[str, ...]:
    """Return the names of the first feature and runners-up that each predict almost exactly."""
    if not path.sets:
        return ()
    settings, first = path.settings, path.sets[0]
    losses = [_unshrunk(path, first.loss)]
    if path.held_out is not None:
        losses.append(float(path.held_out[0][0]))

    def is_leak(loss: float) -> bool:
        m, n = settings.n_samples, settings.n_features_in
        return cautions.is_too_good(loss, path.initial_loss, settings.loss, m, n)

    names = [path.group_names(1)[0]] if any(map(is_leak, losses)) else []
    if settings.direction == "forward":
        names += [path.name_of(index) for index, loss in first.runners_up if is_leak(loss)]
    return tuple(names)


def _unshrunk(path: SelectionPath, loss: float) -> float:
    """Return the squared loss at the first size, without the part that is due to the penalty.

    A share λ² = (1 − g/(g + α))² of the loss without features comes from the penalty, and
    leave-one-out adds to it: the remainder is at least the share that the feature does not explain.
    """
    if path.settings.loss != "squared" or path.sets[0].count != 1:
        return loss
    moments = path.moments.of(path.sets[0].features)
    shrunk = 1.0 - float(moments.gram[0, 0] / moments.penalised(path.settings.alpha)[0, 0])
    if not 0.0 <= shrunk < _SHRUNK:
        return loss
    share = loss / path.initial_loss if path.initial_loss > 0.0 else 1.0
    return path.initial_loss * max(0.0, (share - shrunk**2) / (1.0 - shrunk**2))
