"""A sparse X in a folder of memory-mapped arrays, by columns and by rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._base import Float
from ._sparse import SparseMatrix

PARTS = ("indptr", "indices", "data")


class SparseFile:
    """Sparse data in a folder, to be passed as X; made by `greedyrls.files.open_svmlight`.

    Attributes
    ----------
    shape : tuple of int
        The number of samples m and of features n.
    dtype : numpy.dtype
        Type of the numbers in the folder.
    folder : Path
        Where the arrays are.
    feature_names : None
        Always None: svmlight files have no names.
    """

    feature_names: tuple[str, ...] | None = None

    def __init__(self, folder: Path, shape: tuple[int, int]) -> None:
        self.folder = folder
        self.shape = shape
        self._by_columns = sparse.csc_array(self._arrays("columns"), shape=shape)
        self.dtype: np.dtype[Any] = self._by_columns.dtype
        self._by_rows = sparse.csr_array(self._arrays("rows"), shape=shape)
        for form in (self._by_columns, self._by_rows):
            form.has_canonical_format = (
                True  # guaranteed by the conversion; checking would read everything
            )

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        m, n = self.shape
        return f"<{self.folder}: sparse, {m} × {n}, {self._by_columns.nnz} values>"

    def _arrays(self, form: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return values, indices and beginnings of the columns (or rows), with checked lengths."""
        indptr, indices, data = (self._array(f"{form}_{part}") for part in PARTS)
        lines = self.shape[1] if form == "columns" else self.shape[0]
        if len(indptr) != lines + 1 or indptr[-1] != len(indices) or len(indices) != len(data):
            raise ValueError(
                f"{self.folder} is damaged: the arrays by {form} do not fit together; convert the "
                "svmlight file again."
            )
        return data, indices, indptr

    def _array(self, name: str) -> NDArray[Any]:
        path = self.folder / f"{name}.npy"
        try:
            array: NDArray[Any] = np.load(path, mmap_mode="r")
        except (OSError, ValueError) as error:
            raise ValueError(
                f"{path} cannot be read ({error}); convert the svmlight file again."
            ) from error
        return array

    def matrix(self) -> SparseMatrix:
        """Return the matrix for one search."""
        return SparseMatrix(self._by_columns, self._by_rows)

    def to_scipy(self) -> Any:
        """Return the data as a `scipy.sparse.csc_array` of the memory maps.

        Returns
        -------
        csc_array of shape (m, n)
        """
        return self._by_columns

    def linear(self, indices: NDArray[np.intp], coef: Float, intercept: Any) -> Float:
        """Return the values of a linear model (t × c) on some columns, of all rows: (m × t).

        Parameters
        ----------
        indices : ndarray of int
            Columns of the model, c of them.
        coef : ndarray of shape (t, c)
            Their coefficients.
        intercept : float or ndarray of shape (t,)
            Intercept of each output.
        """
        values: Float = self._by_columns[:, indices] @ coef.T + intercept
        return values
