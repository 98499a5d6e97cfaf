"""The plot of a surface: loss by penalty and number of features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._base import Float, number
from ..path import AlphaSurface, SelectionPath
from . import _parts as parts
from ._path import Fitted, loss_name, measure_with_folds

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_surface(surface: AlphaSurface | SelectionPath | Fitted, *, ax: Axes | None = None) -> Axes:
    """Plot the loss by penalty and number of features, by which the penalty was chosen.

    A ring marks the penalty and size that were chosen. Losses well above the smallest share one
    colour, so that those near it can be distinguished; missing losses are left blank. With a single
    column (rule "all_features") the plot is a line of losses over penalties.

    Parameters
    ----------
    surface : AlphaSurface, SelectionPath, or a fitted estimator
        A surface, or a path that has one: made with ``alpha="auto"`` or a list of penalties. A path
        also provides the name of the loss.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_diabetes
    >>> from greedyrls import greedy_path
    >>> from greedyrls.plots import plot_surface
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> path = greedy_path(X, y, "auto", alpha=[0.01, 0.1, 1])
    >>> ax = plot_surface(path)
    >>> ax.get_xlabel(), ax.get_ylabel(), ax.get_title()
    ('number of features',
     'penalty α of the search',
     'Selection repeated (nested, 5-fold, shuffled with seed 0)')
    """
    source = getattr(surface, "path_", surface)
    path = source if isinstance(source, SelectionPath) else None
    drawn = source if path is None else path.surface
    if path is not None and drawn is None:
        raise ValueError(
            "The path has no surface, because its penalty was given, not chosen; use alpha='auto' "
            "or a list of penalties."
        )
    if not isinstance(drawn, AlphaSurface):
        raise TypeError(
            "plot_surface takes an AlphaSurface, a SelectionPath or a fitted estimator, got "
            f"{parts.shown(surface)}."
        )
    if ax is None:
        ax = parts.new_axes()
    points = parts.text_size(ax, "axes.labelsize")
    title = parts.wrapped(_title(drawn), parts.extent(ax)[0], points)
    ax.set_title(title, fontsize=points)
    if drawn.losses.shape[1] == 1:
        _draw_line(ax, drawn, path)
    else:
        _draw_cells(ax, drawn, path)
    return ax


def _draw_cells(ax: Axes, surface: AlphaSurface, path: SelectionPath | None) -> None:
    from matplotlib import patheffects

    reached = np.flatnonzero(np.isfinite(surface.losses).any(axis=0))
    losses = np.ma.masked_invalid(surface.losses[:, : int(reached[-1]) + 1])
    values = losses.compressed()
    top = _top_of_colours(surface, values)
    if path is not None and values.min() < path.initial_loss:
        top = min(top, path.initial_loss)
    ax.set_yscale("log")
    mesh = ax.pcolormesh(
        np.arange(losses.shape[1] + 1) + 0.5,
        _edges(surface.alphas),
        losses,
        cmap="viridis",
        vmin=values.min(),
        vmax=top,
        # Rasterised, since vector formats would show seams between cells.
        rasterized=True,
    )
    bar = ax.figure.colorbar(
        mesh, ax=ax, extend="max" if values.max() > top else "neither", pad=0.02, fraction=0.06
    )
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=parts.text_size(ax, "ytick.labelsize"))
    points = parts.text_size(ax, "axes.labelsize")
    measure = parts.wrapped(_surface_measure(surface, path), parts.extent(ax)[1], points)
    bar.set_label(measure, size=points)
    outline = [patheffects.withStroke(linewidth=4.5, foreground="white"), patheffects.Normal()]
    for size, marker, prefix in _marks(surface, path):
        label = f"{prefix}α = {number(surface.alpha, 3)}, {parts.count_features(size)}"
        if not size:  # size 0 has no cell
            ax.plot([], [], linestyle="none", label=label)
            continue
        loss = surface.losses[surface.row, size - 1]
        style = {**parts.mark(ax), "marker": marker, "path_effects": outline}
        ax.plot([size], [surface.alpha], **style, label=f"{label}: {number(loss)}")
    sizes = np.arange(1, losses.shape[1] + 1)
    if len(sizes) <= _most_ticks(ax)[0]:
        ax.set_xticks(sizes)
    else:
        parts.use_size_axis(ax, len(sizes), is_log=False)
    if _fit_ticks(surface.alphas, _most_ticks(ax)[1]):
        ax.set_yticks(surface.alphas, [number(float(alpha), 3) for alpha in surface.alphas])
        ax.set_yticks([], minor=True)
    ax.spines[:].set_visible(False)
    _legend_below(ax, bar.ax)
    parts.set_labels(ax, "number of features", "penalty α of the search")


def _draw_line(ax: Axes, surface: AlphaSurface, path: SelectionPath | None) -> None:
    alphas, losses = surface.alphas, surface.losses[:, 0]
    losses = np.where(np.isfinite(losses), losses, np.nan)
    errors = surface.standard_errors[:, 0]
    style = {"color": parts.BLUE, "alpha": 0.2, "label": "± standard error"}
    parts.band(ax, alphas, losses - errors, losses + errors, **style)
    ax.plot(alphas, losses, **parts.main_curve(ax, len(alphas)))
    loss = losses[surface.row]
    label = f"α = {number(surface.alpha, 3)}: {number(loss)}"
    ax.plot([surface.alpha], [loss], **parts.mark(ax), label=label)
    ax.set_xscale("log")
    if _fit_ticks(alphas, _most_ticks(ax)[0] // 2):
        ax.set_xticks(alphas, [number(float(alpha), 3) for alpha in alphas])
        ax.set_xticks([], minor=True)
    parts.use_loss_axis(ax, losses)
    parts.hide_frame(ax)
    parts.set_labels(ax, "penalty α", _surface_measure(surface, path))
    parts.place_legend(ax, *ax.get_legend_handles_labels())


def _most_ticks(ax: Axes) -> tuple[int, int]:
    """Return how many labelled ticks fit below and beside a surface."""
    width, height = (72.0 * inches for inches in parts.extent(ax))
    points = parts.text_size(ax, "xtick.labelsize")
    return int(width / (1.8 * points)), int(height / (1.5 * points))


def _legend_below(ax: Axes, beside: Axes) -> None:
    """Draw a legend below the label of the x axis, where it hides nothing."""
    from matplotlib.transforms import ScaledTranslation

    points = parts.text_size(ax)
    ticks, label = (parts.text_size(ax, f"{name}.labelsize") for name in ("xtick", "axes"))
    # Height of ticks, tick labels and axis label.
    depth = (10.0 + 1.4 * ticks + 1.6 * label) / 72.0
    below = ax.transAxes + ScaledTranslation(0.0, -depth, ax.figure.dpi_scale_trans)
    legend = ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=below,
        borderaxespad=0.0,
        handletextpad=0.3,
        fontsize=points,
        frameon=False,
    )
    if ax.figure.canvas.figure.get_layout_engine() is None:
        # Without a layout engine, shrink the axes for the legend.
        box, figure = legend.get_window_extent(), ax.figure.bbox
        share = max(box.height, figure.y0 - box.y0 + points) / figure.height
        for each in (ax, beside):
            box_of_axes = each.get_position()
            each.set_position(
                (
                    box_of_axes.x0,
                    box_of_axes.y0 + share,
                    box_of_axes.width,
                    box_of_axes.height - share,
                )
            )
            each.set_in_layout(True)


def _top_of_colours(surface: AlphaSurface, losses: Float) -> float:
    """Return the loss above which cells share the last colour, so that the best ones differ.

    Half of the cells get half of the colours, but the range spans at least one standard error.
    """
    smallest = losses.min()
    error = surface.standard_errors[surface.row, max(surface.size, 1) - 1]
    reach = max(2.0 * (np.median(losses) - smallest), error if np.isfinite(error) else 0.0)
    return float(min(smallest + reach, losses.max())) if reach > 0.0 else float(losses.max())


def _fit_ticks(alphas: Float, ticks: int) -> bool:
    """Whether penalties are as far apart on the logarithmic scale as this many even ticks."""
    logs = np.log(alphas)
    return len(logs) == 1 or bool((logs[-1] - logs[0]) < ticks * np.diff(logs).min())


def _edges(alphas: Float) -> Float:
    """Return the borders between penalties, half-way on the logarithmic scale, (A + 1)."""
    logs = np.log(alphas)
    if len(logs) == 1:
        return np.asarray(np.exp(logs[0] + np.log(10.0) * np.array([-0.5, 0.5])))
    middles = (logs[:-1] + logs[1:]) / 2
    edges = [logs[0] - (middles[0] - logs[0]), *middles, logs[-1] + (logs[-1] - middles[-1])]
    return np.asarray(np.exp(edges))


def _marks(surface: AlphaSurface, path: SelectionPath | None) -> list[tuple[int, str, str]]:
    """Return sizes to mark in the row of the chosen penalty, each with a marker and a prefix."""
    choice = None if path is None else path.size_choice
    if choice is None or choice.rule == "given" or choice.size == surface.size:
        return [(surface.size, "o", "")]
    is_known = not choice.size
    if choice.size <= surface.losses.shape[1]:
        is_known = is_known or bool(np.isfinite(surface.losses[surface.row, choice.size - 1]))
    further = [(choice.size, "D", f"rule '{choice.rule}': ")] if is_known else []
    return [(surface.size, "o", "smallest: "), *further]


def _title(surface: AlphaSurface) -> str:
    if surface.rule == "nested":
        return f"Selection repeated (nested, {parts.plain(surface.folds)})"
    if surface.rule == "joint":
        return "The search's own loss (joint, optimistic)"
    return "Model with all features (leave-one-out)"


def _surface_measure(surface: AlphaSurface, path: SelectionPath | None) -> str:
    """Return the losses of a surface in words."""
    name = "loss" if path is None else loss_name(path.settings.loss)
    if surface.rule == "nested":
        return f"held-out {name}"
    if surface.rule == "joint":
        return name if path is None else measure_with_folds(path)
    return f"leave-one-out {name}"
