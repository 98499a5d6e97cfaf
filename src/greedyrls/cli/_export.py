"""``greedyrls export``: a model in another language."""

from __future__ import annotations

import sys
from pathlib import Path

from ..app import InputError
from ._documents import load_model
from ._run import FINE
from ._shown import one_line
from ._write import check_file, print_text, write


def write_export(
    file: Path, language: str, out: Path | None, is_overwritten: bool, name: str, table: str
) -> int:
    """Write the exported model; return the exit code."""
    from ..export import to_c, to_onnx, to_python, to_sql

    if out is not None:
        check_file(out, is_overwritten)
    if language != "sql" and table != "data":
        raise InputError("--table is for --to sql.")
    if language == "sql" and name != "predict":
        raise InputError("--name is for --to c, python and onnx.")
    model = load_model(file)
    content: str | bytes
    if language == "c":
        content = to_c(model, name=name)
    elif language == "python":
        content = to_python(model, name=name)
    elif language == "sql":
        content = to_sql(model, table=table)
    else:
        content = to_onnx(model, name=name)
        if out is None:
            raise InputError("ONNX is binary: pass --out FILE, such as --out model.onnx.")
    if out is None:
        assert isinstance(content, str)
        print_text(content)
    else:
        write(out, content)
        print(one_line(f"Written: {out}"), file=sys.stderr)
    return FINE
