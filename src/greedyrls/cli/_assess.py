"""``greedyrls assess``: what the whole selection does on rows that took no part in it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from .._analysis import assess
from .._assessment import REPORT_IT, PathAssessment
from .._assessment_format import encode
from .._cautions import too_good
from .._leaks import find_leaks
from .._selection_result import or_none, without_functions
from ._job import Job, Loaded, load, make_origin, summarise
from ._run import FINE
from ._select import check_question
from ._show import show_assessment, show_line, show_notes
from ._write import as_png, check_folder, check_packages, rows_as_csv, write

ASSESSMENT, TABLE, PICTURE = "assessment.json", "assessment.csv", "assessment.png"


def assess_selection(job: Job, folds: int, out: Path | None, is_overwritten: bool) -> int:
    """Assess and tell; the exit code."""
    if out is not None:
        check_packages("matplotlib")
        check_folder(out, (ASSESSMENT, TABLE, PICTURE), is_overwritten)
    loaded = load(job)
    check_question(job, loaded)
    assessment = assess(loaded.prepared, job.ask(), folds)
    sentence, warnings = _told(loaded, assessment)
    document = _document(job, loaded, assessment, sentence, warnings)
    try:
        if job.telling.is_json:
            print(document)
        elif job.telling.is_human:
            show_notes(loaded.prepared.notes)
            show_assessment(assessment, sentence, warnings)
    finally:  # also where nobody looks any more
        if out is not None:
            write(out / ASSESSMENT, document + "\n")
            write(out / TABLE, rows_as_csv(_rows(assessment)))
            write(out / PICTURE, _picture(assessment))
    if out is not None and job.telling.is_human:
        show_line(f"Written to {out}: {ASSESSMENT}, {TABLE}, {PICTURE}")
    return FINE


def _told(loaded: Loaded, assessment: PathAssessment) -> tuple[str, list[str]]:
    """What may be reported, and what to take with care."""
    leaks = too_good(find_leaks(loaded.prepared), loaded.target, "--drop")
    sentence = assessment.sentence.removesuffix(REPORT_IT) if leaks else assessment.sentence
    own = too_good(assessment.leaks) if leaks else []
    others = [warning for warning in assessment.warnings if warning not in own]
    return sentence, without_functions([*leaks, *others])


def _document(
    job: Job, loaded: Loaded, assessment: PathAssessment, sentence: str, warnings: list[str]
) -> str:
    """The assessment as JSON text, with what it was made of."""
    more = {
        "sentence": sentence,
        "warnings": warnings,
        "data": asdict(summarise(job, loaded, [])),
        "origin": asdict(make_origin(job)),
    }
    return encode(assessment, 1, more)


def _rows(assessment: PathAssessment) -> list[dict[str, object]]:
    """A row for each size; None where there is no number."""
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


def _picture(assessment: PathAssessment) -> bytes:
    from ..plots import plot_assessment

    return as_png(lambda axes: plot_assessment(assessment, ax=axes))
