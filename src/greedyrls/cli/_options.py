"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar

import click

from ._types import ClassWeight, Cost, Folds, Memory, Number, Penalty, Size, WholeNumber

Command = TypeVar("Command", bound=Callable[..., Any])

# The largest seed that scikit-learn's folds accept.
LARGEST_SEED = 2**32 - 1
# Repeated from read_table, whose import would slow down --help.
DateOrder = Literal["dmy", "mdy"]
FORMATS = (
    *("csv", "tsv", "jsonl", "excel", "parquet", "arrow"),
    *("svmlight", "npz", "npy", "hdf5", "zarr", "plink"),
)
LOSSES = ("auto", "squared", "absolute", "zero_one", "balanced_zero_one", "auc")


class ReadOptions(TypedDict):
    """Arguments of `read_table` that are command-line options."""

    delimiter: str | None
    decimal: str
    header: bool
    encoding: str
    thousands: str | None
    skip_lines: int
    missing: tuple[str, ...]
    format: str | None
    sheet: str | None
    date_order: DateOrder | Mapping[str, DateOrder] | None


@dataclass(frozen=True, slots=True)
class Reading:
    """Options for reading a file."""

    delimiter: str | None
    decimal: str
    has_header: bool
    encoding: str
    thousands: str | None = None
    skip_lines: int = 0
    missing: tuple[str, ...] = ()
    format: str | None = None
    sheet: str | None = None
    date_order: DateOrder | None = None

    def options(self, *, is_piped: bool = False) -> ReadOptions:
        """Return the arguments of `read_table`; piped input is CSV by default."""
        return {
            "delimiter": self.delimiter,
            "decimal": self.decimal,
            "header": self.has_header,
            "encoding": self.encoding,
            "thousands": self.thousands,
            "skip_lines": self.skip_lines,
            "missing": self.missing,
            "format": self.format or ("csv" if is_piped else None),
            "sheet": self.sheet,
            "date_order": self.date_order,
        }


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """Options for output."""

    is_quiet: bool
    is_json: bool
    is_verbose: bool = False

    @property
    def is_human(self) -> bool:
        """Whether output is for people, not for programs."""
        return not (self.is_quiet or self.is_json)


_OTHERS = "Other options"
# Options are grouped by topic in the help.
_SECTIONS = {
    "Columns": (
        "target",
        "ids",
        "dropped",
        "kept",
        "forced",
        "categorical",
        "dates",
        "time",
        "weights",
    ),
    "Preparation": ("missing", "impute", "drop_missing_target", "standardise"),
    "Cluster": ("scheduler",),
    "Selection": (
        "n_features",
        "alpha",
        "cv",
        "direction",
        "loss",
        "class_weight",
        "task",
        "size_rule",
        "max_features",
        "whole_columns",
        "costs",
        "budget",
    ),
    "Assessment": ("assess", "folds", "resamples", "permutations"),
    "Output": ("all_columns", "probabilities", "digits"),
    "Results": ("out", "overwrite", "verbose", "quiet", "as_json"),
    "Reading files": (
        "format",
        "sheet",
        "delimiter",
        "decimal",
        "thousands",
        "date_order",
        "no_header",
        "skip_lines",
        "encoding",
        "memory_limit",
    ),
}


class Sectioned(click.Command):
    """A command whose help shows options by section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their section titles."""
        titles = {name: title for title, names in _SECTIONS.items() for name in names}
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in (*_SECTIONS, _OTHERS)}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                sections[titles.get(param.name or "", _OTHERS)].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records, col_max=26)


def _stacked(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


DATA = click.argument("data", type=click.Path(path_type=Path))

READING = _stacked(
    click.option(
        "--format",
        type=click.Choice(FORMATS),
        metavar="NAME",
        help=f"Format of DATA, overriding its suffix: {', '.join(FORMATS)}. Standard input is csv.",
    ),
    click.option("--sheet", metavar="NAME", help="Sheet of an Excel file; the first by default."),
    click.option(
        "--delimiter",
        metavar="C",
        help="Delimiter between cells; detected from the first line by default.",
    ),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        metavar="C",
        default=".",
        show_default=True,
        help="Decimal mark: '.' or ','.",
    ),
    click.option(
        "--thousands",
        metavar="C",
        help="Thousands separator; detected by default where it is unambiguous.",
    ),
    click.option(
        "--missing",
        multiple=True,
        metavar="TEXT",
        help="Treat cells with this text as missing, such as n.d. or -999 (repeatable).",
    ),
    click.option(
        "--skip-lines",
        type=click.IntRange(0),
        metavar="N",
        default=0,
        help="Number of lines to skip before the table; lines that begin with # are always "
        "skipped.",
    ),
    click.option(
        "--date-order",
        type=click.Choice(["dmy", "mdy"]),
        help="Whether dates such as 01/02/2024 have the day or the month first, if the column is "
        "ambiguous.",
    ),
    click.option(
        "--no-header", is_flag=True, help="The first line is data; columns are named x0, x1, …"
    ),
    click.option(
        "--encoding",
        metavar="NAME",
        default="utf-8",
        show_default=True,
        help="Text encoding, such as latin-1.",
    ),
)

MEMORY = click.option(
    "--memory-limit",
    type=Memory(),
    metavar="SIZE",
    help="Read DATA in parts, within so much memory, such as 4GB: Parquet, .npy, HDF5, Zarr and "
    "PLINK. By default files of more than a quarter of the machine's memory are, within a quarter.",
)

