"""SVG elements as text, with all input escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

Point = tuple[float, float]


def tag(name: str, *children: str, **attributes: object) -> str:
    """Return an element; `children` are elements or escaped by `words`, attributes are escaped.

    Numbers are written to a tenth of a pixel; ``class_`` and ``text_anchor`` are as expected.

    >>> tag("text", words("<b>"), x=1.25, class_="axis")
    '<text x="1.2" class="axis">&lt;b&gt;</text>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    body = "".join(children)
    return f"<{name}{written}>{body}</{name}>" if body else f"<{name}{written}/>"


def words(text: str) -> str:
    """Return any text, escaped for an element."""
    return escape(text)


def through(points: Sequence[Point]) -> str:
    """Return a line through points, as the ``d`` attribute of a path."""
    return "M" + "L".join(f"{_value(x)} {_value(y)}" for x, y in points)


def _value(value: object) -> str:
    if isinstance(value, float):
        text = f"{value:.1f}".removesuffix(".0")
        return "0" if text == "-0" else text
    return escape(str(value))
