"""X in a file: the same answer as in memory, within the memory allowed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from numpy.typing import NDArray

from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, extend_path, files, greedy_path
from internals import ColumnCache, ColumnFile, check_limit
from traps import Traps
from tuning import Tune, tuned

Data = tuple[NDArray[Any], NDArray[Any]]
K = 6
LIMITS = (1_500_000, "3MB", "1GB")


@pytest.fixture(autouse=True)
def small_chunks(tune: Tune) -> None:
    """Many chunks also of a small file."""
    tune(smallest_file_chunk=1000, largest_file_chunk=9000)


def data(m: int = 240, n: int = 30, dtype: Any = np.float64, seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) * 3.0
    X[:, 1] += 50.0  # a mean that dwarfs the spread
    X[:, 5] = X[:, 4] + 0.01 * rng.normal(size=m)
    X = X.astype(dtype)
    y = X[:, 2] - X[:, 4] + 0.5 * X[:, 9] + rng.normal(size=m)
    return X, y


def mapped(folder: Path, X: NDArray[Any]) -> np.memmap[Any, Any]:
    path = folder / "X.npy"
    np.save(path, X)
    opened = np.load(path, mmap_mode="r")
    assert isinstance(opened, np.memmap)
    return opened


def assert_same(path: Any, other: Any) -> None:
    assert path.indices.tolist() == other.indices.tolist()
    np.testing.assert_allclose(path.losses, other.losses, rtol=1e-9)
    np.testing.assert_allclose(path.coef(), other.coef(), rtol=1e-6, atol=1e-10)


SETTINGS: dict[str, dict[str, Any]] = {
    "leave-one-out": {"search": "bounded"},
    "every candidate scored": {"search": "exhaustive"},
    "runners-up": {"search": "bounded", "n_runners_up": 3},
    "no intercept": {"fit_intercept": False},
    "folds": {"cv": 4},
    "shuffled folds": {"cv": np.random.default_rng(0).integers(0, 3, 240)},
    "absolute": {"loss": "absolute"},
    "absolute, folds": {"loss": "absolute", "cv": np.arange(240) % 3},
    "a function": {"loss": lambda y, p: float(np.mean(np.abs(y - p) ** 1.5))},
    "a function, folds": {"loss": lambda y, p: float(np.mean(np.abs(y - p) ** 1.5)), "cv": 3},
    "forced and excluded": {"forced_features": [7, 1], "excluded_features": [4]},
    "a small penalty": {"alpha": 1e-8},
    "refit": {"refit_alpha": "loo"},
}


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", SETTINGS)
def test_the_answer_is_that_of_memory(name: str, limit: Any, tmp_path: Path) -> None:
    X, y = data()
    settings = {"alpha": 0.5} | SETTINGS[name]
    expected = greedy_path(X, y, K, **settings)
    assert_same(greedy_path(mapped(tmp_path, X), y, K, memory_limit=limit, **settings), expected)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cv", ["loo", 4])
def test_weights_and_several_targets(cv: Any, weighted: bool, tmp_path: Path) -> None:
    X, y = data()
    Y = np.column_stack([y, X[:, 9] + 0.1 * y])
    weights = np.random.default_rng(1).integers(0, 4, len(y)) if weighted else None
    expected = greedy_path(X, Y, K, cv=cv, sample_weight=weights)
    found = greedy_path(mapped(tmp_path, X), Y, K, cv=cv, sample_weight=weights, memory_limit="2MB")
    assert_same(found, expected)


@pytest.mark.parametrize("loss", ["zero_one", "balanced_zero_one", "auc"])
def test_losses_of_classes(loss: str, tmp_path: Path) -> None:
    X, y = data(m=120)
    labels = np.where(y > np.median(y), 1.0, -1.0)
    expected = greedy_path(X, labels, 4, loss=loss)
    assert_same(
        greedy_path(mapped(tmp_path, X), labels, 4, loss=loss, memory_limit="2MB"), expected
    )


@pytest.mark.parametrize("dtype", ["float32", "float16", "int16", "uint8", "bool", ">f8", "<f4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_types_and_memory_orders(dtype: str, order: Any, tmp_path: Path) -> None:
    X = np.asarray(np.abs(data()[0]) > 2, dtype=dtype, order=order)
    y = X[:, 2].astype(float) + X[:, 9] + np.random.default_rng(1).normal(size=len(X))
    expected = greedy_path(X, y, K)
    assert_same(greedy_path(mapped(tmp_path, X), y, K, memory_limit="2MB"), expected)


@pytest.mark.parametrize(
    "view",
    [np.s_[20:], np.s_[:, 3:], np.s_[::2], np.s_[:, ::-1], np.s_[10:-10, 1:25:2]],
    ids=["rows", "columns", "every other row", "backwards", "both"],
)
def test_views_of_a_map(view: Any, tmp_path: Path) -> None:
    X, y = data()
    rows = view[0] if isinstance(view, tuple) else view
    expected = greedy_path(X[view], y[rows], K)
    found = greedy_path(mapped(tmp_path, X)[view], y[rows], K, memory_limit="2MB")
    assert_same(found, expected)


def test_changes_of_a_private_map_count(tmp_path: Path) -> None:
    X, y = data()
    np.save(tmp_path / "X.npy", X)
    private = np.load(tmp_path / "X.npy", mmap_mode="c")
    private[:, 9] = X[:, 10]
    expected = greedy_path(np.array(private), y, K)
    assert_same(greedy_path(private, y, K, memory_limit="2MB"), expected)
    assert (private[:, 9] == X[:, 10]).all()


def test_few_passes(tmp_path: Path) -> None:
    X, y = data(m=2000, n=300)
    path = greedy_path(mapped(tmp_path, X), y, 30, memory_limit="4MB")
    assert path.counters.passes <= 12
    assert_same(path, greedy_path(X, y, 30))


def test_passes_are_those_of_the_file(tmp_path: Path, traps: Traps) -> None:
    X, y = data()
    reads = traps.watch("read rows of a file")
    for settings in ({}, {"loss": "absolute"}, {"alpha": [0.1, 10.0], "alpha_cv": 3}):
        reads.clear()
        path = greedy_path(mapped(tmp_path, X), y, K, memory_limit="2MB", **settings)
        assert path.counters.passes * len(X) == sum(len(rows) for _, rows, _ in reads)


@pytest.mark.parametrize("rule", ["nested", "joint"])
@pytest.mark.parametrize("cv", ["loo", 3])
def test_choosing_the_penalty(rule: Any, cv: Any, tmp_path: Path) -> None:
    X, y = data()
    settings: dict[str, Any] = {"alpha": [0.1, 10.0, 1000.0], "alpha_rule": rule, "cv": cv}
    expected = greedy_path(X, y, K, **settings)
    found = greedy_path(mapped(tmp_path, X), y, K, memory_limit="3MB", **settings)
    assert_same(found, expected)
    assert found.settings.alpha == expected.settings.alpha
    assert found.counters.passes < 60


DIRECTIONS = ("floating", "foba", "swap", "backward")


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("cv", ["loo", 4])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_directions(direction: Any, cv: Any, limit: Any, tmp_path: Path) -> None:
    X, y = data()
    settings = {"direction": direction, "cv": cv, "alpha": 0.5}
    found = greedy_path(mapped(tmp_path, X), y, K, memory_limit=limit, **settings)
    expected = greedy_path(X, y, K, **settings)
    assert_same(found, expected)
    steps = [(step.action, step.index) for step in found.steps]
    assert steps == [(step.action, step.index) for step in expected.steps]


def test_removals_cost_no_pass(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    causes = rng.standard_normal((1500, 20))
    X = causes @ rng.standard_normal((20, 300)) + 0.7 * rng.standard_normal((1500, 300))
    y = X[:, :30] @ rng.standard_normal(30) + 3.0 * rng.standard_normal(1500)
    paths = {
        direction: greedy_path(
            *(mapped(tmp_path, X), y, 15), direction=direction, memory_limit="2MB"
        )
        for direction in ("forward", "floating", "foba", "swap")
    }
    each = paths["forward"].counters.passes / 15
    for path in paths.values():
        # A pass at most for a feature that was not chosen before, as for a search forward.
        assert path.counters.passes <= 1.5 * each * len({step.index for step in path.steps})
    removals = [step for step in paths["floating"].steps if step.action == "remove"]
    assert len(removals) > 10


def test_a_pass_at_most_for_each_removal(tmp_path: Path) -> None:
    X, y = data(m=2000, n=40)
    opened = mapped(tmp_path, X)
    passes = [
        greedy_path(opened, y, K, direction="backward", memory_limit=limit).counters.passes
        for limit in ("1MB", "1GB")
    ]
    assert 20 < passes[0] <= 50
    assert passes[1] <= 10


@pytest.mark.parametrize("m", [240, 20])
@pytest.mark.parametrize("cv", ["loo", 4])
def test_all_features_at_once(cv: Any, m: int, tmp_path: Path) -> None:
    X, y = data()
    X, y = X[:m], y[:m]
    settings: dict[str, Any] = {"alpha": "auto", "alpha_rule": "all_features", "cv": cv}
    found = greedy_path(mapped(tmp_path, X), y, 3, memory_limit="2MB", **settings)
    expected = greedy_path(X, y, 3, **settings)
    assert_same(found, expected)
    np.testing.assert_allclose(found.surface.losses, expected.surface.losses, rtol=1e-9)


def test_refits_by_folds(tmp_path: Path) -> None:
    X, y = data()
    settings: dict[str, Any] = {"refit_alpha": "cv", "cv": 4}
    found = greedy_path(mapped(tmp_path, X), y, K, memory_limit="2MB", **settings)
    expected = greedy_path(X, y, K, **settings)
    assert_same(found, expected)
    assert found.refit_alphas == pytest.approx(expected.refit_alphas)


@pytest.mark.parametrize(
    ("settings", "n_rows", "what", "instead"),
    [
        ({"direction": "backward"}, 240, "backward' from 30 features", "direction='forward'"),
        ({"direction": "backward", "cv": 3}, 240, "backward' from 30", "direction='forward'"),
        ({"direction": "backward"}, 20, "all 30 columns", "direction='forward'"),
        (
            {"alpha": [0.1, 1.0], "alpha_rule": "all_features"},
            *(240, r"with 2 penalties \(30 × 30 products\)", "alpha_rule='nested' or 'joint'"),
        ),
        ({"refit_alpha": "cv", "cv": 3}, 240, "refit_alpha='cv'", "refit_alpha='loo'"),
    ],
)
def test_what_needs_all_features_says_how_much(
    settings: dict[str, Any], n_rows: int, what: str, instead: str, tmp_path: Path
) -> None:
    X, y = data()
    X, y = X[:n_rows], y[:n_rows]
    match = f"memory_limit is 10 kB.* at least .* [kM]B for .*{what}.*Allow more, or .*{instead}"
    with pytest.raises(ValueError, match=match) as error:
        greedy_path(mapped(tmp_path, X), y, 3, memory_limit="10kB", **settings)
    number, unit = str(error.value).split("at least ")[1].split(":")[0].split()
    needed = int(1.01 * float(number) * {"kB": 1e3, "MB": 1e6}[unit])
    path = greedy_path(mapped(tmp_path, X), y, 3, memory_limit=needed, **settings)
    assert_same(path, greedy_path(X, y, 3, **settings))


def test_extending(tmp_path: Path) -> None:
    X, y = data()
    X_file = mapped(tmp_path, X)
    short = greedy_path(X_file, y, 3, memory_limit="2MB")
    longer = extend_path(short, X_file, y, K, memory_limit="2MB")
    assert_same(longer, greedy_path(X, y, K))
    assert longer.counters.passes > short.counters.passes


def test_threads_and_blocks(tmp_path: Path) -> None:
    X, y = data()
    expected = greedy_path(X, y, K)
    for settings in ({"n_jobs": 2}, {"block_rows": 7}):
        found = greedy_path(mapped(tmp_path, X), y, K, memory_limit="2MB", **settings)
        assert_same(found, expected)


def test_a_large_map_is_a_file_by_itself(tmp_path: Path, tune: Tune) -> None:
    X, y = data()
    tune(file_memory_limit=20_000)
    with pytest.raises(ValueError, match="needs at least"):
        greedy_path(mapped(tmp_path, X), y, K)
    tune(file_memory_limit=X.nbytes)
    assert_same(greedy_path(mapped(tmp_path, X), y, K), greedy_path(X, y, K))


def test_too_little_memory_says_how_much_is_needed(tmp_path: Path) -> None:
    X, y = data()
    with pytest.raises(ValueError, match=r"memory_limit is 10 kB.*at least (\d+) kB") as error:
        greedy_path(mapped(tmp_path, X), y, K, memory_limit="10kB")
    needed = int(str(error.value).split("at least ")[1].split(" kB")[0])
    path = greedy_path(mapped(tmp_path, X), y, K, memory_limit=(needed + 1) * 1000)
    assert_same(path, greedy_path(X, y, K))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (5, 5),
        ("2GB", 2 * 10**9),
        ("1.5 MB", 1_500_000),
        ("1GiB", 2**30),
        ("100", 100),
        ("3k", 3000),
    ],
)
def test_limits_in_words(text: Any, value: int) -> None:
    assert check_limit(text) == value


@pytest.mark.parametrize("wrong", ["much", "2XB", -1, 0, "", True, 2.5])
def test_wrong_limits(wrong: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="memory_limit must be"):
        check_limit(wrong)


def test_a_limit_for_what_is_in_memory() -> None:
    X, y = data()
    with pytest.raises(ValueError, match="memory_limit is for X in a file"):
        greedy_path(X, y, K, memory_limit="1GB")


def test_values_that_are_not_finite(tmp_path: Path) -> None:
    X, y = data()
    X[17, 3] = np.nan
    for cv in ("loo", 3):
        with pytest.raises(ValueError, match="row 17, column 3 is nan"):
            greedy_path(mapped(tmp_path, X), y, K, cv=cv, memory_limit="2MB")


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_file_cut_short(order: Any, tmp_path: Path) -> None:
    X, y = data()
    opened = mapped(tmp_path, np.asarray(X, order=order))
    path = tmp_path / "X.npy"
    path.write_bytes(path.read_bytes()[:-5000])
    with pytest.raises(OSError, match="shorter than it was"):
        greedy_path(opened, y, K, memory_limit="2MB")
    with pytest.raises(ValueError, match="is it complete"):
        files.open_npy(path)


@pytest.mark.parametrize("shape", [(10,), (2, 3, 4)])
def test_arrays_that_are_no_data(shape: tuple[int, ...], tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", np.zeros(shape))
    with pytest.raises(ValueError, match="2 dimensions"):
        files.open_npy(tmp_path / "X.npy")
    np.save(tmp_path / "text.npy", np.array([["a", "b"]]))
    with pytest.raises(ValueError, match="must be numeric"):
        files.open_npy(tmp_path / "text.npy")
    np.savez(tmp_path / "two.npz", a=np.zeros(3))
    with pytest.raises(ValueError, match="single array"):
        files.open_npy(tmp_path / "two.npz")
    with pytest.raises(FileNotFoundError):
        files.open_npy(tmp_path / "none.npy")


def test_estimators(tmp_path: Path) -> None:
    X, y = data()
    mapped(tmp_path, X)
    X_file = files.open_npy(tmp_path / "X.npy", memory_limit="3MB")
    model, expected = GreedyRLSRegressor(4, alpha=0.1), GreedyRLSRegressor(4, alpha=0.1)
    model.fit(X_file, y)
    expected.fit(X, y)
    assert_same(model.path_, expected.path_)
    np.testing.assert_allclose(model.predict(X_file), expected.predict(X))
    assert model.score(X_file, y) == pytest.approx(expected.score(X, y))
    np.save(tmp_path / "narrow.npy", X[:, :5])
    with pytest.raises(ValueError, match="is expecting 30 features"):
        model.predict(files.open_npy(tmp_path / "narrow.npy"))
    labels = np.where(y > 0, "yes", "no")
    classifier = GreedyRLSClassifier(3, alpha=[0.1, 10.0], loss="squared")
    found = classifier.fit(X_file, labels).predict(X_file)
    assert (found == classifier.fit(X, labels).predict(X)).all()
    with pytest.raises(ValueError, match="inconsistent numbers"):
        classifier.fit(X_file, labels[:-1])
    with pytest.raises(TypeError, match="not read into memory"):
        np.asarray(X_file)


def test_columns_in_memory_and_in_the_temporary_file(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = np.arange(60, dtype=np.float32).reshape(6, 10)
    file = ColumnFile(10, columns.dtype)
    kept = ColumnCache(3, file)
    for indices in ([0, 1], [2, 3, 4], [5]):
        incoming = kept.receive(indices, lambda: np.empty(10, dtype=columns.dtype))
        for rows in (slice(0, 4), slice(4, 10)):
            kept.put_rows(incoming, rows, columns[indices, rows])
        assert indices[0] not in kept
        kept.finish(incoming)
        kept.pin(indices[0])
    assert len(kept) == 6
    monkeypatch.setattr(file, "read", read := Mock(wraps=file.read))
    for index in range(6):
        kept.get(index)
    assert read.call_count == 3
    order = np.array([7, 1, 1])
    for index, column in enumerate(columns):
        assert index in kept
        for rows in (slice(None), slice(2, 7), slice(1, 9, 3), order):
            np.testing.assert_array_equal(kept.get(index, rows), column[rows])


def test_progress_tells_the_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    X, y = data()
    with tuned(progress_delay_seconds=0.0):
        greedy_path(mapped(tmp_path, X), y, K, memory_limit="2MB", verbose=1)
    told = capsys.readouterr().err
    assert "reading, pass 1" in told
    assert "reading, pass 2" in told
    assert "row" in told


LIMITED = """
import json, re, sys
import numpy as np
from greedyrls import files, greedy_path
np.ones((300, 300)) @ np.ones((300, 300))
X = files.open_npy(sys.argv[1], memory_limit=int(sys.argv[2]))
y = np.load(sys.argv[1].replace("X.npy", "y.npy"))
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
    # 300 MB in a file, 60 MB of memory.
    m, n, limit = 150_000, 500, 60_000_000
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, (m, n))
    y = np.empty(m)
    for top in range(0, m, 10_000):
        rows = rng.standard_normal((10_000, n), dtype=np.float32)
        X[top : top + 10_000] = rows
        y[top : top + 10_000] = rows[:, 40:50] @ np.arange(1.0, 11.0) + rng.normal(size=10_000)
    X.flush()
    np.save(tmp_path / "y.npy", y)
    del X
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "X.npy"), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    peak, indices, passes = json.loads(done.stdout)
    assert sorted(indices) == list(range(40, 50))
    assert passes <= 4
    assert 0.2 * limit < peak <= limit
