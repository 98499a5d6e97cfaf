"""Write the files of a result, each completely or not at all."""

from __future__ import annotations

import csv
import importlib.util
import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .._base import number, replace_file
from ..app import InputError, SelectionResult, or_none
from ..assess import PathAssessment

RESULT, MODEL, PATH, REPORT, PICTURE, METHODS = (
    "result.json",
    "model.json",
    "path.csv",
    "report.html",
    "path.png",
    "methods.txt",
)


ASSESSMENT_TABLE, ASSESSMENT_PICTURE = "assessment.csv", "assessment.png"
WRITTEN = (RESULT, MODEL, PATH, REPORT, PICTURE, METHODS)
ASSESSED = (*WRITTEN, ASSESSMENT_TABLE, ASSESSMENT_PICTURE)


def check_folder(folder: Path, names: tuple[str, ...], is_overwritten: bool) -> None:
    """Raise an error, before hours of work, if the results cannot be written to the folder."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out {folder}: a file of that name exists; name a folder.")
    present = [name for name in names if (folder / name).exists()]
    if present and not is_overwritten:
        raise InputError(
            f"--out {folder}: {present[0]} already exists; name another folder, or pass "
            "--overwrite."
        )
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise InputError(f"--out {folder}: no permission to write there.")


def check_packages(*names: str) -> None:
    """Raise an error, before hours of work, if packages for plots and reports are missing."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"--out needs {' and '.join(missing)}: pip install 'greedyrls[cli]'")


def check_file(file: Path, is_overwritten: bool) -> None:
    """Raise an error, before hours of work, if the file cannot be written."""
    if file.is_dir():
        raise InputError(f"--out {file}: that is a folder; name a file.")
    if file.exists() and not is_overwritten:
        raise InputError(f"--out {file} already exists; name another file, or pass --overwrite.")
    if not file.parent.is_dir():
        raise InputError(f"--out {file}: there is no folder {file.parent}; make it first.")


def print_text(content: str) -> None:
    """Write text for programs to stdout, unchanged or not at all."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        content.encode(encoding)
    except UnicodeEncodeError as error:
        raise InputError(
            f"The encoding of the output, {encoding}, has no {content[error.start]!r}: pass --out "
            "FILE, or set PYTHONIOENCODING=utf-8."
        ) from error
    sys.stdout.write(content)


def write(path: Path, content: str | bytes) -> None:
    """Write a file atomically: under a temporary name, then renamed."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)  # a pipe or a device must not be replaced
        else:
            replace_file(path.resolve(), data)  # the target of a link, not the link
    except OSError as error:
        # Name the file itself, not the temporary one.
        raise InputError(f"{path}: cannot be written ({error.strerror or error}).") from error


def write_result(result: SelectionResult, folder: Path) -> list[Path]:
    """Write all files of a result, for programs and for people."""
    from ..report import make_report

    # Files that need the data come first: an error in a later one must not lose them.
    contents: dict[str, Callable[[], str | bytes]] = {
        RESULT: lambda: result.to_json(indent=1) + "\n",
        MODEL: lambda: result.model().to_json(indent=1) + "\n",
        PATH: lambda: rows_as_csv(result.rows()),
        REPORT: lambda: make_report(result),
        PICTURE: lambda: picture(result),
        METHODS: lambda: result.methods_text() + "\n",
    }
    assessment = result.assessment
    if assessment is not None:
        contents[ASSESSMENT_TABLE] = lambda: rows_as_csv(assessment_rows(assessment))
        contents[ASSESSMENT_PICTURE] = lambda: assessment_picture(assessment)
    with uninterrupted():
        for name, make in contents.items():
            write(folder / name, make())
    return [folder / name for name in contents]


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C: results that took hours are written within a second."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread handles signals
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def rows_as_csv(rows: list[dict[str, object]]) -> str:
    """Return a table as CSV text, with the column names in the first line."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def assessment_rows(assessment: PathAssessment) -> list[dict[str, object]]:
    """Return a row for each size; None for missing numbers."""
    curves = {
        name: getattr(assessment, name) for name in ("test", "selection", "random", "optimism")
    }
    stability = assessment.stability.index
    scores = {} if assessment.class_rates is None else assessment.class_rates.scores_by_size()
    rows: list[dict[str, object]] = []
    for size in assessment.sizes.tolist():
        row: dict[str, object] = {"n_features": size}
        for name, curve in curves.items():
            row[f"{name}_loss"] = or_none(curve.mean[size - 1])
            row[f"{name}_error"] = or_none(curve.error[size - 1])
        row["stability"] = or_none(stability[size - 1]) if size <= len(stability) else None
        for name, values in scores.items():
            row[name] = or_none(float(values[size - 1]))
        rows.append(row)
    return rows


def assessment_picture(assessment: PathAssessment) -> bytes:
    """Return the curves of an assessment as a PNG image."""
    from ..plots import plot_assessment

    return as_png(lambda axes: plot_assessment(assessment, ax=axes))


def picture(result: SelectionResult) -> bytes:
    """Return the losses of the models by size, as in the report, as a PNG image."""
    from ..plots import Line, draw_path, loss_name

    path, null, assessment = result.path, result.null, result.assessment
    if null is not None and null.measure != path.settings.loss:
        null = None  # it cannot share the axis with another measure
    how = "leave-one-out" if path.settings.cv == "loo" else "held out in the folds of the search"
    main, second = Line(f"models, {how}", *result.own_curve), None
    if result.model_curve is None and path.refit_alphas is not None:
        main = main._replace(label=f"search, {how}, α = {number(path.settings.alpha)}")
    honest = path.held_out, "models, held out while the penalty was chosen"
    if assessment is not None and assessment.measure == path.settings.loss:
        honest = assessment.test, "models, on test folds"
    if honest[0] is not None:
        curve = np.full((2, len(path)), np.nan)
        length = min(len(path), len(honest[0][0]))
        curve[:, :length] = np.array(honest[0])[:, :length]
        if np.isfinite(curve[0, max(result.size, 1) - 1]):
            main, second = Line(honest[1], curve[0], curve[1]), main
    measure = loss_name(path.settings.loss)
    return as_png(
        lambda axes: draw_path(path, main, second, measure, null, ax=axes, chosen=result.size)
    )


def as_png(draw: Callable[[Any], object]) -> bytes:
    """Draw on new axes, and return the figure as a PNG image."""
    # A figure without pyplot needs no display and no global state.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    content = io.BytesIO()
    with warnings.catch_warnings():
        # Characters that no font has are drawn as boxes, which cannot be helped.
        warnings.filterwarnings("ignore", message="Glyph")
        draw(figure.add_subplot())
        figure.savefig(content, format="png", dpi=120)
    return content.getvalue()
