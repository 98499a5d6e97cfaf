"""Exports: what all languages have in common, and the page about them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from exported import small_model
from greedyrls import LinearModel, export, greedy_path
from greedyrls.export import SUFFIXES, export_model, to_c, to_onnx, to_python, to_sql
from internals import InputColumn, Term
from project import GUIDES

PAGE = GUIDES / "export.md"
WRITERS: dict[str, Any] = {"c": to_c, "python": to_python, "sql": to_sql, "onnx": to_onnx}


@pytest.fixture(params=sorted(WRITERS))
def language(request: pytest.FixtureRequest) -> str:
    if request.param == "onnx":
        pytest.importorskip("onnx", reason="onnx is not installed")
    return str(request.param)


def test_one_function_for_all(language: str) -> None:
    model = small_model()
    content = export_model(model, language, name="price")
    assert content == WRITERS[language](model, name="price")
    assert isinstance(content, bytes if language == "onnx" else str)
    assert (b"price" if isinstance(content, bytes) else "price") in content
    assert SUFFIXES[language] == {"python": ".py"}.get(language, f".{language}")


def test_the_names_are_complete() -> None:
    assert set(SUFFIXES) == set(WRITERS)
    for name in export.__all__:
        assert hasattr(export, name)
    for function in (export_model, *WRITERS.values()):
        assert "Examples" in function.__doc__


@pytest.mark.parametrize("to", ["java", "C", "", None, 3])
def test_other_languages_are_refused(to: Any) -> None:
    with pytest.raises(ValueError, match=r"can be exported to 'c', 'python', 'sql', 'onnx'; got"):
        export_model(small_model(), to)


@pytest.mark.parametrize("model", [None, "model.json", 3, {"format": "greedyrls.model"}])
def test_only_models_are_exported(language: str, model: Any) -> None:
    with pytest.raises(TypeError, match=r"Only a LinearModel, or .*from_path"):
        WRITERS[language](model)


NO_NAMES = ["", "1st", "a b", "é", "a-b", "_x", "x;", "x\n", "x" * 64]
TAKEN = ["int", "class", "def", "exp", "main", "print", "scores", "TERMS", "math", "NULL", "linux"]


@pytest.mark.parametrize("name", [*NO_NAMES, *TAKEN])
def test_names_that_no_function_can_have(language: str, name: str) -> None:
    with pytest.raises(ValueError, match=r"^name "):
        WRITERS[language](small_model(), name=name)
    with pytest.raises(TypeError, match="name must be a string"):
        WRITERS[language](small_model(), name=3)


@pytest.mark.parametrize(
    "changes",
    [
        {"intercepts": (float("nan"),)},
        {"terms": (Term("size", None, (float("inf"),)),)},
        {"terms": (Term("size", None, (1.0, 2.0)),)},
        {"terms": (Term("other", None, (1.0,)),)},
        {"terms": (Term("size", "a", (1.0,)),)},
        {"columns": (InputColumn("size"), InputColumn("size"))},
        {"columns": (InputColumn("size", None, "a"),)},
        {"task": "classification", "classes": ("a", "b", "c")},
    ],
)
def test_models_that_do_not_fit_together(language: str, changes: Any) -> None:
    with pytest.raises(ValueError, match=r"document is damaged|JSON compliant"):
        WRITERS[language](small_model(**changes))


def test_numbers_of_numpy_are_written_as_numbers() -> None:
    columns = (InputColumn(np.str_("size"), None, np.float64(0.5)),)
    terms = (Term(np.str_("size"), None, (np.float64(2.0),)),)
    model = small_model(columns=columns, terms=terms, intercepts=(np.float64(1.0),))
    for writer in (to_c, to_python, to_sql):
        assert "np." not in writer(model)
        assert "float64" not in writer(model)


def test_columns_that_no_term_looks_at_are_left_out(language: str) -> None:
    columns = (*small_model().columns, InputColumn("unused"))
    assert b"unused" not in as_bytes(WRITERS[language](small_model(columns=columns)))


def as_bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()


def test_loading_the_room_loads_no_onnx() -> None:
    code = "import sys, greedyrls; greedyrls.export.to_c; assert 'onnx' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# The page.


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


OUTPUT = re.compile(r"greedyrls \d[^'\"]*")


def rounded(text: str) -> str:
    """Of any release, and with numbers to ten digits: other processors round otherwise."""
    text = OUTPUT.sub("greedyrls", text)
    return re.sub(r"\d+\.\d{11,}", lambda found: f"{float(found[0]):.10g}", text)


@pytest.mark.parametrize("written", ["c", "python", "sql"])
def test_the_page_shows_what_comes_out(written: str) -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = LinearModel.from_path(greedy_path(X, y, 3, alpha=0.01), target="progression")
    content = rounded(WRITERS[written](model))
    (shown,) = [block for block in blocks(written) if OUTPUT.search(block)]
    for part in rounded(shown).split("…\n"):
        assert part in content


def test_code_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    names: dict[str, Any] = {}
    for code in blocks("python"):
        if not OUTPUT.search(code):
            exec(code, names)
    printed = capsys.readouterr().out.split()
    assert [float(one) for one in printed] == pytest.approx([float(printed[0])] * 4, abs=1e-2)
    if shutil.which("gcc") is not None:
        (main,) = [block for block in blocks("c") if "int main" in block]
        (tmp_path / "main.c").write_text(main)
        command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "main.c", "-lm", "-o", "main"]
        subprocess.run(command, check=True)
        done = subprocess.run(["./main"], capture_output=True, text=True, check=True)
        assert float(done.stdout) == pytest.approx(float(printed[0]), abs=0.1)
