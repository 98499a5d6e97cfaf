"""A rare class: what is said of a model that orders rows well and predicts one class for all."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from command_line import CommandLine
from greedyrls import GreedyRLSClassifier, SelectionResult, greedy_path
from greedyrls.assess import PathAssessment, cross_validate_path
from greedyrls.files import open_npy
from literal import literal_path

# So that tests take seconds: a penalty, and a search without a choice of the size.
QUICK = ("--alpha", "10", "-k", "2")


def rare(m: int = 1500, seed: int = 9, is_noise: bool = False) -> tuple[Any, Any]:
    """Six columns, of which two tell of 4 % of the rows; or none."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 6))
    chance = 1.0 / (1.0 + np.exp(-(2.5 * X[:, 2] + 2.0 * X[:, 4] - 6.5)))
    if is_noise:
        chance = np.full(m, chance.mean())
    return X, np.where(rng.random(m) < chance, "yes", "no")


@pytest.fixture
def line(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


@pytest.fixture
def fraud(tmp_path: Path) -> Path:
    return write(tmp_path / "fraud.csv", *rare())


def write(file: Path, X: Any, y: Any) -> Path:
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow([*"abcdef", "fraud"])
        writer.writerows([*row, label] for row, label in zip(X.tolist(), y.tolist(), strict=True))
    return file


def test_an_order_is_not_nothing(line: CommandLine, fraud: Path) -> None:
    told = line.fine("select", fraud, "-t", "fraud", *QUICK, "--assess")
    assert "Nothing clearly predicts" not in told
    assert "not clearly better" not in told
    (auc,) = [word for word in told.split() if word.startswith("0.9") and word.endswith(",")][:1]
    assert float(auc[:-1]) > 0.95
    told = " ".join(told.split())
    assert "The ranking is good (AUC 0.9" in told
    assert "but every row is predicted 'no': use --class-weight balanced, or --loss auc." in told
    assert "Note: Rare classes: of 1500 rows 'yes' has 4." in told


def test_balanced_classes_on_the_command_line(
    line: CommandLine, fraud: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    asked = (*QUICK, "--assess", "--class-weight", "balanced", "--out", out)
    told = " ".join(line.fine("select", fraud, "-t", "fraud", *asked).split())
    assert "every row is predicted" not in told
    assert "Nothing clearly predicts" not in told
    assert "Rare classes" not in told
    assert "with weights of classes" in told
    assert "go by AUC or balanced accuracy" in told
    assert "Report the first" not in told  # the accuracy is first
    assert "Probabilities: Brier score 0.0" in told
    result = SelectionResult.from_json((out / "result.json").read_text())
    rates = result.class_rates
    assert rates is not None
    assert rates.balanced_accuracy > 0.85
    assert rates.auc > 0.95
    assert result.origin.parameters["class_weight"] == "balanced"
    X, y = rare()
    model = GreedyRLSClassifier(2, alpha=10.0, class_weight="balanced")
    scale = X.std(axis=0)
    expected = model.fit((X - X.mean(axis=0)) / scale, y)
    found = result.model().terms
    assert {term.column for term in found} == {"c", "e"}
    assert_allclose(
        sorted(term.coefficients[0] for term in found),
        sorted(expected.coef_[0, expected.selected_] / scale[expected.selected_]),
        rtol=1e-6,
    )
    page = (out / "report.html").read_text()
    assert "balanced accuracy" in page
    assert "AUC (1: all in order" in page
    assert "Brier score of the probabilities" in page
    assert "log loss of the probabilities" in page


def test_weights_by_label(line: CommandLine, fraud: Path) -> None:
    asked = (fraud, "-t", "fraud", *QUICK)
    given = line.result(*asked, "--class-weight", "yes=10", "--class-weight", "no=0.5")
    assert given.origin.parameters["class_weight"] == "yes=10.0, no=0.5"
    assert given.own_rates is not None
    assert given.own_rates.balanced_accuracy > 0.8
    plain = line.result(*asked)
    assert plain.own_rates is not None
    assert plain.own_rates.only_class == "no"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["maybe=2"], "'maybe', which is not a class of the target; its classes are 'no', 'yes'"),
        (["yes=0"], "'yes=0' is neither 'balanced' nor a class, '=' and a number above 0"),
        (["yes=inf"], "'yes=inf' is neither"),
        (["even"], "'even' is neither 'balanced' nor"),
        (["yes=2", "balanced"], "--class-weight balanced cannot be combined"),
        (["yes=2", "yes=3"], "--class-weight of 'yes' is given more than once"),
    ],
)
def test_wrong_weights(line: CommandLine, fraud: Path, options: Any, message: str) -> None:
    given = [word for one in options for word in ("--class-weight", one)]
    for command in ("select", "assess"):
        assert message in line.refusal(command, fraud, "-t", "fraud", *QUICK, *given)


