"""``greedyrls select``: read, choose, assess, show, write."""

from __future__ import annotations

import shlex
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

from .._base import counted, number, seconds_in_words
from ..app import (
    Choice,
    InputError,
    Question,
    SelectionResult,
    assess,
    choose,
    choose_model,
    class_weight,
    coefficient_errors,
    connected,
    fold_notes,
    model_curve,
    on_cluster,
    own_predictions,
    own_rates,
    permute,
    provisional,
    resample,
)
from ..path import SelectionPath
from ._job import Job, Loaded, load, make_result, working
from ._run import FINE, INTERRUPTED
from ._show import show_commands, show_line, show_result
from ._shown import one_line
from ._write import ASSESSED, MODEL, WRITTEN, check_folder, check_packages, write_result

# Default number of folds of an assessment.
FOLDS = 10


@dataclass(frozen=True, slots=True)
class Extras:
    """Additional analyses: numbers of folds, resamples and permutations; 0 for none."""

    folds: int
    resamples: int
    permutations: int
    has_asked: bool = False  # whether the user asked for that number of folds


def select_features(job: Job, extras: Extras, out: Path | None, is_overwritten: bool) -> int:
    """Select features, show and write the result; return the exit code."""
    if job.roles["time"] is not None and (extras.resamples or extras.permutations):
        option = "--resamples" if extras.resamples else "--permutations"
        raise InputError(
            f"{option} assumes that rows are exchangeable, which rows in time order are not; leave "
            "it out with --time (--assess shows which features each fold chooses)."
        )
    if extras.resamples == 1:
        raise InputError("--resamples 1 cannot show stability; use 20 or more.")
    if out is not None:
        check_packages("jinja2", "matplotlib")
        check_folder(out, ASSESSED if extras.folds else WRITTEN, is_overwritten)
    loaded = load(job)
    check_question(job, loaded)
    # Raise errors before hours of work.
    loaded = with_fold_notes(job, loaded, extras.folds or None, extras.has_asked)
    parts: dict[str, Any] = {}
    failure = None
    with ExitStack() as stack:
        at = loaded
        if job.scheduler is not None:
            client = stack.enter_context(connected(job.scheduler))
            at = replace(loaded, prepared=on_cluster(loaded.prepared, client))
        choice, missing = _chosen(job, at)
        if choice is None:
            print(f"greedyrls: {missing}", file=sys.stderr)
            return INTERRUPTED
        path = choice.path
        try:
            if missing is None:
                _find_out(job, at, path, extras, parts)
        except KeyboardInterrupt:
            missing = _left_out(extras, parts)
        except ValueError as error:
            # The selection may have taken hours: keep it even if the assessment fails.
            failure = error
    parts["sigmoids"] = choice.sigmoids
    if missing is not None and job.verbose:
        print(file=sys.stderr)  # start below the progress bar and the terminal's ^C
    _show_and_write(job, loaded, make_result(job, loaded, path, missing=missing, **parts), out)
    if failure is not None:
        raise failure
    if missing is not None:
        kept = f"what was done so far is in {out}" if out is not None else "nothing was written"
        print(f"greedyrls: interrupted; {one_line(kept)}.", file=sys.stderr)
        return INTERRUPTED
    return FINE


def _left_out(extras: Extras, parts: dict[str, Any]) -> str:
    """Return a sentence on the analyses that were asked for but not done."""
    asked = {
        "assessment": ("the assessment", extras.folds),
        "stability": ("the resamples", extras.resamples),
        "null": ("the permutations", extras.permutations),
    }
    absent = [words for name, (words, count) in asked.items() if count and name not in parts]
    return f"Interrupted: {' and '.join(absent) or 'the losses of the models'} not done."


def _chosen(job: Job, loaded: Loaded) -> tuple[Choice | None, str | None]:
    """Return the selection (None if there is none yet), and what an interrupt left out of it."""
    question, prepared = job.ask(), loaded.prepared
    first = None
    try:
        if not isinstance(question.alpha, float):
            # Choosing the penalty takes most of the time: prepare a result to save if that is
            # interrupted. Errors are ignored, since the full selection raises them again.
            with working(job, "Looking at the data"), suppress(ValueError), catch_warnings():
                simplefilter("ignore")
                first = choose(prepared, replace(provisional(question, prepared), verbose=0))
            if first is not None and first.interrupted:
                raise KeyboardInterrupt
        choice = choose_model(prepared, question)
    except KeyboardInterrupt:
        if first is None:
            return None, "interrupted before the first feature was chosen; nothing to save."
        also = " Later features are missing." if first.interrupted else ""
        return Choice(first, None), (
            f"The choice of the penalty was interrupted: alpha={number(first.settings.alpha)} is a "
            "value from the middle of the grid that was not chosen by any rule, and the results "
            f"depend on it.{also}"
        )
    if choice.path.interrupted:
        return choice, "The search was interrupted: later features are missing."
    return choice, None


def _show_and_write(job: Job, loaded: Loaded, result: SelectionResult, out: Path | None) -> None:
    """Show the result and write it, even if the output pipe is closed."""
    try:
        if job.output.is_json:
            print(result.to_json())
        elif job.output.is_human:
            show_result(result, job.output.is_verbose)
    finally:
        written = [] if out is None else write_result(result, out)
    if not job.output.is_human:
        return
    if out is not None:
        names = ", ".join(file.name for file in written)
        seconds = seconds_in_words(time.perf_counter() - job.began)
        show_line(f"Written to {out}: {names} (in {seconds})")
    _show_next(job, loaded, result, out)


