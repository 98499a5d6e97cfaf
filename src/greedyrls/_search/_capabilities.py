"""What works on which kind of data: the one place that decides it.

A kind of X declares traits (`Matrix`); each option needs some of them. tools/capabilities.py prints
`FEATURES` and `KINDS` into docs/capabilities.md, and tests try every cell of that table.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .._data import AS_NUMPY, Matrix, NotOnDevice

# Vectors are NumPy arrays; rows are in this process; all values are in memory.
HOST, LOCAL, RESIDENT = frozenset({"host"}), frozenset({"local"}), frozenset({"resident"})
IN_MEMORY = HOST | LOCAL | RESIDENT

KINDS: dict[str, frozenset[str]] = {
    "NumPy": IN_MEMORY,
    "threads": IN_MEMORY,
    "sparse": IN_MEMORY,
    "file": HOST | LOCAL,
    "streamed": LOCAL,
    "device": LOCAL | RESIDENT,
    "Dask": HOST,
}

_NUMPY_ONLY = "is implemented for NumPy arrays only"


@dataclass(frozen=True)
class Feature:
    """Something that a user can ask for, with the traits of X that it needs."""

    row: str  # in the table of the documentation
    needs: tuple[frozenset[str], ...] = (frozenset(),)  # any of these sets of traits
    why: str = ""  # it needs them, after "it"
    instead: str = ""  # what to use on the same X
    # Cells where it is done in another way, or in part.
    notes: dict[str, str] = field(default_factory=dict)

    def works_with(self, traits: frozenset[str]) -> bool:
        """Whether it works on a kind of X."""
        return any(needed <= traits for needed in self.needs)

    def reason(self, traits: frozenset[str]) -> str:
        """Why it does not, after "it"."""
        needs_host = all("host" in needed for needed in self.needs)
        return _NUMPY_ONLY if needs_host and "host" not in traits else self.why


FEATURES: dict[str, Feature] = {
    "squared": Feature("leave-one-out: squared loss"),
    "loss": Feature(
        "leave-one-out: absolute, 0/1, balanced 0/1 loss",
        (HOST,),
        instead="use loss='squared'",
    ),
    "whole_loss": Feature(
        "leave-one-out: AUC, a function",
        (HOST | LOCAL,),
        "needs all predictions at once",
        "use loss='squared', 'absolute', 'zero_one' or 'balanced_zero_one'",
    ),
    "folds": Feature(
        "folds: squared loss",
        (HOST, RESIDENT),
        "needs all rows on the device",
        "use cv='loo'",
        {"Dask": "without groups and shuffled splitters"},
    ),
    "fold_loss": Feature(
        "folds: other losses",
        (HOST,),
        instead="use loss='squared'",
        notes={"Dask": "without AUC and functions"},
    ),
    "many_folds": Feature(
        "many small folds by one factor",
        (HOST, RESIDENT),
        "needs all rows on the device",
        "use cv='loo'",
        dict.fromkeys(("sparse", "file", "device", "Dask"), "a model for each fold"),
    ),
    "penalties": Feature(
        "several penalties",
        notes=dict.fromkeys(("file", "device", "Dask"), "one after the other")
        | {"streamed": 'one after the other, `alpha_rule="joint"` only'},
    ),
    "groups": Feature(
        "groups and costs of features", (HOST,), instead="leave out feature_groups, feature_costs"
    ),
    "direction": Feature(
        "floating, FoBa, swap, backward",
        (IN_MEMORY,),
        "needs X in memory",
        "use direction='forward'",
    ),
    "centers": Feature(
        "kernel centres",
        (IN_MEMORY,),
        "needs all points in memory",
        notes={"Dask": "loads X into memory"},
    ),
    "all_features": Feature(
        '`alpha_rule="all_features"`, `refit_alpha="cv"`',
        (IN_MEMORY,),
        "needs X in memory",
        "use alpha_rule='nested' or 'joint', or pass a number for alpha",
    ),
    "checkpoint": Feature("checkpoints", (HOST,), instead="leave out checkpoint"),
    "assess": Feature(
        "`assess`, the ranker, the command line",
        (IN_MEMORY,),
        "takes rows apart",
        notes={
            "sparse": "yes; the ranker makes X dense",
            "file": "`assess` with leave-one-out and squared loss only",
            "device": "the ranker only, by NumPy",
        },
    ),
}


def traits_of(X: Matrix) -> frozenset[str]:
    """What a matrix declares, as the table names it."""
    traits = frozenset() if X.on_device else HOST
    traits |= LOCAL if X.remote is None else frozenset()
    return traits | (RESIDENT if X.is_in_memory else frozenset())


def check_supported(X: Matrix, feature: str, what: str, instead: str | None = None) -> None:
    """Raise an error that says why something is not supported with this kind of X.

    `what` is how the user asked for it; `instead` replaces the advice of the table.
    """
    asked, traits = FEATURES[feature], traits_of(X)
    if asked.works_with(traits):
        return
    advice = [asked.instead if instead is None else instead, load_into_memory(traits)]
    text = ", or ".join(part for part in advice if part)
    error = NotOnDevice if "host" not in traits else ValueError
    raise error(
        f"{what} is not supported with X {X.noun}: it {asked.reason(traits)}. "
        f"{text[0].upper()}{text[1:]}."
    )


def load_into_memory(traits: frozenset[str]) -> str:
    """What makes a NumPy array of X."""
    if "host" not in traits:
        return AS_NUMPY
    return "load X into memory (X.compute())" if "local" not in traits else "load X into memory"
