"""Numbers as people read them: one format for sentences, tables, pictures, pages and terminals."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from internals import (
    agree,
    column,
    count,
    counted,
    interval,
    number,
    padded,
    percent,
    plural,
    score,
    scores,
    value_with_error,
)

NAN = float("nan")
CASES = {
    "price": (43612.0, 2107.0, "43,600 ± 2,100"),
    "a card of the report": (1.897e9, 243121075.0, "1.90 ± 0.24 ×10⁹"),
    "a rate": (0.041, 0.00361, "0.0410 ± 0.0036"),
    "progression": (2967.586, 186.23, "2970 ± 190"),
    "small": (3.21e-9, 2.2e-10, "3.21 ± 0.22 ×10⁻⁹"),
    "an error that rounds up": (1.2345, 0.0996, "1.23 ± 0.10"),
    "an error above the value": (0.003, 0.12, "0.00 ± 0.12"),
    "negative": (-13.42, 0.51, "−13.42 ± 0.51"),
    "a power from the error": (3.0, 2.4e8, "0.0 ± 2.4 ×10⁸"),
    "thousands at the limit": (9999.6, 12.0, "10,000 ± 12"),
    "no error": (1.5, NAN, "1.5"),
    "rounding of the value": (0.5, 1.9e-17, "0.5"),
    "an error of nothing": (0.5, 0.0, "0.5"),
    "no value": (NAN, 0.1, "–"),
    "infinite error": (2.0, math.inf, "2"),
}


@pytest.mark.parametrize(("value", "error", "text"), CASES.values(), ids=CASES)
def test_a_value_and_its_error(value: float, error: float, text: str) -> None:
    assert value_with_error(value, error) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (2967.586, 4, "2968"),
        (9999.0, 4, "9999"),
        (9999.6, 4, "10,000"),
        (43612.34, 6, "43,612.3"),
        (9_876_543.0, 4, "9,877,000"),
        (1.897e9, 4, "1.897×10⁹"),
        (9_999_900.0, 4, "1×10⁷"),
        (-0.00012345, 4, "−0.0001234"),
        (2e-7, 4, "2×10⁻⁷"),
        (0.0, 4, "0"),
        (-0.0, 4, "0"),
        (0.5, 4, "0.5"),
        (1.0, 2, "1"),
        (math.inf, 4, "∞"),
        (-math.inf, 4, "−∞"),
        (None, 4, "–"),
    ],
)
def test_a_number(value: float | None, digits: int, text: str) -> None:
    assert number(value, digits) == text


def test_zeros_at_the_end() -> None:
    assert [padded(one) for one in (-20.99964, 0.5, 1234567.0, 2e-7, 0.0)] == [
        "−21.00",
        "0.5000",
        "1,235,000",
        "2.000×10⁻⁷",
        "0",
    ]


def test_a_column_has_the_same_decimals() -> None:
    assert column([258_700.3, 9_120.2], [9_012.0, 512.0]) == ["258,700 ± 9,000", "9,100 ± 500"]
    assert column([62.61, 56.02], [1.82, 0.982]) == ["62.6 ± 1.8", "56.0 ± 1.0"]
    # What is zero up to rounding beside the others is shown as zero.
    assert column([0.4477, -0.3858, 3.397e-18]) == ["0.4477", "−0.3858", "0.0000"]
    assert column([-75857.0, -6.07e6]) == ["−76,000", "−6,070,000"]
    assert column([-1e-18, 0.25], [0.01, 0.02]) == ["0.000 ± 0.010", "0.250 ± 0.020"]
    assert column([1.5, NAN, None], [0.1, 0.2, None]) == ["1.50 ± 0.10", "–", "–"]
    assert column([1.5, 2.5], [0.1, NAN]) == ["1.50 ± 0.10", "2.50"]
    assert column([], []) == []


def test_a_column_of_unlike_numbers() -> None:
    """A leak: every value has its own digits, or the last would be nothing."""
    assert column([82_274.0, 0.414], [1_200.0, 0.016]) == ["82,300 ± 1,200", "0.414 ± 0.016"]


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (51.2931, 57.8412, "51.3 to 57.8"),
        (9_871.0, 12_640.0, "9,900 to 12,600"),
        (0.0, 0.0481, "0.000 to 0.048"),
        (1.51e9, 2.2e9, "1.51 to 2.20 ×10⁹"),
        (0.5, 0.5, "0.5 to 0.5"),
        (NAN, NAN, "– to –"),
    ],
)
def test_an_interval(low: float, high: float, text: str) -> None:
    assert interval(low, high) == text


def test_powers_of_ten_from_ten_million_on() -> None:
    assert number(9_999_999.0, 7) == "9,999,999"
    assert number(10_000_000.0, 7) == "1×10⁷"


def test_a_share() -> None:
    """Neither 99.7 % nor 0.3 % is rounded to all or nothing."""
    shown = {
        0.0: "0%",
        1e-6: "<0.01%",
        0.0004: "0.04%",
        0.003: "0.3%",
        0.00499: "0.5%",
        0.0096: "1%",
        0.5: "50%",
        0.994: "99%",
        0.997: "99.7%",
        0.99962: "99.96%",
        0.9999999: ">99.99%",
        1.0: "100%",
        1.2: "120%",
        -0.012: "−1%",
    }
    assert {share: percent(share) for share in shown} == shown


def test_scores() -> None:
    """Only a score of 1 is shown as 1."""
    assert [score(one) for one in (0.5, 0.9672, 0.99972, 1.0, NAN)] == [
        "0.500",
        "0.967",
        "0.99972",
        "1.000",
        "–",
    ]
    assert score(0.719, 2) == "0.72"
    assert score(-0.012, 2) == "−0.01"
    assert score(1.0371, 2) == "1.04"  # the end of an interval
    assert scores([0.67, 0.9104, NAN], 2) == ["0.670", "0.910", "–"]


def test_one_and_more() -> None:
    assert [counted(one, "fold") for one in (0, 1, 2, 12_000)] == [
        "0 folds",
        "1 fold",
        "2 folds",
        "12,000 folds",
    ]
    assert [plural(word) for word in ("class", "category", "centre", "day", "branch")] == [
        "classes",
        "categories",
        "centres",
        "days",
        "branches",
    ]
    assert [agree(one, "was", "were") for one in (0, 1, 2)] == ["were", "was", "were"]
    assert [count(one) for one in (999, 9999, 10_000, -12_000)] == [
        "999",
        "9999",
        "10,000",
        "−12,000",
    ]


def read(text: str) -> tuple[float, ...]:
    """The numbers of a text again."""
    signs = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−", "-0123456789-", ",")
    shown, _, power = text.replace("×10", "|").replace(" ", "").translate(signs).partition("|")
    return tuple(float(part) * 10.0 ** float(power or 0) for part in shown.split("±"))


@given(st.floats(-1e15, 1e15), st.floats(1e-12, 1e15))
def test_what_is_shown_is_what_was_meant(value: float, error: float) -> None:
    """Within half of the last digit shown, and the error to two digits, whatever the sizes."""
    text = value_with_error(value, error)
    if error <= 1e-9 * abs(value):
        assert "±" not in text
        assert read(text)[0] == pytest.approx(value, rel=6e-4)
        return
    shown, spread = read(text)
    assert spread == pytest.approx(error, rel=0.051)
    assert abs(shown - value) <= 0.0501 * error + 1e-9 * abs(value)
    first, second = text.split(" ×")[0].split(" ± ")
    assert len(first.partition(".")[2]) == len(second.partition(".")[2])
    assert "e" not in text


@example(5e-324, 2)
@given(st.floats(-1e300, 1e300), st.integers(2, 8))
def test_any_number_can_be_read_again(value: float, digits: int) -> None:
    text = number(value, digits)
    assert read(text)[0] == pytest.approx(value, rel=0.51 * 10.0 ** (1 - digits), abs=1e-300)
