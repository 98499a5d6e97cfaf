"""Paths of searches that remove: sets and steps, models, sizes, and where they are refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import Ridge

from greedyrls import (
    GreedyRLSClassifier,
    GreedyRLSRegressor,
    SelectionPath,
    Step,
    extend_path,
    greedy_path,
)
from literal import criterion
from problems import named_problems, summary_data, two_classes
from project import GUIDES
from tuning import Tune

DIRECTIONS: list[Any] = ["backward", "floating", "foba", "swap"]


def test_code_of_the_guide_runs_and_prints_what_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    guide = GUIDES / "directions.md"
    text = guide.read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for code, shown in re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL):
        exec(code, names)
        assert capsys.readouterr().out.split() == shown.split()
    assert "path" in names


def proxies(m: int = 150, n: int = 24, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Causes, noisy sums of them that a search forward takes first, and noise."""
    rng = np.random.default_rng(seed)
    causes = rng.standard_normal((m, 8))
    sums = causes @ (rng.random((8, 6)) < 0.5) + rng.standard_normal((m, 6))
    X = np.hstack([sums, causes, rng.standard_normal((m, n - 14))])
    return X, causes.sum(axis=1) + 0.5 * rng.standard_normal(m)


def replayed(path: SelectionPath) -> list[tuple[frozenset[int], float]]:
    """Every set that the steps lead to, with its loss."""
    now = set() if path.start is None else set(path.start.features)
    seen = [] if path.start is None else [(frozenset(now), path.start.loss)]
    for step in path.steps:
        if step.action == "add":
            assert step.index not in now
            now.add(step.index)
        else:
            now.remove(step.index)
        seen.append((frozenset(now), step.loss))
    return seen


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("options", [{}, {"cv": 4}, {"loss": "absolute"}, {"fit_intercept": False}])
def test_steps_lead_to_the_sets_and_models_are_those_of_ridge(
    direction: Any, options: dict[str, Any]
) -> None:
    X, y = proxies()
    path = greedy_path(X, y, 10, alpha=0.5, direction=direction, forced_features=[3], **options)
    assert len(path) == 10
    seen = replayed(path)
    for k, known in enumerate(path.sets, 1):
        features = frozenset(known.features)
        assert len(known.features) == k
        assert (features, known.loss) in seen
        assert known.loss <= min(loss for other, loss in seen if len(other) == k) * (1 + 1e-9)
        assert 3 in features
        assert known.forced == (k == 1)
        ridge = Ridge(alpha=0.5, fit_intercept=options.get("fit_intercept", True))
        ridge.fit(X[:, list(known.features)], y)
        assert_allclose(path.coef(k), ridge.coef_, rtol=1e-8, atol=1e-10)
        assert_allclose(path.predict(X, k), ridge.predict(X[:, list(known.features)]), rtol=1e-8)
    assert any(step.action == "remove" for step in path.steps)
    again = SelectionPath.from_json(path.to_json())
    assert again == path
    assert (again.sets, again.start) == (path.sets, path.start)
    assert path.settings.direction == direction
    assert len(path.to_frame()) == 10


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("options", [{}, {"cv": 3}, {"loss": "absolute"}])
def test_sparse_data_threads_and_blocks_give_the_same(
    direction: Any, options: dict[str, Any]
) -> None:
    X, y = proxies()
    X[np.abs(X) < 0.7] = 0.0
    path = greedy_path(X, y, 9, direction=direction, **options)
    others = [
        greedy_path(sparse.csr_array(X), y, 9, direction=direction, **options),
        greedy_path(np.asfortranarray(X), y, 9, direction=direction, n_jobs=2, **options),
    ]
    if "cv" not in options:  # folds of X in memory have no blocks of rows
        others.append(greedy_path(X, y, 9, direction=direction, block_rows=37, **options))
    for other in others:
        assert [(step.action, step.index) for step in other.steps] == [
            (step.action, step.index) for step in path.steps
        ]
        assert_allclose(other.losses, path.losses, rtol=1e-9)


@pytest.mark.parametrize("name", list(named_problems()))
@pytest.mark.parametrize("alpha", [1e-2, 1.0])
def test_swap_is_never_worse_than_forward_and_no_exchange_is_left(name: str, alpha: float) -> None:
    X, y = named_problems()[name]
    forward = greedy_path(X, y, 6, alpha=alpha)
    path = greedy_path(X, y, 6, alpha=alpha, direction="swap")
    assert (path.losses <= forward.losses * (1 + 1e-9)).all()
    assert [step.index for step in path.steps[:6]] == forward.indices.tolist()
    chosen = path.features(6).tolist()
    others = [index for index in range(X.shape[1]) if index not in chosen]
    for index in chosen:
        rest = [feature for feature in chosen if feature != index]
        least = min(_loo_loss(X[:, [*rest, other]], y, alpha) for other in others)
        assert least >= path.losses[5] * (1 - 1e-8)


