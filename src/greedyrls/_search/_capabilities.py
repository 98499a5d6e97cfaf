"""What works on which kind of data: the one place that decides it.

A kind of X declares traits (`Matrix`); each option needs some of them. tools/capabilities.py prints
`FEATURES` and `KINDS` into docs/guide/capabilities.md, and tests try every cell of that table.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from .._data import Matrix, kind_of
from .._problem import Problem

# Vectors are NumPy arrays; rows are in this process; all values are in memory.
HOST, LOCAL, RESIDENT = frozenset({"host"}), frozenset({"local"}), frozenset({"resident"})
IN_MEMORY = HOST | LOCAL | RESIDENT
# Vectors are on a device, whose own engine supports some options. For the others X is passed to the
# engine of NumPy arrays, with its products computed on the device, or copied into memory.
DEVICE = frozenset({"device"})
_BY_PRODUCTS = HOST | LOCAL

KINDS: dict[str, frozenset[str]] = {
    "NumPy": IN_MEMORY,
    "threads": IN_MEMORY,
    "sparse": IN_MEMORY,
    "file": HOST | LOCAL,
    "streamed": LOCAL | DEVICE,
    "device": LOCAL | DEVICE | RESIDENT,
    # The rows are brought to this process where the cluster does not support an option.
    "Dask": IN_MEMORY,
}
# Traits of X for a search on a cluster.
CLUSTER = HOST

# Traits of kernel columns, which are never in memory all at once and so cannot be loaded.
_COMPUTED = frozenset({"computed"})
# A note of what has no such parameter, so that nothing is streamed.
_NO_DEVICE = "no `device=`"


@dataclass(frozen=True)
class Feature:
    """Something that a user can ask for, with the traits of X that it needs."""

    row: str  # in the table of the documentation
    needs: tuple[frozenset[str], ...] = (frozenset(),)  # any of these sets of traits
    why: str = ""  # it needs them, after "it"
    instead: str = ""  # what to use on the same X
    excludes: frozenset[str] = frozenset()  # traits that it does not support
    # Cells where it is done in another way, or in part.
    notes: dict[str, str] = field(default_factory=dict)

    def works_with(self, traits: frozenset[str]) -> bool:
        """Whether the engine of a kind of X supports it."""
        return not self.excludes & traits and any(needed <= traits for needed in self.needs)

    def cell(self, kind: str) -> str:
        """What the table says of it on a kind of X."""
        traits = KINDS[kind]
        if kind in self.notes or self.works_with(traits):
            return self.notes.get(kind, "yes")
        if traits >= DEVICE:
            return "products on the device" if self.works_with(_BY_PRODUCTS) else "by NumPy"
        return "no"


FEATURES: dict[str, Feature] = {
    "squared": Feature("leave-one-out: squared loss"),
    "loss": Feature(
        "leave-one-out: absolute, 0/1, balanced 0/1 loss",
        (HOST,),
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
    ),
    "splitters": Feature(
        "folds: groups, any splitter",
        (HOST | LOCAL, RESIDENT),
        "needs all rows at once",
        "use cv='loo'",
    ),
    "fold_loss": Feature(
        "folds: other losses",
        (HOST,),
    ),
    "many_folds": Feature(
        "many small folds by one factor",
        (HOST, RESIDENT),
        notes=dict.fromkeys(
            ("sparse", "file", "streamed", "device", "Dask"), "a model for each fold"
        ),
    ),
    "penalties": Feature("several penalties"),
    "groups": Feature("groups and costs of features", (HOST,)),
    "direction": Feature(
        "floating, FoBa, swap, backward",
        (HOST | LOCAL,),
        "needs all rows in this process",
        "use direction='forward'",
    ),
    "centers": Feature(
        "kernel centres",
        (HOST | LOCAL,),
        "computes kernels of all points here",
        notes={"streamed": _NO_DEVICE, "device": "by NumPy"},
    ),
    "all_features": Feature(
        '`alpha_rule="all_features"`, `refit_alpha="cv"`',
        (HOST | LOCAL,),
        "needs products of all columns at once",
        "use alpha_rule='nested' or 'joint', or pass a number for alpha",
        excludes=_COMPUTED,
    ),
    "checkpoint": Feature("checkpoints", (HOST,)),
    "class_weight": Feature(
        "`class_weight`", (LOCAL,), "counts the classes of all rows", "pass sample_weight"
    ),
    "probabilities": Feature(
        "`predict_proba` of a model fitted to X",
    ),
    "assess": Feature("`assess`", (HOST | LOCAL,), "repeats the search on some rows"),
    "ranker": Feature(
        "the ranker",
        (HOST | LOCAL, LOCAL | RESIDENT),
        "centres the rows of each query",
        "use greedy_path(X, y, cv=groups), which needs no pairs",
        notes={"streamed": _NO_DEVICE, "device": "by NumPy"},
    ),
}


def traits_of(X: Matrix) -> frozenset[str]:
    """What a matrix declares, as the table names it."""
    traits = frozenset() if X.location.on_device else HOST
    traits |= LOCAL if X.remote is None else frozenset()
    traits |= _COMPUTED if X.centers is not None else frozenset()
    return traits | (RESIDENT if X.is_in_memory else frozenset())


def supported(problem: Problem, features: Collection[str]) -> Problem:
    """Return the problem for an engine that supports all of the features."""
    X = problem.X
    if not X.location.on_device or _support(features, traits_of(X)):
        return problem
    return problem.on_host(in_memory=not _support(features, _BY_PRODUCTS))


def _support(features: Collection[str], traits: frozenset[str]) -> bool:
    return all(FEATURES[feature].works_with(traits) for feature in features)


def check_supported(X: Matrix, feature: str, what: str, instead: str | None = None) -> None:
    """Raise an error that says why something is not supported with this kind of X.

    `what` is how the user asked for it; `instead` replaces the advice of the table.
    """
    _check(FEATURES[feature], traits_of(X), X.noun, what, instead, ValueError)


class UnsupportedInput(TypeError, ValueError):
    """Something that is not supported with the type of X, whichever of the two is to be changed."""


def check_input(X: Any, feature: str, what: str) -> None:
    """`check_supported` with X as the user passed it, before anything of it is read."""
    kind = kind_of(X)
    _check(FEATURES[feature], KINDS[kind.name], kind.noun, what, None, UnsupportedInput)


def _check(
    asked: Feature,
    traits: frozenset[str],
    noun: str,
    what: str,
    instead: str | None,
    error: type[Exception],
) -> None:
    if asked.works_with(traits) or traits >= DEVICE:
        return
    advice = [asked.instead if instead is None else instead, load_into_memory(traits)]
    text = ", or ".join(part for part in advice if part)
    raise error(
        f"{what} is not supported with X {noun}: it {asked.why}. {text[0].upper()}{text[1:]}."
    )


def load_into_memory(traits: frozenset[str]) -> str:
    """What makes a NumPy array of X; nothing for kernel columns."""
    if traits >= _COMPUTED:
        return ""
    return "load X into memory (X.compute())" if "local" not in traits else "load X into memory"
