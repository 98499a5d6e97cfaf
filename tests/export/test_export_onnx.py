"""Graphs that are written for a model are checked and run, and say what the model says."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import exported
from exported import Case, Row, cases, small_model
from greedyrls import LinearModel
from greedyrls.export import to_onnx
from internals import InputColumn, Term

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

NO_LABEL = -(2**63)


def run(model: LinearModel, rows: list[Row]) -> list[Any]:
    """Outputs of the graph, which is checked first."""
    content = to_onnx(model)
    onnx.checker.check_model(onnx.load_from_string(content), full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    given_ = {}
    for column in exported.looked_at(model):
        values = [row[column.name] for row in rows]
        if column.levels is None:
            given_[column.name] = np.array(values, dtype=np.float64)[:, None]
        else:
            texts = ["" if one is None else one for one in values]
            given_[column.name] = np.array(texts, dtype=object)[:, None]
    assert {one.name for one in session.get_inputs()} == set(given_)
    return list(session.run(None, given_))


def check(case: Case) -> None:
    model, rows = case.model, case.rows
    prediction, *others = run(model, rows)
    width = len(model.intercepts)
    if model.classes is None:
        assert prediction.dtype == np.float64
        assert prediction.shape == ((len(rows), width) if width > 1 else (len(rows),))
        assert not others
        exported.assert_scores(case, prediction)
        return
    (scores,) = others
    assert scores.dtype == np.float64
    assert scores.shape == (len(rows), width)
    exported.assert_scores(case, scores)
    assert prediction.shape == (len(rows),)
    labels: list[Any] = prediction.tolist()
    for place, row in enumerate(rows):
        if exported.is_open(model, row):
            none = {str: "", float: math.nan}.get(type(model.classes[0]), NO_LABEL)
            assert labels[place] == none or (none != none and labels[place] != labels[place])
            labels[place] = None
        elif isinstance(model.classes[0], bool):
            labels[place] = bool(labels[place])
    exported.assert_labels(case, labels)


@given(cases())
def test_says_what_the_model_says(case: Case) -> None:
    check(case)


def test_nasty_names_stay_names() -> None:
    check(exported.nasty_case())
    check(exported.nasty_labels())


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_ties(n_classes: int) -> None:
    check(exported.ties(n_classes))


def test_many_terms() -> None:
    check(exported.many_terms())


@pytest.mark.parametrize("n_rows", [0, 1, 1000])
def test_any_number_of_rows(n_rows: int) -> None:
    (prediction,) = run(small_model(), [{"size": 1.5, "kind": "b"}] * n_rows)
    assert prediction.tolist() == [4.5] * n_rows


def test_a_column_may_have_several_terms() -> None:
    terms = (Term("size", None, (2.0,)), Term("kind", "b", (0.5,)), Term("size", None, (3.0,)))
    check(Case(small_model(terms=terms), [{"size": 1.5, "kind": "b"}], True))


@pytest.mark.parametrize("fill", [None, "b"])
def test_the_empty_text_is_missing_unless_it_is_a_level(fill: str | None) -> None:
    kind = InputColumn("kind", ("a", "b"), fill)
    (prediction,) = run(
        small_model(columns=(InputColumn("size"), kind)), [{"size": 1.0, "kind": None}]
    )
    np.testing.assert_array_equal(prediction, [math.nan if fill is None else 3.5])
    for levels in (("", "b"), ("b", "")):
        columns = (InputColumn("size"), InputColumn("kind", levels, fill))
        terms = (Term("size", None, (2.0,)), Term("kind", "b", (0.5,)), Term("kind", "", (8.0,)))
        for chosen, expected in ((terms, 11.0), (terms[:2], 3.0)):
            model = small_model(columns=columns, terms=chosen)
            (prediction,) = run(model, [{"size": 1.0, "kind": ""}])
            assert prediction.tolist() == [expected]
            assert model.predict({"size": [1.0], "kind": [""]}).tolist() == [expected]


def test_infinite_values_leave_the_class_open() -> None:
    for classes in (("a", "b"), ("a", "b", "c")):
        outputs = 1 if len(classes) == 2 else 3
        model = small_model(
            task="classification",
            classes=classes,
            columns=(InputColumn("size"),),
            terms=(Term("size", None, (2.0,) * outputs),),
            intercepts=(1.0,) * outputs,
        )
        rows = [{"size": math.inf}, {"size": -math.inf}, {"size": 0.0}]
        assert run(model, rows)[0].tolist() == ["", "", classes[outputs == 1]]


@pytest.mark.parametrize("name", ["prediction", "scores", "greedyrls", "greedyrls_3", "m"])
def test_columns_called_like_something_in_the_graph(name: str) -> None:
    model = small_model(
        task="classification",
        classes=("a", "b"),
        columns=(InputColumn(name, None, 1.0), InputColumn("prediction_", ("a", "b"), "b")),
        terms=(Term(name, None, (-3.0,)), Term("prediction_", "b", (0.5,))),
    )
    rows = [{name: math.nan, "prediction_": None}, {name: -1.0, "prediction_": "a"}]
    check(Case(model, rows, True))
    outputs = [one.name for one in onnx.load_from_string(to_onnx(model)).graph.output]
    assert outputs[0] == ("prediction__" if name == "prediction" else "prediction")
    assert outputs[1] == ("scores_" if name == "scores" else "scores")


@pytest.mark.parametrize(
    ("name", "message"),
    [("", "the empty name"), ("a\0b", "a null character"), ("\ud800", "not valid Unicode")],
)
def test_names_that_onnx_cannot_hold(name: str, message: str) -> None:
    model = small_model(columns=(InputColumn(name),), terms=(Term(name, None, (1.0,)),))
    with pytest.raises(ValueError, match=message):
        to_onnx(model)


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_texts_that_onnx_cannot_hold(text: str) -> None:
    column = (InputColumn("kind", (text,)),)
    with pytest.raises(ValueError, match=r"The text .*ONNX cannot represent"):
        to_onnx(small_model(columns=column, terms=(Term("kind", text, (1.0,)),)))
    with pytest.raises(ValueError, match=r"The fill .*ONNX cannot represent"):
        to_onnx(small_model(columns=(InputColumn("size"), InputColumn("kind", ("b",), text))))
    with pytest.raises(ValueError, match=r"The class .*ONNX cannot represent"):
        to_onnx(small_model(task="classification", classes=("a", text)))
    run(small_model(target=text, made_by=text), [{"size": 1.0, "kind": "b"}])


def test_a_model_without_terms_has_no_graph() -> None:
    with pytest.raises(ValueError, match="without features has no inputs"):
        to_onnx(small_model(columns=(), terms=()))


def test_whole_labels_of_64_bits() -> None:
    with pytest.raises(ValueError, match="does not fit into the 64 bits of ONNX"):
        to_onnx(small_model(task="classification", classes=(0, 2**63)))
    model = small_model(task="classification", classes=(1 - 2**63, 2**63 - 1))
    rows = [{"size": -9.0, "kind": "a"}, {"size": 9.0, "kind": "a"}]
    assert run(model, rows)[0].tolist() == [1 - 2**63, 2**63 - 1]


def test_the_opset_is_the_first_that_compares_texts() -> None:
    graph = onnx.load_from_string(to_onnx(small_model(target="*/"), name="price"))
    assert [(one.domain, one.version) for one in graph.opset_import] == [("", 19)]
    assert graph.graph.name == "price"
    assert graph.doc_string == 'Predicts "*\\/". Written by "".'
    assert to_onnx(small_model()) == to_onnx(small_model())


def test_without_onnx_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'greedyrls\[onnx\]'"):
        to_onnx(small_model())
