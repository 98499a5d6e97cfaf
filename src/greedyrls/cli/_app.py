"""The commands, their options and their help; implementations are imported when they run."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import __version__
from ._options import (
    COLUMNS,
    DATA,
    LARGEST_SEED,
    MEMORY,
    QUESTION,
    READING,
    SCHEDULER,
    TELLING,
    VERBOSE,
    OutputOptions,
    Reading,
    Sectioned,
)
from ._types import WholeNumber

if TYPE_CHECKING:
    from ._job import Job


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Start with
  greedyrls demo
then, with your own table,
  greedyrls select table.csv --target COLUMN --assess --out results""",
)
@click.version_option(__version__, "-V", "--version", prog_name="greedyrls")
def app() -> None:
    """Which few of my columns matter, and how good is a model on just those?

    Selects features for linear models one at a time, by exact leave-one-out or cross-validation
    error, and estimates how well the result predicts new rows.
    """


@app.command(cls=Sectioned)
@DATA
@COLUMNS
@QUESTION
@click.option(
    "--assess",
    is_flag=True,
    help="Estimate the error on new rows: repeat the selection in outer folds.",
)
@click.option(
    "--folds",
    type=WholeNumber(2),
    metavar="N",
    help="Number of outer folds; implies --assess.  [default: 10]",
)
@click.option(
    "--resamples",
    type=WholeNumber(0),
    metavar="N",
    default=0,
    show_default=True,
    help="Measure the stability of the selection on N random halves of the rows.",
)
@click.option(
    "--permutations",
    type=WholeNumber(0),
    metavar="N",
    default=0,
    show_default=True,
    help="Compare with the same selection on N random permutations of the target.",
)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), metavar="DIR", help="Write the results to DIR."
)
@click.option("--overwrite", is_flag=True, help="Replace existing results in DIR.")
@READING
@MEMORY
@SCHEDULER
@VERBOSE
@TELLING
def select(
    assess: bool,
    folds: int | None,
    resamples: int,
    permutations: int,
    out: Path | None,
    overwrite: bool,
    **options: Any,
) -> int:
    """Choose features of DATA that predict a column.

    DATA is a table: CSV, TSV and JSON lines (also .gz, .xz, .bz2, .zst), Excel, Parquet (a file or
    a folder of them), Feather/Arrow, svmlight, NPZ, NPY, HDF5, Zarr or PLINK, recognised by name;
    or - for standard input. Text columns are coded as one feature for each text (colour=red).

    \b
    Examples:
      greedyrls select houses.csv --target price
      greedyrls select houses.csv -t price -k 5 --drop address --impute median
      greedyrls select patients.parquet -t outcome --cv hospital --assess --out results
      greedyrls select sales.xlsx -t units --dates day --time day --assess
      greedyrls select genes.csv.gz -t tumour --id sample --loss auc --cv 10 --permutations 100

    With --out it writes result.json (everything), model.json (to predict and export), path.csv,
    report.html (open it in a browser), path.png and methods.txt (a paragraph for a paper); with
    --assess also assessment.csv and assessment.png.
    """
    from ._select import FOLDS, Extras, select_features

    extras = Extras(folds or FOLDS * assess, resamples, permutations, folds is not None)
    return select_features(_job(options), extras, out, overwrite)


@app.command(cls=Sectioned)
@DATA
@COLUMNS
@QUESTION
@click.option(
    "--folds",
    type=WholeNumber(2),
    metavar="N",
    help="Number of outer folds.  [default: 10]",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the assessment to DIR.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing assessment in DIR.")
@READING
@MEMORY
@VERBOSE
@TELLING
def assess(folds: int | None, out: Path | None, overwrite: bool, **options: Any) -> int:
    """Estimate how well the whole selection predicts rows that took no part in it.

    Repeats the choice of penalty, features and their number in each outer fold of DATA, and tests
    every size on the rows held out. Takes the same options as select, and prints what to report.

    \b
    Examples:
      greedyrls assess houses.csv --target price
      greedyrls assess houses.csv --target price -k 10 --folds 20 --out results

    With --out it writes assessment.json, assessment.csv and assessment.png.
    """
    from ._assess import assess_selection

    return assess_selection(_job(options), folds, out, overwrite)


@app.command(cls=Sectioned)
@click.argument("model", type=click.Path(path_type=Path))
@DATA
@click.option("--id", "ids", multiple=True, metavar="COLUMN", help="Columns to copy to the output.")
@click.option("--all-columns", is_flag=True, help="Copy all columns of DATA unchanged.")
@click.option(
    "--probabilities",
    is_flag=True,
    help="Also write the probability of each class (classification).",
)
@click.option(
    "--digits",
    type=click.IntRange(1, 17),
    metavar="N",
    default=6,
    show_default=True,
    help="Significant digits of predictions; 17 is exact.",
)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), metavar="FILE", help="Write CSV to FILE."
)
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@READING
@TELLING
def predict(
    model: Path,
    data: Path,
    ids: tuple[str, ...],
    all_columns: bool,
    probabilities: bool,
    digits: int,
    out: Path | None,
    overwrite: bool,
    **options: Any,
) -> int:
    """Predict the rows of DATA with a MODEL: model.json, result.json, or a folder with them.

    Only the columns of the model are needed. Prints CSV: the prediction, and for classes also the
    scores. Reports how many missing cells were filled in and, if DATA also has the target, how good
    the predictions are.

    \b
    Examples:
      greedyrls predict results/model.json new.csv > predictions.csv
      greedyrls predict results new.parquet --id customer --probabilities --out predictions.csv
      zcat new.jsonl.gz | greedyrls predict results - --format jsonl
    """
    from ._predict import predict_rows
    from ._predictions import Wanted

    if ids and all_columns:
        raise click.UsageError("--all-columns copies every column; leave --id out.")
    wanted = Wanted(ids, all_columns, probabilities, digits)
    return predict_rows(model, data, wanted, out, overwrite, *_input_and_output(options))


