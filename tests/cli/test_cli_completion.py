"""Completion in the shell, as docs/guide/command-line.md says to switch it on."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import as_process, environment_here
from project import GUIDES

GUIDE = GUIDES / "command-line.md"


@pytest.mark.parametrize(
    "shell", ["bash", *(pytest.param(one, marks=pytest.mark.slow) for one in ("zsh", "fish"))]
)
def test_the_script_for_a_shell(shell: str) -> None:
    environment = {"_GREEDYRLS_COMPLETE": f"{shell}_source"}
    ended = as_process(environment=environment)
    assert ended.code == 0
    assert f"_GREEDYRLS_COMPLETE={shell}_complete" in ended.out
    assert f"_GREEDYRLS_COMPLETE={shell}_source greedyrls" in GUIDE.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("greedyrls pre", "predict"),
        ("greedyrls select --dir", "--direction"),
        ("greedyrls select --direction flo", "floating"),
        ("greedyrls predict --prob", "--probabilities"),
        ("greedyrls export --to on", "onnx"),
    ],
)
def test_what_is_completed(words: str, wanted: str) -> None:
    environment = {
        "_GREEDYRLS_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    ended = as_process(environment=environment)
    assert ended.code == 0
    assert wanted in [line.split(",")[-1] for line in ended.out.splitlines()]


@pytest.mark.slow
def test_bash_takes_the_script(tmp_path: Path) -> None:
    """The line of the guide, in a shell that has the command on its path."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    command = tmp_path / "greedyrls"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m greedyrls "$@"\n')
    command.chmod(0o755)
    line = 'eval "$(_GREEDYRLS_COMPLETE=bash_source greedyrls)"'
    assert f"`{line}`" in GUIDE.read_text(encoding="utf-8")
    here = environment_here()
    ended = subprocess.run(
        [bash, "-c", f"{line}; complete -p greedyrls"],
        env={**here, "PATH": f"{tmp_path}:{here['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "-F _greedyrls_completion greedyrls" in ended.stdout
