"""Random models and rows for the exports, and what `LinearModel` says about them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from greedyrls import LinearModel
from internals import InputColumn, Term

Row = dict[str, Any]

# Each would be code, or break it, if it were taken for anything but a text.
NASTY = [
    "*/ int main(){}",
    "/* //",
    '"; DROP TABLE data; --',
    "'); DROP TABLE data; --",
    "'''",
    '"""',
    '"',
    "'",
    "new\nline",
    "return\rline",
    "tab\t",
    "ends with a backslash\\",
    "\\",
    "\\\n",
    "??/",
    "??/\n",
    "??=define x ??)",
    "\\u0022 \\x41 \\N{BULLET}",
    "smile 😀",
    "温度",
    "e\u0301 and \u202e from right to left",
    "\u2028\u2029\x85",
    "\ufeff",
    "\x7f\x1b[31m",
    "long " * 200,
    "class",
    "lambda",
    "None",
    "int",
    "NULL",
    "NAN",
    "_Bool",
    "__import__('os').abort()",
    "a b",
    "a-b",
    "a_b",
    "1st",
    "%s %(x)s %n",
    "{} {0.__class__} {name}",
    "$(touch broken) `touch broken`",
    "input",
    "scores",
    "predict",
    "prediction",
    "score_0",
    "greedyrls_1",
    "#define double int",
    "m",
    " ",
]


def texts(max_size: int = 12) -> st.SearchStrategy[str]:
    """Texts, often nasty ones; without null characters, which get tests of their own."""
    plain = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    return st.sampled_from(NASTY) | st.text(plain, min_size=1, max_size=max_size)


class Case(NamedTuple):
    """A model, rows for it, and whether all its sums are free of rounding in any order."""

    model: LinearModel
    rows: list[Row]
    is_exact: bool


def numbers(is_exact: bool) -> st.SearchStrategy[float]:
    if is_exact:
        return st.integers(-256, 256).map(lambda whole: whole / 16)
    size = st.floats(1e-6, 1e6) | st.sampled_from([5e-324, 1e-300, 0.1, 1e15, 1.0 / 3.0])
    return st.tuples(size, st.sampled_from([1.0, -1.0])).map(math.prod) | st.just(0.0)


@st.composite
def cases(draw: st.DrawFn, n_rows: int = 12, most_terms: int = 60) -> Case:
    """Numbers and text, with and without fills, regressions and classifications."""
    is_exact = draw(st.booleans())
    number = numbers(is_exact)
    # SQLite does not tell apart small and capital letters in names.
    names = draw(st.lists(texts(), min_size=1, max_size=8, unique_by=_folded))
    columns = tuple(draw(_columns(name, number)) for name in names)
    classes = draw(_classes())
    outputs = draw(st.integers(1, 3)) if classes is None else len(classes)
    outputs = 1 if classes is not None and outputs == 2 else outputs
    several = st.lists(number, min_size=outputs, max_size=outputs).map(tuple)
    column = st.sampled_from(columns)
    count = draw(st.integers(1, 8) | st.integers(1, most_terms))
    terms = tuple(
        Term(one.name, None if one.levels is None else draw(st.sampled_from(one.levels)), several_)
        for one, several_ in draw(st.lists(st.tuples(column, several), min_size=1, max_size=count))
    )
    model = LinearModel(
        task="regression" if classes is None else "classification",
        target=draw(texts()),
        columns=columns,
        terms=terms,
        intercepts=draw(several),
        classes=classes,
        made_by=draw(texts()),
    )
    values = st.fixed_dictionaries({one.name: _values(one, number) for one in columns})
    rows = draw(st.lists(values, min_size=1, max_size=n_rows))
    return Case(model, [{name: row[name] for name in names} for row in rows], is_exact)


def _folded(name: str) -> str:
    return name.casefold()


@st.composite
def _columns(draw: st.DrawFn, name: str, number: st.SearchStrategy[float]) -> InputColumn:
    if draw(st.booleans()):
        return InputColumn(name, None, draw(st.none() | number))
    levels = draw(st.lists(texts(), min_size=1, max_size=4, unique=True))
    return InputColumn(name, tuple(levels), draw(st.none() | st.sampled_from(levels) | texts()))


