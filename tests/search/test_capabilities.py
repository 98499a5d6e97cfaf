"""The capability table tells the truth, cell by cell, and docs/guide/capabilities.md shows it.

Cells of Dask are in `test_dask_capabilities.py`.
"""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import array_api_compat
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from capability_trials import EXCEPT, NUMPY, TRIALS, Kind, check_cell, data
from greedyrls import GreedyKernelRLS, GreedyRLSRanker, files
from internals import (
    FEATURES,
    KINDS,
    ArrayLocation,
    DenseMatrix,
    FoldData,
    ManyFoldData,
    check_supported,
    make_plan,
    make_problem,
)
from project import TOOLS
from tuning import tuned

# After everything else: the folder is not a package.
sys.path.append(str(TOOLS))

import capabilities


def test_the_page_shows_the_table() -> None:
    text = capabilities.PAGE.read_text(encoding="utf-8")
    assert capabilities.table() in text
    assert capabilities.page_with(text) == text, "run python3 tools/capabilities.py --write"


def test_the_page_is_linked() -> None:
    for name in ("README.md", "docs/guide/scale.md", "docs/guide/gpu.md"):
        assert "capabilities.md" in (capabilities.ROOT / name).read_text(encoding="utf-8"), name


def test_every_cell_is_tried() -> None:
    assert TRIALS.keys() == FEATURES.keys()
    assert len(FEATURES) * len(KINDS) == 119
    for feature, trials in TRIALS.items():
        limited = {kind for trial in trials for kind in EXCEPT.get(trial.name, ())}
        assert limited <= FEATURES[feature].notes.keys(), "a note must say what is left out"


def test_every_refusal_says_what_to_do() -> None:
    for feature in FEATURES.values():
        if "no" in map(feature.cell, KINDS):
            assert feature.why


def numpy_kind(folder: Path) -> Kind:
    return NUMPY


def threads(folder: Path) -> Kind:
    return Kind("threads", lambda X: X, options={"n_jobs": 2})


def sparse_matrix(folder: Path) -> Kind:
    return Kind("sparse", sparse.csr_array)


SMALL_CHUNKS = {"smallest_file_chunk": 500, "largest_file_chunk": 1000}


def file(folder: Path) -> Kind:
    def matrix(X: Any) -> Any:
        np.save(folder / "X.npy", X)
        return files.open_npy(folder / "X.npy", memory_limit="30MB")

    return Kind("file", matrix, tuning=SMALL_CHUNKS)


def hdf5_columns(folder: Path) -> Kind:
    """A dataset that is read by columns, as PLINK genotypes are."""
    h5py = pytest.importorskip("h5py")

    def matrix(X: Any) -> Any:
        return h5py.File(io.BytesIO(), "w").create_dataset("X", data=X, chunks=(len(X), 2))

    return Kind("file", matrix, tuning=SMALL_CHUNKS)


def zarr_array(folder: Path) -> Kind:
    zarr = pytest.importorskip("zarr")

    def matrix(X: Any) -> Any:
        store = zarr.storage.MemoryStore()
        array = zarr.create_array(store, shape=X.shape, chunks=(7, X.shape[1]), dtype=X.dtype)
        array[:] = X
        return array

    return Kind("file", matrix, tuning=SMALL_CHUNKS)


def streamed(folder: Path) -> Kind:
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    xp = array_api_compat.array_namespace(strict.asarray([0.0]))
    device = ArrayLocation(xp, strict.Device("device1"))
    little = {"device_free_bytes": 20_000, "device_resident_share": 0.0}
    return Kind("streamed", lambda X: X, options={"device": device}, tuning=little)


NEVER_COPIED = {"copied_from_device": -1}


def large_streamed(folder: Path) -> Kind:
    """Data that count as too large to be computed with by the processor alone."""
    kind = streamed(folder)
    return replace(kind, tuning={**kind.tuning, **NEVER_COPIED})


def device(folder: Path) -> Kind:
    """Arrays that, as those of a GPU, do not become NumPy arrays by themselves."""
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    return Kind("device", lambda X: strict.asarray(X, device=strict.Device("device1")))


def large_device(folder: Path) -> Kind:
    return replace(device(folder), tuning=NEVER_COPIED)


MAKERS = [
    numpy_kind,
    threads,
    sparse_matrix,
    file,
    hdf5_columns,
    zarr_array,
    streamed,
    large_streamed,
    device,
    large_device,
]
CELLS = [
    # Processes take seconds to start.
    pytest.param(make, feature, marks=[pytest.mark.slow] if slow else [])
    for make in MAKERS
    for feature in FEATURES
    for slow in [make is threads and feature == "assess"]
]


@pytest.mark.parametrize(("make", "feature"), CELLS)
def test_a_cell_is_true(make: Any, feature: str, tmp_path: Path) -> None:
    check_cell(feature, make(tmp_path), tmp_path)


@pytest.mark.parametrize("make", MAKERS)
def test_notes_on_engines(make: Any, tmp_path: Path) -> None:
    """Where the table says "yes" rather than a note, the faster engine is used."""
    kind = make(tmp_path)
    X, y = data()
    with tuned(fold_engine="many", **kind.tuning):
        device = kind.options.get("device")
        problem = make_problem(kind.matrix(X), y, on_device=True, device=device)
        if kind.name != "streamed":
            found = type(make_plan(problem, cv=np.arange(len(y)) // 2).data(problem))
            is_noted = kind.name in FEATURES["many_folds"].notes
            assert found is (FoldData if is_noted else ManyFoldData)


def test_advice_can_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    X = DenseMatrix(np.zeros((2, 2)))
    narrow = replace(FEATURES["ranker"], needs=(frozenset({"far away"}),))
    monkeypatch.setitem(FEATURES, "ranker", narrow)
    match = "The ranker is not supported with X in memory: it centres the rows of each query. Wait"
    with pytest.raises(ValueError, match=match):
        check_supported(X, "ranker", "The ranker", "wait")
    check_supported(X, "squared", "loss='squared'")


def test_sparse_files_are_sparse_matrices(tmp_path: Path) -> None:
    X, y = data()
    dump_svmlight_file(X, y, str(tmp_path / "data.svm"), zero_based=False)
    files.convert_svmlight(tmp_path / "data.svm", tmp_path / "converted")
    opened, y = files.open_svmlight(tmp_path / "converted")
    queries = np.arange(len(y)) % 5
    ranker, kernels = GreedyRLSRanker(2, alpha=1.0), GreedyKernelRLS(2, alpha=0.1)
    found = ranker.fit(opened, y, groups=queries).selected_
    np.testing.assert_array_equal(found, ranker.fit(X, y, groups=queries).selected_)
    found = kernels.fit(opened, y).center_indices_
    np.testing.assert_array_equal(found, kernels.fit(sparse.csr_array(X), y).center_indices_)
