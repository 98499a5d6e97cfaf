"""A path as a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import required

if TYPE_CHECKING:
    import pandas

    from ._path import SelectionPath


def path_frame(path: SelectionPath) -> pandas.DataFrame:
    """Return a row for each size, indexed by the number of features."""
    pd = required("pandas", "to_frame needs pandas: pip install 'greedyrls[pandas]'.")
    before = np.concatenate(([path.initial_loss], path.losses[:-1]))
    first = [best.runners_up[0] if best.runners_up else (None, np.nan) for best in path.sets]
    runner_names = [None if index is None else path.name_of(index) for index, _ in first]
    honest = {}
    if path.held_out is not None:
        losses, errors = path.held_out
        honest = {"held_out_loss": losses, "held_out_error": errors}
    frame: pandas.DataFrame = pd.DataFrame(
        {
            **_added(path),
            "loss": path.losses,
            "standard_error": path.standard_errors,
            "gain": before - path.losses,
            **({} if path.costs is None else {"cost": path.costs}),
            **honest,
            "runner_up": runner_names,
            "runner_up_loss": [loss for _, loss in first],
            "forced": [best.forced for best in path.sets],
            **_seconds(path),
        },
        index=pd.RangeIndex(1, len(path) + 1, name="n_features"),
    )
    return frame


def _added(path: SelectionPath) -> dict[str, Any]:
    """Return the features that each size adds, with a column number if it is always one."""
    counts = [best.count for best in path.sets]
    is_single = path.is_nested and counts == list(range(1, len(path) + 1))
    return {**({"index": path.indices} if is_single else {}), "feature": path.changes()}


def _seconds(path: SelectionPath) -> dict[str, Any]:
    """Return the seconds of the steps, if there is one step for each size."""
    if len(path.steps) != len(path.sets):
        return {}
    return {"seconds": [step.seconds for step in path.steps]}
