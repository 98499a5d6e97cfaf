"""Wrong predictions of every candidate, looking only where one could change its side.

A row with margin a keeps its side with candidate i if the candidate cannot move it by more than
|a|. So rows are taken in the order of |a| and candidates drop out as soon as the rows ahead are
beyond their reach; for those rows the current model knows the answer. A feature that is 0 in all
but a few rows reaches far in these rows only: they are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import HALF_TILE_ELEMENTS, LEAST_TILE_ROWS, Float
from . import tiles

# Reaches are bounds; this is for their rounding.
_SAFETY = 1.0 + 1e-9
_SLACK = 1e-11

Places = NDArray[np.intp]
# Whether candidates would be wrong: in all of some rows (rows × c), or in pairs of row and column.
Look = Callable[[Places, Places], tiles.Flags]


class Support(NamedTuple):
    """Where rare features are not 0, pair by pair; `values` are those of x there."""

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
) -> tuple[Float, int]:
    """Σ_j e_j [candidate i is wrong on row j] for all i, (n), and how many pairs were looked at.

    margins (m) of the current model, positive is right; reach (n) is how far a candidate can move
    any of them, other than in its support.
    """
    own = np.ones(len(margins)) if shares is None else shares
    distance = np.abs(margins)
    row_order = np.argsort(distance)
    distance = distance[row_order]
    # Weight of the wrong ones among the first j rows.
    wrong_now = margins <= 0.0
    before = np.concatenate(([0.0], np.cumsum((wrong_now * own)[row_order])))
    column_order = np.argsort(-reach)
    # How many rows each candidate must look at.
    bound = reach[column_order] * _SAFETY + _SLACK
    needed = np.searchsorted(distance, bound, side="right")
    sums = np.zeros(len(reach))
    seen = np.zeros(len(reach), dtype=np.intp)
    looked = top = 0
    active = len(needed)
    while active := int(np.searchsorted(-needed[:active], -top, side="left")):
        end = min(len(margins), top + max(LEAST_TILE_ROWS, HALF_TILE_ELEMENTS // active))
        rows, columns = row_order[top:end], column_order[:active]
        flags = look(rows, columns)
        sums[columns] += tiles.weighted_count(flags, None if shares is None else shares[rows])
        seen[columns] = end
        looked += flags.size
        top = end
    sums += before[-1] - before[seen]
    if len(support.rows):
        place = np.empty(len(margins), dtype=np.intp)
        place[row_order] = np.arange(len(margins))
        (missed,) = (place[support.rows] >= seen[support.columns]).nonzero()
        rows, columns = support.rows[missed], support.columns[missed]
        change = look_at_pairs(missed, columns).astype(np.float64)
        change -= wrong_now[rows]
        change *= own[rows]
        sums += np.bincount(columns, change, minlength=len(reach))
        looked += len(missed)
    return sums, looked
