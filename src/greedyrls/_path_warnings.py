"""Warnings in words for a path, with what else is known of it."""

from __future__ import annotations

from . import _cautions as cautions
from ._assessment import PathAssessment
from ._kernels import Float
from ._null import PermutationNull
from ._path import SelectionPath
from ._steps import StopReason


def path_warnings(
    path: SelectionPath,
    assessment: PathAssessment | None = None,
    null: PermutationNull | None = None,
) -> tuple[str, ...]:
    """What a reader of a path should be told, in sentences; often nothing.

    Parameters
    ----------
    path : SelectionPath
        Many more features than samples, a loss that still falls at the last size, and (with
        ``n_runners_up=1`` or more) steps at which another feature would have done as well.
    assessment : PathAssessment, optional
        Adds its own: a selection whose own loss is much better than the test loss, selections that
        differ from fold to fold, a model no better than none.
    null : PermutationNull, optional
        Adds one if permuted targets do as well.

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
    The loss is still falling at the last size, 2: from 3923 to 3248 over the last 1 feature. Select
    more features.
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
    found = path_cautions(path, path.losses)
    if assessment is not None:
        found += [sentence for sentence in assessment.warnings if sentence not in found]
    if null is not None:
        found += cautions.noise(null.chosen_p_value, len(null.null_losses))
    return tuple(found)


def path_cautions(path: SelectionPath, losses: Float) -> list[str]:
    """What to say of a path alone; `losses` (k) are those of its models."""
    settings, size = path.settings, path.chosen_size
    found = cautions.many_features(settings.n_features_in, settings.n_samples)
    is_done = path.stop_reason is not StopReason.REACHED or size < len(path)
    found += cautions.still_falling(losses, path.initial_loss, is_done, "loss")
    runners = [
        (path._name(known.runners_up[0][0]), known.runners_up[0][1]) if known.runners_up else None
        for known in path.sets[:size]
    ]
    # Runners-up were judged by the search, and only ties within the model matter.
    ties = cautions.near_ties(path.losses[:size], path.initial_loss, path.changes(), runners)
    return found + ties
