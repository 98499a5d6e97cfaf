"""Pictures of a path (matplotlib, the ``plot`` extra)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._path import SelectionPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_path"]

# Feature names are written at the points of a path up to this length.
_NAMED_STEPS = 40


def plot_path(path: SelectionPath, *, ax: Axes | None = None, chosen: int | None = None) -> Axes:
    """Leave-one-out loss by number of features, with standard errors.

    Parameters
    ----------
    path : SelectionPath
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    chosen : int, optional
        The size to mark; the one with the smallest loss by default.

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
    >>> plot_path(greedy_path(X, y, 5, alpha=0.01)).get_xlabel()
    'number of features'
    """
    if ax is None:
        ax = _new_axes()
    size = path.best_size if chosen is None else chosen
    sizes = np.arange(1, len(path) + 1)
    losses, errors = path.losses, path.standard_errors
    ax.fill_between(
        sizes, losses - errors, losses + errors, alpha=0.2, linewidth=0, label="± standard error"
    )
    ax.plot(sizes, losses, marker="o", markersize=3.5, linewidth=1.4, label="leave-one-out loss")
    ax.axhline(path.initial_loss, color="0.6", linewidth=1, linestyle=":", label="no features")
    ax.plot(
        [size],
        [losses[size - 1]],
        marker="o",
        markersize=9,
        markerfacecolor="none",
        markeredgewidth=1.6,
        color="C3",
        linestyle="none",
        label=f"{size} feature{'s' if size > 1 else ''}: {losses[size - 1]:.4g}",
    )
    if len(path) <= _NAMED_STEPS:
        # A name may hold any text: "$" would start a formula.
        names = [name.replace("$", r"\$") for name in path.names()]
        ax.set_xticks(sizes, [f"{k}  {name}" for k, name in zip(sizes, names, strict=True)])
        ax.tick_params(axis="x", rotation=60 if len(path) <= 20 else 90, labelsize="small")
        for label in ax.get_xticklabels():
            label.set_horizontalalignment("right")
            label.set_rotation_mode("anchor")
            label.set_verticalalignment("top" if len(path) <= 20 else "center")
    ax.set_xlabel("number of features")
    ax.set_ylabel("leave-one-out loss")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def _new_axes() -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'greedyrls[plot]'.") from error
    _, ax = pyplot.subplots(figsize=(7.5, 4.5), layout="constrained")
    return ax
