"""The surface as SVG: loss by penalty and number of features, in shades of one colour."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._base import Float
from ..assess import measure_in_words
from ..path import AlphaSurface, SelectionPath
from ..plots import label, tag
from ._frames import NARROW, WIDE, Frame, chart
from ._thin import thinned
from ._words import NONE, count, counted, number, with_error

# As many as the style sheet has; 0 is for the smallest losses.
SHADES = 9
# More penalties or sizes than this are thinned out.
_MOST = 100
_TOP, _RIGHT, _BOTTOM = 30.0, 6.0, 48.0
_HEIGHTS = (14.0, 30.0)  # of a row, at least and at most
_ROWS = 300.0  # all rows together, at most
# A mark is not smaller than this.
_MARK = 10.0


class HeatMap(NamedTuple):
    """Drawings of a surface and what is shown of its cells under the mouse."""

    cells: str  # to be used by both drawings
    drawings: tuple[tuple[str, str], ...]  # name of the frame, SVG
    areas: dict[str, tuple[float, float, float, float]]  # by frame: left, top, right, bottom
    penalties: list[str]  # from the top down
    sizes: list[int]
    losses: list[list[str]]  # by row from the top, as text
    scale: tuple[str, str]  # the losses of the first shade and of the last
    is_cut: bool  # whether the last shade is for larger losses, too
    note: str  # what is left out
    marked: tuple[int, int]  # row and column of the chosen cell; −1 for no features


class PenaltyRow(NamedTuple):
    """A penalty in the table of the surface."""

    penalty: str
    smallest: str
    at: str
    at_chosen: str
    is_chosen: bool


def penalty_rows(surface: AlphaSurface, chosen: int) -> list[PenaltyRow]:
    """Each penalty, or about a hundred of them, with its smallest loss."""
    rows = []
    for place in _shown_rows(surface):
        losses, errors = surface.losses[place], surface.standard_errors[place]
        is_known = bool(np.isfinite(losses).any())
        best = int(np.nanargmin(losses)) if is_known else 0
        at = max(1, min(chosen, len(losses))) - 1
        rows.append(
            PenaltyRow(
                number(float(surface.alphas[place])),
                with_error(float(losses[best]), float(errors[best])) if is_known else NONE,
                count(best + 1) if is_known else NONE,
                with_error(float(losses[at]), float(errors[at])),
                place == surface.row,
            )
        )
    return rows


def surface_measure(surface: AlphaSurface, path: SelectionPath) -> str:
    """What the losses of a surface are, in words."""
    words_of_loss = measure_in_words(path.settings.loss)
    if surface.rule == "nested":
        return f"held-out {words_of_loss}"
    if surface.rule == "joint":
        return f"{words_of_loss} by the search's own estimate"
    return f"leave-one-out {words_of_loss} with all features"


def draw_surface(path: SelectionPath, chosen: int) -> HeatMap | None:
    """The heat map of a path's surface; None where it has none, or a single row or column."""
    surface = path.surface
    if surface is None:
        return None
    reached = np.flatnonzero(np.isfinite(surface.losses).any(axis=0))
    if len(surface.alphas) < 2 or len(reached) < 2:
        return None
    rows = _shown_rows(surface)
    last = int(reached[-1]) + 1
    column_of = min(chosen, last)
    sizes, step = thinned(last, (column_of, max(1, surface.size)), _MOST)
    cells = np.ix_(np.array(rows), np.array(sizes) - 1)
    part, errors = surface.losses[cells], surface.standard_errors[cells]
    low, high = float(np.nanmin(part)), _top_of_shades(surface, part)
    shades = _shades(part, low, high)
    marked = rows.index(surface.row), sizes.index(column_of) if column_of else -1
    penalties = [number(float(surface.alphas[row])) for row in rows]
    frames = [(frame, *_frame(frame, penalties)) for frame in (WIDE, NARROW)]
    description = (
        f"{surface_measure(surface, path)} by penalty and number of features. Chosen: penalty "
        f"{number(surface.alpha)}, {counted(column_of, 'feature')}."
    )
    return HeatMap(
        tag("g", *_cells(shades), id="heat-cells"),
        tuple(
            (frame.name, _drawing(frame, area, height, penalties, sizes, marked, description))
            for frame, area, height in frames
        ),
        {
            frame.name: (
                area[0] / frame.width,
                area[1] / height,
                area[2] / frame.width,
                area[3] / height,
            )
            for frame, area, height in frames
        },
        penalties,
        sizes,
        [
            [with_error(float(loss), float(error)) for loss, error in zip(*pair, strict=True)]
            for pair in zip(part, errors, strict=True)
        ],
        (number(low), number(high)),
        bool(np.nanmax(part) > high),
        _note(len(surface.alphas), len(rows), last, len(sizes), step),
        marked,
    )


def _shown_rows(surface: AlphaSurface) -> list[int]:
    """Places of penalties, the largest first."""
    chosen, _ = thinned(len(surface.alphas), [surface.row + 1], _MOST)
    return [place - 1 for place in reversed(chosen)]