SCHEDULER = click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Select on the Dask cluster of this scheduler, such as tcp://host:8786. Its workers read "
    "Parquet, .npy, HDF5, Zarr and PLINK files themselves, by the same path.",
)

TELLING = _stacked(
    click.option("-q", "--quiet", is_flag=True, help="Print only errors."),
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, for scripts."),
)

VERBOSE = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Also show how size and penalties were chosen, and the losses of the search.",
)

COLUMNS = _stacked(
    click.option("-t", "--target", metavar="COLUMN", help="Column to predict."),
    click.option(
        "--id",
        "ids",
        multiple=True,
        metavar="COLUMN",
        help="Column that identifies rows; not used as a feature.",
    ),
    click.option(
        "--drop", "dropped", multiple=True, metavar="COLUMN", help="Ignore the column (repeatable)."
    ),
    click.option(
        "--keep",
        "kept",
        multiple=True,
        metavar="COLUMN",
        help="Use the column as a feature although it looks like a row number (repeatable).",
    ),
    click.option(
        "--force",
        "forced",
        multiple=True,
        metavar="COLUMN",
        help="Always select the column (repeatable).",
    ),
    click.option(
        "--categorical",
        multiple=True,
        metavar="COLUMN",
        help="Treat the numbers as categories (repeatable).",
    ),
    click.option(
        "--dates",
        multiple=True,
        metavar="COLUMN",
        help="Use year, month, weekday and elapsed days of a date column (repeatable).",
    ),
    click.option(
        "--time",
        metavar="COLUMN",
        help="Column of dates or numbers that orders the rows: all folds train on earlier rows "
        "and test on later ones. Not used as a feature unless --dates also names it.",
    ),
    click.option("--weight", "weights", metavar="COLUMN", help="Column with sample weights."),
    click.option(
        "--impute",
        type=click.Choice(["median"]),
        help="Fill in missing values with the median of numbers or the most frequent text.",
    ),
    click.option("--drop-missing-target", is_flag=True, help="Leave out rows without a target."),
    click.option(
        "--standardise/--no-standardise",
        " /--no-standardize",
        default=True,
        show_default=True,
        help="Scale columns to unit variance for the search; coefficients stay in your units.",
    ),
)

QUESTION = _stacked(
    click.option(
        "-k",
        "n_features",
        type=Size(),
        metavar="N|auto",
        default="auto",
        show_default=True,
        help="Number of features; auto chooses it by the loss on held-out rows.",
    ),
    click.option(
        "--alpha",
        type=Penalty(),
        metavar="A|A,B,…|auto",
        default="auto",
        show_default=True,
        help="Ridge penalty of the search; auto, or several values, lets outer folds choose it.",
    ),
    click.option(
        "--cv",
        type=Folds(),
        metavar="loo|K|COLUMN",
        default="loo",
        show_default=True,
        help="Cross-validation of the search: leave-one-out, K folds, or a column whose groups "
        "stay together.",
    ),
    click.option(
        "--direction",
        type=click.Choice(["forward", "backward", "floating", "foba", "swap"]),
        default="forward",
        show_default=True,
        help="Search direction: forward only adds features, the others also remove some.",
    ),
    click.option(
        "--loss",
        type=click.Choice(LOSSES),
        default="auto",
        show_default=True,
        help="Loss to minimise on held-out predictions.",
    ),
    click.option(
        "--class-weight",
        type=ClassWeight(),
        multiple=True,
        metavar="balanced|LABEL=W",
        help="Weight of the rows of a class (repeatable; others have weight 1), or balanced to "
        "give all classes the same total weight. Useful for rare classes.",
    ),
    click.option(
        "--task",
        type=click.Choice(["auto", "regression", "classification"]),
        default="auto",
        show_default=True,
        help="Task; auto treats text, true/false and two different whole numbers as classes.",
    ),
    click.option(
        "--size-rule",
        type=click.Choice(["min", "1se"]),
        default="1se",
        show_default=True,
        help="With -k auto: the size of smallest held-out loss, or the smallest size within one "
        "standard error of it.",
    ),
    click.option(
        "--max-features",
        type=WholeNumber(1),
        metavar="N",
        help="With -k auto: the largest number of features to consider.  [default: 100]",
    ),
    click.option(
        "--whole-columns",
        is_flag=True,
        help="Select all categories of a text column together or none; -k counts columns.",
    ),
    click.option(
        "--cost",
        "costs",
        type=Cost(),
        multiple=True,
        metavar="COLUMN=C",
        help="Cost of a column (repeatable; others cost 1): select by gain per cost. Implies "
        "--whole-columns.",
    ),
    click.option(
        "--budget",
        type=Number(0.0, min_open=True),
        metavar="C",
        help="Largest total cost of the selected columns. Implies --whole-columns.",
    ),
    click.option(
        "--intercept/--no-intercept", default=True, show_default=True, help="Fit an intercept."
    ),
    click.option(
        "--seed",
        type=WholeNumber(0, LARGEST_SEED),
        metavar="N",
        default=0,
        show_default=True,
        help="Random seed of the folds and of all draws.",
    ),
    click.option(
        "--jobs",
        type=int,
        metavar="N",
        default=-1,
        show_default=True,
        help="Number of cores to use; -1 uses all. The result does not depend on it.",
    ),
)
