"""Predictions of rows held out, and errors of coefficients, against models fitted without them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import calibration_curve
from sklearn.metrics import confusion_matrix, roc_auc_score
from sklearn.model_selection import GroupKFold, StratifiedKFold

from command_line import CommandLine
from greedyrls import GreedyRLSClassifier, SelectionResult, greedy_path
from greedyrls.assess import PathAssessment, Predictions, cross_validate_path
from greedyrls.plots import plot_predictions
from greedyrls.report import make_report
from internals import jackknife_errors, part_of_classes, united
from json_damage import refused

matplotlib.use("Agg")
ROC_GRID = np.linspace(0.0, 1.0, 101)


def numbers(m: int = 60, n: int = 6, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    return X, X[:, 0] - 0.5 * X[:, 1] + rng.standard_normal(m)


def classes(m: int = 300, seed: int = 0, several: bool = False) -> Any:
    X, y = numbers(m, 6, seed)
    if several:
        return X, np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.7])]
    return X, np.where(y > 0.3, "yes", "no")


# In outer folds ----------------------------------------------------------------------------------


def test_numbers_are_those_of_models_without_the_fold() -> None:
    X, y = numbers()
    ids = np.arange(60) % 5
    found = cross_validate_path(X, y, 3, alpha=2.0, cv=ids, n_random=0).predictions
    assert found is not None
    assert (found.source, found.n_rows, found.confusion) == ("test folds", 60, None)
    observed, predicted = [], []
    for fold in range(5):
        path = greedy_path(X[ids != fold], y[ids != fold], 3, alpha=2.0)
        observed.append(y[ids == fold])
        predicted.append(path.predict(X[ids == fold]))
    assert_array_equal(found.observed, np.concatenate(observed))
    assert_allclose(found.predicted, np.concatenate(predicted))


def test_a_thousand_of_many_rows_are_shown() -> None:
    X, y = numbers(3000)
    found = cross_validate_path(X, y, 1, alpha=1.0, cv=3, n_random=0).predictions
    again = cross_validate_path(X, y, 2, alpha=9.0, cv=5, n_random=0).predictions
    assert found is not None
    assert again is not None
    assert (len(found.observed), found.n_rows) == (1000, 3000)
    assert set(found.observed) <= set(y)
    assert set(found.observed) == set(again.observed)  # the same rows, whatever is asked


@pytest.mark.parametrize("several", [False, True])
def test_classes_are_those_of_models_without_the_fold(several: bool) -> None:
    X, y = classes(several=several)
    folds = StratifiedKFold(4, shuffle=True, random_state=1)
    weights = np.random.default_rng(3).uniform(0.5, 2.0, 300)
    options: dict[str, Any] = {"alpha": [0.1, 10.0], "alpha_cv": 3, "loss": "squared"}
    assessed = cross_validate_path(X, y, 2, cv=folds, sample_weight=weights, n_random=0, **options)
    found = assessed.predictions
    labels, predicted, chance = [], [], []
    areas, rows = [], []
    for train, test in folds.split(X, y):
        model = GreedyRLSClassifier(2, **options).fit(X[train], y[train], weights[train])
        labels.append(y[test])
        predicted.append(model.predict(X[test]))
        chance.append(model.predict_proba(X[test]))
        rows.append(test)
        if not several:
            areas.append(
                roc_auc_score(y[test], chance[-1][:, 1], sample_weight=weights[test])
                * weights[test].sum()
            )
    assert found is not None
    at = np.concatenate(rows)
    table = confusion_matrix(
        np.concatenate(labels), np.concatenate(predicted), sample_weight=weights[at]
    )
    assert_allclose(found.confusion, table)
    probabilities = np.concatenate(chance)
    likely = probabilities[:, 1] if not several else probabilities.max(axis=1)
    names = np.unique(y)
    event = np.concatenate(labels) == ("yes" if not several else names[probabilities.argmax(1)])
    bins = np.minimum((10 * likely).astype(int), 9)
    total = np.bincount(bins, weights[at], 10)
    with np.errstate(invalid="ignore"):
        expected = [
            total,
            np.bincount(bins, weights[at] * likely, 10) / total,
            np.bincount(bins, weights[at] * event, 10) / total,
        ]
    assert_allclose(found.reliability, expected, rtol=1e-6)
    if several:
        assert found.roc is None
    else:
        area = np.trapezoid(found.roc, ROC_GRID)
        assert area == pytest.approx(sum(areas) / weights.sum(), abs=0.01)
        assert area == pytest.approx(assessed.class_rates.auc, abs=0.01)


def test_reliability_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    chance = rng.uniform(size=500)
    event = rng.uniform(size=500) < chance
    part = part_of_classes(
        event.astype(int),
        chance[:, None] - 0.5,
        (chance > 0.5).astype(int),
        None,
        np.column_stack([1.0 - chance, chance]),
    )
    found = united([part], np.ones(1), "test folds", is_classes=True)
    observed, predicted = calibration_curve(event, chance, n_bins=10)
    assert_allclose(found.reliability[1], predicted)
    assert_allclose(found.reliability[2], observed)


def test_a_fold_of_one_class_has_no_curve() -> None:
    X, y = classes(40)
    y[:10] = "no"
    found = cross_validate_path(
        X, y, 1, alpha=1.0, cv=np.repeat([0, 1, 2, 3], 10), n_random=0, measure="zero_one"
    ).predictions
    assert found.confusion.sum() == 40
    assert found.roc is not None  # of the other folds


# Files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["numbers", "two", "three"])
def test_there_and_back(kind: str) -> None:
    X, y = numbers() if kind == "numbers" else classes(90, several=kind == "three")
    found = cross_validate_path(X, y, 2, alpha=1.0, cv=3, n_random=0)
    again = PathAssessment.from_json(found.to_json())
    assert found.predictions is not None
    assert again.predictions is not None
    assert (again.predictions.source, again.predictions.n_rows) == ("test folds", len(y))
    for name in ("observed", "predicted", "confusion", "roc", "reliability"):
        one, two = getattr(found.predictions, name), getattr(again.predictions, name)
        assert (one is None) == (two is None)
        if one is not None:
            assert_array_equal(one, two)
    old = json.loads(found.to_json())
    del old["predictions"]
    assert PathAssessment.from_json(json.dumps(old)).predictions is None


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("source", "thin air", "unknown source"),
        ("n_rows", -1, "n_rows"),
        ("confusion", [[1.0, 2.0]], "confusion"),
        ("confusion", [[1.0, -2.0], [3.0, 4.0]], "below 0"),
        ("confusion", [[1.0, None], [3.0, 4.0]], "confusion has no number"),
        ("roc", [0.0] * 100, "roc"),
        ("roc", [1.0] + [0.0] * 100, "roc falls"),
        ("roc", [2.0] * 101, "above 1"),
        ("reliability", [[1.0] * 10, [2.0] * 10, [0.0] * 10], "above 1"),
        ("observed", [1.0], "rows of a classification"),
    ],
)
def test_damaged(key: str, value: Any, told: str) -> None:
    X, y = classes(60)
    found = cross_validate_path(X, y, 1, alpha=1.0, cv=2, n_random=0)
    document = json.loads(found.to_json())
    document["predictions"][key] = value
    assert told in refused(PathAssessment, document)


# Of a result -------------------------------------------------------------------------------------


def table(folder: Path, X: Any, y: Any, **more: Any) -> Path:
    file = folder / "table.csv"
    names = [f"x{index}" for index in range(X.shape[1])]
    lines = [",".join([*names, *more, "y"])]
    for index, row in enumerate(X.tolist()):
        others = [values[index] for values in more.values()]
        lines.append(",".join(map(str, [*row, *others, y[index]])))
    file.write_text("\n".join(lines))
    return file


def test_without_an_assessment_each_row_is_left_out(cli: CommandLine, tmp_path: Path) -> None:
    X, y = numbers(30, 4)
    result = cli.result(table(tmp_path, X, y), "-t", "y", "-k", "2", "--alpha", "3")
    found = result.predictions
    assert found is not None
    assert found.source == "leave-one-out"
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    chosen = result.path.indices
    predicted = []
    for row in range(30):
        rest = np.arange(30) != row
        means, mean = Z[rest][:, chosen].mean(axis=0), y[rest].mean()
        about = Z[rest][:, chosen] - means
        coef = np.linalg.solve(about.T @ about + 3.0 * np.eye(2), about.T @ (y[rest] - mean))
        predicted.append((Z[row, chosen] - means) @ coef + mean)
    assert_allclose(found.observed, y)
    assert_allclose(found.predicted, predicted)
    page = make_report(result)
    assert "Predicted against observed" in page
    assert "optimistic" in page


def test_groups_stay_together_without_an_assessment(cli: CommandLine, tmp_path: Path) -> None:
    X, y = classes(60)
    file = table(tmp_path, X, y, who=np.arange(60) // 3)
    result = cli.result(file, "-t", "y", "-k", "2", "--alpha", "3", "--cv", "who")
    assert result.predictions is not None
    assert result.predictions.source == "folds"
    assert result.predictions.confusion is not None
    assert result.predictions.confusion.sum() == 60


@pytest.mark.parametrize("several", [False, True])
def test_a_report_of_classes(several: bool, cli: CommandLine, tmp_path: Path) -> None:
    X, y = classes(120, several=several)
    file = table(tmp_path, X, y)
    result = cli.result(file, "-t", "y", "-k", "2", "--alpha", "3", "--folds", "3")
    assert result.predictions is not None
    assert result.predictions.source == "test folds"
    page = make_report(result)
    assert ("ROC curve" in page) == (not several)
    for words in ("Reliability of the probabilities", "Classes and predicted classes"):
        assert words in page
    # An older file has none of it, and still a page.
    document = json.loads(result.to_json())
    for part in (document, document["assessment"]):
        del part["predictions"]
    del document["coefficient_errors"]
    old = SelectionResult.from_json(json.dumps(document))
    assert old.predictions is None
    assert 'id="fit"' not in make_report(old)


# Errors of coefficients --------------------------------------------------------------------------


def literal_errors(X: Any, Y: Any, penalty: Any, weights: Any, groups: Any, intercept: bool) -> Any:
    """Standard errors by the models without each group."""
    solutions = []
    for group in np.unique(groups[weights > 0.0]):
        rest = (groups != group) & (weights > 0.0)
        W = weights[rest] / weights[rest].sum()
        mean = W @ X[rest] if intercept else np.zeros(X.shape[1])
        level = W @ Y[rest] if intercept else np.zeros(Y.shape[1])
        A, B = X[rest] - mean, Y[rest] - level
        own = (A * weights[rest, None]).T
        coef = np.linalg.solve(own @ A + penalty, own @ B)
        solutions.append(np.vstack([coef, level - mean @ coef]))
    count = len(solutions)
    return np.sqrt((count - 1.0) / count * count * np.var(solutions, axis=0))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("is_grouped", [False, True])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_errors_of_coefficients(intercept: bool, is_grouped: bool, is_weighted: bool) -> None:
    rng = np.random.default_rng(5)
    X, Y = rng.standard_normal((40, 3)) + 2.0, rng.standard_normal((40, 2))
    weights = rng.uniform(0.2, 2.0, 40) * (rng.uniform(size=40) > 0.1)
    groups = np.arange(40) // 4 if is_grouped else np.arange(40)
    penalty = np.diag([0.5, 1.0, 2.0])
    found = jackknife_errors(
        X,
        Y,
        penalty,
        weights=weights if is_weighted else None,
        groups=groups if is_grouped else None,
        fit_intercept=intercept,
    )
    expected = literal_errors(
        X, Y, penalty, weights if is_weighted else np.ones(40), groups, intercept
    )
    assert_allclose(found[0], expected[:3].T, rtol=1e-9)
    assert_allclose(found[1], expected[3] if intercept else 0.0, rtol=1e-9, atol=1e-12)


def test_intervals_cover_coefficients_that_were_given(cli: CommandLine, tmp_path: Path) -> None:
    """Without a selection they are what they say."""
    rng = np.random.default_rng(1)
    covered = []
    for _ in range(200):
        X = rng.standard_normal((60, 2))
        y = X @ [1.0, -0.5] + rng.standard_normal(60) * (0.5 + np.abs(X[:, 0]))
        errors, _ = jackknife_errors(X, y[:, None], 1e-6 * np.eye(2))
        about = X - X.mean(axis=0)
        coef = np.linalg.lstsq(about, y - y.mean(), rcond=None)[0]
        covered.append(np.abs(coef - [1.0, -0.5]) < 2.0 * errors[0])
    assert 0.91 < np.mean(covered) < 0.985


def test_a_row_that_decides_a_coefficient_has_no_error() -> None:
    X = np.zeros((10, 1))
    X[3] = 1.0
    errors, _ = jackknife_errors(X, np.arange(10.0)[:, None], np.zeros((1, 1)))
    assert np.isnan(errors).all()


def test_errors_of_a_result(cli: CommandLine, tmp_path: Path) -> None:
    X, y = numbers(50, 4)
    file = table(tmp_path, X, y, who=np.arange(50) // 2)
    options = ("-t", "y", "-k", "2", "--alpha", "3", "--cv", "who")
    result = cli.result(file, *options)
    chosen = result.path.indices
    Z = ((X - X.mean(axis=0)) / X.std(axis=0))[:, chosen]
    penalty = 3.0 * np.eye(2)
    expected = literal_errors(Z, y[:, None], penalty, np.ones(50), np.arange(50) // 2, True)
    assert_allclose(result.coefficient_errors, [[expected[2, 0], *expected[:2, 0]]], rtol=1e-6)
    again = SelectionResult.from_json(result.to_json())
    assert_array_equal(again.coefficient_errors, result.coefficient_errors)
    page = make_report(result)
    assert "with 95% intervals" in page
    assert page.index('id="model"') < page.index('id="path"')


# Pictures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["observed", "residuals"])
def test_pictures_of_numbers(kind: Any) -> None:
    X, y = numbers()
    found = cross_validate_path(X, y, 2, alpha=1.0, cv=3, n_random=0)
    ax = plot_predictions(found, kind)
    (points,) = [line for line in ax.lines if line.get_marker() == "o"]
    across, up = points.get_data()
    own = found.predictions
    if kind == "observed":
        assert_array_equal((across, up), (own.observed, own.predicted))
    else:
        assert_array_equal((across, up), (own.predicted, own.observed - own.predicted))


def test_pictures_of_classes() -> None:
    X, y = classes(90)
    found = cross_validate_path(X, y, 2, alpha=1.0, cv=3, n_random=0)
    ax = plot_predictions(found)
    shown = [int(text.get_text() or 0) for text in ax.texts]
    assert shown == found.predictions.confusion.astype(int).ravel().tolist()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["no", "yes"]
    ax = plot_predictions(found, "roc")
    assert ax.get_ylabel() == "true positive rate (yes)"
    ax = plot_predictions(found, "reliability")
    assert ax.get_xlabel() == "predicted probability of yes"


def test_pictures_that_cannot_be() -> None:
    X, y = numbers()
    found = cross_validate_path(X, y, 2, alpha=1.0, cv=3, n_random=0)
    with pytest.raises(ValueError, match="they have 'observed', 'residuals'"):
        plot_predictions(found, "roc")
    with pytest.raises(ValueError, match="kind must be one of"):
        plot_predictions(found, "pie")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"got .*\(str\)"):
        plot_predictions("found")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="older release, which has no predictions"):
        plot_predictions(replace(found, predictions=None))
    assert isinstance(found.predictions, Predictions)
    empty = Predictions("test folds", 3, np.empty(0), np.empty(0))
    with pytest.raises(ValueError, match="nothing to draw"):
        plot_predictions(empty)


def test_folds_of_groups_are_kept_in_pictures() -> None:
    X, y = numbers()
    found = cross_validate_path(
        X, y, 1, alpha=1.0, cv=GroupKFold(3), groups=np.arange(60) // 4, n_random=0
    )
    assert found.predictions is not None
    assert found.predictions.n_rows == 60
