"""What a release needs: one version, a changelog, and workflows that give away no rights."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import greedyrls
from project import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# The rights of a job beyond reading, and why it needs them.
RIGHTS = {
    ("docs", "deploy"): {"pages": "write", "id-token": "write"},
    ("publish", "publish"): {"id-token": "write"},
}


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_in_one_place() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+|\.dev\d+)?", greedyrls.__version__)
    assert "\nversion =" not in text_of("pyproject.toml")
    # The two copies that other programs read.
    assert f"\nversion: {greedyrls.__version__}\n" in text_of("CITATION.cff")
    latest = re.findall(r"(?m)^## (\S+) \((.+)\)$", text_of("CHANGELOG.md"))[0]
    assert latest[0] == greedyrls.__version__
    assert re.fullmatch(r"unreleased|\d{4}-\d{2}-\d{2}", latest[1])


def test_the_checklist_names_what_is_there() -> None:
    checklist = text_of("CONTRIBUTING.md").split("## Releasing")[1]
    for name in re.findall(r"`([\w./-]+\.(?:md|py|cff|yml|toml))`", checklist):
        assert (ROOT / name).exists(), name


def test_people_know_where_to_write() -> None:
    for name in ("SECURITY.md", "CODE_OF_CONDUCT.md"):
        assert "Security tab" in text_of(name)


def workflow(file: Path) -> dict[Any, Any]:
    yaml = pytest.importorskip("yaml")
    loaded: dict[Any, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return loaded


def test_all_workflows_are_there() -> None:
    assert [file.stem for file in WORKFLOWS] == ["docs", "publish", "tests", "wheels"]


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_workflow_has_no_more_rights_than_it_needs(file: Path) -> None:
    loaded = workflow(file)
    assert loaded["permissions"] == {"contents": "read"}
    for name, job in loaded["jobs"].items():
        assert job.get("permissions", {}) == RIGHTS.get((file.stem, name), {})
        if "uses" in job:
            assert (ROOT / job["uses"]).exists()
            continue
        assert job["timeout-minutes"] <= 120
        for step in job["steps"]:
            assert "uses" in step or "run" in step
            if "uses" in step:
                assert re.fullmatch(r"[\w-]+/[\w/-]+@(v\d+[\d.]*|release/v1)", step["uses"])
            if step.get("uses", "").startswith("actions/checkout"):
                assert step["with"]["persist-credentials"] is False
            # What others write (titles, names of branches) does not become part of a command.
            assert "${{ github." not in step.get("run", "")


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_workflow_runs_tasks_that_are_there(file: Path) -> None:
    # `docs` builds the site.
    tasks = {*re.findall(r'(?m)^    "(\w+)": \w+,$', text_of("dev.py")), "docs"}
    for job in workflow(file)["jobs"].values():
        for step in job.get("steps", ()):
            command = re.match(r"python dev\.py (\w+)", step.get("run", ""))
            assert command is None or command[1] in tasks
