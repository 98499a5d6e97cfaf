"""``greedyrls assess``: estimate how well the whole selection predicts held-out rows."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from .._base import write_document
from ..app import assess, find_leaks, on_command_line
from ..assess import ASSESSMENT_FORMAT, PathAssessment, too_good
from ._job import Job, Loaded, load, make_origin, summarise
from ._run import FINE
from ._select import FOLDS, check_question, with_fold_notes
from ._show import show_assessment, show_line, show_notes
from ._write import (
    ASSESSMENT_PICTURE,
    ASSESSMENT_TABLE,
    assessment_picture,
    assessment_rows,
    check_folder,
    check_packages,
    rows_as_csv,
    write,
)

ASSESSMENT = "assessment.json"
_WRITTEN = (ASSESSMENT, ASSESSMENT_TABLE, ASSESSMENT_PICTURE)


def assess_selection(job: Job, folds: int | None, out: Path | None, is_overwritten: bool) -> int:
    """Assess in outer folds (10 by default), show and write the result; return the exit code."""
    if out is not None:
        check_packages("matplotlib")
        check_folder(out, _WRITTEN, is_overwritten)
    loaded = load(job)
    check_question(job, loaded)
    loaded = with_fold_notes(job, loaded, folds or FOLDS, folds is not None)
    assessment = assess(loaded.prepared, job.ask(), folds or FOLDS)
    sentence, warnings = _sentences(loaded, assessment)
    document = _document(job, loaded, assessment, sentence, warnings)
    try:
        if job.output.is_json:
            print(document)
        elif job.output.is_human:
            show_assessment(assessment, sentence, warnings, job.output.is_verbose)
            show_notes(loaded.prepared.notes)
    finally:  # also if the output pipe is closed
        if out is not None:
            write(out / ASSESSMENT, document + "\n")
            write(out / ASSESSMENT_TABLE, rows_as_csv(assessment_rows(assessment)))
            write(out / ASSESSMENT_PICTURE, assessment_picture(assessment))
    if out is not None and job.output.is_human:
        show_line(f"Written to {out}: {', '.join(_WRITTEN)}")
    return FINE


def _sentences(loaded: Loaded, assessment: PathAssessment) -> tuple[str, list[str]]:
    """Return the sentence to report, and warnings."""
    leaks = too_good(find_leaks(loaded.prepared), loaded.target, "--drop")
    sentence = assessment.sentence_without_praise() if leaks else assessment.sentence
    repeated = too_good(assessment.leaks) if leaks else []
    others = [warning for warning in assessment.warnings if warning not in repeated]
    return sentence, on_command_line([*leaks, *others])


def _document(
    job: Job, loaded: Loaded, assessment: PathAssessment, sentence: str, warnings: list[str]
) -> str:
    """Return the assessment as JSON text, with a description of its data and origin."""
    more = {
        "sentence": sentence,
        "warnings": warnings,
        "data": asdict(summarise(job, loaded, [])),
        "origin": asdict(make_origin(job)),
    }
    return write_document(ASSESSMENT_FORMAT.write(assessment) | more, 1)
