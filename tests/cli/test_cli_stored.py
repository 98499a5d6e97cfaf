"""HDF5, Zarr and PLINK files on the command line: from the file to the report."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import QUICK, CommandLine
from greedyrls import files
from own_matrices import genotypes_of, write_bed

h5py = pytest.importorskip("h5py")
zarr = pytest.importorskip("zarr")
pytest.importorskip("bed_reader")

M, N = 80, 9
NAMES = [f"rs{index}" for index in range(N)]


def numbers() -> tuple[Any, Any, Any]:
    """Genotypes with missing calls, the same without, and a target."""
    rng = np.random.default_rng(0)
    codes = genotypes_of(rng.normal(size=(M, N)))
    X = np.where(np.isnan(codes), np.nanmean(codes, axis=0), codes)
    return codes, X, np.round(X[:, 2] - X[:, 5] + 0.3 * rng.normal(size=M), 6)


def write_npz(path: Path) -> Path:
    _, X, y = numbers()
    np.savez(path, X=X, y=y, names=np.array(NAMES))
    return path


def write_hdf5(path: Path) -> Path:
    _, X, y = numbers()
    with h5py.File(path, "w") as file:
        file["X"], file["y"], file["names"] = X, y, NAMES
        file["about/year"], file["version"] = 2024, 3
    return path


def write_zarr(path: Path) -> Path:
    _, X, y = numbers()
    group = zarr.open_group(str(path), mode="w", zarr_format=2)
    for name, values in (("X", X), ("y", y), ("names", np.array(NAMES))):
        group.create_array(name, shape=values.shape, dtype=values.dtype)[:] = values
    group.create_group("about")
    return path


def write_plink(path: Path) -> Path:
    codes, _, y = numbers()
    return write_bed(path, codes, sid=NAMES, pheno=[str(value) for value in y])


WRITERS: dict[str, Callable[[Path], Path]] = {
    ".h5": write_hdf5,
    ".HDF5": write_hdf5,
    ".zarr": write_zarr,
    ".bed": write_plink,
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_from_the_file_to_the_report(suffix: str, cli: CommandLine, tmp_path: Path) -> None:
    file = WRITERS[suffix](tmp_path / f"study{suffix}")
    same = write_npz(tmp_path / "study.npz")
    out = tmp_path / "results"
    cli.fine("select", str(file), *QUICK, "--out", str(out))
    found, expected = cli.result(file, *QUICK), cli.result(same, *QUICK)
    assert found.target == ("phenotype" if suffix == ".bed" else "y")
    assert [feature.name for feature in found.features] == ["rs2", "rs5"]
    np.testing.assert_array_equal(found.path.indices, expected.path.indices)
    np.testing.assert_allclose(found.path.losses, expected.path.losses, rtol=1e-12)
    assert (out / "report.html").exists()
    ended = cli("predict", out, file, "--out", tmp_path / "predictions.csv")
    assert ended.code == 0
    assert "on the 80 rows" in ended.err
    assert len((tmp_path / "predictions.csv").read_text().splitlines()) == M + 1


def test_formats_by_name(cli: CommandLine, tmp_path: Path) -> None:
    write_hdf5(tmp_path / "study.h5").rename(tmp_path / "study.data")
    cli.fine("select", str(tmp_path / "study.data"), "--format", "hdf5", *QUICK)


def test_what_is_wrong(cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bed = write_plink(tmp_path / "study.bed")
    assert "has no column 'height'" in cli.refusal("select", str(bed), "-t", "height")
    write_bed(bed, numbers()[0], sid=NAMES)
    message = cli.refusal("select", str(bed), "-t", "phenotype")
    assert "the sixth column of the .fam file) are all missing" in message
    (tmp_path / "study.fam").unlink()
    assert "there is no study.fam beside it" in cli.refusal("select", str(bed))
    bed.write_bytes(b"nothing")
    damaged = tmp_path / "study.h5"
    damaged.write_bytes(b"nothing")
    assert "cannot be read" in cli.refusal("select", str(damaged))
    with h5py.File(damaged, "w") as file:
        file["X"] = np.zeros((2, 3, 4))
    assert "must have a matrix of numbers" in cli.refusal("select", str(damaged))
    monkeypatch.setitem(sys.modules, "h5py", None)
    assert "pip install 'greedyrls[hdf5]'" in cli.refusal("select", str(damaged))


def test_more_than_fits(tmp_path: Path) -> None:
    from greedyrls.app import InputError
    from greedyrls.app.read import read_table

    for suffix, opener in ((".h5", "open_hdf5"), (".zarr", "open_zarr"), (".bed", "open_plink")):
        path = WRITERS[suffix](tmp_path / f"study{suffix}")
        with pytest.raises(InputError, match=f"80 × 9 numbers take .*greedyrls.files.{opener}"):
            read_table(path, matrix_limit=8 * M * N - 1)
        assert hasattr(files, opener)
