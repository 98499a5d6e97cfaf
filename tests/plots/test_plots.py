"""Pictures: what they say, what they mark, and what they leave out."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import RepeatedKFold

from greedyrls import AlphaSurface, SelectionPath, SizeChoice, greedy_path, plots
from greedyrls.plots import plot_path, plot_surface
from internals import number
from pictures import drawn, legend

GRID = [0.01, 1.0, 100.0]


def make_path(n_features: Any = 5, *, names: list[str] | None = None, **options: Any) -> Any:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 8))
    y = np.sign(X[:, 2] + 0.5 * X[:, 5] + 0.5 * rng.standard_normal(40))
    return greedy_path(
        X if names is None else pd.DataFrame(X, columns=names), y, n_features, **options
    )


def median_error(y_true: Any, y_pred: Any) -> float:
    """A loss without standard errors, below 0."""
    return float(np.median(np.abs(y_true - y_pred))) - 10.0


def mark(ax: Axes, start: str) -> tuple[float, float]:
    """Where the mark is whose label begins so."""
    (line,) = [line for line in ax.lines if str(line.get_label()).startswith(start)]
    (x,), (y,) = line.get_data()
    return float(x), float(y)


def mesh(ax: Axes) -> QuadMesh:
    (found,) = [part for part in ax.collections if isinstance(part, QuadMesh)]
    return found


def colour_bar(ax: Axes) -> Axes:
    bar = mesh(ax).colorbar
    assert bar is not None
    return bar.ax


def bare(losses: Any, rule: Any = "joint", size: int = 1, row: int = 0, **options: Any) -> Any:
    """A surface of given losses."""
    values = np.array(losses, dtype=float)
    alphas = 10.0 ** np.arange(len(values))
    parts: dict[str, Any] = {
        "alphas": alphas,
        "losses": values,
        "standard_errors": np.full_like(values, np.nan),
        "fold_losses": None,
        "fold_shares": None,
        "folds": "",
        "alpha": float(alphas[row]),
    } | options
    return AlphaSurface(rule=rule, size=size, **parts)


# Paths -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "label", "short"),
    [
        ({}, "leave-one-out squared loss", "leave-one-out squared loss"),
        ({"cv": 5}, "held-out squared loss (5-fold)", "held-out squared loss"),
        (
            {"cv": 5, "loss": "zero_one"},
            "held-out zero-one error (5-fold)",
            "held-out zero-one error",
        ),
        ({"loss": "absolute"}, "leave-one-out absolute loss", "leave-one-out absolute loss"),
        ({"loss": "auc"}, "leave-one-out 1 − AUC", "leave-one-out 1 − AUC"),
        (
            {"loss": "balanced_zero_one"},
            "leave-one-out balanced zero-one error",
            "leave-one-out balanced zero-one error",
        ),
        ({"loss": median_error}, "leave-one-out median_error", "leave-one-out median_error"),
        ({"loss": lambda a, b: median_error(a, b)}, "leave-one-out loss", "leave-one-out loss"),
    ],
)
def test_a_path_says_what_its_losses_are(options: Any, label: str, short: str) -> None:
    ax = drawn(plot_path(make_path(**options)))
    assert ax.get_ylabel() == label
    assert ax.get_xlabel() == "number of features"
    assert short in legend(ax)


def test_a_long_name_of_folds_takes_more_lines() -> None:
    ax = plot_path(make_path(cv=RepeatedKFold(n_splits=4, n_repeats=2, random_state=0)))
    lines = ax.get_ylabel().splitlines()
    assert lines[0] == "held-out squared loss"
    assert lines[1].startswith("(RepeatedKFold(")
    assert max(map(len, lines)) <= 34


def test_the_size_of_smallest_loss_is_marked() -> None:
    path = make_path(8)
    best = path.best_size
    assert path.size_choice.rule == "given"
    ax = plot_path(path)
    assert mark(ax, f"{best} feature") == (best, path.losses[best - 1])
    again = plot_path(SelectionPath.from_json(path.truncated(8).to_json()))
    assert mark(again, f"{best} feature") == (best, path.losses[best - 1])


def test_the_size_that_a_rule_chose_is_marked() -> None:
    path = make_path(8)
    size = path.best_size + 1
    ax = plot_path(replace(path, size_choice=SizeChoice(size, "1se", "")))
    assert mark(ax, f"{size} feature") == (size, path.losses[size - 1])
    assert any("(rule '1se'): " in label for label in legend(ax))


def test_a_size_chosen_on_outer_folds_says_so() -> None:
    path = make_path("auto", alpha=GRID, size_rule="min")
    labels = legend(plot_path(path))
    assert any("(rule 'min'): " in label for label in labels)
    assert f"search, leave-one-out, α = {path.settings.alpha:g}" in labels
    assert "models, held-out in outer folds" in labels
    size = path.chosen_size
    assert mark(plot_path(path), f"{size} feature") == (size, path.held_out[0][size - 1])


def test_any_size_can_be_marked() -> None:
    path = make_path(5)
    assert mark(plot_path(path, chosen=1), "1 feature: ") == (1, path.losses[0])
    assert mark(plot_path(path, chosen=np.int64(4)), "4 features: ") == (4, path.losses[3])
    for chosen in (6, -1):
        with pytest.raises(ValueError, match="is not on the path, which has 0 to 5"):
            plot_path(path, chosen=chosen)
    with pytest.raises(TypeError, match="whole number"):
        plot_path(path, chosen=True)


def test_no_band_without_standard_errors() -> None:
    ax = drawn(plot_path(make_path(loss=median_error)))
    assert not ax.collections
    assert "± standard error" not in legend(ax)
    assert "± standard error" in legend(plot_path(make_path()))


def test_the_band_has_gaps_where_there_are_no_standard_errors() -> None:
    path = make_path(5)
    steps = list(path.steps)
    steps[2] = replace(steps[2], standard_error=np.nan)
    ax = drawn(plot_path(replace(path, steps=tuple(steps), sets=())))
    (band,) = ax.collections
    corners = np.concatenate([piece.vertices for piece in band.get_paths()])
    assert set(corners[:, 0].tolist()) == {1.0, 2.0, 4.0, 5.0}
    assert np.isfinite(corners).all()


def test_the_loss_of_no_features_is_drawn_if_it_is_near() -> None:
    path = make_path(5)
    near = replace(path, initial_loss=float(path.losses.max()) * 1.1)
    ax = plot_path(near)
    assert ax.get_ylim()[1] > near.initial_loss
    assert f"no features: {near.initial_loss:.4g}" in legend(ax)
    far = plot_path(replace(path, initial_loss=1000.0))
    assert far.get_ylim()[1] < 100.0
    assert "no features: 1000, not shown" in legend(far)
    assert plot_path(path.truncated(1)).get_ylim()[1] > path.initial_loss


NAMES = [
    "$",
    "a$b$c",
    r"\$x$",
    "日 $\\frac$",
    "x" * 80,
    "two\nlines",
    "",
    "price in $ and $ and more $ of it",
]


def test_any_name_is_plain_text() -> None:
    path = make_path(8, names=NAMES)
    with pytest.warns(UserWarning, match="Glyph") if _lacks_glyphs() else _nothing():
        ax = drawn(plot_path(path))
    labels = [tick.get_text() for tick in ax.get_xticklabels()]
    assert len(labels) == 8
    assert max(map(len, labels)) < 45
    assert not any("\n" in label for label in labels)
    for label, name in zip(labels, path.names(), strict=True):
        assert label.count("$") == label.count(r"\$")
        assert "$" not in name or "$" in label


def _lacks_glyphs() -> bool:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return ord("日") not in get_font(findfont(FontProperties())).get_charmap()


def _nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext()


def test_a_function_may_have_a_dollar_in_its_name() -> None:
    def loss(y_true: Any, y_pred: Any) -> float:
        return median_error(y_true, y_pred)

    loss.__name__ = "$a$"
    path = make_path(loss=loss, alpha=GRID, alpha_rule="joint")
    assert drawn(plot_path(path)).get_ylabel() == r"leave-one-out \$a\$"
    assert colour_bar(drawn(plot_surface(path))).get_ylabel() == r"leave-one-out \$a\$"


def test_a_long_path_has_numbers_only() -> None:
    rng = np.random.default_rng(1)
    path = greedy_path(rng.standard_normal((60, 45)), rng.standard_normal(60), 45)
    ax = drawn(plot_path(path))
    assert len(ax.get_xticklabels()) < 15


# Surfaces ----------------------------------------------------------------------------------------


def test_a_nested_surface() -> None:
    path = make_path("auto", alpha=GRID)
    surface = path.surface
    ax = drawn(plot_surface(path))
    assert ax.get_title() == "Selection repeated (nested, 5-fold, shuffled with seed 0)"
    assert ax.get_xlabel() == "number of features"
    assert ax.get_ylabel() == "penalty α of the search"
    assert ax.get_yscale() == "log"
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["0.01", "1", "100"]
    assert colour_bar(ax).get_ylabel() == "held-out squared loss"
    loss = surface.losses[surface.row, surface.size - 1]
    features = f"{surface.size} feature{'s' if surface.size > 1 else ''}"
    assert legend(ax) == [f"α = {surface.alpha:g}, {features}: {loss:.4g}"]
    assert mark(ax, "α") == (surface.size, surface.alpha)


def test_a_joint_surface() -> None:
    path = make_path(6, alpha=GRID, alpha_rule="joint", cv=4, loss="zero_one")
    ax = drawn(plot_surface(path))
    assert ax.get_title() == "The search's own loss (joint, optimistic)"
    assert colour_bar(ax).get_ylabel() == "held-out zero-one error (4-fold)"
    assert mark(ax, "α") == (6, path.surface.alpha)
    values = mesh(ax).get_array()
    assert_array_equal(np.asarray(values).reshape(3, 6), path.surface.losses)


def test_a_surface_of_all_features_is_a_line() -> None:
    path = make_path("auto", alpha=GRID, alpha_rule="all_features", loss="absolute")
    ax = drawn(plot_surface(path))
    assert not ax.collections
    assert ax.get_title() == "Model with all features (leave-one-out)"
    assert ax.get_xlabel() == "penalty α"
    assert ax.get_ylabel() == "leave-one-out absolute loss"
    assert ax.get_xscale() == "log"
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0.01", "1", "100"]
    surface = path.surface
    assert_array_equal(ax.lines[0].get_ydata(), surface.losses[:, 0])
    assert mark(ax, "α") == (surface.alpha, surface.losses[surface.row, 0])
    assert legend(ax) == [f"α = {surface.alpha:g}: {surface.losses[surface.row, 0]:.4g}"]


def test_a_single_size_is_a_line_with_its_errors() -> None:
    ax = drawn(plot_surface(make_path(1, alpha=GRID)))
    assert ax.get_title() == "Selection repeated (nested, 5-fold, shuffled with seed 0)"
    assert ax.get_ylabel() == "held-out squared loss"
    assert "± standard error" in legend(ax)


@pytest.mark.parametrize(
    ("rule", "label"),
    [("nested", "held-out loss"), ("joint", "loss"), ("all_features", "leave-one-out loss")],
)
def test_a_surface_alone_knows_no_loss(rule: str, label: str) -> None:
    surface = make_path(4, alpha=GRID, alpha_rule=rule, loss="absolute").surface
    ax = drawn(plot_surface(surface))
    assert (ax if rule == "all_features" else colour_bar(ax)).get_ylabel() == label


def test_the_size_of_another_rule_is_marked_too() -> None:
    path = make_path(8, alpha=GRID)
    surface, size = path.surface, 3
    assert surface.size == 8
    ax = drawn(plot_surface(replace(path, size_choice=SizeChoice(size, "1se", ""))))
    assert mark(ax, "smallest: ") == (surface.size, surface.alpha)
    assert mark(ax, "rule '1se': ") == (size, surface.alpha)
    assert len(legend(plot_surface(surface))) == 1


def test_cells_without_a_loss_are_blank() -> None:
    nan = np.nan
    ax = drawn(plot_surface(bare([[3, 2, 4, nan, nan], [5, 1, nan, nan, nan]], size=2, row=1)))
    values = mesh(ax).get_array()
    # Sizes that no penalty reached are left out.
    assert values.shape == (2, 3)
    assert np.ma.getmaskarray(values).tolist() == [[False] * 3, [False, False, True]]
    assert ax.get_xlim() == (0.5, 3.5)
    assert mesh(ax).get_clim()[0] == 1.0


def test_a_line_has_gaps_where_there_is_no_loss() -> None:
    ax = drawn(plot_surface(bare([[np.inf], [2.0], [np.nan], [1.0]], "all_features", 0, 3)))
    assert_array_equal(ax.lines[0].get_ydata(), [np.nan, 2.0, np.nan, 1.0])
    assert ax.get_yscale() == "linear"


def test_a_line_of_wide_range_is_logarithmic() -> None:
    assert plot_surface(bare([[1e9], [2.0], [1.0]], "all_features", 0, 2)).get_yscale() == "log"
    below = plot_surface(bare([[1e9], [2.0], [-1.0]], "all_features", 0, 2))
    assert below.get_yscale() == "linear"


def test_outliers_do_not_take_the_colours() -> None:
    losses = np.linspace(1.0, 2.0, 20).reshape(4, 5)
    losses[3, :] = 1e12
    low, high = mesh(plot_surface(bare(losses))).get_clim()
    assert low == 1.0
    assert 1.5 <= high <= 2.5


def test_one_standard_error_is_not_all_colours() -> None:
    losses = [[1.0, 1.01, 1.02, 9.0]]
    errors = np.full((1, 4), 0.5)
    assert_allclose(mesh(plot_surface(bare(losses, standard_errors=errors))).get_clim(), [1, 1.5])
    assert mesh(plot_surface(bare(losses))).get_clim()[1] < 1.1


@pytest.mark.parametrize("losses", [[[1.0, 1.0, 1.0, 5.0]], [[-1.0, -0.5]]])
def test_any_losses_have_colours(losses: Any) -> None:
    low, high = mesh(drawn(plot_surface(bare(losses)))).get_clim()
    assert (low, high) == (np.min(losses), np.max(losses))


def test_equal_losses_have_a_colour() -> None:
    low, high = mesh(drawn(plot_surface(bare([[2.0, 2.0], [2.0, np.nan]])))).get_clim()
    assert low <= 2.0 <= high


def test_losses_above_that_of_no_features_share_a_colour() -> None:
    path = make_path(4, alpha=GRID, alpha_rule="joint")
    losses = np.array([[1.0, 2.0, 5.0, 9.0]] * 3)
    surface = bare(losses, row=GRID.index(path.settings.alpha), size=1)
    ax = plot_surface(replace(path, surface=surface, initial_loss=3.0))
    assert mesh(ax).get_clim() == (1.0, 3.0)
    # A loss of no features below all others is no end of a scale.
    ax = plot_surface(replace(path, surface=surface, initial_loss=0.5))
    assert mesh(ax).get_clim()[1] > 3.0


def test_many_penalties_and_sizes_have_few_ticks() -> None:
    losses = np.random.default_rng(0).random((30, 60))
    surface = bare(losses, alphas=np.logspace(-3, 3, 30), alpha=float(np.logspace(-3, 3, 30)[0]))
    ax = drawn(plot_surface(surface))
    assert 3 <= len(ax.get_xticks()) <= 15
    assert 3 <= len(ax.get_yticks()) <= 12


def test_penalties_close_together_have_no_ticks_of_their_own() -> None:
    alphas = np.array([1e-9, 1.0, 1.01])
    surface = bare(np.ones((3, 4)), alphas=alphas, alpha=1.0)
    assert len(drawn(plot_surface(surface)).get_yticks()) != 3
    line = bare(np.ones((3, 1)), "all_features", 0, alphas=alphas, alpha=1.0)
    assert len(drawn(plot_surface(line)).get_xticks()) != 3


@pytest.mark.parametrize("alpha_rule", ["nested", "joint", "all_features"])
@pytest.mark.parametrize("alpha", [[2.0], [1.0, 1000.0]])
def test_any_number_of_penalties(alpha: Any, alpha_rule: Any) -> None:
    path = make_path(3, alpha=alpha, alpha_rule=alpha_rule)
    assert drawn(plot_surface(path)).get_title()
    assert drawn(plot_surface(SelectionPath.from_json(path.to_json()))).get_title()


def test_ticks_of_penalties_are_short() -> None:
    shown = [number(alpha, 3) for alpha in (0.000123456, 0.0569, 5.6912, 569.12, 56912.3, 5e7)]
    assert shown == ["0.000123", "0.0569", "5.69", "569", "56,900", "5×10⁷"]


# Both --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draw", [plot_path, plot_surface])
@pytest.mark.parametrize("layout", [None, "constrained", "tight"])
def test_axes_given_are_used(draw: Any, layout: Any) -> None:
    figure, (left, right) = pyplot.subplots(1, 2, layout=layout, figsize=(11, 4))
    assert draw(make_path(4, alpha=GRID), ax=right) is right
    assert not left.has_data()
    assert right.has_data()
    drawn(right)
    assert pyplot.get_fignums() == [figure.number]


def test_a_path_whose_penalty_was_given_has_no_surface() -> None:
    with pytest.raises(ValueError, match=r"no surface.*alpha='auto' or a list"):
        plot_surface(make_path(3, alpha=1.0))
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("thing", [None, np.ones((2, 2)), "path"])
def test_other_things_are_no_surface(thing: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        plot_surface(thing)
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("draw", [plot_path, plot_surface])
def test_without_matplotlib(draw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_path(3, alpha=GRID)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    with pytest.raises(ImportError, match=r"Plots need matplotlib: pip install 'greedyrls\[plot\]"):
        draw(path)


def test_public_names() -> None:
    assert plots.__all__ == sorted(plots.__all__)
    assert {"plot_path", "plot_surface"} < set(plots.__all__)
