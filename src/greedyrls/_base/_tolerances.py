"""Numerical tolerances that several modules share, each with its reason, in one place.

Tolerances that a single module needs are defined there. Look-alikes whose meaning is different have
another name: `BUDGET_ROUNDING` is not `LOSS_ROUNDING`.
"""

from __future__ import annotations

import numpy as np

# Losses this close (relatively) are a tie: the lowest index wins, and of penalties the largest.
TIE = 1e-10
# Of the geometric mean of a squared loss and the scale of its target, in addition to `TIE`: a loss
# far below that scale is the square of errors that are known to rounding of the target only.
TIE_ROUNDING = 2e-15
# Rounding of a loss relative to that of the empty model, generously: some 500 units in the last
# place.
LOSS_ROUNDING = 1e-13
# Where `LOSS_ROUNDING` is more than this share of a loss made in feature space, it might decide a
# tie: the loss is made again from the rows.
TRUSTED_LOSS = 1e-2 * TIE
# Share of the loss of the empty model to which losses are the same whichever engine computes them.
# Where a compiled search cannot guarantee this, the general engine repeats the search.
KNOWN_LOSS = 1e-12
# Share of that loss by which losses of penalties or sizes may differ and be equal, in addition to
# `TIE`: ten times as much as engines may differ by. It decides where y is predicted without error.
SAME_LOSS = 10.0 * KNOWN_LOSS
# Rounding of z of a feature relative to √A_ii, generously: some 4 units in the last place. It is
# √(A_ii/δ_i) times as much of √δ_i. On random problems that lose up to nine digits, the losses of
# both engines are off by at most 3.5 units times what follows from such a z.
Z_ROUNDING = 1e-15
# Share of W·mean² that is added to A_ii there. Centring a column far from the origin costs digits;
# most of that rounding is the same in every engine, and about a hundredth of it is not.
FAR_ROUNDING = 1e-4
# Relative rounding of a sum over many rows, generously: a difference of such sums is not known any
# better. (It has the value of `LOSS_ROUNDING`, but is relative to the sum itself.)
SUM_ROUNDING = 1e-13
# Added to a sum of squares or weights before it divides, so that 0 / 0 is 0 and not NaN. It changes
# no other sum.
TINY = 1e-300
# Share of ‖anchor‖² added to the square of its part that is not along r, before that divides: where
# both are parallel up to rounding, the coefficient of the anchor stays small.
PARALLEL = 1e-10
# Of the raw sum of squares: a column whose centred one is no more than this does not vary. All that
# centring left is the rounding of its mean, eight units in the last place at most.
NO_DIGITS = (8.0 * float(np.finfo(np.float64).eps)) ** 2
# With 1 − h below this, r/(1 − h) has no more than four digits left.
SMALLEST_D = 1e-12
# A chosen pivot this much smaller than A_bb has lost three digits to cancellation: it is measured
# on the rows, with refined coefficients.
REFINED_PIVOT = 1e-3
# A pivot δ_i this much smaller than A_ii has lost so many digits to cancellation that bounds made
# from it are not to be trusted: such a candidate is always looked at in the data.
TRUSTED_PIVOT = 1e-5
# Where all rows have so many times the squares of those that a split trains on, too many digits
# would be lost in sums over all rows minus those held out: training rows are summed themselves.
DWARFED = 1e3
