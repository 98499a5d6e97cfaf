"""The stability of selections against its definition (Nogueira, Sechidis and Brown, 2018)."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from assess_checks import noise
from greedyrls.assess import (
    Stability,
    cross_validate_path,
    resample_path,
)


def literal_index(selections: Sequence[Any], d: int, size: int) -> tuple[float, float]:
    """Φ and its standard error from the table of who selected what."""
    M = len(selections)
    Z = np.array([[f in list(order[:size]) for f in range(d)] for order in selections], dtype=float)
    p = Z.mean(axis=0)
    k = Z.sum(axis=1)
    mean = k.mean()
    variances = [M / (M - 1) * p[f] * (1 - p[f]) for f in range(d)]
    expected = mean / d * (1 - mean / d)
    index = 1 - np.mean(variances) / expected
    parts = []
    for i in range(M):
        agreement = sum(Z[i, f] * p[f] for f in range(d)) / d
        half = 2 * mean * k[i] / d**2 - k[i] / d - mean / d + 1
        parts.append((agreement - k[i] * mean / d**2 + index / 2 * half) / expected)
    variance = 4 / M**2 * sum((part - np.mean(parts)) ** 2 for part in parts)
    return float(index), float(np.sqrt(variance))


def orders(rows: Sequence[Sequence[int]]) -> tuple[Any, ...]:
    return tuple(np.array(row, dtype=np.intp) for row in rows)


@st.composite
def several_selections(draw: st.DrawFn) -> tuple[tuple[Any, ...], int]:
    d = draw(st.integers(2, 9))
    M = draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    longest = draw(st.integers(1, d))
    is_equal = draw(st.booleans())
    sizes = [longest if is_equal else int(rng.integers(1, longest + 1)) for _ in range(M)]
    return orders([rng.permutation(d)[:size] for size in sizes]), d


@settings(max_examples=100)
@given(several_selections())
def test_the_index_is_its_definition(drawn: tuple[tuple[Any, ...], int]) -> None:
    selections, d = drawn
    stability = Stability(selections, d)
    assert list(stability.sizes) == list(range(1, max(map(len, selections)) + 1))
    assert stability.index.shape == stability.standard_error.shape == (len(stability.sizes),)
    for size in stability.sizes:
        if all(len(order[:size]) == d for order in selections):
            assert np.isnan(stability.index[size - 1])
            assert np.isnan(stability.standard_error[size - 1])
            continue
        index, error = literal_index(selections, d, size)
        assert stability.index[size - 1] == pytest.approx(index, rel=1e-9, abs=1e-12)
        assert stability.standard_error[size - 1] == pytest.approx(error, rel=1e-7, abs=1e-9)
        assert -1.0 / (len(selections) - 1) - 1e-9 <= index <= 1.0 + 1e-9
        expected = [np.mean([f in order[:size] for order in selections]) for f in range(d)]
        assert_allclose(stability.frequencies(size), expected, rtol=1e-12)


def test_values_by_hand() -> None:
    # Two selections of 1 of 4 features that differ: Φ = 1 − (2·½·½·2/4) / (¼·¾) = −1/3.
    assert_allclose(Stability(orders([[0], [1]]), 4).index, [-1 / 3])
    # One feature of two in common, of 5: p = (1, ½, ½, 0, 0), Φ = 1 − (2·¼·2/5) / (2/5·3/5).
    assert_allclose(Stability(orders([[0, 1], [0, 2]]), 5).index, [1.0, 1 - 0.2 / 0.24])


@pytest.mark.parametrize("size", [1, 3])
def test_equal_selections_are_stable(size: int) -> None:
    stability = Stability(orders([[4, 2, 7][:size]] * 6), 9)
    assert_allclose(stability.index, 1.0)
    assert_allclose(stability.standard_error, 0.0, atol=1e-9)
    assert_allclose(stability.interval, 1.0)
    assert "1.00" in stability.sentence
    assert "excellent" in stability.sentence
    assert f"{size} feature{'s' * (size != 1)} in every selection" in stability.sentence


def test_the_order_within_a_size_does_not_matter() -> None:
    one = Stability(orders([[0, 1, 2], [1, 0, 3]]), 8).index
    other = Stability(orders([[1, 0, 2], [1, 0, 3]]), 8).index
    assert one[0] != other[0]
    assert_allclose(one[1:], other[1:])


def test_random_selections_have_index_zero() -> None:
    rng = np.random.default_rng(0)
    equal = Stability(orders([rng.permutation(30)[:6] for _ in range(150)]), 30)
    assert (np.abs(equal.index) < 4.0 * equal.standard_error).all()
    assert (equal.standard_error < 0.05).all()
    unequal = [rng.permutation(30)[: rng.integers(1, 20)] for _ in range(150)]
    assert abs(Stability(orders(unequal), 30).index[-1]) < 0.03


def test_intervals_cover_the_truth() -> None:
    """Each feature is selected with a probability of its own, whatever the others."""
    rng = np.random.default_rng(3)
    p = np.array([0.9, 0.8, 0.7, 0.5, 0.3, 0.2, 0.1, 0.1, 0.05, 0.05])
    truth = 1.0 - np.mean(p * (1.0 - p)) / (p.mean() * (1.0 - p.mean()))
    covered, indices, errors = [], [], []
    for _ in range(200):
        drawn = [np.flatnonzero(rng.random(10) < p) for _ in range(40)]
        stability = Stability(orders(drawn), 10)
        low, high = stability.interval
        covered.append(low[-1] < truth < high[-1])
        indices.append(stability.index[-1])
        errors.append(stability.standard_error[-1])
    assert np.mean(indices) == pytest.approx(truth, abs=4.0 * np.std(indices) / np.sqrt(200))
    assert np.mean(errors) == pytest.approx(np.std(indices), rel=0.25)
    assert 0.89 <= np.mean(covered) <= 0.99


def test_intervals_have_their_level() -> None:
    selections = orders([[0, 1], [0, 2], [1, 0]])
    narrow, wide = Stability(selections, 6, level=0.5), Stability(selections, 6)
    for stability, width in ((narrow, 0.6744898), (wide, 1.9599640)):
        low, high = stability.interval
        assert_allclose(high - stability.index, width * stability.standard_error, rtol=1e-6)
        assert_allclose(stability.index - low, width * stability.standard_error, rtol=1e-6)
    assert "50% Monte-Carlo interval" in narrow.sentence


def test_where_there_is_no_index() -> None:
    everything = Stability(orders([[0, 1, 2], [2, 1, 0]]), 3)
    assert np.isnan(everything.index[2])
    assert np.isfinite(everything.index[:2]).all()
    assert everything.sentence == "At 3 features every selection is the same: there are no others."
    single = Stability(orders([[0, 1]]), 5)
    assert np.isnan(single.index).all()
    assert np.isnan(single.standard_error).all()
    assert single.sentence == "Stability needs at least two selections."
    assert_array_equal(single.frequencies(1), [1, 0, 0, 0, 0])
    nothing = Stability((), 5)
    assert len(nothing.index) == len(nothing.sizes) == 0
    assert nothing.sentence == "Stability needs at least two selections."


def test_shorter_selections_count_with_all_they_have() -> None:
    stability = Stability(orders([[0], [0, 1, 2]]), 4)
    assert_array_equal(stability.frequencies(1), [1.0, 0.0, 0.0, 0.0])
    assert_array_equal(stability.frequencies(3), [1.0, 0.5, 0.5, 0.0])
    assert_array_equal(stability.frequencies(), stability.frequencies(3))
    assert_array_equal(stability.frequencies(np.int64(2)), stability.frequencies(2))


@pytest.mark.parametrize("k", [0, 4, -1])
def test_sizes_that_were_not_selected(k: int) -> None:
    stability = Stability(orders([[0, 1, 2], [0, 1, 3]]), 5)
    for ask in (stability.frequencies, stability.to_frame):
        with pytest.raises(ValueError, match=f"k={k} is not among the sizes selected, 1 to 3"):
            ask(k)


@pytest.mark.parametrize("k", [1.0, "2", True])
def test_sizes_that_are_no_numbers(k: Any) -> None:
    stability = Stability(orders([[0, 1, 2], [0, 1, 3]]), 5)
    with pytest.raises(TypeError, match=f"k must be a whole number, got {k!r}"):
        stability.frequencies(k)


def test_names_and_frame() -> None:
    selections = orders([[3, 1], [3, 2], [3, 1]])
    plain = Stability(selections, 5, source="three samples")
    assert plain.names([0, 4]) == ["x0", "x4"]
    named = Stability(selections, 5, tuple("abcde"))
    assert named.names(np.array([3, 1])) == ["d", "b"]
    frame = named.to_frame()
    assert frame["index"].tolist() == [3, 1, 2]
    assert frame["feature"].tolist() == ["d", "b", "c"]
    assert_allclose(frame["frequency"], [1.0, 2 / 3, 1 / 3])
    assert plain.to_frame(1)["feature"].tolist() == ["x3"]


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ([[0, 1]] * 9 + [[0, 2]], "excellent"),
        ([[0, 1]] * 6 + [[0, 2]] * 4, "intermediate to good"),
        ([[0, 1], [2, 3], [4, 5], [6, 7]], "poor"),
    ],
)
def test_sentences_name_numbers(rows: list[list[int]], word: str) -> None:
    stability = Stability(orders(rows), 10, source="many samples")
    low, high = (end[1] for end in stability.interval)
    always = int(np.count_nonzero(stability.frequencies(2) == 1.0))
    assert stability.sentence == (
        f"Stability of the first 2 features over {len(rows)} selections (many samples): "
        f"{stability.index[1]:.2f} (95% Monte-Carlo interval {low:.2f} to {high:.2f}), {word}; "
        f"{always} feature{'s' * (always != 1)} in every selection."
    ).replace("-0", "−0")


@pytest.mark.parametrize("second", [1, 2])
def test_folds_are_not_called_stable(second: int) -> None:
    """They share most of their rows: on pure noise the index is 0.25 to 0.55."""
    rows = [[0, 1]] * 6 + [[0, second]] * 4
    stability = Stability(orders(rows), 10, source="folds: 10-fold")
    always = 2 if second == 1 else 1
    assert stability.sentence == (
        "Stability of the first 2 features over 10 selections (folds: 10-fold): "
        f"{stability.index[1]:.2f}; {always} feature{'s' * (always != 1)} in every selection. "
        "Folds share most of their training rows, so this is higher than it would be on fresh "
        "samples, even on pure noise."
    )


def test_stabilities_are_pickled_and_copied_but_not_changed() -> None:
    stability = Stability(orders([[0, 1], [0, 2]]), 5, tuple("abcde"), "two samples", 0.9)
    twins = (pickle.loads(pickle.dumps(stability)), copy.copy(stability), copy.deepcopy(stability))
    for twin in twins:
        assert twin.sentence == stability.sentence
        assert twin.names([4]) == ["e"]
        with pytest.raises(ValueError, match="read-only"):
            twin.selections[0][0] = 3
    stability.index[0] = 7.0  # a copy
    assert stability.index[0] == pytest.approx(1.0)


def test_arrays_of_the_caller_are_left_as_they_were() -> None:
    selections = orders([[0, 1], [0, 2]])
    Stability(selections, 5)
    assert selections[0].flags.writeable


def test_stability_of_what_could_be_selected() -> None:
    X, y = noise(40, 40)
    excluded = list(range(5, 40))
    found = cross_validate_path(X, y, 3, cv=5, alpha=1.0, excluded_features=excluded).stability
    by_hand = Stability(tuple(order for order in found.selections), 5)
    assert_allclose(found.index, by_hand.index)
    drawn = resample_path(X, y, 3, alpha=1.0, n_resamples=5, excluded_features=excluded)
    assert_allclose(drawn.index, Stability(drawn.selections, 5).index)


def test_forced_features_are_no_sign_of_stability() -> None:
    generator = np.random.default_rng(0)
    forced = (0, 1, 2)
    free = [generator.permutation(np.arange(3, 30))[:3] for _ in range(8)]
    given = Stability(tuple(np.concatenate([forced, order]) for order in free), 30, forced=forced)
    alone = Stability(tuple(order - 3 for order in free), 27)
    assert np.isnan(given.index[:3]).all()
    assert_allclose(given.index[3:], alone.index)
    assert_allclose(given.standard_error[3:], alone.standard_error)
    assert "besides the 3 forced" in given.sentence
    X, y = noise(40, 30)
    found = cross_validate_path(X, y, 4, cv=4, alpha=1.0, forced_features=[5, 6])
    assert found.stability.forced == (5, 6)


@pytest.mark.parametrize(
    ("selections", "options", "message"),
    [
        (([0, 5],), {}, "column numbers from 0 to 4"),
        (([-1],), {}, "column numbers from 0 to 4"),
        (([1, 1],), {}, "more than once"),
        (([1], [2]), {"level": 2.0}, "level must be between 0 and 1"),
    ],
)
def test_what_is_no_selection(selections: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Stability(tuple(np.array(order) for order in selections), 5, **options)


def test_no_selections_at_all() -> None:
    empty = Stability((), 5)
    assert len(empty.index) == 0
    with pytest.raises(ValueError, match="There are no selections"):
        empty.frequencies()
