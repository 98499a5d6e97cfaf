"""The path: what its numbers mean, its models at every size, and that nobody can change it."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneOut

from greedyrls import Counters, SelectionPath, Step, StopReason, greedy_path

ALPHA = 0.7
SCENARIOS = ["plain", "no intercept", "weights", "targets", "all", "one target in two dimensions"]


def problem(scenario: str, m: int = 16, n: int = 7) -> tuple[Any, Any, dict[str, Any]]:
    """X, y and options of greedy_path."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((m, n)) + rng.standard_normal(n)
    y = X[:, [4, 1]] @ [[2.0, -1.0, 0.5], [1.0, 1.0, 0.0]] + rng.standard_normal((m, 3))
    if scenario == "one target in two dimensions":
        y = y[:, :1]
    elif scenario not in ("targets", "all"):
        y = y[:, 0]
    options: dict[str, Any] = {"alpha": ALPHA, "fit_intercept": scenario != "no intercept"}
    if scenario in ("weights", "all"):
        weights = rng.random(m) + 0.2
        weights[2] = 0.0
        options["sample_weight"] = weights
    return X, y, options


def literal_errors(X: Any, y: Any, columns: Any, options: dict[str, Any]) -> np.ndarray:
    """Squared errors (mean over targets) on each sample of a model that never saw it."""
    weights = options.get("sample_weight", np.ones(len(X)))
    errors = np.zeros(len(X))
    chosen = X[:, columns]
    for train, test in LeaveOneOut().split(X):
        if len(columns):
            model = Ridge(alpha=options["alpha"], fit_intercept=options["fit_intercept"])
            model.fit(chosen[train], y[train], weights[train])
            predicted = model.predict(chosen[test])
        elif options["fit_intercept"]:
            predicted = np.average(y[train], axis=0, weights=weights[train])
        else:
            predicted = np.zeros_like(y[0])
        errors[test] = np.mean((predicted - y[test]) ** 2)
    return errors


def literal_loss(X: Any, y: Any, columns: Any, options: dict[str, Any]) -> float:
    """The weighted mean of those errors."""
    return float(np.average(literal_errors(X, y, columns, options), weights=_weights(X, options)))


def _weights(X: Any, options: dict[str, Any]) -> np.ndarray:
    return options.get("sample_weight", np.ones(len(X)))


