"""The paragraph for the methods section of a paper, for every kind of search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.model_selection import RepeatedKFold

import greedyrls
from greedyrls import (
    GreedyKernelRLS,
    GreedyRLSClassifier,
    GreedyRLSRanker,
    SelectionPath,
    greedy_path,
)
from greedyrls.assess import cross_validate_path, permutation_null, resample_path

pytest.importorskip("pandas")
X, y = load_diabetes(return_X_y=True, as_frame=True)
IS_HIGH = np.where(y > 140.0, 1.0, -1.0)
WITH = f"with greedyrls {greedyrls.__version__}."
DATA = "The data had 442 samples and 10 candidate features."
CRITERION = (
    "Each step added the feature that gave the smallest exact leave-one-out mean squared error."
)
INTERCEPT = "The model had an intercept, which was not penalised."
PREPROCESSING = "[Describe the data and their preprocessing, such as scaling and missing values.]"
GREEDY_RLS = (
    "Pahikkala, T., Airola, A., & Salakoski, T. (2010). Linear time feature selection for "
    "regularized least-squares. arXiv:1003.3570."
)


def search(k: Any = 3, **options: Any) -> SelectionPath:
    return greedy_path(X, y, k, **({"alpha": 0.01} | options))


def text_of(path: SelectionPath) -> str:
    return path.methods_text().split("\n")[0]


def test_a_whole_paragraph() -> None:
    assert search().methods_text(task="regression") == "\n".join(
        [
            " ".join(
                [
                    "Features were selected by greedy forward selection for ridge regression "
                    f"(regularized least squares; Pahikkala et al., 2010), {WITH}",
                    DATA,
                    CRITERION,
                    "The penalty of the search was set to 0.01.",
                    "The number of features, 3, was set in advance.",
                    "The 3 selected features, in the order of selection, were bmi, s5 and bp.",
                    INTERCEPT,
                    PREPROCESSING,
                ]
            ),
            "",
            "References",
            "",
            GREEDY_RLS,
        ]
    )


def test_a_path_from_a_file_has_the_same_text() -> None:
    path = search("auto", alpha="auto", cv=5)
    assert SelectionPath.from_json(path.to_json()).methods_text() == path.methods_text()


def test_penalty_and_size_chosen_in_outer_folds() -> None:
    text = text_of(search("auto", alpha="auto"))
    assert (
        "The penalty of the search, 1, was chosen from 7 values between 0.0001 and 100 by nested "
        "cross-validation: the selection was repeated with each value in outer folds (5-fold, "
        "shuffled with seed 0), and the value with the smallest held-out loss was taken. The "
        "number of features was chosen in the same outer folds as the smallest whose held-out loss "
        "was within one standard error of the difference from the smallest loss. The 8 selected "
        "features, in the order of selection, were bmi, s5, bp, s3, sex, s6, s4 and s2. The final "
        "model was fitted with the penalty 0.05623, chosen by leave-one-out on the selected "
        f"features. {INTERCEPT}"
    ) in text


def test_only_the_size_chosen_in_outer_folds() -> None:
    assert (
        "The penalty of the search was set to 0.01. To choose the number of features, the "
        "selection was repeated in outer folds (5-fold, shuffled with seed 0); the one with the "
        "smallest held-out loss was taken."
    ) in text_of(search("auto", size_rule="min"))


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("joint", "as the value with the smallest loss of the search itself."),
        (
            "all_features",
            "as the value with the smallest leave-one-out loss of a model with all features.",
        ),
    ],
)
def test_other_rules_for_the_penalty(rule: str, words: str) -> None:
    path = search(3, alpha=[0.01, 1.0], alpha_rule=rule, refit_alpha=0.5)
    text = text_of(path)
    alpha = f"{path.settings.alpha:g}"
    start = f"The penalty of the search, {alpha}, was chosen from 2 values between 0.01 and 1 "
    assert start + words in text
    assert f"The final model was fitted with the penalty 0.5. {INTERCEPT}" in text


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"cv": 10},
            "Each step added the feature that gave the smallest cross-validated mean squared error "
            "(10-fold).",
        ),
        (
            {"cv": RepeatedKFold(n_splits=5, n_repeats=2, random_state=1), "loss": "absolute"},
            "Each step added the feature that gave the smallest cross-validated mean absolute "
            "error (RepeatedKFold, n_splits=5, n_repeats=2, random_state=1).",
        ),
        (
            {"cv": np.arange(442) % 7},
            "smallest cross-validated mean squared error (7 given folds).",
        ),
        (
            {"direction": "backward"},
            "Features were selected by greedy backward elimination for",
        ),
        (
            {"direction": "backward"},
            "Starting from all features, each step removed the feature whose removal gave the "
            "smallest exact leave-one-out mean squared error.",
        ),
        (
            {"direction": "floating"},
            f"{CRITERION} After each addition, features were removed while the smaller set was "
            "better than the best set of its size found before (Pudil et al., 1994).",
        ),
        (
            {"direction": "foba", "backward_ratio": 0.25},
            f"{CRITERION} After each addition, features were removed while the loss rose by less "
            "than 0.25 times the gain of the corresponding addition (Zhang, 2011).",
        ),
        (
            {"direction": "swap"},
            f"{CRITERION} Then single features were exchanged for others while this improved the "
            "criterion.",
        ),
        (
            {"forced_features": ["age", "sex"], "excluded_features": ["bmi"]},
            "The data had 442 samples and 9 candidate features; 1 further feature was excluded in "
            "advance.",
        ),
        (
            {"forced_features": ["age", "sex"], "excluded_features": ["bmi"]},
            "The features age and sex were included in advance.",
        ),
        ({"forced_features": ["age"]}, "The feature age was included in advance."),
        ({"fit_intercept": False}, "The model had no intercept."),
        ({"sample_weight": np.arange(1.0, 443.0)}, "Samples were weighted [state how]."),
        (
            {"feature_costs": {"bmi": 3.0}, "budget": 4.0},
            "Each step added the feature that reduced the exact leave-one-out mean squared error "
            "most per unit of cost. The total cost was limited to 4.",
        ),
        (
            {"feature_groups": {"blood": ["s1", "s2", "s3"]}},
            "The data had 442 samples and 10 columns in 1 group and 7 single columns. Each step "
            "added the group that gave the smallest exact leave-one-out mean squared error. The "
            "columns of a group were added or removed together; a column in no group counted as a "
            "group.",
        ),
    ],
)
def test_options(options: dict[str, Any], sentence: str) -> None:
    assert sentence in text_of(search(**options))


def test_weights_are_not_mentioned_without_any() -> None:
    assert "weighted" not in text_of(search())


def test_a_budget_that_ends_the_search() -> None:
    text = text_of(search(None, feature_costs={"bmi": 3.0}, budget=4.0))
    assert "The search ended because no other feature was affordable, with 4 features." in text
    assert "Their total cost is 4." in text


def test_functions_as_loss() -> None:
    def worst(observed: Any, predicted: Any) -> float:
        return float(np.abs(observed - predicted).max())

    text = text_of(search(2, loss=worst, cv=5))
    assert "smallest cross-validated user-defined loss 'worst' (5-fold)." in text


def test_several_targets() -> None:
    path = greedy_path(X, np.column_stack([y, -y, y**2]), 2, alpha=0.01)
    assert "leave-one-out mean squared error, averaged over 3 targets." in text_of(path)


def test_losses_of_classes_say_that_it_is_a_classification() -> None:
    path = greedy_path(X, IS_HIGH, 2, loss="auc", cv=5)
    assert "for regularized least-squares classification (Pahikkala et al., 2010)" in text_of(path)
    assert (
        "Each step added the feature that gave the largest cross-validated area under the ROC "
        "curve (5-fold)."
    ) in text_of(path)


def test_classes_by_squared_loss() -> None:
    measurements, wines = load_wine(return_X_y=True)
    model = GreedyRLSClassifier(3).fit((measurements - measurements.mean(0)), wines)
    text = model.path_.methods_text(task="classification")
    assert (
        "leave-one-out mean squared error of the class codes −1 and +1 (3 classes, each against "
        "the rest)."
    ) in text
    assert (
        "Selection by squared loss and by 0/1 loss was compared by the error rate in the outer "
        "folds."
    ) in text
    binary = greedy_path(X, IS_HIGH, 2).methods_text(task="classification")
    assert "mean squared error of the class codes −1 and +1." in binary


def test_ranking() -> None:
    queries = np.repeat(np.arange(50), 8)
    path = GreedyRLSRanker(2, alpha=1.0).fit(X[:400], y[:400], groups=queries).path_
    text = path.methods_text()
    assert "least-squares ranking (RankRLS; Pahikkala et al., 2009, 2010)" in text
    assert (
        "smallest exact leave-query-out mean squared error of differences between samples of the "
        "same query (50 queries)."
    ) in text
    assert "intercept" not in text
    assert "weighted" not in text
    assert "Tsivtsivadze" in text.split("References")[1]


def test_kernel_centres() -> None:
    text = text_of(GreedyKernelRLS(4, alpha=1.0).fit(X, y).path_)
    assert text.startswith("Centres were selected by greedy forward selection for kernel regular")
    assert "442 candidate centres. Each step added the centre that gave" in text
    assert "The number of centres, 4, was set in advance. 4 centres were selected." in text
    assert "[State the kernel and its parameters.]" in text


def test_no_features() -> None:
    generator = np.random.default_rng(0)
    noise, target = generator.normal(size=(60, 30)), generator.normal(size=60)
    text = text_of(greedy_path(noise, target, "auto", alpha="auto"))
    assert "No feature was selected, because none predicted better than a constant." in text
    assert "final model" not in text


def test_one_feature_and_many() -> None:
    assert "The selected feature was bmi." in text_of(search(1))
    wide = np.random.default_rng(0).normal(size=(60, 40))
    text = text_of(greedy_path(wide, wide.sum(axis=1), 25))
    assert "The 25 selected features, in the order of selection, were x" in text
    assert "and 5 others [see Table …]." in text


def test_names_cannot_break_a_line() -> None:
    renamed = X.rename(columns={"bmi": "body\nmass"})
    assert "body\\nmass" in text_of(greedy_path(renamed, y, 1))


def test_an_unknown_task() -> None:
    with pytest.raises(ValueError, match=r"task must be one of 'regression'.* got 'sorting'"):
        search(1).methods_text(task="sorting")  # type: ignore[arg-type]


def test_something_else_than_an_assessment() -> None:
    with pytest.raises(TypeError, match=r"takes results of greedyrls\.assess .* got 'regression'"):
        search(1).methods_text("regression")  # type: ignore[arg-type]


def test_with_an_assessment() -> None:
    assessment = cross_validate_path(X, y, "auto", alpha=0.01, n_random=0)
    value = assessment.reading.written(*assessment.estimate)
    ends = assessment.reading.interval(*assessment.interval)
    assert (
        "To estimate the performance on new samples, the whole selection, including the choice of "
        "the number of features, was repeated in outer folds (10-fold, shuffled with seed 0): "
        "without the samples of each fold in turn, on which the result was tested. The root mean "
        f"squared error was {value} (± standard error; 95% confidence interval {ends}) and R² was "
        "0.49, compared with 77.06 without features. Standard errors account for training samples "
        "that the folds share (Nadeau and Bengio, 2003)."
    ) == assessment.methods_text().split("\n")[0]
    stability = resample_path(X, y, 3, alpha=0.01, n_resamples=10)
    null = permutation_null(X, y, 3, alpha=0.01, n_permutations=19)
    text = search().methods_text(assessment, stability, null)
    assert assessment.methods_text().split("\n")[0] in text
    assert (
        "The stability index of the selections (10 subsamples of 50% of the samples) was "
        f"{stability.index[-1]:.2f}, where 1 means that all are the same and 0 is expected by "
        "chance (Nogueira et al., 2018). A permutation test repeated the selection on 19 random "
        "permutations of the target (p = 0.05)."
    ) in text
    assert [line[:8] for line in text.splitlines()[-3:]] == ["Nadeau, ", "Nogueira", "Pahikkal"]


def test_an_interval_from_few_samples_is_called_approximate() -> None:
    assessment = cross_validate_path(X[:100], y[:100], 2, alpha=0.01, cv=5, n_random=0)
    assert "(± standard error; approximate 95% confidence interval" in assessment.methods_text()


def test_an_assessment_of_classes() -> None:
    assessment = cross_validate_path(X, y > 140.0, 2, alpha=1.0, cv=5, n_random=0)
    text = assessment.methods_text()
    assert "the whole selection was repeated in outer folds (5-fold, stratified, shuffled" in text
    assert "The accuracy was 0." in text
    assert " and the AUC was 0." in text