@app.command(cls=Sectioned)
@click.argument("result", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the report to FILE.  [default: report.html beside RESULT]",
)
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
def report(result: Path, out: Path | None, overwrite: bool) -> int:
    """Write report.html for a RESULT (result.json, or the folder that contains it).

    The report is one file for any browser and needs no network. It shows the path, the model of
    every size, the estimated error on new rows, and how the result was made.

    \b
    Example:
      greedyrls report results --overwrite
    """
    from ._report import make_page

    return make_page(result, out, overwrite)


@app.command(cls=Sectioned)
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--to",
    "language",
    type=click.Choice(["c", "python", "sql", "onnx"]),
    required=True,
    help="Language to write.",
)
@click.option("-o", "--out", type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE.")
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@click.option("--name", default="predict", show_default=True, help="Name of the C function.")
@click.option(
    "--table", default="data", show_default=True, help="SQL table to select from, or SCHEMA.TABLE."
)
def export(
    model: Path, language: str, out: Path | None, overwrite: bool, name: str, table: str
) -> int:
    """Write a MODEL as C, Python, SQL or ONNX, to predict without greedyrls.

    MODEL is model.json, result.json, or a folder with them.

    \b
    Examples:
      greedyrls export results/model.json --to c --out model.c
      greedyrls export results --to sql --table sales.customers
    """
    from ._export import write_export

    return write_export(model, language, out, overwrite, name, table)


@app.command(cls=Sectioned)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    default=Path("greedyrls-demo"),
    show_default=True,
    metavar="DIR",
    help="Write data and results to DIR.",
)
@TELLING
def demo(out: Path, **options: Any) -> int:
    """Select features of a bundled data set: which measurements predict how diabetes progresses?

    Writes the table as CSV, runs select on it, and writes a report to open in a browser.
    """
    from ._demo import run_demo

    return run_demo(out, _input_and_output(options)[1])


@app.command(cls=Sectioned)
@click.option(
    "-m", "--samples", metavar="N", type=WholeNumber(10), default=20_000, show_default=True
)
@click.option("-n", "--features", metavar="N", type=WholeNumber(2), default=500, show_default=True)
@click.option("-k", "--size", metavar="N", type=WholeNumber(1), default=30, show_default=True)
@click.option("--repeats", metavar="N", type=WholeNumber(1), default=3, show_default=True)
@click.option(
    "--seed", metavar="N", type=WholeNumber(0, LARGEST_SEED), default=0, show_default=True
)
@TELLING
def bench(samples: int, features: int, size: int, repeats: int, seed: int, **options: Any) -> int:
    """Measure the speed on this machine, compared with other methods.

    Selects features of synthetic data and compares the time with that of as many matrix-vector
    products, and with scikit-learn methods that do less.
    """
    from ._bench import run_bench

    return run_bench(samples, features, size, repeats, seed, _input_and_output(options)[1])


def _input_and_output(options: dict[str, Any]) -> tuple[Reading, OutputOptions]:
    """Return the options for reading and for output that commands share."""
    reading = Reading(
        options.get("delimiter"),
        options.get("decimal", "."),
        not options.get("no_header", False),
        options.get("encoding", "utf-8"),
        options.get("thousands"),
        options.get("skip_lines", 0),
        options.get("missing", ()),
        options.get("format"),
        options.get("sheet"),
        options.get("date_order"),
    )
    output = OutputOptions(options["quiet"], options["as_json"], options.get("verbose", False))
    return reading, output


def _class_weight(weights: tuple[Any, ...]) -> str | tuple[tuple[str, float], ...] | None:
    """Return class weights, or "balanced"."""
    if "balanced" not in weights:
        return weights or None
    if len(weights) > 1:
        raise click.UsageError(
            "--class-weight balanced cannot be combined with weights of classes."
        )
    return "balanced"


def _job(options: dict[str, Any]) -> Job:
    """Return the request of select or assess."""
    began = time.perf_counter()
    from ._job import Job

    reading, output = _input_and_output(options)
    return Job(
        data=options["data"],
        reading=reading,
        output=output,
        roles={
            "ids": options["ids"],
            "dropped": options["dropped"],
            "weights": options["weights"],
            "categorical": options["categorical"],
            "forced": options["forced"],
            "kept": options["kept"],
            "dates": options["dates"],
            "time": options["time"],
            "task": options["task"],
            "impute": options["impute"],
            "is_standardised": options["standardise"],
            "is_centred": options["intercept"],
            "drops_missing_target": options["drop_missing_target"],
        },
        target=options["target"],
        cv=options["cv"],
        question={
            "n_features": options["n_features"],
            "alpha": options["alpha"],
            "direction": options["direction"],
            "loss": options["loss"],
            "class_weight": _class_weight(options["class_weight"]),
            "size_rule": options["size_rule"],
            "max_features": options["max_features"],
            "fit_intercept": options["intercept"],
            "whole_columns": bool(
                options["whole_columns"] or options["costs"] or options["budget"] is not None
            ),
            "costs": options["costs"],
            "budget": options["budget"],
            "seed": options["seed"],
            "n_jobs": options["jobs"],
        },
        command=shlex.join(["greedyrls", *sys.argv[1:]]),
        began=began,
        memory_limit=options["memory_limit"],
        scheduler=options.get("scheduler"),
    )