@st.composite
def _classes(draw: st.DrawFn) -> tuple[Any, ...] | None:
    kind = draw(st.sampled_from(["none", "none", "text", "whole", "float", "flag"]))
    if kind == "none":
        return None
    if kind == "flag":
        return (False, True)
    size = draw(st.integers(2, 4))
    label = {"text": texts(), "whole": st.integers(-(2**53), 2**53), "float": numbers(True)}[kind]
    return tuple(draw(st.lists(label, min_size=size, max_size=size, unique=True)))


def _values(column: InputColumn, number: st.SearchStrategy[float]) -> st.SearchStrategy[Any]:
    if column.levels is None:
        return st.one_of(number, number, number, st.booleans().map(float), st.just(math.nan))
    return st.one_of(st.sampled_from(column.levels), texts(), st.none())


def looked_at(model: LinearModel) -> list[InputColumn]:
    """The columns of some term."""
    used = {term.column for term in model.terms}
    return [column for column in model.columns if column.name in used]


def is_missing(value: Any) -> bool:
    return value is None or value != value


def is_open(model: LinearModel, row: Row) -> bool:
    """Whether a value is missing for which the model has nothing."""
    return any(is_missing(row[one.name]) and one.fill is None for one in looked_at(model))


class Answer(NamedTuple):
    """What the model says; not a number, and None, where a value is missing."""

    scores: Any  # (m, outputs)
    sizes: Any  # (m, outputs): sums of the absolute values of the summands
    predictions: list[Any]


def answer(model: LinearModel, rows: list[Row]) -> Answer:
    """What `LinearModel` says about rows."""
    used = LinearModel(
        model.task,
        model.target,
        tuple(looked_at(model)),
        model.terms,
        model.intercepts,
        model.classes,
    )
    scores = np.full((len(rows), len(model.intercepts)), np.nan)
    predictions: list[Any] = [None] * len(rows)
    places = [place for place, row in enumerate(rows) if not is_open(model, row)]
    if places:
        data = {name: [rows[place][name] for place in places] for name in rows[0]}
        scores[places] = used.scores(data)
        for place, prediction in zip(places, used.predict(data).tolist(), strict=True):
            predictions[place] = prediction
    return Answer(scores, _sizes(model, rows), predictions)


def _sizes(model: LinearModel, rows: list[Row]) -> Any:
    fills = {column.name: column.fill for column in model.columns}
    sizes = np.tile(np.abs(model.intercepts), (len(rows), 1))
    for term in model.terms:
        values = [row[term.column] for row in rows]
        if term.level is None:
            filled = [fills[term.column] if is_missing(one) else one for one in values]
            factors = [abs(one or 0.0) for one in filled]
        else:
            factors = [1.0] * len(rows)
        sizes += np.outer(factors, np.abs(term.coefficients))
    return sizes


def assert_scores(case: Case, found: Any, tolerance: float = 1e-9) -> None:
    """Scores agree to the bit where sums are exact, else relative to their summands."""
    expected = answer(case.model, case.rows)
    found = np.asarray(found, dtype=np.float64).reshape(expected.scores.shape)
    if case.is_exact or tolerance == 0.0:
        assert_array_equal(found, expected.scores)
    else:
        assert_array_equal(np.isnan(found), np.isnan(expected.scores))
        error = np.abs(np.nan_to_num(found - expected.scores))
        # Below the smallest normal number there are not as many digits.
        bound = tolerance * expected.sizes + np.finfo(np.float64).tiny
        assert (error <= bound).all(), (found, expected.scores)


def assert_labels(case: Case, found: list[Any], tolerance: float = 1e-9) -> None:
    """Labels agree, except where rounding may have decided; None where a value is missing."""
    expected = answer(case.model, case.rows)
    assert len(found) == len(case.rows)
    for place, label in enumerate(found):
        scores, size = expected.scores[place], expected.sizes[place].max()
        margin = abs(scores[0]) if len(scores) == 1 else np.diff(np.sort(scores))[-1]
        if case.is_exact or tolerance == 0.0 or not margin <= tolerance * size:
            assert label == expected.predictions[place]
            assert isinstance(label, type(expected.predictions[place]))