def _loo_loss(X: np.ndarray, y: np.ndarray, alpha: float) -> float:
    """Leave-one-out by residuals and leverages."""
    X, y = X - X.mean(axis=0), y - y.mean()
    W = np.linalg.solve(X.T @ X + alpha * np.eye(X.shape[1]), X.T)
    d = 1 - 1 / len(y) - np.sum(X * W.T, axis=1)
    return float(np.mean(((y - X @ (W @ y)) / d) ** 2))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_of_equal_features_the_first_stays(direction: Any) -> None:
    X, y = proxies(n=20)
    both = np.hstack([X, X])  # every feature twice
    path = greedy_path(both, y, 8, alpha=1e-3, direction=direction)
    assert max(path.features(4)) < 20


@pytest.mark.parametrize("loss", ["squared", "zero_one"])
def test_runners_up_of_removals_are_the_next_best(loss: Any) -> None:
    X, y = proxies(60, 16)
    if loss == "zero_one":
        y = np.sign(y)
    path = greedy_path(X, y, 5, direction="backward", n_runners_up=2, loss=loss)
    now = list(range(16))
    for step in path.steps[:4]:
        losses = {
            index: criterion(
                X,
                y,
                "loo",
                [other for other in now if other != index],
                loss=loss,
                alpha=1.0,
                fit_intercept=True,
                weights=None,
            )
            for index in now
        }
        order = sorted(losses, key=losses.__getitem__)
        if loss == "squared":  # the others tie
            assert [step.index, *(index for index, _ in step.runners_up)] == order[:3]
        assert_allclose([value for _, value in step.runners_up], [losses[i] for i in order[1:3]])
        now.remove(step.index)
    floating = greedy_path(X, y, 8, direction="floating", n_runners_up=1)
    removals = [step for step in floating.steps if step.action == "remove"]
    assert removals
    for step in removals:
        assert step.runners_up[0][1] >= step.loss
        assert step.runners_up[0][0] != step.index


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("rule", ["nested", "joint"])
def test_sizes_and_penalties_are_chosen_with_any_direction(direction: Any, rule: Any) -> None:
    X, y = proxies(100, 18)
    path = greedy_path(
        X,
        y,
        "auto",
        alpha=[0.1, 10.0],
        alpha_rule=rule,
        direction=direction,
        max_features=9,
        refit_alpha="loo",
    )
    assert 1 <= path.chosen_size <= 9
    assert path.size_choice is not None
    assert path.refit_alphas is not None
    assert len(path.refit_alphas) == len(path)
    replayed(path)
    if direction == "swap":
        assert "xchange" in path.sentence


@pytest.mark.parametrize("cv", ["loo", 5])
def test_swap_with_an_automatic_size_exchanges_the_set_of_that_size(cv: Any) -> None:
    found = 0
    for seed in range(6):
        X, y = proxies(80, 20, seed)
        forward = greedy_path(X, y, "auto", cv=cv, size_rule="1se")
        path = greedy_path(X, y, "auto", cv=cv, size_rule="1se", direction="swap")
        size = forward.chosen_size
        assert path.chosen_size == size
        assert len(path) == len(forward)
        assert (path.losses <= forward.losses * (1 + 1e-9)).all()
        given = greedy_path(X, y, size, cv=cv, direction="swap")
        assert set(given.features(size)) == set(path.features(size))
        assert given.losses[-1] == pytest.approx(path.losses[size - 1], rel=1e-9)
        replayed(path)
        is_better = path.losses[size - 1] < forward.losses[size - 1] * (1 - 1e-9)
        assert ("took its" in path.sentence) == is_better
        found += is_better
        assert path.settings.direction == "swap"
    assert found


