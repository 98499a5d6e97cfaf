"""C that is written for a model is compiled and says what the model says, to the bit."""

from __future__ import annotations

import ctypes
import itertools
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import exported
from exported import Case, cases, small_model
from greedyrls import LinearModel
from greedyrls.export import to_c
from internals import InputColumn, Term

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
needs_gxx = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
C99 = ["gcc", "-std=c99", "-Wmissing-prototypes", "-Wstrict-prototypes", *STRICT]
_NUMBER = itertools.count()


def compiled(code: str, name: str, model: LinearModel) -> Any:
    """A library of the code, as a user with the strictest compiler would make it."""
    with tempfile.TemporaryDirectory() as folder:
        # Under a name of its own, or the library of another model would be found.
        source = Path(folder) / f"model{next(_NUMBER)}.c"
        source.write_text(code, encoding="ascii")
        library = source.with_suffix(".so")
        command = [*C99, "-O1", "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        loaded = ctypes.CDLL(str(library))
    getattr(loaded, name).restype = (
        ctypes.c_char_p
        if model.classes is not None
        else ctypes.c_double
        if len(model.intercepts) == 1
        else None
    )
    return loaded


def structures(model: LinearModel, rows: list[exported.Row]) -> Any:
    columns = exported.looked_at(model)

    class Input(ctypes.Structure):
        _fields_ = [
            (f"member{place}", ctypes.c_double if column.levels is None else ctypes.c_char_p)
            for place, column in enumerate(columns)
        ]

    for row in rows:
        values = [row[column.name] for column in columns]
        yield Input(*(one.encode() if isinstance(one, str) else one for one in values))


def label_text(label: Any) -> str | None:
    return str(label).lower() if isinstance(label, bool) else None if label is None else str(label)


def check(case: Case, name: str = "predict") -> None:
    model, rows = case.model, case.rows
    library = compiled(to_c(model, name=name), name, model)
    width = len(model.intercepts)
    scores, predictions, places = [], [], []
    for given_ in structures(model, rows):
        values = (ctypes.c_double * width)()
        getattr(library, f"{name}_scores")(ctypes.byref(given_), values)
        scores.append(list(values))
        if model.classes is not None:
            predictions.append(getattr(library, name)(ctypes.byref(given_)))
            places.append(getattr(library, f"{name}_class")(ctypes.byref(given_)))
        elif width == 1:
            predictions.append([getattr(library, name)(ctypes.byref(given_))])
        else:
            getattr(library, name)(ctypes.byref(given_), values)
            predictions.append(list(values))
    exported.assert_scores(case, scores, tolerance=0.0)
    if model.classes is None:
        exported.assert_scores(case, predictions, tolerance=0.0)
    else:
        labels = exported.answer(model, rows).predictions
        texts = [None if one is None else one.decode() for one in predictions]
        assert texts == [label_text(label) for label in labels]
        assert places == [-1 if one is None else model.classes.index(one) for one in labels]


@needs_gcc
@settings(max_examples=15)
@given(cases())
def test_says_what_the_model_says(case: Case) -> None:
    check(case)


@needs_gcc
def test_nasty_names_stay_names() -> None:
    check(exported.nasty_case(), "x")
    check(exported.nasty_labels())


@needs_gcc
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_ties(n_classes: int) -> None:
    check(exported.ties(n_classes))


@needs_gcc
def test_many_terms() -> None:
    check(exported.many_terms())


@needs_gcc
def test_a_model_without_terms() -> None:
    check(Case(small_model(columns=(), terms=()), [{"other": 1.0}], True))


@needs_gcc
@needs_gxx
@pytest.mark.parametrize("case", [exported.nasty_case(), exported.many_terms(50)])
def test_it_is_c_plus_plus_as_well(case: Case, tmp_path: Path) -> None:
    (tmp_path / "model.c").write_text(to_c(case.model), encoding="ascii")
    command = ["g++", "-x", "c++", "-std=c++11", *STRICT, "-c", "model.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    # Compiled as C and called from C++.
    subprocess.run([*C99, "-c", "model.c", "-o", "c.o"], cwd=tmp_path, check=True)
    (tmp_path / "main.cpp").write_text(
        '#define predict_DECLARATIONS\n#include "model.c"\n#include "model.c"\n'
        "int main() { predict_input row = predict_input(); double scores[predict_OUTPUTS];\n"
        "  predict_scores(&row, scores); return 0; }\n"
    )
    command = ["g++", "-std=c++11", *STRICT, "main.cpp", "c.o", "-lm", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "main"], check=True)


@needs_gcc
def test_two_models_in_one_program(tmp_path: Path) -> None:
    model = small_model(columns=(InputColumn("size", None, 3.0), InputColumn("kind", ("a", "b"))))
    (tmp_path / "one.c").write_text(to_c(model, name="one"))
    (tmp_path / "two.c").write_text(to_c(small_model(intercepts=(7.0,)), name="two"))
    (tmp_path / "main.c").write_text(
        "#include <stdio.h>\n"
        '#include "one.c"\n#include "two.c"\n'
        "int main(void) {\n"
        '  one_input first = {.size = NAN, .kind = "b"};\n'
        "  one_input open = {.size = 1.0, .kind = NULL};\n"
        "  two_input second = {.size = 2.0, .kind = NULL};\n"
        '  printf("%.17g %d %.17g\\n", one(&first), isnan(one(&open)) != 0, two(&second));\n'
        "  return 0;\n}\n"
    )
    subprocess.run([*C99, "main.c", "-lm", "-o", "main"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    assert done.stdout == "7.5 1 11\n"


@needs_gcc
def test_infinite_values_leave_the_class_open() -> None:
    for classes in (("a", "b"), ("a", "b", "c")):
        outputs = 1 if len(classes) == 2 else 3
        model = small_model(
            task="classification",
            classes=classes,
            columns=(InputColumn("size", None, 0.0),),
            terms=(Term("size", None, (2.0,) * outputs),),
            intercepts=(1.0,) * outputs,
        )
        library = compiled(to_c(model), "predict", model)
        for value, expected in [(np.inf, -1), (-np.inf, -1), (np.nan, outputs == 1), (-9.0, 0)]:
            (row,) = structures(model, [{"size": value}])
            assert library.predict_class(ctypes.byref(row)) == expected


def members(names: list[str]) -> list[str]:
    columns = tuple(InputColumn(name) for name in names)
    terms = tuple(Term(name, None, (1.0,)) for name in names)
    code = to_c(small_model(columns=columns, terms=terms))
    return re.findall(r"^    double (\w+); /\*", code, re.MULTILINE)


def test_members_are_called_like_the_columns() -> None:
    assert members(["bmi", "Blood pressure (mm)", "x1"]) == ["bmi", "Blood_pressure_mm", "x1"]
    assert members(["a b", "a-b", "a_b", "a_b_2"]) == ["a_b", "a_b_2", "a_b_3", "a_b_2_2"]
    assert members(["int", "class", "NAN", "1st", "_x", "__LINE__"]) == [
        "int_2", "class_2", "NAN_2", "x1st", "x", "LINE"
    ]  # fmt: skip
    assert members(["", "温度", "%"]) == ["column", "column_2", "column_3"]
    assert members(["y" * 500, "y" * 501]) == ["y" * 40, "y" * 40 + "_2"]


def test_comments_tell_the_names() -> None:
    columns = (InputColumn("size", None, 0.1), InputColumn("kind", ("b",), "é"))
    code = to_c(small_model(columns=columns))
    assert 'double size; /* "size"; NAN counts as 0.1 */' in code
    assert 'const char *kind; /* "kind", UTF-8; NULL counts as "\\u00e9" */' in code


def test_comments_hold_nothing_that_ends_them() -> None:
    for text in (*exported.NASTY, "/*/", "*/*", "???/", "??/??/", "****//", "\0"):
        column = InputColumn(text)
        code = to_c(small_model(columns=(column,), terms=(Term(text, None, (1.0,)),), target=text))
        assert code.isascii()
        assert "??" not in code
        comments = re.findall(r"/\*.*?\*/", code, re.DOTALL)
        assert len(comments) == code.count("/*") == code.count("*/")
        assert all("\n" not in one for one in comments[1:])
        assert not re.search(r"\\$", code, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\0b", r"has a null character, which a C string cannot represent"),
        ("\ud800", r"is not valid Unicode"),
        ("x" * 4096, r"has 4096 bytes; C99 holds 4095"),
    ],
)
@pytest.mark.parametrize("where", ["text", "fill", "class"])
def test_texts_that_c_cannot_hold(text: str, message: str, where: str) -> None:
    changes: dict[str, Any] = {
        "text": {
            "columns": (InputColumn("kind", (text,)),),
            "terms": (Term("kind", text, (1.0,)),),
        },
        "fill": {"columns": (InputColumn("size"), InputColumn("kind", ("b",), text))},
        "class": {"task": "classification", "classes": ("a", text)},
    }[where]
    with pytest.raises(ValueError, match=f"The {where} .*{message}"):
        to_c(small_model(**changes))


@needs_gcc
def test_names_may_hold_anything() -> None:
    names = ["a\0b", "\ud800", "", "x" * 5000]
    columns = tuple(InputColumn(name) for name in names)
    terms = tuple(Term(name, None, (1.0,)) for name in names)
    model = small_model(columns=columns, terms=terms, target="\0", made_by="\udfff")
    check(Case(model, [dict.fromkeys(names, 2.0)], True))
