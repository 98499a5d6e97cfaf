"""Pictures of a path and of the surface its penalty was chosen on (matplotlib, ``plot`` extra)."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ._kernels import Float
from ._path import SelectionPath
from ._surface import AlphaSurface

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_path", "plot_surface"]

# Feature names are written at the points of a path up to this length, cut to this many characters.
_NAMED_STEPS = 40
_NAME_LENGTH = 32
# So many ticks have room beside, and below, a surface: up to that every penalty and size has one.
_TICKS_BESIDE = 14
_TICKS_BELOW = 20
# Characters on a line beside an axis.
_LINE = 34
# The loss without features is drawn if it is at most this many times as far away as the losses
# of the path are apart; else the legend tells it.
_NEAR = 2.0
# A line of losses that differ by more than this factor is drawn on a logarithmic scale.
_WIDE = 20.0
_MARK: dict[str, Any] = {
    "color": "C3",
    "marker": "o",
    "markersize": 9,
    "markeredgewidth": 1.6,
    "markerfacecolor": "none",
    "linestyle": "none",
}

_LOSSES = {
    "squared": "squared loss",
    "absolute": "absolute loss",
    "zero_one": "zero-one error",
    "balanced_zero_one": "balanced zero-one error",
    "auc": "1 − AUC",
}


def plot_path(path: SelectionPath, *, ax: Axes | None = None, chosen: int | None = None) -> Axes:
    """Loss by number of features, with standard errors where there are any.

    With a penalty chosen by the nested rule this is the loss of the models on the path in the outer
    folds, beside the loss that the search went by.

    Parameters
    ----------
    path : SelectionPath, or a fitted estimator
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    chosen : int, optional
        The size to mark; by default the one that a size rule chose, else that of smallest loss.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_diabetes
    >>> from greedyrls import greedy_path
    >>> from greedyrls.plots import plot_path
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> plot_path(greedy_path(X, y, 5, alpha=0.01, cv=10)).get_ylabel()
    'held-out squared loss (10-fold)'
    """
    path = getattr(path, "path_", path)
    size, why = _marked_size(path, chosen)
    if ax is None:
        ax = _new_axes()
    sizes = np.arange(1, len(path) + 1)
    losses, errors, label = path.losses, path.standard_errors, _measure(path)
    measure = _measure_with_folds(path)
    if path.held_out is not None and np.isfinite(path.held_out[0][size - 1]):
        # The models on the path; their penalty is not that of the search.
        losses, errors = path.held_out
        label = "held-out loss of the models, outer folds"
        measure = _loss_name(path.settings.loss)
        own = f"search, α = {_short(path.settings.alpha)}: {_measure(path)}"
        ax.plot(sizes, path.losses, linewidth=1.2, linestyle="--", color="0.6", label=own)
    elif path.refit_alphas is not None:
        label += f" of the search, α = {_short(path.settings.alpha)}"
    _band(ax, sizes, losses, errors)
    ax.plot(sizes, losses, marker="o", markersize=3.5, linewidth=1.4, label=label)
    _draw_initial_loss(ax, path)
    label = f"{_features(size)}{why}: {losses[size - 1]:.4g}"
    ax.plot([size], [losses[size - 1]], **_MARK, label=label)
    if len(path) <= _NAMED_STEPS:
        names = [
            _plain(textwrap.shorten(name, _NAME_LENGTH, placeholder="…")) for name in path.names()
        ]
        ax.set_xticks(sizes, [f"{k}  {name}" for k, name in zip(sizes, names, strict=True)])
        ax.tick_params(axis="x", rotation=60 if len(path) <= 20 else 90, labelsize="small")
        for tick in ax.get_xticklabels():
            tick.set_horizontalalignment("right")
            tick.set_rotation_mode("anchor")
            tick.set_verticalalignment("top" if len(path) <= 20 else "center")
    ax.set_xlabel("number of features")
    ax.set_ylabel(measure)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def plot_surface(surface: AlphaSurface | SelectionPath, *, ax: Axes | None = None) -> Axes:
    """Loss by penalty and number of features: what the penalty was chosen on.

    A ring marks the penalty and size that were chosen. Losses well above the smallest share one
    colour, so that those near it can be told apart; where there is no loss nothing is drawn. With
    a single column (rule "all_features") it is a line of losses over penalties.

    Parameters
    ----------
    surface : AlphaSurface, SelectionPath, or a fitted estimator
        A path that has a surface: one made with ``alpha="auto"`` or a list of penalties. The path
        also knows what loss it is.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

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
    ('number of features', 'penalty α of the search', 'Selection made anew (nested, 5-fold)')
    """
    surface = getattr(surface, "path_", surface)
    path = surface if isinstance(surface, SelectionPath) else None
    found = surface if path is None else path.surface
    if found is None:
        raise ValueError(
            "The path has no surface, because its penalty was not chosen but given; use "
            "alpha='auto' or a list of penalties."
        )
    if not isinstance(found, AlphaSurface):
        raise TypeError(
            f"plot_surface takes an AlphaSurface or a SelectionPath, got {type(surface).__name__}."
        )
    if ax is None:
        ax = _new_axes()
    if found.losses.shape[1] == 1:
        _draw_line(ax, found, path)
    else:
        _draw_cells(ax, found, path)
    ax.set_title(textwrap.fill(_title(found), 2 * _LINE), fontsize="medium")
    _legend_below(ax)
    return ax


def _draw_cells(ax: Axes, surface: AlphaSurface, path: SelectionPath | None) -> None:
    from matplotlib import patheffects
    from matplotlib.ticker import MaxNLocator

    reached = np.flatnonzero(np.isfinite(surface.losses).any(axis=0))
    losses = np.ma.masked_invalid(surface.losses[:, : int(reached[-1]) + 1])
    known = losses.compressed()
    top = _top_of_colours(surface, known)
    if path is not None and known.min() < path.initial_loss:
        top = min(top, path.initial_loss)
    ax.set_yscale("log")
    mesh = ax.pcolormesh(
        np.arange(losses.shape[1] + 1) + 0.5,
        _edges(surface.alphas),
        losses,
        cmap="viridis",
        vmin=known.min(),
        vmax=top,
        # Drawn as a picture in vector formats, where seams between cells would show.
        rasterized=True,
    )
    bar = ax.figure.colorbar(
        mesh, ax=ax, extend="max" if known.max() > top else "neither", pad=0.02, fraction=0.06
    )
    bar.set_label(_surface_measure(surface, path))
    bar.outline.set_visible(False)
    outline = [patheffects.withStroke(linewidth=4.5, foreground="white"), patheffects.Normal()]
    for size, marker, prefix in _marks(surface, path):
        loss = surface.losses[surface.row, size - 1]
        label = f"{prefix}α = {_short(surface.alpha)}, {_features(size)}: {loss:.4g}"
        style = {**_MARK, "marker": marker, "markersize": 10, "path_effects": outline}
        ax.plot([size], [surface.alpha], **style, label=label)
    if losses.shape[1] <= _TICKS_BELOW:
        ax.set_xticks(np.arange(1, losses.shape[1] + 1))
    else:
        ax.xaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10], integer=True))
    if _have_room(surface.alphas, _TICKS_BESIDE):
        ax.set_yticks(surface.alphas, [_short(alpha) for alpha in surface.alphas])
        ax.set_yticks([], minor=True)
    ax.set_xlabel("number of features")
    ax.set_ylabel("penalty α of the search")
    ax.spines[:].set_visible(False)


def _draw_line(ax: Axes, surface: AlphaSurface, path: SelectionPath | None) -> None:
    alphas, losses = surface.alphas, surface.losses[:, 0]
    losses = np.where(np.isfinite(losses), losses, np.nan)
    _band(ax, alphas, losses, surface.standard_errors[:, 0])
    ax.plot(alphas, losses, marker="o", markersize=3.5, linewidth=1.4)
    loss = losses[surface.row]
    label = f"α = {_short(surface.alpha)}: {loss:.4g}"
    ax.plot([surface.alpha], [loss], **_MARK, label=label)
    ax.set_xscale("log")
    if _have_room(alphas, _TICKS_BELOW // 2):
        ax.set_xticks(alphas, [_short(alpha) for alpha in alphas])
        ax.set_xticks([], minor=True)
    if 0.0 < np.nanmin(losses) * _WIDE < np.nanmax(losses):
        ax.set_yscale("log")
    ax.set_xlabel("penalty α")
    ax.set_ylabel(_surface_measure(surface, path))
    ax.spines[["top", "right"]].set_visible(False)


def _draw_initial_loss(ax: Axes, path: SelectionPath) -> None:
    initial = path.initial_loss
    errors = np.nan_to_num(path.standard_errors)
    bottom, top = (path.losses - errors).min(), (path.losses + errors).max()
    reach = _NEAR * (top - bottom)
    is_near = len(path) == 1 or bottom - reach <= initial <= top + reach
    label = f"no features: {initial:.4g}{'' if is_near else ', not shown'}"
    if is_near:
        ax.axhline(initial, color="0.6", linewidth=1, linestyle=":", label=label)
    else:
        ax.plot([], [], linestyle="none", label=label)


def _legend_below(ax: Axes) -> None:
    """A legend under the label of the x axis, where it hides nothing."""
    from matplotlib import rcParams
    from matplotlib.transforms import ScaledTranslation

    # Ticks, their labels and the label of the axis take this much, in inches.
    depth = 3.6 * rcParams["font.size"] / 72
    below = ax.transAxes + ScaledTranslation(0.0, -depth, ax.figure.dpi_scale_trans)
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=below,
        borderaxespad=0.0,
        handletextpad=0.3,
        frameon=False,
    )


def _band(ax: Axes, where: Any, losses: Float, errors: Float) -> None:
    """Losses give or take their standard error, where there is one."""
    if np.isfinite(errors).any():
        ax.fill_between(
            where,
            losses - errors,
            losses + errors,
            alpha=0.2,
            linewidth=0,
            label="± standard error",
        )


def _top_of_colours(surface: AlphaSurface, losses: Float) -> float:
    """The loss from which on cells share the last colour, so that those near the best differ.

    Half of the cells get half of the colours, but one standard error is not all of them.
    """
    smallest = losses.min()
    error = surface.standard_errors[surface.row, surface.size - 1]
    reach = max(2.0 * (np.median(losses) - smallest), error if np.isfinite(error) else 0.0)
    return float(min(smallest + reach, losses.max())) if reach > 0.0 else float(losses.max())


def _have_room(alphas: Float, ticks: int) -> bool:
    """Whether penalties lie as far apart, on the logarithmic scale, as so many even ticks."""
    logs = np.log(alphas)
    return len(logs) == 1 or bool((logs[-1] - logs[0]) < ticks * np.diff(logs).min())


def _edges(alphas: Float) -> Float:
    """Borders between penalties, half-way on the logarithmic scale, (A + 1)."""
    logs = np.log(alphas)
    if len(logs) == 1:
        return np.asarray(np.exp(logs[0] + np.log(10.0) * np.array([-0.5, 0.5])))
    middles = (logs[:-1] + logs[1:]) / 2
    edges = [logs[0] - (middles[0] - logs[0]), *middles, logs[-1] + (logs[-1] - middles[-1])]
    return np.asarray(np.exp(edges))


def _marks(surface: AlphaSurface, path: SelectionPath | None) -> list[tuple[int, str, str]]:
    """Sizes to mark in the row of the chosen penalty, with a marker and a word before the label."""
    choice = None if path is None else path.size_choice
    if choice is None or choice.rule == "given" or choice.size == surface.size:
        return [(surface.size, "o", "")]
    known = np.isfinite(surface.losses[surface.row, choice.size - 1 : choice.size]).any()
    further = [(choice.size, "D", f"rule '{choice.rule}': ")] if known else []
    return [(surface.size, "o", "smallest: "), *further]


def _marked_size(path: SelectionPath, chosen: int | None) -> tuple[int, str]:
    """The size to mark on a path, and words that say why."""
    if chosen is not None:
        return path._size(chosen), ""
    choice = path.size_choice
    if choice is None or choice.rule == "given":
        return path.best_size, ""
    is_nested = path.surface is not None and path.surface.rule == "nested"
    return path.chosen_size, f" (rule '{choice.rule}'{', outer folds' if is_nested else ''})"


def _title(surface: AlphaSurface) -> str:
    if surface.rule == "nested":
        return f"Selection made anew (nested, {_plain(surface.folds)})"
    if surface.rule == "joint":
        return "The search's own loss (joint, optimistic)"
    return "Model with all features (leave-one-out)"


def _surface_measure(surface: AlphaSurface, path: SelectionPath | None) -> str:
    """What the losses of a surface are, in words."""
    name = "loss" if path is None else _loss_name(path.settings.loss)
    if surface.rule == "nested":
        return f"held-out {name}"
    if surface.rule == "joint":
        return name if path is None else _measure_with_folds(path)
    return f"leave-one-out {name}"


def _measure(path: SelectionPath) -> str:
    """What the losses of a path are, in words."""
    kind = "leave-one-out" if path.settings.cv == "loo" else "held-out"
    return f"{kind} {_loss_name(path.settings.loss)}"


def _measure_with_folds(path: SelectionPath) -> str:
    """The same with the folds, on two lines or more if it is long."""
    measure, cv = _measure(path), path.settings.cv
    if cv == "loo":
        return measure
    folds = f"({_plain(cv)})"
    one_line = f"{measure} {folds}"
    return one_line if len(one_line) <= _LINE else f"{measure}\n{textwrap.fill(folds, _LINE)}"


def _loss_name(loss: str) -> str:
    name = loss.removeprefix("callable:")
    if name == loss:
        return _LOSSES.get(loss, "loss")
    return "loss" if name == "<lambda>" else _plain(name)


def _features(count: int) -> str:
    return f"{count} feature{'' if count == 1 else 's'}"


def _short(alpha: float) -> str:
    """Three digits, without an exponent where that is short."""
    return f"{float(f'{alpha:.3g}'):.0f}" if 100.0 <= alpha < 1e6 else f"{alpha:.3g}"


def _plain(text: str) -> str:
    """Any text: "$" would start a formula."""
    return text.replace("$", r"\$")


def _new_axes() -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'greedyrls[plot]'.") from error
    _, ax = pyplot.subplots(figsize=(7.5, 4.5), layout="constrained")
    return ax