def test_swap_with_an_automatic_size_goes_back_by_whole_groups() -> None:
    groups = [[first, first + 1] for first in range(0, 20, 2)]
    back = 0
    for seed in range(6):
        X, y = proxies(80, 20, seed)
        path = greedy_path(X, y, "auto", size_rule="1se", direction="swap", feature_groups=groups)
        for step in path.steps:
            assert list(step.features) == groups[step.index // 2]
            assert step.index == step.features[0]
        back += any(step.action == "remove" for step in path.steps)
    assert back


def test_patience_ends_a_floating_search_by_its_best_sets() -> None:
    X, y = proxies(80, 24)
    path = greedy_path(X, y, 20, patience=2, direction="floating")
    assert path.stop_reason.value == "no_improvement"
    assert len(path) < 20
    best = np.minimum.accumulate(path.losses)
    assert best[-3] <= path.losses[-2:].min()
    swapped = greedy_path(X, y, 20, patience=2, direction="swap")
    assert swapped.stop_reason.value == "no_improvement"
    assert len(swapped) == len(greedy_path(X, y, 20, patience=2))


def test_a_single_feature_and_all_features() -> None:
    X, y = proxies(40, 15)
    for direction in DIRECTIONS:
        assert len(greedy_path(X[:, :1], y, 1, direction=direction)) == 1
        path = greedy_path(X, y, 15, direction=direction)
        assert sorted(path.indices.tolist()) == list(range(15))
        everything = greedy_path(X, y, 15)
        assert path.losses[-1] == pytest.approx(everything.losses[-1], rel=1e-9)
        forced = greedy_path(X, y, 3, forced_features=[4, 2, 9], direction=direction)
        assert forced.indices.tolist() == [4, 2, 9]


def test_estimators_take_a_direction() -> None:
    X, y = proxies()
    regressor = GreedyRLSRegressor(8, alpha=1.0, direction="backward").fit(X, y)
    path = greedy_path(X, y, 8, alpha=1.0, direction="backward", refit_alpha=regressor.refit_alpha)
    assert sorted(regressor.path_.features(8)) == sorted(path.features(8))
    data, labels = two_classes(80, 12, signal=0.5)
    for direction in DIRECTIONS:
        classifier = GreedyRLSClassifier(3, alpha=1.0, loss="zero_one", direction=direction)
        assert classifier.fit(data, labels).score(data, labels) > 0.6


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_callback_sees_all_steps(direction: Any) -> None:
    X, y = proxies(60, 18)
    seen: list[Step] = []
    path = greedy_path(X, y, 8, direction=direction, callback=seen.append)
    assert tuple(seen) == path.steps
    if direction == "backward":
        with pytest.raises(ValueError, match="reaches small sets only at its end"):
            greedy_path(X, y, 8, direction=direction, callback=lambda step: True)
    else:
        stopped = greedy_path(X, y, 8, direction=direction, callback=lambda step: True)
        assert stopped.stop_reason.value == "callback"
        assert stopped.steps[0].index == path.steps[0].index


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_what_is_refused(direction: Any, tmp_path: Path) -> None:
    X, y = proxies(60, 18)
    path = greedy_path(X, y, 3, direction=direction)
    if direction == "swap":
        with pytest.raises(ValueError, match="a longer path does not begin with this one"):
            extend_path(path, X, y, 4)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_devices(direction: Any, tune: Tune) -> None:
    torch = pytest.importorskip("torch")
    tune(in_host_memory=False, copied_from_device=-1)
    X, y = proxies(60, 18)
    path = greedy_path(torch.asarray(X), torch.asarray(y), 3, direction=direction)
    other = greedy_path(X, y, 3, direction=direction)
    assert [one.features for one in path.sets] == [one.features for one in other.sets]
    np.testing.assert_allclose(path.losses, other.losses, rtol=1e-9)


def test_what_backward_refuses(tune: Tune) -> None:
    X, y = proxies(60, 18)
    each: list[dict[str, Any]] = [{"patience": 3}, {"tol": 0.1}]
    for options in each:
        (name,) = options
        with pytest.raises(ValueError, match=f"{name}=.* cannot end a search"):
            greedy_path(X, y, 3, direction="backward", **options)
    rng = np.random.default_rng(0)
    square = rng.standard_normal((20, 19))
    with pytest.raises(ValueError, match=r"alpha is smaller than .* Use a larger alpha"):
        greedy_path(square, square[:, 0] * 1.5, 3, alpha=1e-13, direction="backward")
    tune(physical_bytes=1000.0)
    with pytest.raises(MemoryError, match=r"18 features of 60 samples .*cv='loo'"):
        greedy_path(X, y, 3, direction="backward", cv=3)
    with pytest.raises(MemoryError, match="direction='forward'"):
        greedy_path(X, y, 3, direction="backward")


def test_interrupt_of_a_backward_search_is_one() -> None:
    X, y = proxies(60, 18)

    def interrupt(step: Step) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        greedy_path(X, y, 3, direction="backward", callback=interrupt)
    path = greedy_path(X, y, 3, direction="floating", callback=interrupt)
    assert path.interrupted


@pytest.mark.parametrize("cv", ["loo", 3])
def test_backward_path_of_one_feature_in_json(cv: Any) -> None:
    X, y = summary_data()
    path = greedy_path(X[:, :1], y, 1, cv=cv, direction="backward")
    assert path.steps == ()
    again = SelectionPath.from_json(path.to_json())
    assert again == path
    assert again.coef(1) == path.coef(1)


def test_model_of_another_size_of_sets_that_are_not_nested() -> None:
    X, y = summary_data()
    model = GreedyRLSRegressor(6, alpha=1.0, direction="floating").fit(X, y)
    assert not model.path_.is_nested
    text = model.with_n_features(4)._repr_html_inner()
    assert "the best set of 4 features" in text
    assert "the first 4" not in text