@pytest.fixture
def path() -> SelectionPath:
    X, y, options = problem("plain")
    return greedy_path(X, y, 4, n_runners_up=2, **options)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_losses_and_standard_errors_are_those_of_refits(scenario: str) -> None:
    X, y, options = problem(scenario)
    path = greedy_path(X, y, 4, **options)
    assert path.indices.shape == path.losses.shape == path.standard_errors.shape == (4,)
    assert path.indices.dtype == np.intp
    assert len(set(path.indices.tolist())) == len(path) == 4
    weights = _weights(X, options)
    for k in range(1, 5):
        errors = literal_errors(X, y, path.indices[:k], options)
        mean = np.average(errors, weights=weights)
        assert path.losses[k - 1] == pytest.approx(mean, rel=1e-9)
        n = np.count_nonzero(weights)
        squares = n / (n - 1) * np.sum(weights**2 * (errors - mean) ** 2)
        expected = np.sqrt(squares) / weights.sum()
        if "sample_weight" not in options:
            assert expected == pytest.approx(np.std(errors, ddof=1) / np.sqrt(len(X)))
        assert path.standard_errors[k - 1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_initial_loss_is_that_of_the_empty_model(scenario: str) -> None:
    X, y, options = problem(scenario)
    path = greedy_path(X, y, 1, **options)
    assert path.initial_loss == pytest.approx(literal_loss(X, y, [], options), rel=1e-12)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_models_of_every_size_are_those_of_ridge(scenario: str) -> None:
    X, y, options = problem(scenario)
    path = greedy_path(X, y, 6, **options)
    new = np.random.default_rng(9).standard_normal((5, X.shape[1]))
    for k in range(1, 7):
        chosen = path.indices[:k]
        model = Ridge(alpha=ALPHA, fit_intercept=options["fit_intercept"])
        model.fit(X[:, chosen], y, options.get("sample_weight"))
        targets = y.shape[1:]
        assert path.coef(k).shape == (*targets, k)
        assert np.shape(path.intercept(k)) == targets
        assert path.predict(new, k).shape == (5, *targets)
        expected = model.predict(new[:, chosen]).reshape(5, *targets)
        assert_allclose(path.predict(new, k), expected, rtol=1e-9, atol=1e-9)
        assert_allclose(path.coef(k), model.coef_.reshape(*targets, k), rtol=1e-9, atol=1e-9)
        intercept = model.intercept_ if y.ndim == 1 else np.broadcast_to(model.intercept_, targets)
        assert_allclose(path.intercept(k), intercept, rtol=1e-9, atol=1e-9)
        if not options["fit_intercept"]:
            assert_array_equal(path.intercept(k), 0.0)
    assert_array_equal(path.coef(), path.coef(6))
    assert_array_equal(path.intercept(), path.intercept(6))
    assert_array_equal(path.predict(new), path.predict(new, 6))
    assert isinstance(path.intercept(2), float) == (y.ndim == 1)


@pytest.mark.parametrize("k", [-1, 5])
def test_a_size_that_is_not_on_the_path(path: SelectionPath, k: int) -> None:
    X, _, _ = problem("plain")
    for call in (
        path.coef,
        path.intercept,
        path.names,
        path.truncated,
        lambda k: path.predict(X, k),
    ):
        with pytest.raises(ValueError, match=rf"k={k} is not on the path, which has 0 to 4"):
            call(k)


@pytest.mark.parametrize("k", [1.0, "2", True, np.float64(1)])
def test_a_size_that_is_no_whole_number(path: SelectionPath, k: Any) -> None:
    with pytest.raises(TypeError, match="k must be a whole number"):
        path.coef(k)


def test_a_size_may_be_a_numpy_integer(path: SelectionPath) -> None:
    assert_array_equal(path.coef(np.int32(2)), path.coef(2))


def test_predict_wants_the_columns_of_the_path() -> None:
    X, y, options = problem("plain")
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    path = greedy_path(frame, y, 3, **options)
    expected = path.predict(frame)
    assert_array_equal(path.predict(X), expected)
    assert_array_equal(path.predict(pl.DataFrame(X, schema=list("abcdefg"))), expected)
    with pytest.raises(ValueError, match=r"another order; expected a, b, c, d, e, …"):
        path.predict(frame[list("gfedcba")])
    with pytest.raises(ValueError, match=r"X has 3 features; the path was selected from 7"):
        path.predict(X[:, :3])
    with pytest.raises(ValueError, match="2D array"):
        path.predict(X[0])
    X[0, path.indices[1]] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        path.predict(X)


def test_predict_looks_at_the_chosen_columns_only(path: SelectionPath) -> None:
    X, _, _ = problem("plain")
    expected = path.predict(X, 2)
    others = np.setdiff1d(np.arange(X.shape[1]), path.indices[:2])
    X[:, others] = np.nan
    assert_array_equal(path.predict(X, 2), expected)


@pytest.mark.slow
@pytest.mark.parametrize("search", ["exhaustive", "bounded"])
@pytest.mark.parametrize("scenario", ["plain", "all"])
def test_runners_up_are_the_next_best_with_their_exact_loss(scenario: str, search: Any) -> None:
    X, y, options = problem(scenario)
    path = greedy_path(X, y, 4, n_runners_up=2, search=search, **options)
    plain = greedy_path(X, y, 4, search=search, **options)
    assert plain.runners_up == ((), (), (), ())
    assert_array_equal(path.indices, plain.indices)
    for k, runners_up in enumerate(path.runners_up):
        before = path.indices[:k].tolist()
        losses = {i: literal_loss(X, y, [*before, i], options) for i in range(7) if i not in before}
        order = sorted(losses, key=losses.__getitem__)
        assert [path.indices[k], *(index for index, _ in runners_up)] == order[:3]
        for index, loss in runners_up:
            assert loss == pytest.approx(losses[index], rel=1e-9)
            assert type(index) is int
            assert type(loss) is float


@pytest.mark.parametrize("search", ["exhaustive", "bounded"])
@pytest.mark.parametrize("n_runners_up", [1, 5, 6, 50])
def test_more_runners_up_than_are_left(n_runners_up: int, search: Any) -> None:
    X, y, options = problem("plain")
    path = greedy_path(
        X, y, 6, n_runners_up=n_runners_up, excluded_features=[1], search=search, **options
    )
    assert sorted(path.indices.tolist()) == [0, 2, 3, 4, 5, 6]
    for k, runners_up in enumerate(path.runners_up):
        indices = [index for index, _ in runners_up]
        allowed = {0, 2, 3, 4, 5, 6} - set(path.indices[: k + 1].tolist())
        assert len(indices) == len(set(indices)) == min(n_runners_up, len(allowed))
        assert set(indices) <= allowed
        losses = [loss for _, loss in runners_up]
        assert losses == sorted(losses)


def test_forced_features_come_first_and_have_no_runners_up() -> None:
    X, y, options = problem("plain")
    path = greedy_path(X, y, 4, forced_features=[6, 0], n_runners_up=2, **options)
    assert path.indices[:2].tolist() == [6, 0]
    assert [step.forced for step in path.steps] == [True, True, False, False]
    assert [len(runners_up) for runners_up in path.runners_up] == [0, 0, 2, 2]
    for k in range(1, 5):
        assert path.losses[k - 1] == pytest.approx(
            literal_loss(X, y, path.indices[:k], options), rel=1e-9
        )


def test_names_and_best_size(path: SelectionPath) -> None:
    assert path.names() == [f"x{index}" for index in path.indices]
    assert path.names(2) == path.names()[:2]
    assert path.best_size == int(np.argmin(path.losses)) + 1
    X, y, options = problem("plain")
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    named = greedy_path(frame, y, 4, **options)
    assert named.names() == ["abcdefg"[index] for index in named.indices]
    assert named.settings.feature_names_in == tuple("abcdefg")
    numbered = greedy_path(pd.DataFrame(X), y, 4, **options)
    assert numbered.names() == path.names()


def test_best_size_is_the_smallest_of_equals() -> None:
    X, y, options = problem("plain")
    X[:, 1:] = 0.0
    path = greedy_path(X, y, 4, **options)
    assert_array_equal(path.losses, path.losses[0])
    assert path.best_size == 1


def test_frame() -> None:
    X, y, options = problem("plain")
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    path = greedy_path(frame, y, 7, forced_features=["g"], n_runners_up=2, **options)
    table = path.to_frame()
    assert table.index.name == "n_features"
    assert table.index.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert_array_equal(table["index"], path.indices)
    assert table["feature"].tolist() == path.names()
    assert_array_equal(table["loss"], path.losses)
    assert_array_equal(table["standard_error"], path.standard_errors)
    assert_allclose(table["gain"].cumsum(), path.initial_loss - path.losses)
    assert table["forced"].tolist() == [True] + [False] * 6
    assert (table["seconds"] >= 0).all()
    second = path.runners_up[1][0]
    assert table["runner_up"][2] == "abcdefg"[second[0]]
    assert table["runner_up_loss"][2] == second[1]
    # The forced feature had no rivals, and the last one has none left.
    assert table["runner_up"].isna().tolist() == [True] + [False] * 5 + [True]
    assert table["runner_up_loss"].isna().tolist() == [True] + [False] * 5 + [True]
    assert greedy_path(X, y, 3, **options).to_frame()["runner_up"].isna().all()


def test_frame_without_pandas(path: SelectionPath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"to_frame needs pandas: pip install 'greedyrls\[pandas"):
        path.to_frame()


@pytest.mark.parametrize(
    "name",
    ["steps", "initial_loss", "settings", "moments", "counters", "stop_reason", "losses", "other"],
)
def test_attributes_cannot_be_set(path: SelectionPath, name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(path, name, None)


@pytest.mark.parametrize("part", [Step(0, 1.0, 0.1), Counters()])
def test_parts_cannot_be_changed(part: Any) -> None:
    for field in dataclasses.fields(part):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(part, field.name, 1)


def _duplicates(path: SelectionPath) -> list[SelectionPath]:
    return [
        path,
        copy.deepcopy(path),
        pickle.loads(pickle.dumps(path)),
        SelectionPath.from_json(path.to_json()),
        path.truncated(len(path)),
    ]


@pytest.mark.parametrize("which", ["made", "deep copy", "pickle", "JSON", "truncated"])
def test_arrays_handed_out_cannot_change_the_path(which: str) -> None:
    X, y, options = problem("targets")
    names = ["made", "deep copy", "pickle", "JSON", "truncated"]
    path = _duplicates(greedy_path(X, y, 4, n_runners_up=1, **options))[names.index(which)]
    before, predictions = path.to_json(), path.predict(X)
    for handed_out in (
        path.indices,
        path.losses,
        path.standard_errors,
        path.coef(),
        path.intercept(),
        path.predict(X),
        path.moments.gram,
        path.moments.correlation,
        path.moments.feature_means,
        path.moments.target_means,
    ):
        if handed_out.flags.writeable:
            handed_out[...] = 0
    assert path.to_json() == before
    assert_array_equal(path.predict(X), predictions)


def test_the_path_does_not_hold_the_data() -> None:
    X, y, options = problem("weights")
    given = X.copy(), y.copy(), options["sample_weight"].copy()
    path = greedy_path(X, y, 4, **options)
    assert_array_equal(X, given[0])
    assert_array_equal(y, given[1])
    assert_array_equal(options["sample_weight"], given[2])
    expected = path.predict(given[0]), path.to_json()
    X[:], y[:], options["sample_weight"][:] = 0.0, 0.0, 0.0
    assert_array_equal(path.predict(given[0]), expected[0])
    assert path.to_json() == expected[1]


def test_data_may_be_read_only() -> None:
    X, y, options = problem("weights")
    expected = greedy_path(X, y, 4, **options)
    for array in (X, y, options["sample_weight"]):
        array.flags.writeable = False
    path = greedy_path(X, y, 4, **options)
    assert_array_equal(path.indices, expected.indices)


def test_repr_is_one_short_line() -> None:
    X, y, options = problem("plain")
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    path = greedy_path(frame, y, 2, **options)
    first, second = path.names()
    assert repr(path) == (
        f"<SelectionPath of 2 features [{first}, {second}], loss {path.losses[-1]:.6g} at "
        "alpha=0.7, reached>"
    )
    longer = repr(greedy_path(X, y, 7, **options))
    assert ", …]" in longer
    assert "exhausted" in longer
    assert "\n" not in longer


def test_stop_reasons_have_sentences() -> None:
    sentences = {reason.sentence for reason in StopReason}
    assert len(sentences) == len(StopReason)
    assert all(sentence.endswith(".") for sentence in sentences)


@pytest.mark.parametrize("scenario", ["plain", "all"])
def test_truncated_is_the_path_of_that_size(scenario: str) -> None:
    X, y, options = problem(scenario)
    whole = greedy_path(X, y, 7, n_runners_up=2, forced_features=[5], **options)
    before = whole.to_json()
    for k in range(1, 8):
        short = whole.truncated(k)
        direct = greedy_path(X, y, k, n_runners_up=2, forced_features=[5], **options)
        assert len(short) == k
        assert short.is_nested
        assert_array_equal(short.indices, direct.indices)
        assert_allclose(short.losses, direct.losses, rtol=1e-12)
        assert short.runners_up == whole.runners_up[:k]
        assert_array_equal(short.coef(), whole.coef(k))
        assert_array_equal(short.predict(X), whole.predict(X, k))
        assert_array_equal(SelectionPath.from_json(short.to_json()).coef(), whole.coef(k))
    assert whole.to_json() == before


def test_truncated_does_not_claim_that_all_features_were_chosen() -> None:
    X, y, options = problem("plain")
    whole = greedy_path(X, y, 7, **options)
    assert whole.stop_reason is StopReason.EXHAUSTED
    assert whole.truncated(2).stop_reason is not StopReason.EXHAUSTED


@pytest.mark.parametrize("search", ["exhaustive", "bounded"])
def test_counters(search: Any) -> None:
    X, y, options = problem("plain")
    path = greedy_path(X, y, 4, search=search, **options)
    counters = path.counters
    assert isinstance(counters.passes, int)
    assert isinstance(counters.exact_evaluations, int)
    everything = 7 + 6 + 5 + 4
    if search == "exhaustive":
        assert counters.exact_evaluations == everything
    assert 4 <= counters.exact_evaluations <= everything
    assert 1 <= counters.passes <= 1 + 4 + 4  # start, Gram columns, looks at all candidates
    assert counters.rebuilds == 0
    assert 0.0 < sum(step.seconds for step in path.steps) <= counters.seconds


# What was chosen ---------------------------------------------------------------------------------


def chosen_path(n_features: Any = 4, **options: Any) -> SelectionPath:
    X, y, others = problem("plain")
    return greedy_path(X, y, n_features, **(others | options))


@pytest.mark.parametrize("n_features", [4, "auto"])
@pytest.mark.parametrize("alpha", [ALPHA, [0.1, 1.0, 10.0]])
def test_chosen_size_and_sentence(n_features: Any, alpha: Any) -> None:
    path = chosen_path(n_features, alpha=alpha)
    choice = path.size_choice
    assert choice is not None
    assert choice.rule == ("given" if n_features == 4 else "1se")
    assert path.chosen_size == choice.size <= len(path)
    assert choice.sentence in path.sentence
    assert (path.surface is not None) == isinstance(alpha, list)
    if path.surface is not None:
        assert path.surface.sentence in path.sentence
        assert path.settings.alpha == path.surface.alpha
    short = path.truncated(1)
    assert short.size_choice is None
    assert short.chosen_size == 1
    assert short.sentence


def test_penalties_of_the_models() -> None:
    X, y, _ = problem("plain")
    path = chosen_path(refit_alpha=3.0)
    assert path.refit_alphas == (3.0,) * 4
    assert path.settings.alpha == ALPHA
    assert_array_equal(path.indices, chosen_path().indices)
    for k in range(1, 5):
        chosen = path.indices[:k]
        model = Ridge(alpha=3.0).fit(X[:, chosen], y)
        assert_allclose(path.coef(k), model.coef_, rtol=1e-9)
        assert_allclose(path.truncated(k).predict(X), model.predict(X[:, chosen]), rtol=1e-9)
        assert path.truncated(k).refit_alphas == (3.0,) * k
    assert chosen_path().refit_alphas is None


def test_losses_of_folds() -> None:
    path = chosen_path(cv=4)
    found = path.fold_losses
    assert found is not None
    assert found.shape == (4, 4)
    assert_allclose(found.mean(axis=1), path.losses, rtol=1e-12)
    assert chosen_path().fold_losses is None
    shorter = path.truncated(2).fold_losses
    assert shorter is not None
    assert shorter.tolist() == found[:2].tolist()


@pytest.mark.parametrize("rule", ["nested", "joint", "all_features"])
def test_copies_of_a_path_with_a_surface(rule: Any) -> None:
    path = chosen_path(alpha=[0.1, 1.0, 10.0], alpha_rule=rule)
    for other in _duplicates(path)[:-1]:
        assert other == path
        assert hash(other) == hash(path)
        assert other.surface is not None
        for values in (other.surface.alphas, other.surface.losses, other.surface.standard_errors):
            assert not values.flags.writeable
