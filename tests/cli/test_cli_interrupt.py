"""Ctrl-C: exit code 130, and what was done so far is there, whole and true."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from command_line import QUICK, CommandLine, environment_here, select_arguments
from greedyrls import LinearModel, SelectionResult, StopReason, greedy_path
from internals import Roles, prepare, read_table
from small_tables import measured, write_csv
from traps import Traps, interrupted_at

WRITTEN = [
    "methods.txt",
    "model.json",
    "path.csv",
    "path.png",
    "report.html",
    "result.json",
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "data.csv", measured())


def kept(out: Path) -> SelectionResult:
    """The result in a folder, which has all the files."""
    result = SelectionResult.from_json((out / "result.json").read_text())
    assessed = [] if result.assessment is None else ["assessment.csv", "assessment.png"]
    assert sorted(file.name for file in out.iterdir()) == sorted([*WRITTEN, *assessed])
    model = LinearModel.from_json((out / "model.json").read_text())
    assert model == result.model()
    assert result.missing in (out / "report.html").read_text(encoding="utf-8")
    return result


def test_before_anything_was_chosen(cli: CommandLine, data: Path, tmp_path: Path) -> None:
    for options in (["--alpha", "1"], []):
        out = tmp_path / "out"
        with interrupted_at("choose features", 1):
            ended = cli("select", *select_arguments(data, "y", "-k", "2", *options, "--out", out))
        assert (ended.code, ended.out) == (130, "")
        assert ended.err.startswith("greedyrls: interrupted before the first feature was chosen")
        assert ended.err.count("\n") == 1
        assert list(out.iterdir()) == []


def test_while_the_penalty_is_chosen(
    cli: CommandLine, data: Path, tmp_path: Path, traps: Traps
) -> None:
    """A path with a middling penalty is kept, and said to be one."""
    traps.interrupt("choose features", 2)
    out = tmp_path / "out"
    arguments = select_arguments(data, "y", "-k", "3", "--alpha", "9,1,4", "--assess", "--out", out)
    ended = cli("select", *arguments)
    assert ended.code == 130
    assert ended.err == f"greedyrls: interrupted; what was done so far is in {out}.\n"
    result = kept(out)
    assert result.path.settings.alpha == 4.0
    assert (result.size, result.assessment) == (3, None)
    assert result.missing is not None
    assert "choice of the penalty was interrupted" in result.missing
    assert result.missing in result.warnings
    assert "interrupted" in ended.out


def test_while_there_is_only_a_middling_penalty(cli: CommandLine, data: Path, traps: Traps) -> None:
    """The first search is cut short: neither its penalty nor its length is what was asked."""

    def cut(choose: Any, *given: Any) -> Any:
        return replace(choose(*given).truncated(2), stop_reason=StopReason.INTERRUPTED)

    traps.around("choose features", cut)
    ended = cli("select", *select_arguments(data, "y", "-k", "4", "--alpha", "9,1,4", "--json"))
    assert ended.code == 130
    result = SelectionResult.from_json(ended.out)
    assert (result.size, result.path.settings.alpha) == (2, 4.0)
    assert result.missing is not None
    assert "choice of the penalty was interrupted" in result.missing
    assert "Later features are missing" in result.missing


@pytest.mark.parametrize(
    ("stage", "there"),
    [
        ("compute the curve of models", ()),
        ("assess", ("model_curve",)),
        ("resample", ("model_curve", "assessment")),
        ("permute", ("model_curve", "assessment", "stability")),
    ],
)
def test_while_it_is_assessed(
    stage: str,
    there: tuple[str, ...],
    cli: CommandLine,
    data: Path,
    tmp_path: Path,
    traps: Traps,
) -> None:
    traps.interrupt(stage, 1)
    out = tmp_path / "out"
    arguments = select_arguments(data, "y", "-k", "2", "--alpha", "1,2", "--out", out)
    extras = ["--assess", "--folds", "2", "--resamples", "2", "--permutations", "2"]
    ended = cli("select", *arguments, *extras)
    assert ended.code == 130
    result = kept(out)
    assert result.size == 2
    assert not result.path.interrupted
    for part in ("model_curve", "assessment", "stability", "null"):
        assert (getattr(result, part) is not None) == (part in there)
    words = {"assessment": "assessment", "stability": "resamples", "null": "permutations"}
    assert result.missing is not None
    for part, word in words.items():
        assert (f"the {word}" in result.missing) == (part not in there)
    assert "Warning: Interrupted: " in ended.out


def test_without_a_folder_and_for_scripts(cli: CommandLine, data: Path, traps: Traps) -> None:
    traps.interrupt("assess", 1)
    arguments = select_arguments(data, "y", *QUICK, "--assess", "--json")
    ended = cli("select", *arguments)
    assert ended.code == 130
    assert ended.err == "greedyrls: interrupted; nothing was written.\n"
    assert SelectionResult.from_json(ended.out).missing is not None
    traps.interrupt("assess", 1)
    ended = cli("select", *arguments[:-1], "--quiet")
    assert (ended.code, ended.out) == (130, "")


@pytest.mark.parametrize("command", ["select", "assess", "predict"])
def test_while_the_file_is_read(
    command: str, cli: CommandLine, data: Path, tmp_path: Path, traps: Traps
) -> None:
    result = cli.result(*select_arguments(data, "y", *QUICK))
    model = tmp_path / "model.json"
    model.write_text(result.model().to_json())

    traps.interrupt("read table", 1)
    own = [model, data] if command == "predict" else select_arguments(data, "y", *QUICK)
    ended = cli(command, *own)
    assert (ended.code, ended.out) == (130, "")
    assert ended.err.strip("\n") == "greedyrls: interrupted"  # below the terminal's ^C


def test_a_penalty_that_cannot_be_tried_first_does_no_harm(
    cli: CommandLine, data: Path, traps: Traps
) -> None:
    def fail() -> None:
        raise ValueError("The penalty alpha is lost in the rounding of the data.")

    traps.at("choose features", 1, fail)
    assert cli.result(*select_arguments(data, "y", "-k", "2", "--alpha", "1,2")).size == 2


# Real signals.


class Terminal:
    """A process whose stderr is a terminal, so that it shows how far it is."""

    def __init__(self, *arguments: object) -> None:
        self._master, slave = pty.openpty()
        # Without a width there is no bar.
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "greedyrls", *(str(one) for one in arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=slave,
            env=environment_here(),
            # Shells start jobs in the background with this signal ignored, and it is inherited.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        os.close(slave)
        self.seen = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        os.close(self._master)

    def wait_for(self, pattern: str, seconds: float = 120.0) -> None:
        """Read until something that matches is there."""
        end = time.monotonic() + seconds
        while not re.search(pattern, self.seen) and time.monotonic() < end and self._read(1.0):
            pass
        assert re.search(pattern, self.seen), self.seen

    def _read(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], seconds)[0]:
            return self.process.poll() is None
        try:
            content = os.read(self._master, 65536)
        except OSError:  # Linux ends a terminal so
            return False
        self.seen += content.decode("utf-8", "replace")
        return bool(content)

    def finish(self) -> tuple[int, str]:
        """Exit code and stdout."""
        assert self.process.stdout is not None
        out = self.process.stdout.read().decode("utf-8")
        while self._read(1.0):
            pass
        return self.process.wait(60), out


@pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of Unix")
@pytest.mark.slow
def test_a_real_signal_in_a_long_search(tmp_path: Path) -> None:
    """The steps made so far are those of the search, and their models predict."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((1500, 400))
    y = X[:, :20] @ generator.standard_normal(20) + 3.0 * generator.standard_normal(1500) > 0.0
    data, out = tmp_path / "long.npz", tmp_path / "out"
    np.savez(data, X=X, y=y)
    arguments = ["select", data, "-k", "400", "--alpha", "1", "--loss", "auc", "--out", out]
    with Terminal(*arguments) as terminal:
        terminal.wait_for(r"selecting.*\b[1-9]\d*/400")  # at least one feature is there
        terminal.process.send_signal(signal.SIGINT)
        code, shown = terminal.finish()
    assert code == 130, terminal.seen
    assert "Traceback" not in terminal.seen
    assert f"greedyrls: interrupted; what was done so far is in {out}" in terminal.seen
    result = kept(out)
    k = len(result.path)
    assert 1 <= k < 400
    assert result.path.interrupted
    assert result.missing == "The search was interrupted: later features are missing."
    assert "Warning: The search was interrupted" in shown
    prepared = prepare(read_table(data), Roles("y"))
    few = min(k, 5)
    full = greedy_path(prepared.X, np.where(y, 1.0, -1.0), few, alpha=1.0, loss="auc")
    assert_array_equal(result.path.indices[:few], full.indices)
    assert_allclose(result.path.losses[:few], full.losses, rtol=1e-9)
    own = result.model(few).scores(read_table(data))[:, 0]
    assert_allclose(own, full.predict(prepared.X), rtol=1e-9, atol=1e-9)


@pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of Unix")
def test_a_real_signal_while_the_penalty_is_chosen(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    X = generator.standard_normal((1500, 200))
    y = X[:, :20] @ generator.standard_normal(20) + 3.0 * generator.standard_normal(1500) > 0.0
    data, out = tmp_path / "long.npz", tmp_path / "out"
    np.savez(data, X=X, y=y)
    with Terminal("select", data, "-k", "20", "--loss", "auc", "--out", out) as terminal:
        terminal.wait_for("choosing alpha")
        terminal.process.send_signal(signal.SIGINT)
        code, _ = terminal.finish()
    assert code == 130, terminal.seen
    assert "Traceback" not in terminal.seen
    result = kept(out)
    assert len(result.path) == 20
    assert result.missing is not None
    assert "choice of the penalty was interrupted" in result.missing
