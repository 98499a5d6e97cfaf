"""tools/lowest.py: the lowest versions that pyproject.toml allows, as pip takes them."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

from project import TOOLS
from scripts import load

TOOL = TOOLS / "lowest.py"


def lowest_pins(project: dict[str, Any], extras: list[str]) -> list[str]:
    pins: list[str] = load(TOOL).lowest_pins(project, extras)
    return pins


PROJECT = {
    "name": "parcel",
    "dependencies": ["numpy>=2.0"],
    "optional-dependencies": {
        "draw": ["parcel[all]", "Pencil>=1.5"],
        "far": ["dask[array, dataframe]>=2025.1"],
        "all": ["parcel[draw,far]", "rubber >= 3"],
        "odd": ["rubber~=3.1"],
    },
}


def test_pins_of_the_package_alone() -> None:
    assert lowest_pins(PROJECT, []) == ["numpy==2.0"]


def test_references_are_followed_also_in_circles() -> None:
    pins = ["dask==2025.1", "numpy==2.0", "Pencil==1.5", "rubber==3"]
    assert lowest_pins(PROJECT, ["draw"]) == lowest_pins(PROJECT, ["all"]) == pins


def test_what_is_not_known_is_said() -> None:
    with pytest.raises(SystemExit, match="no extra 'paint'"):
        lowest_pins(PROJECT, ["paint"])
    with pytest.raises(SystemExit, match=r"'rubber~=3\.1' is not of the form name>=version"):
        lowest_pins(PROJECT, ["odd"])


def test_this_package() -> None:
    command = [sys.executable, str(TOOL)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = text.splitlines()
    assert all(re.fullmatch(r"[\w.-]+==\d+(\.\d+)*", line) for line in lines)
    names = [re.split(r"\[|==", line)[0] for line in lines]
    assert names == sorted(names, key=str.lower)
    assert {"click", "numpy", "pyarrow", "pytest", "scikit-learn"} <= set(names)
    assert "greedyrls" not in names