def test_numbers_have_no_classes(line: CommandLine, fraud: Path) -> None:
    told = line.refusal("select", fraud, "-t", "a", *QUICK, "--class-weight", "balanced")
    assert "--class-weight is for classes; 'a' is taken as numbers" in told


def test_labels_that_are_numbers(line: CommandLine, tmp_path: Path) -> None:
    X, y = rare(400)
    file = write(tmp_path / "coded.csv", X, (y == "yes").astype(int))
    found = line.result(file, "-t", "fraud", *QUICK, "--class-weight", "1=20")
    assert found.own_rates is not None
    assert found.own_rates.only_class is None


def test_noise_is_still_nothing(line: CommandLine, tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        file = write(tmp_path / f"noise{seed}.csv", *rare(seed=seed, is_noise=True))
        for more in ((), ("--class-weight", "balanced"), ("--loss", "balanced_zero_one")):
            asked = ("select", file, "-t", "fraud", *QUICK, "--assess", *more)
            assert "Nothing clearly predicts fraud." in " ".join(line.fine(*asked).split())


def test_an_error_rate_alone_says_nothing(line: CommandLine, fraud: Path) -> None:
    """Without an assessment: no verdict, and what to do."""
    asked = ("--alpha", "1,100", "-k", "2", "--loss", "balanced_zero_one")
    told = " ".join(line.fine("select", fraud, "-t", "fraud", *asked).split())
    assert "Nothing clearly predicts" not in told
    assert "By the balanced error rate alone it is impossible to say" in told
    assert "--assess" in told


def test_permutations_go_by_auc(line: CommandLine, fraud: Path) -> None:
    """The error rate of one class for all rows is the same for any targets."""
    found = line.result(fraud, "-t", "fraud", *QUICK, "--permutations", "19")
    assert found.null is not None
    assert found.null.measure == "auc"
    assert found.null.chosen_p_value == pytest.approx(0.05)


def test_assess_shows_and_writes_further_measures(
    line: CommandLine, fraud: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    told = line.fine("assess", fraud, "-t", "fraud", *QUICK, "--folds", "4", "--out", out)
    assert "AUC" in told
    assert "balanced accuracy" in told
    assert "Brier score" in " ".join(told.split())
    assert "--class-weight balanced" in " ".join(told.split())
    table = list(csv.DictReader((out / "assessment.csv").read_text().splitlines()))
    assert float(table[1]["auc"]) > 0.95
    assert float(table[1]["balanced_accuracy"]) == pytest.approx(0.5, abs=0.03)
    again = PathAssessment.from_json((out / "assessment.json").read_text())
    assert again.class_rates is not None
    assert again.class_rates.auc == pytest.approx(float(table[1]["auc"]))
    assert again.class_rates.brier_score < again.class_rates.initial_brier_score


@pytest.mark.parametrize("rule", [None, "balanced"])
def test_further_measures_are_those_of_scikit_learn(rule: Any) -> None:
    X, y = rare(600)
    weights = np.random.default_rng(0).integers(1, 4, 600)
    found = cross_validate_path(
        X,
        y,
        3,
        cv=StratifiedKFold(3),
        alpha=10.0,
        class_weight=rule,
        sample_weight=weights,
        n_random=0,
    ).class_rates
    assert found is not None
    aucs, balanced, shares, predicted = [], [], [], 0.0
    for train, test in StratifiedKFold(3).split(X, y):
        model = GreedyRLSClassifier(3, alpha=10.0, class_weight=rule)
        model.fit(X[train], y[train], weights[train])
        own = weights[test]
        aucs.append(roc_auc_score(y[test], model.decision_function(X[test]), sample_weight=own))
        labels = model.predict(X[test])
        balanced.append(balanced_accuracy_score(y[test], labels, sample_weight=own))
        shares.append(own.sum())
        predicted += own[labels == "yes"].sum()
    assert found.auc == pytest.approx(np.average(aucs, weights=shares), rel=1e-9)
    assert found.balanced_accuracy == pytest.approx(np.average(balanced, weights=shares), rel=1e-9)
    assert_allclose(found.predicted, [1.0 - predicted / sum(shares), predicted / sum(shares)])


def test_in_python_the_advice_is_for_python() -> None:
    X, y = rare()
    found = cross_validate_path(X, y, 2, alpha=10.0, n_random=0)
    assert found.sentence.endswith(
        'every row is predicted \'no\': use class_weight="balanced", or loss="auc".'
    )
    assert found.warnings == ()
    by_area = cross_validate_path(X, y, 2, alpha=10.0, loss="auc", n_random=0)
    assert "choose a threshold for the scores yourself" in by_area.sentence


def test_a_fold_without_a_class_has_no_order() -> None:
    """It is left out of the mean."""
    X, y = rare(300)
    fold_of = np.where(y == "yes", np.arange(300) % 2, np.arange(300) % 3)
    found = cross_validate_path(X, y, 2, cv=fold_of, alpha=1.0, n_random=0).class_rates
    assert found is not None
    losses = found.losses[found.measures.index("auc")]
    assert np.isnan(losses[2]).all()
    assert np.isfinite(losses[:2]).all()
    known = found.shares[:2] / found.shares[:2].sum()
    assert found.auc == pytest.approx(1.0 - known @ losses[:2, 1])


def test_several_classes_have_no_auc() -> None:
    X, y = rare(600)
    y = np.where((y == "no") & (X[:, 0] > 0.3), "maybe", y)
    found = cross_validate_path(X, y, 3, alpha=1.0, n_random=0)
    assert found.class_rates is not None
    assert found.class_rates.auc is None
    assert "balanced accuracy" in found.sentence
    assert "AUC" not in found.sentence


def test_old_files_have_none_of_it() -> None:
    X, y = rare(300)
    found = cross_validate_path(X, y, 2, alpha=1.0, cv=3, n_random=0)
    document = json.loads(found.to_json())
    del document["class_rates"], document["predictions"]
    old = PathAssessment.from_json(json.dumps(document))
    assert old.class_rates is None
    assert old.to_json() == replace(found, class_rates=None, predictions=None).to_json()


@pytest.mark.parametrize("cv", ["loo", 3])
@pytest.mark.parametrize("classes", [2, 3])
def test_ties_of_balanced_errors_are_broken_by_squared_loss(cv: Any, classes: int) -> None:
    """As long as no candidate has a row of the rare class predicted, all of them tie."""
    X, y = rare(90, seed=4)
    codes = np.where(y == "yes", 1.0, -1.0)
    assert 2 <= (codes > 0).sum() <= 9
    if classes == 3:
        middle = (X[:, 1] > 1.2) & (codes < 0)
        codes = np.column_stack([(codes < 0) & ~middle, middle, codes > 0]) * 2.0 - 1.0
    splits = "loo"
    if cv != "loo":
        names = codes if classes == 2 else codes.argmax(axis=1)
        cv = splits = list(StratifiedKFold(cv).split(X, names))
    path = greedy_path(X, codes, 4, alpha=30.0, cv=cv, loss="balanced_zero_one", n_runners_up=2)
    twin = literal_path(X, codes, 4, alpha=30.0, cv=splits, loss="balanced_zero_one")
    assert path.indices.tolist() == twin.indices.tolist()
    assert_allclose(path.losses, twin.losses, rtol=1e-9)
    squared = greedy_path(X, codes, 1, alpha=30.0, cv=cv)
    assert path.indices[0] == squared.indices[0] != 0


@pytest.mark.parametrize("cv", ["loo", 3])
def test_such_ties_are_broken_alike_for_all_data(cv: Any, tmp_path: Path) -> None:
    X, y = rare(90, seed=4)
    codes = np.where(y == "yes", 1.0, -1.0)
    np.save(tmp_path / "X.npy", X)
    if cv != "loo":
        cv = list(StratifiedKFold(cv).split(X, y))
    options: dict[str, Any] = {"alpha": 30.0, "cv": cv, "loss": "balanced_zero_one"}
    path = greedy_path(X, codes, 4, **options)
    weights = np.full(90, 2.0)
    # Folds of X in memory have no blocks of rows.
    blocks: dict[str, Any] = {"block_rows": 17} if cv == "loo" else {}
    for data, more in (
        (np.asfortranarray(X), {}),
        (sparse.csc_array(X), {}),
        (open_npy(tmp_path / "X.npy"), {}),
        (X, blocks),
        (X, {"n_jobs": 2}),
        (X, {"sample_weight": weights, "alpha": 60.0}),
    ):
        found = greedy_path(data, codes, 4, **(options | more))
        assert found.indices.tolist() == path.indices.tolist()
        assert_allclose(found.losses, path.losses, rtol=1e-9)
