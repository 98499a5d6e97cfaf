"""Pictures of coefficients: those of the path, with names that can be read."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from numpy.testing import assert_allclose, assert_array_equal

from greedyrls import GreedyRLSClassifier, SelectionPath, SizeChoice, greedy_path
from greedyrls.plots import plot_coefficients
from internals import draw_coefficients as coefficients
from pictures import COLUMN, curve, drawn, legend, make_path
from tuning import Tune


def singular_path() -> SelectionPath:
    """A path whose penalty is lost in the rounding of two equal columns."""
    path = make_path(4, alpha=1.0)
    gram = np.array(path.moments.gram)
    gram[3] = gram[2]
    gram[:, 3] = gram[:, 2]
    gram[3, 3] = gram[2, 2] * (1.0 - 1e-12)
    settings = replace(path.settings, alpha=1e-18)
    return replace(path, settings=settings, moments=replace(path.moments, gram=gram))


def profiles(ax: Axes) -> list[tuple[Any, Any]]:
    """Coloured curves, in the order of selection: all lines but zero and those to names."""
    lines = [line for line in ax.lines if line.get_linewidth() > 1.2]
    return [(np.asarray(line.get_xdata()), np.asarray(line.get_ydata())) for line in lines]


@pytest.mark.parametrize("options", [{}, {"alpha": [0.01, 1.0, 100.0], "refit_alpha": "loo"}])
def test_coefficients_are_those_of_the_path(options: Any) -> None:
    path = make_path(6, **options)
    ax = drawn(plot_coefficients(path, standardized=False))
    curves = profiles(ax)
    assert len(curves) == 6
    for place, (sizes, values) in enumerate(curves):
        # From the size on at which the feature enters.
        assert_array_equal(sizes, np.arange(place + 1, 7))
        assert_allclose(values, [path.coef(int(size))[place] for size in sizes], rtol=1e-9)
    assert ax.get_ylabel() == "coefficient"
    assert ax.get_xlabel() == "number of features"


def test_coefficients_per_standard_deviation() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4)) * [1.0, 10.0, 100.0, 0.1] + 5.0
    y = X @ [1.0, 0.1, 0.01, 10.0] + rng.standard_normal(30)
    path = greedy_path(X, y, 4, alpha=0.1)
    deviations = X.std(axis=0)[path.indices]
    ax = plot_coefficients(path)
    for place, (sizes, values) in enumerate(profiles(ax)):
        expected = [path.coef(int(size))[place] * deviations[place] for size in sizes]
        assert_allclose(values, expected, rtol=1e-9)
    assert ax.get_ylabel() == "coefficient × standard deviation"
    raw = plot_coefficients(greedy_path(X, y, 4, fit_intercept=False))
    assert raw.get_ylabel() == "coefficient × root mean square"


def test_coefficients_of_several_targets() -> None:
    path = make_path(4, targets=3)
    ax = plot_coefficients(path, standardized=False)
    assert ax.get_ylabel() == "norm of coefficients of 3 targets"
    sizes, values = profiles(ax)[1]
    expected = [np.linalg.norm(path.coef(int(size))[:, 1]) for size in sizes]
    assert_allclose(values, expected, rtol=1e-9)
    ax = plot_coefficients(path, standardized=False, target=2)
    assert ax.get_ylabel() == "coefficient, target 2"
    sizes, values = profiles(ax)[1]
    assert_allclose(values, [path.coef(int(size))[2, 1] for size in sizes], rtol=1e-9)


def test_coefficients_up_to_a_size() -> None:
    path = make_path(6)
    ax = drawn(plot_coefficients(path, 3, standardized=False))
    assert [len(values) for _, values in profiles(ax)] == [3, 2, 1]
    assert_allclose([values[-1] for _, values in profiles(ax)], path.coef(3), rtol=1e-9)
    assert max(ax.get_xticks()) <= 3


def test_coefficients_where_a_factor_fails() -> None:
    path = singular_path()
    ax = plot_coefficients(path, standardized=False)
    assert_allclose([values[-1] for _, values in profiles(ax)], path.coef(4), rtol=1e-9)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_largest_have_names_and_the_others_are_grey(sign: float) -> None:
    path = make_path(8, names=[f"feature {place}" for place in range(10)])
    path = replace(path, moments=replace(path.moments, correlation=sign * path.moments.correlation))
    ax = drawn(plot_coefficients(path, n_labels=3, standardized=False))
    last = path.coef(8)
    largest = np.sort(np.argsort(-np.abs(last), kind="stable")[:3])
    assert [text.get_text() for text in ax.texts] == [path.names()[place] for place in largest]
    (others,) = [part for part in ax.collections if isinstance(part, LineCollection)]
    ends = [piece[-1, 1] for piece in others.get_segments()]
    assert_allclose(ends, np.delete(last, largest), rtol=1e-9)
    assert len(profiles(ax)) == 3


def test_no_names_at_all() -> None:
    ax = drawn(plot_coefficients(make_path(4), n_labels=0))
    assert not ax.texts
    assert not profiles(ax)
    assert len(ax.collections[0].get_segments()) == 4


@pytest.mark.parametrize("size", [None, COLUMN])
def test_names_do_not_overlap(size: Any) -> None:
    # Equal coefficients: all names want the same place.
    path = make_path(10, alpha=1e9)
    _, ax = pyplot.subplots(figsize=size, layout="constrained")
    drawn(plot_coefficients(path, ax=ax))
    boxes = sorted((text.get_window_extent() for text in ax.texts), key=lambda box: box.y0)
    assert len(boxes) == 10
    for below, above in pairwise(boxes):
        assert above.y0 >= below.y0 + 0.9 * below.height
    frame = ax.figure.bbox
    assert all(box.x1 <= frame.x1 and frame.y0 <= box.y0 for box in boxes)


@pytest.mark.parametrize("seed", range(20))
def test_places_are_apart_and_near(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 12))
    wanted = rng.choice([0.0, 0.1, 0.5, 0.52, 0.9, 1.0], count)
    places = coefficients.spread_out(wanted, 0.08, 0.0, 1.0)
    order = np.argsort(wanted, kind="stable")
    assert (np.diff(places[order]) >= 0.08 - 1e-12).all()
    assert places.min() >= -1e-12
    assert places.max() <= 1.0 + 1e-12
    # What is far from all others stays where it is.
    for place, value in zip(places, wanted, strict=True):
        if np.sum(np.abs(wanted - value) < 0.5) == 1:
            assert_allclose(place, value, atol=1e-12)


def test_more_places_than_room_are_even() -> None:
    places = coefficients.spread_out(np.zeros(5), 10.0, 0.0, 1.0)
    assert_allclose(np.sort(places), np.linspace(0.0, 1.0, 5))


def test_the_size_of_a_rule_is_a_line() -> None:
    path = replace(make_path(6), size_choice=SizeChoice(4, "1se", ""))
    ax = drawn(plot_coefficients(path))
    assert legend(ax) == ["4 features (rule '1se')"]
    assert curve(ax, "4 features")[0].tolist() == [4, 4]
    assert plot_coefficients(path, 3).get_legend() is None
    assert plot_coefficients(make_path(6)).get_legend() is None


def test_one_feature_has_one_point() -> None:
    ax = drawn(plot_coefficients(make_path(1), standardized=False))
    ((sizes, values),) = profiles(ax)
    assert sizes.tolist() == [1]
    assert_allclose(values, make_path(1).coef(1))
    assert ax.get_xticks().tolist() == [1]


def test_a_long_path_is_drawn_at_some_sizes(tune: Tune) -> None:
    tune(drawn_sizes=4)
    path = make_path(10)
    ax = plot_coefficients(path, standardized=False)
    for place, (sizes, values) in enumerate(profiles(ax)):
        assert set(sizes.tolist()) <= {1, 4, 7, 10}
        assert_allclose(values, [path.coef(int(size))[place] for size in sizes], rtol=1e-9)


def test_coefficients_of_an_estimator() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3], axis=1)]
    model = GreedyRLSClassifier(3, alpha=1.0).fit(X, y)
    assert "of 3 targets" in drawn(plot_coefficients(model)).get_ylabel()


@pytest.mark.parametrize("n_labels", [-1, 1.5, True, None])
def test_a_number_of_labels(n_labels: Any) -> None:
    with pytest.raises(ValueError, match=r"n_labels must be a whole number, 0 or more; got"):
        plot_coefficients(make_path(3), n_labels=n_labels)
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("target", [-1, 3, "a", True])
def test_a_target_that_there_is(target: Any) -> None:
    with pytest.raises(ValueError, match=r"is not the index of a target; there are 3, from 0 on"):
        plot_coefficients(make_path(3, targets=3), target=target)


def test_a_size_that_there_is() -> None:
    with pytest.raises(ValueError, match="k=9 is not on the path, which has 0 to 3"):
        plot_coefficients(make_path(3), 9)
