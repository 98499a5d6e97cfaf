"""Small pictures as SVG text: lines are where the values are, and nothing is not a number."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from internals import BLUE, ORANGE, Line, bar, key, line_picture

SVG = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def points(picture: ElementTree.Element, colour: str) -> np.ndarray:
    """Places (number × 2) that the lines of a colour go through."""
    lines = [
        path.get("d", "")
        for path in picture.iter(f"{SVG}path")
        if path.get("stroke") == colour and "L" in path.get("d", "")
    ]
    return np.array(
        [[float(number) for number in place.split()] for d in lines for place in d[1:].split("L")]
    )


@pytest.mark.parametrize(
    "values", [[5.0, 3.0, 2.5, 2.6], [1000.0, 10.0, 1.0, 0.1], [-1.0, 0.0, -3.0, 1.0]]
)
def test_lines_are_where_the_values_are(values: list[float]) -> None:
    picture = parsed(line_picture([Line("loss", np.array(values), BLUE)], "words", mark=3))
    places = points(picture, BLUE)
    assert (np.diff(places[:, 0]) > 0.0).all()
    assert np.allclose(np.diff(places[:, 0]), np.diff(places[:, 0])[0], atol=0.2)
    # Larger values are higher up, where y is smaller.
    assert np.argsort(-places[:, 1]).tolist() == np.argsort(values).tolist()
    on_axis = np.log(values) if min(values) > 0.0 and max(values) > 20.0 * min(values) else values
    slope = np.polyfit(on_axis, places[:, 1], 1)
    assert np.allclose(np.polyval(slope, on_axis), places[:, 1], atol=0.2)
    assert places[:, 0].max() <= 420.0
    assert places[:, 1].max() <= 160.0
    (ring,) = picture.iter(f"{SVG}circle")
    ring_at = [float(ring.get("cx", "")), float(ring.get("cy", ""))]
    assert ring_at == pytest.approx(places[2].tolist(), abs=0.11)
    # Each number on the axis stands where its value is drawn.
    for label in picture.iter(f"{SVG}text"):
        if label.get("text-anchor") == "end":
            value = float((label.text or "").replace("−", "-"))
            on = np.log(value) if on_axis is not values else value
            assert float(label.get("y", "")) - 3.85 == pytest.approx(np.polyval(slope, on), abs=0.5)


def test_gaps_in_lines() -> None:
    values = np.array([3.0, np.nan, 2.0, 1.5, np.nan, np.inf, 1.0])
    line = Line("loss", values, BLUE, band=(values - 0.5, values + 0.5))
    picture = parsed(line_picture([line], "words", mark=2))
    assert len(points(picture, BLUE)) == 2
    assert len(list(picture.iter(f"{SVG}circle"))) == 2  # lone values; the mark has none
    assert len([p for p in picture.iter(f"{SVG}path") if p.get("fill") == BLUE]) == 1
    assert "nan" not in ElementTree.tostring(picture, "unicode")
    assert line_picture([Line("loss", np.full(3, np.nan))], "words") == ""


def test_many_sizes_are_on_a_logarithmic_axis() -> None:
    picture = parsed(line_picture([Line("loss", np.arange(200.0, 0.0, -1.0), BLUE)], "words"))
    x = points(picture, BLUE)[:, 0]
    assert x[9] - x[0] == pytest.approx(x[99] - x[9], abs=0.3)
    labels = [text.text for text in picture.iter(f"{SVG}text") if text.get("text-anchor") != "end"]
    assert labels[:3] == ["1", "2", "5"]


@pytest.mark.parametrize("colour", [BLUE, ORANGE])
def test_colours_stand_out_from_white_and_black(colour: str) -> None:
    # 3 to 1 is what the accessibility guidelines (WCAG 2.1) ask of graphics.
    parts = np.array([int(colour[at : at + 2], 16) / 255.0 for at in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    light = float(linear @ [0.2126, 0.7152, 0.0722])
    assert 1.05 / (light + 0.05) >= 3.0
    assert (light + 0.05) / 0.05 >= 3.0


def test_small_marks() -> None:
    assert parsed(key(Line("a", np.ones(2), BLUE, "5 4"))).find(f"{SVG}path") is not None
    assert parsed(bar(0.25)).find(f"{SVG}rect").get("width") == "25"  # type: ignore[union-attr]
