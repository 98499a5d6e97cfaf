"""HDF5, Zarr and PLINK as X: the same answer as in memory; what is wrong with a file, in words.

tests/exactness/test_own_matrix.py compares the same kinds with literal refits.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from greedyrls import (
    GreedyRLSClassifier,
    GreedyRLSRegressor,
    SelectionPath,
    extend_path,
    files,
    greedy_path,
)
from greedyrls.assess import cross_validate_path
from internals import ColumnFileMatrix, FileMatrix
from internals import opened as as_data_file
from own_matrices import genotypes_of, write_bed
from tuning import Tune

h5py = pytest.importorskip("h5py")
zarr = pytest.importorskip("zarr")
bed_reader = pytest.importorskip("bed_reader")

M, N, K = 240, 30, 6
Data = tuple[Any, NDArray[Any], NDArray[Any]]
ROWS, COLUMNS = FileMatrix, ColumnFileMatrix
# Chunks of a dataset (None: without chunks), and how it is read.
CHUNKS: dict[str, tuple[tuple[int, int] | None, type]] = {
    "no chunks": (None, ROWS),
    "rows": ((1, N), ROWS),
    "bands of rows": ((32, N), ROWS),
    "squares": ((16, 16), ROWS),
    "columns": ((M, 1), COLUMNS),
    "bands of columns": ((M, 7), COLUMNS),
    "all at once": ((M, N), ROWS),
}
KINDS = [f"{kind}: {name}" for kind in ("hdf5", "zarr") for name in CHUNKS] + ["plink"]


@pytest.fixture(autouse=True)
def small_chunks(tune: Tune) -> None:
    """Many chunks also of a small file."""
    tune(smallest_file_chunk=1000, largest_file_chunk=9000)


def numbers(dtype: Any = np.float64) -> NDArray[Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(M, N)) * 3.0
    X[:, 1] += 50.0  # a mean that dwarfs the spread
    X[:, 5] = X[:, 4] + 0.3 * rng.normal(size=M)
    return X.astype(dtype)


def data(kind: str, folder: Path, dtype: Any = np.float64) -> Data:
    """An open file, the array that it stands for, and targets."""
    X = numbers(dtype)
    if kind == "plink":
        codes = genotypes_of(X)
        X = np.where(np.isnan(codes), np.nanmean(codes, axis=0), codes)
        opened = bed_reader.open_bed(write_bed(folder / "study.bed", codes))
    elif kind.startswith("hdf5"):
        chunks, _ = CHUNKS[kind.removeprefix("hdf5: ")]
        packed = None if chunks is None else "gzip"
        file = h5py.File(folder / "X.h5", "w")
        opened = file.create_dataset("X", data=X, chunks=chunks, compression=packed)
    else:
        chunks, _ = CHUNKS[kind.removeprefix("zarr: ")]
        opened = zarr.create_array(
            str(folder / "X.zarr"), shape=X.shape, chunks=chunks or (M, N), dtype=X.dtype
        )
        opened[:] = X
    y = X[:, 2] - X[:, 4] + 0.5 * X[:, 9] + np.random.default_rng(1).normal(size=M)
    return opened, X, y


def assert_same(path: SelectionPath, other: SelectionPath) -> None:
    assert path.indices.tolist() == other.indices.tolist()
    np.testing.assert_allclose(path.losses, other.losses, rtol=1e-9)
    np.testing.assert_allclose(path.coef(), other.coef(), rtol=1e-6, atol=1e-10)


SETTINGS: dict[str, dict[str, Any]] = {
    "leave-one-out": {"search": "bounded"},
    "every candidate scored": {"search": "exhaustive"},
    "shuffled folds": {"cv": np.random.default_rng(0).integers(0, 3, M)},
    "absolute": {"loss": "absolute"},
    "absolute, folds": {"loss": "absolute", "cv": np.arange(M) % 3},
    "threads": {"n_jobs": 2},
    "blocks of rows": {"block_rows": 7, "loss": "absolute"},
    "weights": {"sample_weight": np.arange(M) % 4},
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_is_that_of_memory(kind: str, tmp_path: Path) -> None:
    opened, X, y = data(kind, tmp_path)
    for limit in ("2MB", "1GB"):
        assert_same(greedy_path(opened, y, K, memory_limit=limit), greedy_path(X, y, K))
    reading = COLUMNS if kind == "plink" else CHUNKS[kind.partition(": ")[2]][1]
    assert type(as_data_file(opened).matrix()) is reading


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("kind", ["hdf5: squares", "zarr: bands of columns", "plink"])
def test_settings(kind: str, name: str, tmp_path: Path) -> None:
    opened, X, y = data(kind, tmp_path)
    settings = {"alpha": 0.5} | SETTINGS[name]
    expected = greedy_path(X, y, K, **settings)
    assert_same(greedy_path(opened, y, K, memory_limit="3MB", **settings), expected)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int16", "uint8", "bool", ">f8"])
@pytest.mark.parametrize("name", ["squares", "bands of columns"])
def test_types(name: str, dtype: str, tmp_path: Path) -> None:
    X = np.abs(numbers()) > 2 if dtype == "bool" else np.abs(numbers()).astype(dtype)
    y = X[:, 2].astype(float) + X[:, 9] + np.random.default_rng(1).normal(size=M)
    with h5py.File(tmp_path / "X.h5", "w") as file:
        opened = file.create_dataset("X", data=X, chunks=CHUNKS[name][0])
        assert_same(greedy_path(opened, y, K, memory_limit="2MB"), greedy_path(X, y, K))


@pytest.mark.parametrize("kind", ["hdf5: squares", "hdf5: columns", "zarr: squares", "plink"])
def test_estimators_and_assessment(kind: str, tmp_path: Path) -> None:
    opened, X, y = data(kind, tmp_path)
    model = GreedyRLSRegressor(4, alpha=0.1).fit(opened, y)
    expected = GreedyRLSRegressor(4, alpha=0.1).fit(X, y)
    assert_same(model.path_, expected.path_)
    np.testing.assert_allclose(model.predict(opened), expected.predict(X))
    classifier = GreedyRLSClassifier(3, alpha=[0.1, 10.0], loss="squared")
    labels = np.where(y > np.median(y), "yes", "no")
    found = classifier.fit(opened, labels).predict(opened)
    assert (found == classifier.fit(X, labels).predict(X)).all()
    ours, theirs = (cross_validate_path(some, y, 3, cv=3, alpha=1.0) for some in (opened, X))
    np.testing.assert_allclose(ours.test_losses, theirs.test_losses, rtol=1e-9)
    for direction in ("floating", "backward"):
        found = greedy_path(opened, y, K, direction=direction)
        assert_same(found, greedy_path(X, y, K, direction=direction))
    with pytest.raises(TypeError, match="is for dense data in memory"):
        greedy_path(opened, y, K, device="cpu")


@pytest.mark.parametrize("kind", ["hdf5: squares", "hdf5: columns", "zarr: columns", "plink"])
def test_checkpoints_and_extensions(kind: str, tmp_path: Path) -> None:
    opened, X, y = data(kind, tmp_path)
    expected = greedy_path(X, y, K)
    file = tmp_path / "path.json"
    settings: dict[str, Any] = {"checkpoint": file, "memory_limit": "3MB"}

    class Crash(Exception):
        pass

    def crash(step: Any) -> bool:
        if step.index == expected.indices[2]:
            raise Crash
        return False

    with pytest.raises(Crash):
        greedy_path(opened, y, K, callback=crash, **settings)
    # The same file is recognised, whatever the memory allowed.
    resumed = greedy_path(opened, y, K, checkpoint=file, memory_limit="1GB")
    assert_same(resumed, expected)
    longer = extend_path(greedy_path(opened, y, 2), opened, y, K, memory_limit="3MB")
    assert_same(longer, expected)


def test_few_passes_by_columns(tmp_path: Path) -> None:
    opened, X, y = data("plink", tmp_path)
    path = greedy_path(opened, y, 20, memory_limit="4MB")
    assert path.counters.passes <= 8
    assert_same(path, greedy_path(X, y, 20))


# Files by their names ----------------------------------------------------------------------------


def test_names_of_files(tmp_path: Path) -> None:
    X, codes = numbers(), genotypes_of(numbers())
    with h5py.File(tmp_path / "X.h5", "w") as file:
        file["X"], file["y"], file["study/late"] = X, X[:, 0], X[:, 1:]
    found = files.open_hdf5(tmp_path / "X.h5", memory_limit="2MB")
    np.testing.assert_array_equal(found.rows(3, 9), X[3:9])
    assert files.open_hdf5(tmp_path / "X.h5", "study/late").shape == (M, N - 1)
    group = zarr.open_group(str(tmp_path / "X.zarr"), mode="w")
    group.create_array("points", shape=X.shape, dtype=X.dtype)[:] = X
    np.testing.assert_array_equal(files.open_zarr(tmp_path / "X.zarr").rows(3, 9), X[3:9])
    np.testing.assert_array_equal(files.open_zarr(tmp_path / "X.zarr", "points").rows(0, 2), X[:2])
    assert files.open_zarr(tmp_path / "X.zarr" / "points").shape == (M, N)
    bed = write_bed(tmp_path / "study.bed", codes)
    genotypes = files.open_plink(bed, memory_limit="2MB")
    filled = np.where(np.isnan(codes), np.nanmean(codes, axis=0), codes)
    np.testing.assert_array_equal(genotypes.rows(3, 9), filled[3:9])


def test_names_of_markers_and_phenotypes(tmp_path: Path) -> None:
    codes = genotypes_of(numbers())
    ids = [f"rs{index}" for index in range(N - 4)] + [".", "rs3", "rs3", "0"]
    bed = write_bed(
        tmp_path / "study.bed",
        codes,
        sid=ids,
        chromosome=["7"] * N,
        bp_position=list(range(100, 100 + N)),
        pheno=["1", "2", "0", "-9", "NA", *["2"] * (M - 5)],
    )
    names = files.open_plink(bed).feature_names
    assert names is not None
    assert names[:4] == ("rs0", "rs1", "rs2", "rs3")
    assert names[-4:] == ("7:126", "rs3 (2)", "rs3 (3)", "7:129")
    y = codes[:, 3]
    path = greedy_path(bed_reader.open_bed(bed), np.nan_to_num(y), 2, forced_features=["7:129"])
    assert path.names() == ["7:129", "rs3"]
    expected = [1.0, 2.0, np.nan, np.nan, np.nan, 2.0]
    np.testing.assert_array_equal(files.read_phenotypes(bed)[:6], expected)
    weights = ["0", "1.5", "-9", *["3"] * (M - 3)]
    bed = write_bed(tmp_path / "other.bed", codes, pheno=weights)
    np.testing.assert_array_equal(files.read_phenotypes(bed)[:3], [0.0, 1.5, np.nan])


def test_what_is_wrong_with_datasets(tmp_path: Path) -> None:
    X, y = numbers(), numbers()[:, 0]
    path = tmp_path / "X.h5"
    file = h5py.File(path, "w")
    file["flat"], file["text"] = y, [["a", "b"], ["c", "d"]]
    file["deep/one"], file["two"] = X, X
    with pytest.raises(ValueError, match=r"X is a group .*'deep', 'flat', 'text', 'two'"):
        greedy_path(file, y, K)
    with pytest.raises(ValueError, match=r"dataset '/flat' has shape \(240,\)"):
        greedy_path(file["flat"], y, K)
    with pytest.raises(ValueError, match=r"must be numeric; the numbers in .*dataset '/text'"):
        greedy_path(file["text"], y, K)
    gap = X.copy()
    gap[17, 3] = np.nan
    for name, chunks in (("gap", (16, 16)), ("gap by columns", (M, 1))):
        with pytest.raises(ValueError, match="row 17, column 3 is nan"):
            greedy_path(file.create_dataset(name, data=gap, chunks=chunks), y, K)
    dataset = file["two"]
    file.close()
    with pytest.raises(ValueError, match="pass dataset= with the name"):
        files.open_hdf5(path)
    with pytest.raises(ValueError, match="dataset 'deep' is a group"):
        files.open_hdf5(path, "deep")
    with pytest.raises(ValueError, match="dataset 'nothing' is not there"):
        files.open_hdf5(path, "nothing")
    with pytest.raises(ValueError, match="HDF5 file that was closed"):
        greedy_path(dataset, y, K)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ValueError, match="is it complete"):
        files.open_hdf5(path)
    for opener in (files.open_hdf5, files.open_zarr, files.open_plink):
        with pytest.raises(FileNotFoundError, match="There is no file"):
            opener(tmp_path / "nothing")
    with pytest.raises(ValueError, match="cannot be read as Zarr"):
        files.open_zarr(tmp_path)
    array = zarr.create_array(str(tmp_path / "X.zarr"), shape=X.shape, dtype=X.dtype)
    with pytest.raises(ValueError, match="leave out dataset='X'"):
        files.open_zarr(tmp_path / "X.zarr", "X")
    assert array.shape == X.shape


def test_what_is_wrong_with_genotypes(tmp_path: Path) -> None:
    codes, y = genotypes_of(numbers()), numbers()[:, 0]
    bed = write_bed(tmp_path / "study.bed", codes, sid=[f"rs{index}" for index in range(N)])
    opened = files.open_plink(bed)
    content = bed.read_bytes()
    bed.write_bytes(content[:-200])
    with pytest.raises(OSError, match=r"study.bed cannot be read; was it changed\?"):
        greedy_path(opened, y, K)
    bed.write_bytes(b"no genotypes" + content)
    with pytest.raises(ValueError, match="cannot be read as PLINK genotypes"):
        files.open_plink(bed)
    codes[:, 7] = np.nan
    write_bed(bed, codes, sid=[f"rs{index}" for index in range(N)])
    with pytest.raises(ValueError, match=r"marker 7 \('rs7'\) has no calls"):
        greedy_path(files.open_plink(bed), y, K)
    (tmp_path / "study.bim").unlink()
    with pytest.raises(FileNotFoundError, match=r"no file .*study.bim: PLINK genotypes are"):
        files.open_plink(bed)


@pytest.mark.parametrize("library", ["h5py", "zarr", "bed_reader"])
def test_without_the_library(library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opener = {"h5py": files.open_hdf5, "zarr": files.open_zarr, "bed_reader": files.open_plink}
    path = write_bed(tmp_path / "study.bed", genotypes_of(numbers()))
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=r"pip install 'greedyrls\["):
        opener[library](path)


LIMITED = """
import json, re, sys
import numpy as np
from greedyrls import files, greedy_path
np.ones((300, 300)) @ np.ones((300, 300))
X = files.open_plink(sys.argv[1], memory_limit=int(sys.argv[2]))
y = X.matrix().columns(np.arange(40, 50)).sum(axis=0)
y += np.random.default_rng(0).normal(size=len(y))
def memory(field):
    return int(re.search(field + r":\\s*(\\d+)", open("/proc/self/status").read())[1]) * 1024
before = memory("VmRSS")
path = greedy_path(X, y, 10)
peak = memory("VmHWM") - before
print(json.dumps([peak, path.indices.tolist(), path.counters.passes]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are told elsewhere")
@pytest.mark.slow
def test_memory_stays_within_the_limit(tmp_path: Path) -> None:
    # 320 MB as numbers, 60 MB of memory.
    m, n, limit = 2000, 20_000, 60_000_000
    codes = np.random.default_rng(0).integers(0, 3, (m, n)).astype(np.int8)
    bed = write_bed(tmp_path / "study.bed", codes)
    command = [sys.executable, "-c", LIMITED, str(bed), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    peak, indices, passes = json.loads(done.stdout)
    assert sorted(indices) == list(range(40, 50))
    assert passes <= 5
    assert 0.1 * limit < peak <= limit
