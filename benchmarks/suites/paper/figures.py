"""The figures of the paper: times by number of samples, accuracies by number of features."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from PIL import Image

from .claims import LARGEST, PAPER_MINUTES, SETS, growth

Result = Mapping[str, Any]

# Colours that people with any kind of colour vision can tell apart (Okabe and Ito).
BLUE, VERMILION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "0.45"
DOTS = 150  # per inch
COLOURS = 96  # of the palette
MANY_SIZES = 200  # more sizes are drawn on a logarithmic axis
STYLE: dict[Any, Any] = {"font.size": 8.5, "axes.titlesize": 9.5, "legend.fontsize": 8.0}
ALGORITHMS: dict[str, tuple[str, dict[str, Any]]] = {
    "algorithm_2": ("Algorithm 2", {"color": VERMILION, "marker": "s"}),
    "algorithm_3": ("Algorithm 3", {"color": GREEN, "marker": "^"}),
    "ours": ("ours", {"color": BLUE, "marker": "o"}),
}


def draw_scaling(scaling: Result, file: Path) -> None:
    """Figures 1 to 3: linear, logarithmic, and many samples without Algorithm 2."""
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(1, 3, figsize=(9.6, 3.5), layout="constrained")
        points, found = scaling["points"], growth(scaling)
        few = [point for point in points if "algorithm_2" in point]
        for ax, title in zip(axes[:2], ("linear axes", "logarithmic axes"), strict=True):
            for name in ALGORITHMS:
                _draw_times(ax, few, name, found[name])
            ax.set_title(title)
        for name in ("algorithm_3", "ours"):
            _draw_times(axes[2], [p for p in points if p["m"] >= 1000], name, found[f"{name}_all"])
        axes[2].set_title("more samples")
        _draw_paper(axes[2], points)
        axes[0].xaxis.set_major_formatter(FuncFormatter(_thousands))
        axes[0].yaxis.set_major_formatter(FuncFormatter(_thousands))
        axes[0].set_ylim(bottom=0)
        axes[0].xaxis.set_major_locator(MaxNLocator(5))
        for ax in axes[1:]:
            _use_logarithms(ax)
        for ax in axes:
            ax.set_xlabel("samples")
            ax.legend(frameon=False, loc="upper left", handlelength=1.6)
            ax.spines[["top", "right"]].set_visible(False)
        # Room for the legend over curves that end in the upper right corner.
        axes[1].set_ylim(top=axes[1].get_ylim()[1] * 30)
        axes[2].set_ylim(top=axes[2].get_ylim()[1] * 15)
        axes[0].set_ylabel("seconds")
        figure.supxlabel(_scaled_in_words(scaling), fontsize=7.5, color=GREY)
        _save(figure, file)


def _draw_times(ax: Axes, points: list[Any], name: str, exponent: float) -> None:
    title, style = ALGORITHMS[name]
    samples = [point["m"] for point in points]
    seconds = [point[name]["seconds"] for point in points]
    label = f"{title}: m$^{{{exponent:.2f}}}$"
    ax.plot(samples, seconds, label=label, markersize=4.0, linewidth=1.3, **style)
    # Hollow where a part was timed and the rest reckoned.
    scaled = [point for point in points if point[name].get("is_scaled")]
    ax.plot(
        [point["m"] for point in scaled],
        [point[name]["seconds"] for point in scaled],
        linestyle="none",
        markersize=4.0,
        **style | {"markerfacecolor": "white"},
    )


def _draw_paper(ax: Axes, points: list[Any]) -> None:
    if any(point["m"] == LARGEST for point in points):
        label = f"paper (2010): a bit less\nthan {PAPER_MINUTES:g} min"
        ax.plot([LARGEST], [60 * PAPER_MINUTES], "k*", markersize=8.0, label=label)


def _scaled_in_words(scaling: Result) -> str:
    """What was timed and what was reckoned from it."""
    timed = [point["algorithm_2"] for point in scaling["points"] if "algorithm_2" in point]
    scaled = [entry for entry in timed if entry["is_scaled"]]
    n, k = scaling["features"], scaling["selected"]
    text = f"{k} of {n:,} features selected; m is the number of samples"
    if scaled:
        counts = sorted({entry["candidates_timed"] for entry in scaled})
        many = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
        text += (
            f". Hollow: Algorithm 2 was timed for {many} candidates of the first steps, and scaled "
            f"to the {scaled[0]['candidates_in_all']:,} of {k} steps"
        )
    return text


def _use_logarithms(ax: Axes) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(_short))
    ax.xaxis.set_minor_formatter(NullFormatter())


def _short(value: float, _: int) -> str:
    """Tens of thousands in full would touch each other."""
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"


def _thousands(value: float, _: int) -> str:
    return f"{value:,.0f}"


def draw_quality(sets: Mapping[str, Result], file: Path) -> None:
    """Figures 4 to 9: test accuracy of greedy and random features."""
    _draw_sets(sets, file, _draw_greedy_and_random)


def draw_overfitting(sets: Mapping[str, Result], file: Path) -> None:
    """Figures 10 to 15: leave-one-out and test accuracy of greedy features."""
    _draw_sets(sets, file, _draw_loo_and_test)


def _draw_sets(
    sets: Mapping[str, Result], file: Path, draw: Callable[[Axes, Result], None]
) -> None:
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(2, 3, figsize=(9.6, 5.6), layout="constrained")
        for ax, name in zip(axes.flat, SETS, strict=True):
            ax.set_title(name)
            ax.spines[["top", "right"]].set_visible(False)
            if name in sets:
                draw(ax, sets[name])
                _use_sizes(ax, sets[name])
            else:
                ax.text(0.5, 0.5, "not run", ha="center", color=GREY, transform=ax.transAxes)
                ax.set(xticks=[], yticks=[])
        handles = {
            label: handle
            for ax in axes.flat
            for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
        }
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False
        )
        for ax in axes[-1]:
            ax.set_xlabel("number of features")
        for ax in axes[:, 0]:
            ax.set_ylabel("accuracy")
        _save(figure, file)


def _draw_greedy_and_random(ax: Axes, result: Result) -> None:
    _draw_curve(ax, result, "test", "greedy, test", {"color": BLUE})
    _draw_curve(ax, result, "random", "random, test", {"color": VERMILION, "linestyle": "--"})
    _draw_levels(ax, result)


def _draw_loo_and_test(ax: Axes, result: Result) -> None:
    _draw_curve(ax, result, "test", "test ± standard error", {"color": BLUE})
    _draw_curve(ax, result, "loo", "leave-one-out", {"color": GREEN, "linestyle": "--"})
    best = result["summary"]["best_loo_size"]
    ax.plot(
        [best],
        [result["summary"]["loo_at_best"][0]],
        "o",
        color=GREEN,
        markerfacecolor="white",
        markersize=5.0,
        label="leave-one-out is best",
    )


def _draw_curve(ax: Axes, result: Result, kind: str, label: str, style: dict[str, Any]) -> None:
    """Mean over folds, with a band of one standard error."""
    sizes, curves = np.array(result["sizes"]), result["curves"]
    mean, error = np.array(curves[kind]), np.array(curves[f"{kind}_error"])
    ax.fill_between(
        sizes, mean - error, mean + error, color=style["color"], alpha=0.18, linewidth=0
    )
    ax.plot(sizes, mean, label=label, linewidth=1.4, **style)


def _draw_levels(ax: Axes, result: Result) -> None:
    level = result["summary"]["all_features"][0]
    ax.axhline(level, color="0.2", linewidth=0.9, linestyle=":", label="all features, test")
    ax.axhline(
        result["larger_class"], color=GREY, linewidth=0.9, linestyle="-.", label="larger class"
    )


def _use_sizes(ax: Axes, result: Result) -> None:
    if result["features"] > MANY_SIZES:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(FuncFormatter(_thousands))
    else:
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        # There is no model of no features on the curves.
        ax.set_xlim(left=0.5)


def _save(figure: Figure, file: Path) -> None:
    """With a palette: a third of the size, and no difference to the eye."""
    file.parent.mkdir(parents=True, exist_ok=True)
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=DOTS)
    pyplot.close(figure)
    Image.open(drawn).convert("RGB").quantize(COLOURS).save(file, optimize=True)