def nasty_case() -> Case:
    """All the nasty texts at once: names, levels, fills, the target."""
    rng = np.random.default_rng(8)
    unique = list({name.casefold(): name for name in NASTY}.values())
    fills = [0.5 if place % 3 else None for place in range(len(unique))]
    columns = [InputColumn(name, None, fill) for name, fill in zip(unique, fills, strict=True)]
    columns.append(InputColumn("text without fill", tuple(NASTY)))
    columns.append(InputColumn("text", tuple(NASTY), NASTY[0]))
    named = [(name, None) for name in unique]
    named += [(column.name, level) for column in columns[-2:] for level in NASTY]
    terms = tuple(
        Term(name, level, (coefficient,))
        for (name, level), coefficient in zip(named, eighths(rng, len(named)), strict=True)
    )
    rows: list[Row] = [
        dict(zip(unique, eighths(rng, len(unique)), strict=True))
        | {"text without fill": level, "text": other}
        for level, other in zip(NASTY, [*NASTY[3:], None, "unseen", "*/"], strict=True)
    ]
    rows.append(rows[0] | {unique[1]: math.nan})
    rows.append(rows[0] | {unique[0]: math.nan})
    rows.append(rows[0] | {"text without fill": None})
    model = LinearModel("regression", NASTY[0], tuple(columns), terms, (1.5,), None, NASTY[2])
    return Case(model, rows, True)


def nasty_labels() -> Case:
    """All the nasty texts as labels, each of them predicted for a row."""
    rng = np.random.default_rng(8)
    places = range(len(NASTY))
    coefficients = [eighths(rng, len(NASTY)) for _ in places]
    for place in places:
        coefficients[place][place] += 1000.0
    model = LinearModel(
        "classification",
        "y",
        tuple(InputColumn(f"x{place}", None, 1.0 if place else None) for place in places),
        tuple(Term(f"x{place}", None, tuple(coefficients[place])) for place in places),
        tuple(eighths(rng, len(NASTY))),
        tuple(NASTY),
    )
    rows: list[Row] = [
        {f"x{other}": 8.0 * float(other == place) for other in places} for place in places
    ]
    assert model.predict({name: [row[name] for row in rows] for name in rows[0]}).tolist() == NASTY
    rows += [rows[0] | {"x1": math.nan}, rows[0] | {"x0": math.nan}]
    return Case(model, rows, True)


def ties(n_classes: int) -> Case:
    """Scores that leave the class to the rule: 0 of two classes, equal ones of more."""
    outputs = 1 if n_classes == 2 else n_classes
    model = LinearModel(
        "classification",
        "y",
        (InputColumn("x"),),
        (Term("x", None, (2.0, 2.0, -2.0, 1.0)[:outputs]),),
        (0.0,) * outputs,
        tuple("abcd"[:n_classes]),
    )
    rows: list[Row] = [{"x": value} for value in (0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324)]
    return Case(model, rows, True)


def eighths(rng: np.random.Generator, count: int) -> list[float]:
    """Numbers whose sums of products are free of rounding."""
    values: list[float] = (rng.integers(-999, 999, count) / 8).tolist()
    return values


def many_terms(count: int = 1500) -> Case:
    """More terms than any expression may be deep."""
    rng = np.random.default_rng(9)
    names = [f"x{place}" for place in range(count)]
    coefficients = eighths(rng, count)
    model = LinearModel(
        "regression",
        "y",
        tuple(InputColumn(name) for name in names),
        tuple(Term(name, None, (one,)) for name, one in zip(names, coefficients, strict=True)),
        (0.5,),
    )
    rows = [dict(zip(names, eighths(rng, count), strict=True)) for _ in range(3)]
    return Case(model, rows, True)


def small_model(**changes: Any) -> LinearModel:
    """Two columns, one of text."""
    values: dict[str, Any] = {
        "task": "regression",
        "target": "y",
        "columns": (InputColumn("size"), InputColumn("kind", ("a", "b"), "a")),
        "terms": (Term("size", None, (2.0,)), Term("kind", "b", (0.5,))),
        "intercepts": (1.0,),
    }
    return LinearModel(**(values | changes))