def _show_next(job: Job, loaded: Loaded, result: SelectionResult, out: Path | None) -> None:
    """Show commands for the next step, ready to be copied."""
    assess = "" if result.assessment is not None or result.missing else " --assess"
    if result.leaks:
        column_of = {feature.name: feature.column for feature in loaded.prepared.features}
        columns = dict.fromkeys(column_of.get(name, name) for name in result.leaks)
        drop = " ".join(f"--drop {shlex.quote(name)}" for name in columns)
        replaced = " --overwrite" if out is not None and "--overwrite" not in job.command else ""
        they = "it is" if len(columns) == 1 else "they are"
        show_line(f"If {they} not known before {result.target} is:")
        show_commands([f"{job.command} {drop}{replaced}"])
        return
    if out is not None:
        model = shlex.quote(str(out / MODEL))
        show_line("Next, predict new rows, or export the model:" if not assess else "Next:")
        commands = [f"greedyrls predict {model} new.csv", f"greedyrls export {model} --to python"]
        if assess:
            again = f"{job.command}{assess}"
            commands = [again if "--overwrite" in again else f"{again} --overwrite", commands[0]]
        show_commands(commands)
        return
    gains = "an honest estimate, the model and a report" if assess else "the model and a report"
    show_line(f"Nothing was written. To get {gains}:")
    show_commands([f"{job.command}{assess} --out results"])


def _find_out(
    job: Job, loaded: Loaded, path: SelectionPath, extras: Extras, parts: dict[str, Any]
) -> None:
    """Add the analyses asked for to `parts` one by one, so that an interrupt loses little."""
    prepared, question = loaded.prepared, job.ask()
    parts["model_curve"] = model_curve(prepared, question, path)
    parts["own_rates"] = own_rates(prepared, path, question)
    parts["own_predictions"] = own_predictions(prepared, question, path)
    parts["coefficient_errors"] = coefficient_errors(prepared, question, path)
    if extras.folds:
        parts["assessment"] = assess(prepared, question, extras.folds)
    if extras.resamples:
        parts["stability"] = resample(prepared, question, path, extras.resamples)
    if extras.permutations:
        parts["null"] = permute(prepared, question, path, extras.permutations)


def check_question(job: Job, loaded: Loaded) -> None:
    """Raise errors in terms of command-line options, before the library would raise its own."""
    question, prepared = job.ask(), loaded.prepared
    total, forced, unit = len(prepared.features), len(prepared.forced), "feature"
    if question.whole_columns:
        columns = [feature.column for feature in prepared.features]
        total, unit = len(set(columns)), "column"
        forced = len({columns[index] for index in prepared.forced})
        _check_costs(question, set(columns), job.file)
    if isinstance(question.n_features, int) and question.n_features > total:
        raise InputError(
            f"-k {question.n_features} is more than the {counted(total, unit)} that "
            f"{job.file} has to choose from."
        )
    if isinstance(question.n_features, int) and question.n_features < forced:
        raise InputError(
            f"-k {question.n_features} is less than the {counted(forced, unit)} of --force."
        )
    if question.max_features is not None and question.max_features < forced:
        raise InputError(
            f"--max-features {question.max_features} is less than the {counted(forced, unit)} of "
            "--force."
        )
    if question.n_jobs == 0:
        raise InputError("--jobs must not be 0; use 1 or more, or -1 for all cores.")
    if isinstance(question.n_features, int) and (
        question.max_features is not None or question.size_rule != "1se"
    ):
        raise InputError("--max-features and --size-rule are for -k auto; leave them out.")
    if len(prepared.y) < 3:
        raise InputError(
            f"{job.file} has {counted(len(prepared.y), 'row')}; at least 3 are needed."
        )
    if question.class_weight is not None and prepared.task == "regression":
        raise InputError(
            f"--class-weight is for classes; {loaded.target!r} is taken as numbers. Use --task "
            "classification, or leave it out."
        )
    class_weight(prepared, question)  # fails on unknown classes
    if question.loss in ("zero_one", "balanced_zero_one", "auc"):
        if prepared.task == "regression":
            raise InputError(
                f"--loss {question.loss} is for classes; {loaded.target!r} is taken as numbers. "
                "Use --task classification, or --loss squared."
            )
        classes = prepared.classes or ()
        if question.loss == "auc" and len(classes) > 2:
            raise InputError(
                f"--loss auc is for two classes; {loaded.target!r} has {len(classes)}."
            )


def with_fold_notes(job: Job, loaded: Loaded, folds: int | None, has_asked: bool) -> Loaded:
    """Return the data with notes on numbers of folds below the usual ones."""
    notes = fold_notes(loaded.prepared, job.ask(), folds, has_asked)
    prepared = replace(loaded.prepared, notes=(*loaded.prepared.notes, *notes))
    return replace(loaded, prepared=prepared)


def _check_costs(question: Question, columns: set[str], file: str) -> None:
    """Raise an error unless every cost belongs to one candidate column, given once."""
    named = [name for name, _ in question.costs]
    for name in named:
        if name not in columns:
            raise InputError(
                f"--cost names {name!r}, which is not a column of {file} to choose from."
            )
        if named.count(name) > 1:
            raise InputError(f"--cost of column {name!r} is given more than once.")
