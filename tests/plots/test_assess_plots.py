"""Pictures of assessments and stability: what they draw is what the results say."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.collections import LineCollection
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes

from greedyrls import greedy_path
from greedyrls.assess import Stability, cross_validate_path, permutation_null, resample_path
from greedyrls.plots import plot_assessment, plot_path, plot_stability, plot_stability_index
from pictures import (
    COLUMN,
    bars,
    curve,
    drawn,
    heights,
    legend,
    make_assessment,
    make_null,
    make_stability,
    names_of,
)

# Assessments -------------------------------------------------------------------------------------


def test_an_assessment_draws_its_curves() -> None:
    assessment = make_assessment()
    ax = drawn(plot_assessment(assessment))
    for label, values in [
        ("test", assessment.test[0]),
        ("selection's own (leave-one-out)", assessment.selection[0]),
        ("random features", assessment.random[0]),
    ]:
        x, y = curve(ax, label)
        assert_array_equal(x, assessment.sizes)
        assert_array_equal(y, values)
    assert_array_equal(curve(ax, "no features")[1], [assessment.initial_loss] * 2)
    assert ax.get_xlabel() == "number of features"
    assert ax.get_ylabel() == "mean squared error"
    assert ax.get_title() == ""
    for band, (mean, error) in zip(
        ax.collections, (assessment.test, assessment.random), strict=True
    ):
        low, high = heights(band)
        assert_allclose(low, mean - error)
        assert_allclose(high, mean + error)


def test_the_legend_says_what_is_drawn() -> None:
    assessment = make_assessment()
    mean, error = assessment.estimate
    assert legend(plot_assessment(assessment, make_null())) == [
        "test ± standard error",
        "selection's own (leave-one-out)",
        "own, permuted targets (90%)",
        "random features, test",
        "no features",
        f"6 features: {mean:.2f} ± {error:.2f}",
    ]


@pytest.mark.parametrize("level", [0.9, 0.5])
def test_permutations_are_a_band_with_its_median(level: float) -> None:
    null = make_null()
    ax = drawn(plot_assessment(make_assessment(n_random=0), null, level=level))
    x, y = curve(ax, f"own, permuted targets ({100 * level:g}%)")
    assert_array_equal(x, np.arange(1, 7))
    assert_array_equal(y, np.median(null.null_losses, axis=0))
    low, high = heights(ax.collections[-1])
    assert_allclose(low, null.band(level)[0])
    assert_allclose(high, null.band(level)[1])


def test_a_size_chosen_in_each_fold_has_a_tick_in_each() -> None:
    sizes = np.array([2, 5, 2, 3])
    assessment = make_assessment(chosen_sizes=sizes, n_asked=None)
    ax = drawn(plot_assessment(assessment))
    mean = assessment.estimate[0]
    x, y = curve(ax, "2 to 5 features: ")
    assert (x.tolist(), y.tolist()) == ([2.5], [mean])
    (ticks,) = [line for line in ax.lines if line.get_marker() == "|"]
    assert_array_equal(ticks.get_xdata(), [2, 2, 3, 5])
    assert_array_equal(ticks.get_ydata(), [mean] * 4)


def test_a_size_that_is_the_same_in_all_folds_is_a_ring_on_the_curve() -> None:
    assessment = make_assessment(chosen_sizes=np.full(4, 3))
    ax = plot_assessment(assessment)
    x, y = curve(ax, "3 features: ")
    assert x.tolist() == [3.0]
    assert_allclose(y, assessment.test[0][2])
    assert not [line for line in ax.lines if line.get_marker() == "|"]


@pytest.mark.parametrize(
    ("measure", "label"),
    [
        ("zero_one", "error rate"),
        ("auc", "1 − AUC"),
        ("callable:$a$", r"\$a\$"),
        ("callable:<lambda>", "loss"),
    ],
)
def test_an_assessment_says_its_measure(measure: str, label: str) -> None:
    ax = drawn(plot_assessment(make_assessment(measure=measure), make_null(measure=measure)))
    assert ax.get_ylabel() == label


@pytest.mark.parametrize(
    ("criterion", "label"),
    [
        ("5-fold, squared loss", "selection's own (5-fold)"),
        ("KFold(n_splits=5, shuffle=True), zero_one loss", "selection's own (inner folds)"),
    ],
)
def test_an_assessment_says_what_the_selection_went_by(criterion: str, label: str) -> None:
    assert label in legend(plot_assessment(make_assessment(criterion=criterion)))


def test_one_fold_has_no_errors() -> None:
    ax = drawn(plot_assessment(make_assessment(folds=1)))
    assert not ax.collections
    assert "test" in legend(ax)
    assert f"6 features: {make_assessment(folds=1).estimate[0]:.4g}" in legend(ax)


def test_no_random_features_are_not_drawn() -> None:
    ax = drawn(plot_assessment(make_assessment(n_random=0)))
    assert not any("random" in label for label in legend(ax))
    assert len(ax.collections) == 1


def test_a_single_size_can_be_seen() -> None:
    ax = drawn(plot_assessment(make_assessment(k=1), make_null(1)))
    assert ax.get_xticks().tolist() == [1]
    for label in ("test", "selection's own", "own, permuted", "random"):
        (line,) = [one for one in ax.lines if str(one.get_label()).startswith(label)]
        assert line.get_marker() in ("o", "_")
    assert all(isinstance(part, LineCollection) for part in ax.collections)


def test_sizes_that_a_fold_did_not_reach_are_gaps() -> None:
    losses = np.array(make_assessment().test_losses)
    losses[2, 4:] = np.nan
    own = np.array(make_assessment().selection_losses)
    own[2, 4:] = np.nan
    assessment = make_assessment(
        test_losses=losses, selection_losses=own, chosen_sizes=np.array([6, 6, 4, 6])
    )
    ax = drawn(plot_assessment(assessment))
    _, y = curve(ax, "test")
    assert_array_equal(np.isnan(y), [False] * 4 + [True] * 2)
    assert np.isfinite(ax.get_ylim()).all()


def test_an_estimate_that_is_not_a_number_has_no_ring() -> None:
    assessment = make_assessment(test_losses=np.full((4, 6), np.nan))
    ax = drawn(plot_assessment(assessment))
    assert not any("6 features" in label for label in legend(ax))


def test_many_sizes_are_logarithmic_unless_told_otherwise() -> None:
    many = make_assessment(k=2000, folds=2, n_random=1, n_features_in=2000)
    assert drawn(plot_assessment(many, make_null(2000))).get_xscale() == "log"
    assert plot_assessment(many, log_x=False).get_xscale() == "linear"
    assert plot_assessment(make_assessment()).get_xscale() == "linear"
    assert plot_assessment(make_assessment(), log_x=True).get_xscale() == "log"


def test_losses_of_wide_range_are_logarithmic() -> None:
    losses = np.array(make_assessment().test_losses)
    losses[:, 5] = 1e4
    ax = drawn(plot_assessment(make_assessment(test_losses=losses)))
    assert ax.get_yscale() == "log"
    assert 0.5 < ax.get_ylim()[0] < 2.0
    assert "1000" in [label.get_text() for label in ax.get_yticklabels()]
    assert plot_assessment(make_assessment()).get_yscale() == "linear"


def test_measures_must_agree() -> None:
    with pytest.raises(ValueError, match=r"in 'auc' and the assessment in 'squared'.*same measure"):
        plot_assessment(make_assessment(), make_null(measure="auc"))
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("level", [0.0, 1.0, 90])
def test_a_level_is_a_share(level: float) -> None:
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        plot_assessment(make_assessment(), make_null(), level=level)
    assert pyplot.get_fignums() == []


# Stability ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [None, 1, 3])
def test_bars_are_frequencies(k: int | None) -> None:
    stability = make_stability(tuple("abcdefghij"))
    ax = drawn(plot_stability(stability, k))
    shares = stability.frequencies(k)
    order = np.argsort(-shares, kind="stable")[: np.count_nonzero(shares)]
    assert_allclose(bars(ax), shares[order])
    assert names_of(ax) == ["abcdefghij"[place] for place in order]
    # The most frequent is on top.
    assert ax.get_ylim()[0] > ax.get_ylim()[1]
    size = k or 5
    assert_allclose(ax.lines[0].get_xdata(), [size / 10] * 2)
    features = f"{size} feature{'s' * (size != 1)}"
    assert ax.get_xlabel().splitlines() == [
        f"share of 8 selections, first {features}",
        f"(dotted: by chance, {size / 10:g})",
    ]


def test_the_title_has_the_index() -> None:
    stability = make_stability()
    value = stability.index[2]
    low, high = (end[2] for end in stability.interval)
    ax = plot_stability(stability, 3)
    interval = f"(95% Monte-Carlo interval {low:.2f} to {high:.2f})"
    assert ax.get_title() == f"Stability {value:.2f} {interval}"
    everything = Stability((np.array([0, 1]), np.array([1, 0])), 2)
    assert plot_stability(everything).get_title() == "Stability: not defined"
    assert plot_stability(Stability((np.array([0]),), 3)).get_title() == "Stability: not defined"


def test_only_so_many_bars() -> None:
    ax = plot_stability(make_stability(), n_features=3)
    assert len(bars(ax)) == len(names_of(ax)) == 3
    assert bars(ax)[0] == 1.0
    many = Stability(tuple(np.arange(60) for _ in range(3)), 100)
    _, small = pyplot.subplots(figsize=COLUMN, layout="constrained")
    drawn(plot_stability(many, n_features=60, ax=small))
    assert 8 <= len(bars(small)) < 30
    boxes = [label.get_window_extent() for label in small.get_yticklabels()]
    for above, below in pairwise(boxes):
        assert above.y0 >= below.y1 - 0.3 * below.height


def test_shorter_selections_have_a_lower_chance() -> None:
    stability = Stability((np.array([0, 1, 2]), np.array([0])), 10)
    assert_allclose(plot_stability(stability).lines[0].get_xdata(), [0.2, 0.2])


def test_an_assessment_has_a_stability() -> None:
    assessment = make_assessment()
    ax = plot_stability(assessment, 4)
    assert_allclose(bars(ax)[0], assessment.stability.frequencies(4).max())
    ax = plot_stability_index(assessment)
    assert_array_equal(curve(ax, "stability index")[1], assessment.stability.index)


def test_the_index_has_its_interval() -> None:
    stability = make_stability()
    ax = drawn(plot_stability_index(stability))
    x, y = curve(ax, "stability index")
    assert_array_equal(x, np.arange(1, 6))
    assert_array_equal(y, stability.index)
    low, high = heights(ax.collections[0])
    assert_allclose(low, stability.interval[0])
    assert_allclose(high, stability.interval[1])
    assert curve(ax, "by chance")[1].tolist() == [0, 0]
    assert legend(ax) == ["stability index", "95% Monte-Carlo interval", "by chance"]
    assert ax.get_xlabel() == "number of features"
    assert ax.get_ylabel() == "stability index"
    assert ax.get_ylim()[0] < 0.0 < 1.0 < ax.get_ylim()[1]


def test_the_index_of_all_features_is_left_out() -> None:
    orders = tuple(np.random.default_rng(seed).permutation(4) for seed in range(5))
    ax = drawn(plot_stability_index(Stability(orders, 4)))
    assert_array_equal(np.isnan(curve(ax, "stability index")[1]), [False, False, False, True])


def test_an_index_of_2000_sizes() -> None:
    rng = np.random.default_rng(0)
    stability = Stability(tuple(rng.permutation(2001)[:2000] for _ in range(2)), 2001)
    assert drawn(plot_stability_index(stability)).get_xscale() == "log"
    assert plot_stability_index(stability, log_x=False).get_xscale() == "linear"


def test_one_selection_has_no_index() -> None:
    with pytest.raises(ValueError, match=r"needs at least two selections.*there are 1 selections"):
        plot_stability_index(Stability((np.array([0, 1]),), 5))
    with pytest.raises(ValueError, match="no selections with features"):
        plot_stability(Stability((), 5))
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("n_features", [0, -1, 2.0, True])
def test_a_number_of_bars(n_features: Any) -> None:
    with pytest.raises(ValueError, match=r"n_features must be a whole number, 1 or more; got"):
        plot_stability(make_stability(), n_features=n_features)


def test_a_size_among_those_selected() -> None:
    with pytest.raises(ValueError, match="k=9 is not among the sizes selected, 1 to 5"):
        plot_stability(make_stability(), 9)
    with pytest.raises(TypeError, match="whole number"):
        plot_stability(make_stability(), 2.0)
    assert pyplot.get_fignums() == []


# Both --------------------------------------------------------------------------------------------


def test_results_of_real_data() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((40, 8)), columns=[f"c{place}" for place in range(8)])
    y = np.where(X["c3"] + 0.3 * rng.standard_normal(40) > 0, "yes", "no")
    assessment = cross_validate_path(X, y, "auto", cv=4, alpha=1.0, max_features=4, n_random=2)
    null = permutation_null(X, y, "auto", alpha=1.0, max_features=4, n_permutations=5)
    ax = drawn(plot_assessment(assessment, null))
    assert ax.get_ylabel() == "error rate"
    assert_array_equal(curve(ax, "test")[1], assessment.test[0])
    stability = resample_path(X, y, 2, alpha=1.0, n_resamples=4)
    assert names_of(drawn(plot_stability(stability)))[0] == "c3"
    assert drawn(plot_stability_index(stability)).has_data()


def test_a_path_with_permutations() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    path = greedy_path(X, y, 5, alpha=0.01)
    null = permutation_null(X, y, 5, alpha=0.01, n_permutations=9, task="regression")
    assert_allclose(null.losses, path.losses, rtol=1e-9)
    ax = plot_path(path, null, level=0.8)
    (median,) = [line for line in ax.lines if "permuted targets (80%)" in str(line.get_label())]
    assert_allclose(median.get_ydata(), np.median(null.null_losses, axis=0))
    low, high = null.band(0.8)
    drawn = np.concatenate([area.get_paths()[0].vertices[:, 1] for area in ax.collections])
    for value in (*low, *high):
        assert np.isclose(drawn, value).any()
    with pytest.raises(ValueError, match="'absolute' and the path in 'squared'"):
        plot_path(path, make_null(5, measure="absolute"))
    with pytest.raises(TypeError, match="null must be a PermutationNull"):
        plot_path(path, 3)
