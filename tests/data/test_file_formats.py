"""Parquet and svmlight as X: the same answer as in memory; what is wrong with a file, in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, files, greedy_path
from tuning import Tune

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

M, N, K = 200, 12, 5
NAMES = [f"f{index}" for index in range(N)]


def table(dtypes: list[str] | None = None) -> tuple[dict[str, Any], Any, Any]:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(M, N)) * 10)
    columns = {
        name: X[:, place].astype((dtypes or ["float64"] * N)[place])
        for place, name in enumerate(NAMES)
    }
    y = X[:, 1] - X[:, 3] + rng.normal(size=M)
    return columns, X, y


def write(folder: Path, columns: dict[str, Any], pieces: int = 1, group: int = 30) -> Path:
    folder.mkdir(exist_ok=True)
    whole = arrow.table(columns)
    height = -(-M // pieces)
    for number in range(pieces):
        part = whole.slice(number * height, height)
        parquet.write_table(part, folder / f"part-{number}.parquet", row_group_size=group)
    return folder


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("cv", ["loo", 4])
@pytest.mark.parametrize("dtypes", [None, ["float32"] * N, ["int64", "float32", "int8"] * 4])
def test_parquet(dtypes: list[str] | None, cv: Any, pieces: int, tmp_path: Path) -> None:
    columns, X, y = table(dtypes)
    folder = write(tmp_path / "data", columns | {"target": y}, pieces)
    data, target = files.open_parquet(folder, "target", memory_limit="3MB")
    np.testing.assert_array_equal(target, y)
    np.testing.assert_array_equal(data.rows(60, 150), X[60:150])
    found = greedy_path(data, target, K, cv=cv)
    expected = greedy_path(X, y, K, cv=cv)
    assert found.indices.tolist() == expected.indices.tolist()
    assert found.names() == [NAMES[index] for index in found.indices]
    np.testing.assert_allclose(found.losses, expected.losses, rtol=1e-9)


def test_parquet_with_names(tmp_path: Path) -> None:
    columns, X, y = table()
    folder = write(tmp_path / "data", columns | {"label": np.where(y > 0, "a", "b"), "y": y})
    data, labels = files.open_parquet(folder, "label", columns=NAMES[:6], memory_limit="3MB")
    model = GreedyRLSClassifier(2, alpha=1.0).fit(data, labels)
    assert model.feature_names_in_.tolist() == NAMES[:6]
    assert (model.predict(data) == model.predict(data)).all()
    twin = GreedyRLSClassifier(2, alpha=1.0).fit(X[:, :6], labels)
    assert model.selected_.tolist() == twin.selected_.tolist()
    path = greedy_path(data, y, 3, forced_features=["f4"])
    assert path.names()[0] == "f4"
    data, Y = files.open_parquet(folder, ["y", "f0"], columns=NAMES[1:])
    np.testing.assert_array_equal(Y, np.column_stack([y, X[:, 0]]))
    with pytest.raises(ValueError, match="names should match"):
        model.predict(files.open_parquet(folder, columns=NAMES[6:]))


def test_what_parquet_cannot_be(tmp_path: Path) -> None:
    columns, _, y = table()
    text = write(tmp_path / "text", columns | {"city": ["x"] * M})
    with pytest.raises(ValueError, match=r"Column 'city' of .* is not numeric"):
        files.open_parquet(text)
    gone = [None, *range(1, M)]
    missing = write(tmp_path / "missing", columns | {"f2": arrow.array(gone, arrow.float64())})
    with pytest.raises(ValueError, match=r"Column 'f2' of .* has missing values"):
        greedy_path(files.open_parquet(missing), y, K)
    with pytest.raises(ValueError, match=r"Column 'f2' of .* has missing values"):
        files.open_parquet(missing, "f2")
    with pytest.raises(ValueError, match="no column 'other'"):
        files.open_parquet(missing, columns=["other"])
    with pytest.raises(ValueError, match="no column 'other'"):
        files.open_parquet(missing, "other")
    with pytest.raises(ValueError, match="both the target and a feature"):
        files.open_parquet(missing, "f1", columns=["f0", "f1"])
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(FileNotFoundError, match=r"no \*.parquet file"):
        files.open_parquet(empty)
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        files.open_parquet(tmp_path / "nothing")


def test_damaged_parquet(tmp_path: Path) -> None:
    columns, _, y = table()
    folder = write(tmp_path / "data", columns, pieces=2)
    data = files.open_parquet(folder, memory_limit="3MB")
    last = folder / "part-1.parquet"
    whole = last.read_bytes()
    last.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"part-1.parquet cannot be read .* is it complete"):
        greedy_path(data, y, K)
    with pytest.raises(ValueError, match="is it complete"):
        files.open_parquet(folder)
    parquet.write_table(arrow.table(columns).slice(0, 10), last)
    with pytest.raises(OSError, match="has 10 rows; when it was opened it had 100"):
        greedy_path(data, y, K)
    parquet.write_table(arrow.table(columns | {"f0": np.arange(M)}), last)
    with pytest.raises(ValueError, match="other types"):
        files.open_parquet(folder)


def sparse_table() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(M, N)) * (rng.random((M, N)) < 0.3)
    X[:, 6] = 0.0
    return X, X[:, 1] * 2 - X[:, 3] + 0.1 * rng.normal(size=M)


@pytest.mark.parametrize("settings", [{}, {"cv": 3}, {"loss": "absolute"}], ids=str)
def test_svmlight(settings: dict[str, Any], tmp_path: Path, tune: Tune) -> None:
    tune(svmlight_text_bytes=700, svmlight_values=100)
    X, y = sparse_table()
    dump_svmlight_file(X, y, str(tmp_path / "data.txt"), zero_based=False)
    files.convert_svmlight(tmp_path / "data.txt", tmp_path / "arrays")
    data, target = files.open_svmlight(tmp_path / "arrays")
    np.testing.assert_allclose(target, y)
    np.testing.assert_allclose(data.to_scipy().toarray(), X)
    np.testing.assert_allclose(data.matrix().by_rows.toarray(), X)
    for weights, piece in ((None, 150), (np.arange(M), 150), (None, 1 << 20)):
        tune(sparse_values=piece)
        own = np.ones(M) if weights is None else weights
        np.testing.assert_allclose(data.matrix().squares(weights), own @ X**2)
    for array in (data.to_scipy().data, data.to_scipy().indices):
        base = array
        while base is not None and not isinstance(base, np.memmap):
            base = base.base
        assert isinstance(base, np.memmap)
    found = greedy_path(data, target, K, **settings)
    expected = greedy_path(X, y, K, **settings)
    assert found.indices.tolist() == expected.indices.tolist()
    np.testing.assert_allclose(found.losses, expected.losses, rtol=1e-6)
    model = GreedyRLSRegressor(3, alpha=1.0).fit(data, target)
    np.testing.assert_allclose(model.predict(data), model.predict(X))


def test_damaged_svmlight(tmp_path: Path) -> None:
    X, y = sparse_table()
    text, folder = tmp_path / "data.txt", tmp_path / "arrays"
    with pytest.raises(ValueError, match=r"run greedyrls\.files.convert_svmlight"):
        files.open_svmlight(folder)
    dump_svmlight_file(X, y, str(text))
    files.convert_svmlight(text, folder, zero_based=True)
    data, _ = files.open_svmlight(folder)
    assert data.shape == (M, N)
    np.save(folder / "columns_data.npy", np.zeros(3))
    with pytest.raises(ValueError, match="do not fit together"):
        files.open_svmlight(folder)
    (folder / "rows_data.npy").write_bytes(b"nothing")
    (folder / "columns_data.npy").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="cannot be read"):
        files.open_svmlight(folder)
    text.write_text("1 2:3\nthis is no svmlight\n")
    with pytest.raises(ValueError, match="is not svmlight text"):
        files.convert_svmlight(text, folder)
    with pytest.raises(ValueError, match="only a part of one"):
        files.open_svmlight(folder)
    text.write_text("")
    with pytest.raises(ValueError, match="has no rows"):
        files.convert_svmlight(text, folder)
