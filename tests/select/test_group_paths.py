"""Groups and costs through all that a path goes through: data of any kind, files, estimators."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone

from greedyrls import (
    GreedyRLSClassifier,
    GreedyRLSRegressor,
    SelectionPath,
    StopReason,
    extend_path,
    files,
    greedy_path,
)
from literal import nested_surface
from problems import two_classes
from traps import Traps
from tuning import Tune

GROUPS = [[0, 1, 2], [5, 9], [3, 7, 11, 12]]
COSTS = np.linspace(0.5, 2.0, 16)
WAYS: list[dict[str, Any]] = [
    {"feature_groups": GROUPS},
    {"feature_costs": COSTS},
    {"feature_groups": GROUPS, "feature_costs": COSTS, "budget": 8.0},
]


@pytest.fixture(scope="module", name="data")
def make_data() -> tuple[np.ndarray, np.ndarray]:
    X, y = two_classes(150, 16, seed=1, signal=0.3)
    X[np.abs(X) < 0.8] = 0.0
    return X, y


def assert_same(one: SelectionPath, other: SelectionPath) -> None:
    assert [step.features for step in one.steps] == [step.features for step in other.steps]
    assert_allclose(one.losses, other.losses, rtol=1e-9)
    assert one.stop_reason is other.stop_reason
    assert_allclose(one.coef(), other.coef(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("loss", ["squared", "zero_one", "auc"])
@pytest.mark.parametrize("cv", ["loo", 5])
def test_data_of_any_kind(data: Any, tmp_path: Path, way: Any, loss: str, cv: Any) -> None:
    X, y = data
    expected = greedy_path(X, y, 4, cv=cv, loss=loss, **way)
    np.save(tmp_path / "X.npy", X)
    # Folds of X in memory have no blocks of rows.
    blocks = (
        [{"block_rows": 37}, {"block_rows": 50, "n_jobs": 2}] if cv == "loo" else [{"n_jobs": 2}]
    )
    # The memory limit is small enough that X is read from its file.
    for other, options in [
        (np.asfortranarray(X), {}),
        (X, {"search": "bounded"}),
        (X, {"search": "exhaustive"}),
        *((X, cut) for cut in blocks),
        (sparse.csr_matrix(X), {}),
        (sparse.csc_matrix(X), {}),
        (np.load(tmp_path / "X.npy", mmap_mode="r"), {"memory_limit": "64MB"}),
    ]:
        found = greedy_path(other, y, 4, cv=cv, loss=loss, **way, **options)
        assert_same(found, expected)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cv", ["loo", 4])
def test_longer_paths(data: Any, way: Any, cv: Any) -> None:
    X, y = data
    whole = greedy_path(X, y, 4, cv=cv, n_runners_up=1, **way)
    short = greedy_path(X, y, 2, cv=cv, n_runners_up=1, **way)
    assert_same(whole.truncated(2), short)
    again = SelectionPath.from_json(short.to_json())
    for path in (short, again, pickle.loads(pickle.dumps(short))):
        longer = extend_path(path, X, y, 4, cv=cv, n_runners_up=1)
        assert_same(longer, whole)
        assert longer.settings == whole.settings


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_checkpoints(data: Any, tmp_path: Path, way: Any, loss: str) -> None:
    X, y = data
    file = tmp_path / "search.checkpoint"
    expected = greedy_path(X, y, 4, loss=loss, **way)

    class Killed(Exception):
        pass

    def kill(step: Any) -> None:
        if step.loss == pytest.approx(expected.losses[-1], rel=1e-9):
            raise Killed

    with pytest.raises(Killed):
        greedy_path(X, y, 4, loss=loss, checkpoint=file, callback=kill, **way)
    assert_same(greedy_path(X, y, 4, loss=loss, checkpoint=file, **way), expected)
    other = {"feature_groups": [[0, 1]], **({"feature_costs": COSTS} if "budget" in way else {})}
    with pytest.raises(ValueError, match="feature_"):
        greedy_path(X, y, 4, loss=loss, checkpoint=file, **other)


@pytest.mark.parametrize("way", WAYS)
def test_json_has_groups_and_costs(data: Any, way: Any) -> None:
    X, y = data
    path = greedy_path(X, y, 4, **way)
    again = SelectionPath.from_json(path.to_json())
    assert again == path
    assert again.settings == path.settings
    assert again.group_names() == path.group_names()
    assert (again.costs is None) == ("feature_costs" not in way)


def damaged(document: dict[str, Any], *keys: Any, value: Any) -> str:
    changed = json.loads(json.dumps(document))
    part = changed
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    return json.dumps(changed)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("settings", "feature_groups"), []),
        (("settings", "feature_groups"), None),  # then steps add several features without a group
        (("settings", "feature_groups", 0, "columns"), [0]),
        (("settings", "feature_groups", 0, "columns"), [0, 1, 99]),
        (("settings", "feature_groups", 0, "columns"), [5, 1, 2]),
        (("settings", "feature_groups", 0, "name"), 3),
        (("settings", "feature_costs"), [1.0]),
        (("settings", "feature_costs", 4), -1.0),
        (("settings", "feature_costs", 4), 0.0),
        (("settings", "feature_costs"), None),  # a budget needs costs
        (("settings", "budget"), 0.0),
        (("settings", "budget"), "much"),
        (("steps", 0, "features"), [4]),
    ],
)
def test_damaged_json(data: Any, keys: Any, value: Any) -> None:
    X, y = data
    path = greedy_path(X, y, 3, feature_groups=GROUPS, feature_costs=COSTS, budget=30.0)
    document = json.loads(path.to_json())
    if keys == ("steps", 0, "features") and document["steps"][0]["features"] == [4]:
        value = [6]
    with pytest.raises(ValueError, match="path"):
        SelectionPath.from_json(damaged(document, *keys, value=value))


def test_a_path_to_read(data: Any) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = data
    frame = pandas.DataFrame(X, columns=[f"c{place}" for place in range(16)])
    groups = {"first": ["c0", "c1", "c2"], "second": ["c5", "c9"]}
    path = greedy_path(frame, y, None, feature_groups=groups, feature_costs={}, budget=13)
    assert len(path) == 13
    assert len(path.indices) == 16
    names = path.group_names()
    assert {"first", "second"} < set(names)
    table = path.to_frame()
    assert table["feature"].tolist() == names
    assert table["cost"].tolist() == list(range(1, 14))
    assert "13 groups" in repr(path)
    assert path.names(1) == [f"c{column}" for column in path.features(1)]
    assert path._repr_html_()
    assert path.sentence.startswith("13 groups")


def test_a_nested_penalty_and_sizes(data: Any) -> None:
    """Outer folds choose among penalties and numbers of groups; a group is a size."""
    X, y = data
    folds = np.arange(150) % 3
    splits = [(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in range(3)]
    alphas = [1.0, 100.0]
    path = greedy_path(
        X,
        y,
        "auto",
        alpha=alphas,
        alpha_cv=splits,
        feature_groups=GROUPS,
        max_features=4,
        patience=4,
        refit_alpha="same",
    )
    assert path.surface is not None
    for row, alpha in enumerate(alphas):
        losses = np.zeros(4)
        for train, test in splits:
            part = greedy_path(X[train], y[train], 4, alpha=alpha, feature_groups=GROUPS)
            for k in range(1, 5):
                losses[k - 1] += np.mean((part.predict(X[test], k) - y[test]) ** 2) / 3
        assert_allclose(path.surface.losses[row], losses, rtol=1e-9)
    size = path.chosen_size
    assert path.size_choice is not None
    assert path.size_choice.sentence.startswith(f"{size} group")
    # Refits by leave-one-out have a penalty for each number of groups.
    refit = greedy_path(X, y, 3, alpha=1.0, refit_alpha="loo", feature_groups=GROUPS)
    assert refit.refit_alphas is not None
    assert len(refit.refit_alphas) == 3
    assert refit.coef(2).shape == (len(refit.features(2)),)


def test_joint_penalties(data: Any) -> None:
    X, y = data
    alphas = [0.1, 10.0, 1000.0]
    path = greedy_path(X, y, 3, alpha=alphas, alpha_rule="joint", feature_groups=GROUPS)
    losses = [greedy_path(X, y, 3, alpha=a, feature_groups=GROUPS).losses[-1] for a in alphas]
    assert path.losses[-1] == pytest.approx(min(losses), rel=1e-10)
    assert path.settings.alpha == alphas[int(np.argmin(losses))]


def test_estimators(data: Any) -> None:
    X, y = data
    for kind, target in ((GreedyRLSRegressor, y), (GreedyRLSClassifier, y > 0)):
        model = kind(2, alpha=1.0, feature_groups=GROUPS)
        assert clone(model).get_params()["feature_groups"] == GROUPS
        model.fit(X, target)
        path = greedy_path(X, y, 2, feature_groups=GROUPS)
        assert model.selected_.tolist() == path.features(2).tolist()
        assert model.n_features_ == 2
        assert model.transform(X).shape == (150, len(path.features(2)))
        assert np.flatnonzero(model.support_).tolist() == sorted(path.features(2).tolist())
        assert model.with_n_features(1).selected_.tolist() == path.features(1).tolist()
        places = {
            column: place for place, step in enumerate(path.steps, 1) for column in step.features
        }
        assert model.ranking_.tolist() == [places.get(column, 3) for column in range(16)]
        assert (model.coef_ != 0).sum() == len(path.features(2))
    # A share counts groups: of 3 groups and 7 columns on their own.
    assert GreedyRLSRegressor(0.35, alpha=1.0, feature_groups=GROUPS).fit(X, y).n_features_ == 3
    spent = GreedyRLSRegressor(None, alpha=1.0, feature_costs=COSTS, budget=3.0).fit(X, y)
    assert spent.path_.stop_reason is StopReason.BUDGET
    with pytest.raises(TypeError, match="n_features_to_select"):
        GreedyRLSRegressor(None, alpha=1.0).fit(X, y)


def test_a_callback_sees_whole_groups(data: Any) -> None:
    X, y = data
    seen = []
    greedy_path(X, y, 3, feature_groups=GROUPS, callback=lambda step: seen.append(step.features))
    assert len(seen) == 3
    assert all(len(features) == 1 or list(features) in GROUPS for features in seen)


def test_an_interrupt_within_a_group(data: Any, traps: Traps) -> None:
    X, y = data
    whole = greedy_path(X, y, 2, feature_groups=[list(range(8)), list(range(8, 16))], alpha=0.1)
    traps.interrupt("add feature", 12)
    path = greedy_path(X, y, 2, feature_groups=[list(range(8)), list(range(8, 16))], alpha=0.1)
    assert path.interrupted
    assert len(path) == 1
    assert path.features(1).tolist() == whole.features(1).tolist()
    assert_allclose(path.coef(1), whole.coef(1))


def test_a_table_in_a_file(data: Any, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    X, y = data
    frame = pandas.DataFrame(X, columns=[f"c{place}" for place in range(16)])
    frame.to_parquet(tmp_path / "X.parquet")
    groups = {"first": ["c0", "c1", "c2"], "second": ["c5", "c9"]}
    X_file = files.open_parquet(tmp_path / "X.parquet")
    assert_same(
        greedy_path(X_file, y, 3, feature_groups=groups),
        greedy_path(frame, y, 3, feature_groups=groups),
    )


@pytest.mark.parametrize("copied", [-1, 1 << 20])
def test_devices(data: Any, copied: int, tune: Tune) -> None:
    torch = pytest.importorskip("torch")
    tune(in_host_memory=False, copied_from_device=copied)
    X, y = data
    for way in WAYS:
        assert_same(greedy_path(torch.tensor(X), y, 2, **way), greedy_path(X, y, 2, **way))
    model = GreedyRLSRegressor(2, alpha=1.0, feature_groups=GROUPS).fit(torch.tensor(X), y)
    assert model.n_features_ == 2


def test_nested_twin_of_groups_of_one() -> None:
    """Costs of 1 through the nested rule: the same as the twin without costs."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((24, 5)), rng.standard_normal(24)
    y += X[:, 0] + X[:, 3]
    folds = np.arange(24) % 3
    splits = [(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in range(3)]
    twin = nested_surface(X, y, splits, [0.5, 5.0], 2)
    path = greedy_path(
        X,
        y,
        2,
        alpha=[0.5, 5.0],
        alpha_cv=splits,
        feature_costs=[1.0] * 5,
        refit_alpha="same",
    )
    assert path.surface is not None
    assert_allclose(path.surface.losses, twin["losses"], rtol=1e-9)
