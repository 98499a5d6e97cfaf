"""The Python of README and guides has no type errors: people copy it into checked code."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from project import TOOLS

TOOL = TOOLS / "guide_types.py"


def tool() -> Any:
    spec = importlib.util.spec_from_file_location("guide_types", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_guide_with_code_is_a_program() -> None:
    programs = tool().programs()
    assert {"guide_readme", "guide_export", "guide_choosing"} <= set(programs)
    for code in programs.values():
        compile(code, "guide", "exec")
    assert 'Path("model.c").write_text(export_model(model, "c"))' in programs["guide_export"]


@pytest.mark.slow
def test_mypy_has_nothing_to_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mypy")
    monkeypatch.setenv("MYPYPATH", str(TOOL.parent.parent / "src"))
    assert tool().check(tmp_path) == 0
