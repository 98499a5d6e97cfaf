"""Paths of which no features are chosen: models, files, estimators, assessments and pictures.

`tune(nothing_chosen=…)` says of which searches the size rule chooses 0 features.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from assess_checks import ALPHAS, assert_is_literal, labels, numbers
from assess_twin import Question
from command_line import CommandLine
from greedyrls import (
    GreedyKernelRLS,
    GreedyKernelRLSClassifier,
    GreedyRLSClassifier,
    GreedyRLSRanker,
    GreedyRLSRegressor,
    LinearModel,
    SelectionPath,
    SelectionResult,
    SizeChoice,
    greedy_path,
)
from greedyrls.assess import (
    PathAssessment,
    PermutationNull,
    Stability,
    cross_validate_path,
    path_warnings,
    permutation_null,
    resample_path,
)
from greedyrls.export import export_model, to_onnx
from greedyrls.files import open_npy
from greedyrls.metrics import mean_ndcg
from greedyrls.plots import plot_assessment, plot_coefficients, plot_path, plot_surface
from greedyrls.report import make_report
from internals import GreedyRLSWarning
from report_results import regression, wine
from shuffled import shuffled_splits
from tuning import Tune

pyplot.switch_backend("Agg")
NOTHING = SizeChoice(0, "min", "0 features chosen by rule 'min': none do better than the mean.")


def every(path: SelectionPath) -> bool:
    """All searches find that nothing predicts."""
    return True


def even(path: SelectionPath) -> bool:
    """Some of them do, by the first feature of the path."""
    return int(path.indices[0]) % 2 == 0


def noise(m: int = 40, n: int = 5, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, n)), 3.0 + rng.standard_normal(m)


def empty(path: SelectionPath) -> SelectionPath:
    return replace(path, size_choice=NOTHING)


# Paths -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("targets", [(), (1,), (3,)])
@pytest.mark.parametrize("direction", ["forward", "backward", "floating"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_model_is_the_mean(
    targets: tuple[int, ...], direction: Any, fit_intercept: bool
) -> None:
    X, y = numbers(targets=targets)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    path = empty(
        greedy_path(
            *(X, y, 3),
            alpha=1.0,
            sample_weight=weights,
            direction=direction,
            fit_intercept=fit_intercept,
        )
    )
    mean = np.average(y, axis=0, weights=weights) if fit_intercept else np.zeros(targets)
    assert path.chosen_size == 0
    assert path.features(0).shape == path.entries(0).shape == (0,)
    assert path.features(0).dtype == np.intp
    assert path.names(0) == path.group_names(0) == []
    assert path.coef(0).shape == (*targets, 0)
    assert_allclose(path.intercept(0), mean, rtol=1e-12, atol=1e-15)
    for rows in (X[:4], sparse.csr_array(X[:4])):
        assert_allclose(path.predict(rows, 0), np.broadcast_to(mean, (4, *targets)), rtol=1e-12)
    # Nothing of it is that of the largest size, which a place before the first would be.
    assert len(path.names()) == 3
    assert f", 0 chosen, loss {path.losses[-1]:.6g}" in repr(path)
    assert "✓" not in path._repr_html_()
    assert "0 of 6 features" in path._repr_html_()
    assert path.to_frame().index.tolist() == [1, 2, 3]
    again = SelectionPath.from_json(path.to_json())
    assert again == path
    assert again.chosen_size == 0


def test_the_mean_has_no_penalty() -> None:
    path = greedy_path(*numbers(), 3, alpha=ALPHAS)
    assert "has the penalty" in path.sentence
    assert "has the penalty" not in empty(path).sentence
    assert empty(path).sentence.startswith(NOTHING.sentence)


def test_a_surface_chosen_at_no_features_is_read() -> None:
    path = greedy_path(*numbers(), 3, alpha=ALPHAS)
    assert path.surface is not None
    path = replace(empty(path), surface=replace(path.surface, size=0))
    again = SelectionPath.from_json(path.to_json())
    assert again.surface == path.surface
    assert again.surface.size == 0


def test_a_path_is_not_cut_to_nothing() -> None:
    with pytest.raises(ValueError, match=r"at least 1 feature, got k=0; .* predict\(X, 0\)"):
        greedy_path(*numbers(), 3, alpha=1.0).truncated(0)


# Estimators --------------------------------------------------------------------------------------


def test_a_regressor_predicts_the_mean(tune: Tune) -> None:
    tune(nothing_chosen=every)
    X, y = noise()
    with pytest.warns(GreedyRLSWarning, match="better than its mean. with_n_features") as warned:
        model = GreedyRLSRegressor(alpha=ALPHAS).fit(X, y)
    assert [one.filename for one in warned] == [__file__]
    assert (model.n_features_, model.support_.any(), model.selected_.tolist()) == (0, False, [])
    assert_array_equal(model.coef_, np.zeros(5))
    assert model.intercept_ == pytest.approx(y.mean())
    for rows in (X[:3], sparse.csr_array(X[:3])):
        assert_allclose(model.predict(rows), y.mean())
    assert model.score(X, y) == pytest.approx(0.0)
    with pytest.warns(UserWarning, match="No features were selected"):
        assert model.transform(X).shape == (40, 0)
    assert model.get_feature_names_out().tolist() == []
    assert sorted(model.ranking_) == [1, 2, 3, 4, 5]
    assert "0 of 5 features" in model._repr_html_inner()
    two = model.with_n_features(2)
    assert_array_equal(two.selected_, model.path_.features(2))
    assert_array_equal(two.with_n_features(0).coef_, np.zeros(5))
    # Nobody can ask for a fit with 0.
    assert clone(two.with_n_features(0)).n_features_to_select == 2
    shown = model.with_n_features(2)._repr_html_inner()
    assert "This model has the first 2 features" in shown


def test_rows_of_other_kinds(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = noise()
    frame = pandas.DataFrame(X, columns=list("abcde"))
    model = GreedyRLSRegressor(2, alpha=1.0).fit(frame, y).with_n_features(0)
    np.save(tmp_path / "X.npy", X)
    assert_allclose(model.predict(open_npy(tmp_path / "X.npy")), y.mean())
    strict = pytest.importorskip("array_api_strict")
    for values in (model.predict, lambda rows: model.path_.predict(rows, 0)):
        assert_allclose(np.asarray(values(strict.asarray(X))), y.mean())
    collections = pytest.importorskip("dask.dataframe")
    lazy = model.predict(collections.from_pandas(frame, npartitions=3))
    assert_allclose(lazy.compute(scheduler="sync"), np.full(40, y.mean()))


def test_several_targets_and_sets_that_are_not_nested(tune: Tune) -> None:
    tune(nothing_chosen=every)
    X, y = noise()
    Y = np.column_stack([y, -y])
    with pytest.warns(GreedyRLSWarning, match="No features were chosen"):
        model = GreedyRLSRegressor(alpha=1.0, direction="floating").fit(X, Y)
    assert model.coef_.shape == (2, 5)
    assert_allclose(model.predict(X[:2]), [Y.mean(axis=0)] * 2)
    unnested = GreedyRLSRegressor(5, alpha=1.0, direction="backward").fit(X, y)
    swapped = replace(unnested.path_.sets[0], order=(4,))
    unnested.path_ = replace(unnested.path_, sets=(swapped, *unnested.path_.sets[1:]))
    assert not unnested.path_.is_nested
    assert unnested.with_n_features(0).ranking_.tolist() == [1] * 5
    assert "This model has no features." in unnested.with_n_features(0)._repr_html_inner()


@pytest.mark.parametrize("kind", [GreedyRLSClassifier, GreedyKernelRLSClassifier])
def test_classifiers_say_the_most_frequent_class(tune: Tune, kind: Any) -> None:
    tune(nothing_chosen=every)
    X, y = noise()
    for names, expected in (("abb", "b"), ("aab", "a"), ("abcc", "c"), ("abbbcc", "b")):
        classes = np.resize(list(names), len(y))
        with pytest.warns(GreedyRLSWarning, match="better than the most frequent class"):
            model = kind(alpha=1.0).fit(X, classes)
        assert set(model.predict(X)) == {expected}
        values = model.decision_function(X)
        assert values.shape == ((40,) if len(model.classes_) == 2 else (40, 3))
        assert (values == values[0]).all()
        assert model.score(X, classes) == pytest.approx(np.mean(classes == expected))


@pytest.mark.filterwarnings("ignore:No features were chosen")
@pytest.mark.parametrize("names", ["abbbb", "bba", "abcccccb"])
def test_rounding_chooses_no_class(tune: Tune, names: str) -> None:
    """Where all classes count the same it is the first, in whatever order samples are added up."""
    tune(nothing_chosen=every)
    X, _ = noise()
    classes = np.resize(list(names), len(X))
    for order in (np.arange(40), np.arange(40)[::-1], np.argsort(classes)):
        model = GreedyRLSClassifier(alpha=1.0, class_weight="balanced")
        model.fit(X[order], classes[order])
        assert set(model.predict(X)) == {"a"}
        exported = LinearModel.from_path(model.path_, classes=model.classes_)
        assert set(exported.predict({"x0": X[:, 0]})) == {"a"}
        assert exported.intercepts == tuple(model.intercept_)


def test_kernel_centres(tune: Tune) -> None:
    tune(nothing_chosen=every)
    X, y = noise()
    with pytest.warns(GreedyRLSWarning, match=r"No centres were chosen: .* with_n_centers\(k\)"):
        model = GreedyKernelRLS(alpha=1.0, gamma=[0.1, 1.0]).fit(X, y)
    assert (model.n_centers_, model.centers_.shape, model.dual_coef_.shape) == (0, (0, 5), (0,))
    assert_allclose(model.predict(X), y.mean())
    assert_allclose(model.gamma_losses_, model.path_.initial_loss)
    assert model.with_n_centers(2).n_centers_ == 2
    assert_array_equal(model.with_n_centers(2).with_n_centers(0).predict(X), model.predict(X))


def test_a_ranker_has_no_order(tune: Tune) -> None:
    tune(nothing_chosen=every)
    X, y = noise()
    queries = np.repeat(np.arange(8), 5)
    with pytest.warns(GreedyRLSWarning, match="nothing orders the samples better than chance"):
        model = GreedyRLSRanker(alpha=1.0).fit(X, y, groups=queries)
    assert_array_equal(model.predict(X), np.zeros(40))
    assert model.pairwise_error_ == 0.5
    assert model.ndcg_ == pytest.approx(mean_ndcg(y, np.zeros(40), queries))
    assert model.with_n_features(1).ndcg_ == model.ndcg_path_[0]


# Models and exports ------------------------------------------------------------------------------


def constant_model(task: str = "regression") -> LinearModel:
    X, y = noise()
    if task == "regression":
        return LinearModel.from_path(greedy_path(X, y, 2, alpha=1.0), 0, target="height")
    model = GreedyRLSClassifier(2, alpha=1.0).fit(X, np.where(np.arange(40) < 30, "b", "a"))
    return LinearModel.from_path(model.path_, 0, classes=model.classes_)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_model_is_a_constant(task: str) -> None:
    model = constant_model(task)
    expected = ["b"] * 3 if task == "classification" else [model.intercepts[0]] * 3
    assert model.terms == model.columns == ()
    assert model.predict({"anything": [1.0, 2.0, 3.0]}).tolist() == expected
    assert LinearModel.from_json(model.to_json()) == model
    module: dict[str, Any] = {}
    exec(export_model(model, "python"), module)
    assert module["predict"]({}) == expected[0]
    import sqlite3

    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE data (x REAL)")
    database.execute("INSERT INTO data VALUES (1.0), (NULL), (3.0)")
    assert [row[-1] for row in database.execute(export_model(model, "sql"))] == expected
    database.close()
    with pytest.raises(ValueError, match="has no inputs, so an ONNX graph could not"):
        to_onnx(model)


# Assessments -------------------------------------------------------------------------------------

CASES: dict[str, tuple[int, dict[str, Any]]] = {
    "numbers": (0, {"alpha": 0.5}),
    "numbers and grid": (0, {"alpha": ALPHAS}),
    "no intercept": (0, {"alpha": 0.5, "fit_intercept": False}),
    "folds": (0, {"alpha": 0.5, "inner_cv": 3}),
    "folds, another measure": (0, {"alpha": 0.5, "inner_cv": 3, "measure": "absolute"}),
    "two classes": (2, {"alpha": 0.5}),
    "two classes in folds": (2, {"alpha": 0.5, "inner_cv": 3}),
    "area": (2, {"alpha": 0.5, "measure": "auc"}),
    "balanced classes": (2, {"alpha": 0.5, "class_weight": "balanced", "inner_cv": 3}),
    "three classes": (3, {"alpha": 0.5, "measure": "squared"}),
}


@pytest.mark.filterwarnings("ignore:No features were chosen")
@pytest.mark.parametrize("chosen", [every, even])
@pytest.mark.parametrize("name", CASES)
def test_folds_without_features_are_literal(tune: Tune, name: str, chosen: Any) -> None:
    tune(nothing_chosen=chosen)
    classes, options = CASES[name]
    X, y = labels(classes=classes) if classes else numbers()
    if list(CASES).index(name) % 2:
        options = options | {"sample_weight": np.random.default_rng(3).integers(1, 4, len(y))}
    splits = shuffled_splits(len(y), 3, labels=y if classes else None)
    question = Question(X, y, "auto", options, is_classification=classes > 0)
    found = assert_is_literal(question, 3, splits)
    again = PathAssessment.from_json(found.to_json())
    assert again.sentence == found.sentence
    assert again.warnings == found.warnings
    assert found.to_frame().shape[0] == len(found.sizes)
    if chosen is every:
        assert found.gain == (0.0, 0.0)
        assert found.estimate[0] == found.initial_loss


def test_what_folds_without_features_say(tune: Tune) -> None:
    X, y = numbers(40, 5)
    folds = iter(range(10))
    tune(nothing_chosen=lambda path: next(folds) < 3)
    some = cross_validate_path(X, y, "auto", alpha=1.0)
    assert_array_equal(some.chosen_sizes[:3], [0, 0, 0])
    assert (some.chosen_sizes[3:] > 0).all()
    assert "features (none in 3 of 10 folds), chosen in each fold" in some.sentence
    assert "3 of them have no features." in some.stability.sentence
    assert np.isfinite(some.stability.index).all()
    assert some.stability.frequencies().max() == 0.7
    tune(nothing_chosen=every)
    none = cross_validate_path(X, y, "auto", alpha=1.0)
    assert "with no features, as chosen in every fold (10-fold" in none.sentence
    told = "Each of the 10 folds chose no features: the root mean squared error of "
    assert [sentence for sentence in none.warnings if sentence.startswith(told)]
    assert none.stability.sentence.startswith("None of 10 selections (folds: ")
    assert_array_equal(none.stability.frequencies(), np.zeros(5))
    assert none.stability.to_frame().empty
    for shown in (none, none.stability, some):
        assert shown._repr_html_()
    with pytest.raises(ValueError, match="k=1 is not among the sizes selected, 1 to 0"):
        none.stability.frequencies(1)


def test_rates_of_folds_without_features(tune: Tune) -> None:
    tune(nothing_chosen=every)
    X, y = noise()
    classes = np.resize(list("abb"), len(y))
    found = cross_validate_path(X, classes, "auto", alpha=1.0, cv=4)
    assert found.class_rates is not None
    assert (found.class_rates.auc, found.class_rates.balanced_accuracy) == (0.5, 0.5)
    assert found.class_rates.only_class == "b"
    assert not found.class_rates.predicts


def test_permutations_and_resamples_without_features(tune: Tune) -> None:
    tune(nothing_chosen=every)
    X, y = noise()
    null = permutation_null(X, y, "auto", alpha=1.0, n_permutations=9)
    assert null.chosen_loss == null.initial_loss
    assert_allclose(null.null_chosen_losses, null.initial_loss)
    assert null.chosen_p_value == 1.0
    assert PermutationNull.from_json(null.to_json()).sentence == null.sentence
    found = resample_path(X, y, "auto", alpha=1.0, n_resamples=6)
    told = "None of 6 selections (6 subsamples of 50% of the samples) has any features."
    assert found.sentence == told
    assert Stability.from_json(found.to_json()).sentence == found.sentence
    assert path_warnings(empty(greedy_path(X, y, 3, alpha=1.0)), None, null)


# Pictures and pages ------------------------------------------------------------------------------


def legend(ax: Any) -> list[str]:
    return [str(label) for label in ax.get_legend_handles_labels()[1]]


def test_pictures(tune: Tune) -> None:
    X, y = noise()
    path = empty(greedy_path(X, y, 4, alpha=ALPHAS))
    assert f"no features (rule 'min'): {path.initial_loss:.4g}" in legend(plot_path(path))
    assert not any("features:" in label for label in legend(plot_path(path)))
    assert f"no features (chosen): {path.initial_loss:.4g}" in legend(plot_path(path, chosen=0))
    assert "0 features (rule 'min'): the mean" in legend(plot_coefficients(path))
    with pytest.raises(ValueError, match="has no coefficients to draw, got k=0"):
        plot_coefficients(path, 0)
    assert any(label.endswith("0 features") for label in legend(plot_surface(path)))
    assert path.surface is not None
    at_none = replace(path, surface=replace(path.surface, size=0))
    assert legend(plot_surface(at_none)) == [f"α = {path.settings.alpha:g}, 0 features"]
    tune(nothing_chosen=even)
    assert plot_assessment(cross_validate_path(X, y, "auto", alpha=1.0, cv=4, n_random=1))


@pytest.mark.parametrize("make", [regression, wine])
@pytest.mark.parametrize("is_assessed", [True, False])
def test_pages(make: Any, is_assessed: bool) -> None:
    result: SelectionResult = make()
    result = replace(result, path=empty(result.path))
    if not is_assessed:
        result = replace(result, assessment=None, stability=None, null=None)
    assert result.sentence.startswith(f"Nothing predicts {result.target}: none of ")
    assert not any(row["is_chosen"] for row in result.rows())
    page = make_report(result)
    assert f"Nothing predicts {result.target}: none of" in page
    assert ">chosen size</span>" not in page
    assert "chosen: without features" in page
    assert "loss at 0 features" not in page
    again = SelectionResult.from_json(result.to_json())
    assert (again.size, again.sentence, again.warnings) == (0, result.sentence, result.warnings)
    assert make_report(again) == page


# The command line --------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Numbers and a text column that say nothing of a number and two classes."""
    X, y = noise(60, 3)
    lines = ["a,b,c,hue,y,kind"]
    for place, (row, value) in enumerate(zip(X, y, strict=True)):
        numbers = ",".join(f"{one:.4f}" for one in row)
        hue, kind = ("red", "blue", "green")[place % 3], "no" if place % 5 else "yes"
        lines.append(f"{numbers},{hue},{value:.4f},{kind}")
    file = tmp_path / "table.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.mark.parametrize("target", ["y", "kind"])
