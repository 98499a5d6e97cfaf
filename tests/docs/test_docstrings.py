"""No public name, parameter or attribute is undocumented, by numpydoc's own validation."""

from __future__ import annotations

import enum
import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import greedyrls
from project import ROOT

MODULES = ("assess", "export", "files", "metrics", "plots", "reference", "report")
# No docstring or summary; a parameter undocumented, unknown or without words; a section that is not
# one of numpydoc's.
CODES = {"GL06", "GL08", "PR01", "PR02", "PR07", "SS01"}
# Values and type aliases, which have no docstrings of their own: the reference describes them.
VALUES = {"greedyrls.export.Language", "greedyrls.export.SUFFIXES"}


def public_names() -> list[str]:
    names = [f"greedyrls.{name}" for name in greedyrls.__all__]
    for module in MODULES:
        listed = importlib.import_module(f"greedyrls.{module}").__all__
        names += [f"greedyrls.{module}.{name}" for name in listed]
    return names


def thing(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def members(name: str) -> Iterator[str]:
    """Public methods and properties of a class that this package defines."""
    for member, value in inspect.getmembers(thing(name)):
        function = getattr(value, "fget", None) or inspect.unwrap(value)
        module = getattr(function, "__module__", None) or ""
        if not member.startswith("_") and module.startswith("greedyrls"):
            yield f"{name}.{member}"


def problems(name: str) -> list[str]:
    validate = pytest.importorskip("numpydoc.validate").validate
    return [f"{name}: {code} {text}" for code, text in validate(name)["errors"] if code in CODES]


def sections(name: str) -> dict[str, list[str]]:
    """Names in the sections Parameters and Attributes of a class."""
    from numpydoc.docscrape import FunctionDoc

    text = FunctionDoc(thing(name))
    return {
        section: [part.strip() for each in text[section] for part in each.name.split(",")]
        for section in ("Parameters", "Attributes")
    }


@pytest.mark.parametrize("name", sorted(set(public_names()) - VALUES))
def test_a_name_is_documented(name: str) -> None:
    pytest.importorskip("numpydoc")
    found = problems(name)
    if inspect.isclass(thing(name)):
        # Classes that the library makes have attributes rather than parameters.
        found = [text for text in found if "PR01" not in text]
        documented = {each for names in sections(name).values() for each in names}
        if issubclass(thing(name), enum.Enum):
            expected = set(thing(name).__members__)
        else:
            expected = set(inspect.signature(thing(name)).parameters)
            found += [text for member in members(name) for text in problems(member)]
        found += [f"{name}: {parameter}" for parameter in sorted(expected - documented)]
    assert found == []


ESTIMATORS = {
    "GreedyRLSRegressor": {},
    "GreedyRLSClassifier": {},
    "GreedyRLSRanker": {"groups": np.repeat(np.arange(6), 5)},
    "GreedyKernelRLS": {},
    "GreedyKernelRLSClassifier": {},
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fitted_attributes_are_documented(name: str) -> None:
    pytest.importorskip("numpydoc")
    pd = pytest.importorskip("pandas")
    generator = np.random.default_rng(0)
    X = pd.DataFrame(generator.normal(size=(30, 4)), columns=list("abcd"))
    y = X["a"] + 0.1 * generator.normal(size=30)
    target = np.where(y > 0, "high", "low") if name.endswith("Classifier") else y
    model = getattr(greedyrls, name)(2, alpha=1.0).fit(X, target, **ESTIMATORS[name])
    fitted = {key for key in vars(model) if re.fullmatch(r"[A-Za-z]\w*_", key)}
    assert fitted - set(sections(f"greedyrls.{name}")["Attributes"]) == set()


def test_the_reference_has_every_name() -> None:
    text = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    module, listed = "greedyrls", set()
    for line in text.splitlines():
        if match := re.match(r"\.\. (?:automodule|currentmodule):: ([\w.]+)", line):
            module = match[1]
        elif match := re.match(r"\.\. data:: ([\w.]+)", line):
            listed.add(match[1])
        elif match := re.fullmatch(r"   (\w+)", line):
            listed.add(f"{module}.{match[1]}")
    assert listed == set(public_names())
