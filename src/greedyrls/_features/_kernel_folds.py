"""Feature space of all splits with the penalty of kernel functions, P = α K_cc."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from .._data import KernelMatrix
from .._rows import SetSums
from ._fold_space import FoldSpace
from ._kernel_space import LEAST, SPANNED, CenterPenalty


class KernelFoldSpace(FoldSpace):
    """The state of a search for centres by folds: P is the same in every split."""

    def __init__(
        self,
        train: SetSums,
        test: SetSums,
        X: KernelMatrix,
        alpha: float,
        fit_intercept: bool,
        capacity: int,
    ) -> None:
        self._centers = CenterPenalty(X, alpha, capacity)
        super().__init__(train, test, self._centers.diagonal, fit_intercept, capacity)
        scale = self.delta.copy()  # A_ii of each split, (K × n)
        self._floor = LEAST * scale
        self._spanned = SPANNED * scale

    def penalty_matrix(self) -> Float | None:
        """Return K_SS, the kernel of the chosen centres."""
        return self._centers.kernel.copy()

    def spanned(self) -> NDArray[np.bool_] | None:
        """Mark centres in the span of the chosen ones, up to rounding, in at least one split."""
        is_spanned: NDArray[np.bool_] = np.any(self.delta <= self._spanned, axis=0)
        return is_spanned

    def _penalised(self, index: Any, on_train: Float) -> Float:
        return on_train + self._centers.add(index)

    def corrected(self, split: int, index: int, beta: Float, products: Float) -> Float:
        """Refine β, one step; products (|S|) are X_S'z, which should be P_SSβ − P_Si."""
        inverse = self._inverse[split, : self.size, : self.size]
        wrong = products - self._centers.without(beta, self._centers.rows[:, index])
        return beta + inverse.T @ (inverse @ wrong)

    def set_pivot(self, split: int, index: int, beta: Float, norm: float, inner: Float) -> None:
        """Set δ and τ of a candidate in a split from its ‖z‖² and r·z (t) on the training rows."""
        rows, diagonal = self._centers.rows[:, [index]], self._centers.diagonal[[index]]
        pulled = self._centers.without(beta[:, None], rows)
        left = self._centers.norms(diagonal, beta[:, None], rows, pulled)
        w = self._weights[split, : self.size]
        self.delta[split, index] = norm + float(left[0])
        self.tau[split, :, index] = inner + w.T @ pulled[:, 0]