def test_select_predict_and_report(
    tune: Tune, cli: CommandLine, table: Path, tmp_path: Path, target: str
) -> None:
    tune(nothing_chosen=every)
    drop = ("--target", target, "--drop", "kind" if target == "y" else "y")
    out = tmp_path / "out"
    shown = " ".join(cli.fine("select", table, *drop, "--out", out).split())
    told = f"Nothing predicts {target}"
    assert told in shown
    assert "is predicted for every row" in shown
    result = SelectionResult.from_json((out / "result.json").read_text())
    assert (result.size, result.sentence.startswith(told)) == (0, True)
    assert "True" not in (out / "path.csv").read_text()
    page = tmp_path / "page.html"
    assert cli("report", out / "result.json", "--out", page).code == 0
    assert told in page.read_text()
    predicted = tmp_path / "predicted.csv"
    assert cli("predict", out / "model.json", table, "--digits", 17, "--out", predicted).code == 0
    rows = {line.split(",")[0] for line in predicted.read_text().splitlines()[1:]}
    assert rows == {repr(result.model().intercepts[0]) if target == "y" else "no"}


def test_everything_about_nothing(tune: Tune, cli: CommandLine, table: Path) -> None:
    tune(nothing_chosen=every)
    options = ("--target", "y", "--drop", "kind", "--alpha", "1")
    asked = ("--assess", "--folds", "3", "--resamples", "3", "--permutations", "19")
    result = cli.result(table, *options, *asked)
    assert result.assessment is not None
    assert result.stability is not None
    assert result.null is not None
    assert result.assessment.chosen_sizes.tolist() == [0, 0, 0]
    assert [order.tolist() for order in result.stability.selections] == [[], [], []]
    assert result.null.chosen_p_value == 1.0
    assert "p = 1" in " ".join(result.warnings)
    shown = " ".join(cli.fine("assess", table, *options, "--folds", "3").split())
    assert "Warning: Each of the 3 folds chose no features" in shown


def test_an_error_rate_alone_says_little(tune: Tune, cli: CommandLine, table: Path) -> None:
    tune(nothing_chosen=every)
    options = ("--target", "kind", "--drop", "y", "--alpha", "1", "--loss", "zero_one")
    sentence = cli.result(table, *options).sentence
    assert sentence.startswith("Nothing predicts kind by the error rate: none of")
    assert "'no' is predicted for every row" in sentence
    assert sentence.endswith("try --class-weight balanced, or --loss auc.")
