"""Wrong predictions of every candidate, evaluated only where the class could change.

A row with margin a keeps its class with candidate i if the candidate cannot move the margin by more
than |a|. So rows are taken in the order of |a|, and candidates drop out as soon as the remaining
rows are beyond their reach; for those rows the prediction is that of the current model. A feature
that is 0 in all but a few rows reaches far in these rows only: they are evaluated one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import HALF_TILE_ELEMENTS, LEAST_TILE_ROWS, Float
from . import tiles

# Allowance for rounding errors of the reaches, which are bounds.
_SAFETY = 1.0 + 1e-9
_SLACK = 1e-11

Places = NDArray[np.intp]
# Returns whether candidates would be wrong: for rows × c, or for pairs of row and column.
Look = Callable[[Places, Places], tiles.Flags]


class Support(NamedTuple):
    """Pairs of row and column at which rare features are not 0, with the values of x."""

    rows: Places
    columns: Places
    values: Float


def wrong_sums(
    margins: Float,
    reach: Float,
    shares: Float | None,
    look: Look,
    support: Support,
    look_at_pairs: Look,
) -> Float:
    """Return Σ_j e_j [candidate i is wrong on row j], (n).

    margins (m) of the current model, positive is right; reach (n) is how far a candidate can move
    any of them, other than in its support.
    """
    e = np.ones(len(margins)) if shares is None else shares
    distance = np.abs(margins)
    row_order = np.argsort(distance)
    distance = distance[row_order]
    # Weight of the wrong predictions among the first j rows.
    wrong_now = margins <= 0.0
    before = np.concatenate(([0.0], np.cumsum((wrong_now * e)[row_order])))
    column_order = np.argsort(-reach)
    # Number of rows that must be evaluated for each candidate.
    bound = reach[column_order] * _SAFETY + _SLACK
    needed = np.searchsorted(distance, bound, side="right")
    sums = np.zeros(len(reach))
    seen = np.zeros(len(reach), dtype=np.intp)
    top = 0
    active = len(needed)
    while active := int(np.searchsorted(-needed[:active], -top, side="left")):
        end = min(len(margins), top + max(LEAST_TILE_ROWS, HALF_TILE_ELEMENTS // active))
        rows, columns = row_order[top:end], column_order[:active]
        flags = look(rows, columns)
        sums[columns] += tiles.weighted_count(flags, None if shares is None else shares[rows])
        seen[columns] = end
        top = end
    sums += before[-1] - before[seen]
    if len(support.rows):
        position = np.empty(len(margins), dtype=np.intp)
        position[row_order] = np.arange(len(margins))
        (missed,) = (position[support.rows] >= seen[support.columns]).nonzero()
        rows, columns = support.rows[missed], support.columns[missed]
        change = look_at_pairs(missed, columns).astype(np.float64)
        change -= wrong_now[rows]
        change *= e[rows]
        sums += np.bincount(columns, change, minlength=len(reach))
    return sums