def _note(penalties: int, shown: int, last: int, sizes: int, step: int) -> str:
    parts = []
    if shown < penalties:
        parts.append(f"{shown} of {count(penalties)} penalties")
    if sizes < last:
        parts.append(f"the first sizes and then every {step}th")
    return f"Shown are {' and '.join(parts)}." if parts else ""


def _top_of_shades(surface: AlphaSurface, losses: Float) -> float:
    """The loss from which on cells share the last shade, so that those near the best differ.

    Half of the cells get half of the shades, but one standard error is not all of them.
    """
    smallest, largest = float(np.nanmin(losses)), float(np.nanmax(losses))
    error = float(surface.standard_errors[surface.row, max(0, surface.size - 1)])
    reach = 2.0 * (float(np.nanmedian(losses)) - smallest)
    reach = max(reach, error if np.isfinite(error) else 0.0)
    return min(smallest + reach, largest) if reach > 0.0 else largest


def _shades(losses: Float, low: float, high: float) -> list[list[int | None]]:
    """The shade of each cell; None where there is no loss."""
    width = (high - low) or 1.0
    return [
        [
            None if not np.isfinite(loss) else min(int(SHADES * (loss - low) / width), SHADES - 1)
            for loss in row
        ]
        for row in losses.tolist()
    ]


def _cells(shades: list[list[int | None]]) -> list[str]:
    """One path for each shade, in units of cells; neighbours in a row are one rectangle."""
    parts: list[list[str]] = [[] for _ in range(SHADES)]
    for row, line in enumerate(shades):
        start = 0
        while start < len(line):
            end = start + 1
            while end < len(line) and line[end] == line[start]:
                end += 1
            shade = line[start]
            if shade is not None:
                parts[shade].append(f"M{start} {row}h{end - start}v1h{start - end}z")
            start = end
    return [
        tag("path", d="".join(part), class_=f"heat-{shade}")
        for shade, part in enumerate(parts)
        if part
    ]


def _frame(frame: Frame, penalties: list[str]) -> tuple[tuple[float, float, float, float], float]:
    """The area of the cells (left, top, right, bottom) and the height of the drawing."""
    row = min(max(_ROWS / len(penalties), _HEIGHTS[0]), _HEIGHTS[1])
    if row * len(penalties) > _ROWS:
        row = _ROWS / len(penalties)
    left = 14.0 + frame.character * max(len(text) for text in penalties)
    bottom = _TOP + row * len(penalties)
    return (left, _TOP, frame.width - _RIGHT, bottom), bottom + _BOTTOM


def _drawing(
    frame: Frame,
    area: tuple[float, float, float, float],
    height: float,
    penalties: list[str],
    sizes: list[int],
    marked: tuple[int, int],
    description: str,
) -> str:
    left, top, right, bottom = area
    cell = (right - left) / len(sizes), (bottom - top) / len(penalties)
    drawn = [
        label("Penalty α of the search", 0.0, 16.0, class_="measure"),
        *_row_labels(penalties, left, top, cell[1]),
        *_column_labels(sizes, left, bottom, cell[0], frame),
        label("number of features", (left + right) / 2.0, height - 6.0, "middle"),
    ]
    scale = f"translate({left:.1f} {top:.1f}) scale({cell[0]:.4f} {cell[1]:.4f})"
    return chart(
        (frame.width, round(height, 1)),
        f"surface-{frame.name}",
        "Loss by penalty and number of features",
        description,
        tag("g", *drawn, class_="scale"),
        tag("use", href="#heat-cells", transform=scale),
        _mark(left, top, cell, marked, "heat-mark") if marked[1] >= 0 else "",
        tag("rect", class_="heat-cursor", visibility="hidden", width=cell[0], height=cell[1]),
    )


def _row_labels(penalties: list[str], left: float, top: float, height: float) -> list[str]:
    """Every penalty if there is room, else every second one, and so on."""
    step = max(1, int(np.ceil(16.0 / height)))
    return [
        label(text, left - 7.0, top + (row + 0.5) * height + 4.5, "end")
        for row, text in enumerate(penalties)
        if row % step == 0
    ]


def _column_labels(
    sizes: list[int], left: float, bottom: float, width: float, frame: Frame
) -> list[str]:
    room = (len(str(sizes[-1])) + 2.0) * frame.character
    step = max(1, int(np.ceil(room / width)))
    # 1, 5, 10, … rather than 1, 4, 7, …
    step = next(nice for nice in (1, 2, 5, 10, 20, 25, 50, 100) if nice >= min(step, 100))
    shown = [
        column
        for column, size in enumerate(sizes)
        if column == 0 or (size % step == 0 and column * width > room)
    ]
    return [
        label(str(sizes[column]), left + (column + 0.5) * width, bottom + 20.0, "middle")
        for column in shown
    ]


def _mark(
    left: float, top: float, cell: tuple[float, float], marked: tuple[int, int], name: str
) -> str:
    """A frame around a cell."""
    width, height = (max(side, _MARK) for side in cell)
    x = left + (marked[1] + 0.5) * cell[0] - width / 2.0
    y = top + (marked[0] + 0.5) * cell[1] - height / 2.0
    place = {"x": x, "y": y, "width": width, "height": height, "rx": 1.5}
    return tag("g", tag("rect", **place, class_="halo"), tag("rect", **place), class_=name)
