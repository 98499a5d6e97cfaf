"""Frames of the charts of a report: sizes, titles, and what surrounds a plot.

Colours come from the style sheet by class, so that they follow light and dark. Wide charts are
drawn a second time: shrunk to a telephone, their text could not be read.
"""

from __future__ import annotations

from typing import NamedTuple

from ..plots import Style, tag, words


class Frame(NamedTuple):
    """The size of a chart, and how much has room in it."""

    name: str
    width: float
    height: float
    character: float  # the width of a digit
    ticks: tuple[int, int]  # below and beside
    most_bars: int  # with more sizes errors are drawn as a band
    most_dots: int

    def style(self, top: float, right: float, bottom: float, side: float) -> Style:
        """What surrounds a plot in this frame."""
        return Style(
            font=13.0,
            character=self.character,
            top=top,
            right=right,
            bottom=bottom,
            left=12.0,
            below=20.0,
            tick=5.0,
            grid={"class_": "grid"},
            axis={"class_": "axis"},
            text={},
            side=side,
        )


WIDE = Frame("wide", 760.0, 380.0, 7.6, (12, 6), 40, 60)
NARROW = Frame("narrow", 360.0, 300.0, 7.2, (6, 5), 16, 30)


def chart(
    size: tuple[float, float], identity: str, title: str, description: str, *inside: str
) -> str:
    """A drawing of some width and height, with a title and in words.

    `identity` starts the identifiers in it.
    """
    named, described = f"{identity}-title", f"{identity}-description"
    return tag(
        "svg",
        tag("title", words(title), id=named),
        tag("desc", words(description), id=described),
        *inside,
        viewBox=f"0 0 {size[0]:g} {size[1]:g}",
        role="img",
        aria_labelledby=f"{named} {described}",
        class_="chart",
    )
