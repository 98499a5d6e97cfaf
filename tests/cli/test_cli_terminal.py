"""Terminals, pipes, encodings and imports: the command line as a process among others."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from command_line import (
    QUICK,
    Ended,
    as_process,
    assert_one_line,
    environment_here,
    select_arguments,
)
from greedyrls import LinearModel, SelectionResult, __version__
from internals import InputColumn, Term, run
from small_tables import measured, write_csv
from tuning import Tune

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="terminals and pipes of Unix")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "data.csv", measured())


def in_terminal(*arguments: object, width: int = 100) -> tuple[int, str]:
    """Exit code and all that a terminal of some width shows."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    environment = {**environment_here(), "TERM": "xterm-256color"}
    for name in ("COLUMNS", "LINES", "NO_COLOR"):
        environment.pop(name, None)
    process = subprocess.Popen(
        [sys.executable, "-m", "greedyrls", *(str(one) for one in arguments)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment,
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            content = os.read(master, 65536)
        except OSError:  # Linux ends a terminal so
            break
        if not content:
            break
        shown += content
    os.close(master)
    return process.wait(60), shown.decode("utf-8")


def plain(shown: str) -> list[str]:
    """Lines without colours and movements."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).replace("\r\n", "\n").split("\n")


def test_a_terminal_shows_signs_of_life_and_a_table(data: Path) -> None:
    """A real bar is looked at where a long search is interrupted."""
    code, shown = in_terminal("select", *select_arguments(data, "y", *QUICK), width=40)
    assert code == 0
    assert "Reading data.csv" in shown
    assert "\x1b[1m" in shown  # what was chosen is bold
    lines = plain(shown)
    assert any(line.split()[:2] == ["1", "x0"] for line in lines)
    assert any("were chosen" in line for line in lines)
    commands = ("  greedyrls ",)  # which are there to be copied
    assert all(len(line) <= 40 for line in lines if "\r" not in line and line[:12] not in commands)


@pytest.mark.slow
def test_bars_are_for_people_at_a_terminal(
    data: Path, monkeypatch: pytest.MonkeyPatch, tune: Tune, capsys: pytest.CaptureFixture[str]
) -> None:
    tune(progress_delay_seconds=0.0)
    arguments = [*map(str, select_arguments(data, "y", "-k", "2", "--alpha", "1,2"))]
    arguments += ["--assess", "--folds", "2", "--resamples", "2", "--permutations", "2"]
    shown = {}
    for is_terminal in (True, False):
        monkeypatch.setattr(sys.stderr, "isatty", lambda answer=is_terminal: answer)
        for option in ((), ("--quiet",), ("--json",)):
            assert run(["select", *arguments, *option]) == 0
            shown[is_terminal, option] = capsys.readouterr().err
    first = shown.pop((True, ()))
    for words in ("choosing alpha", "assessing", "resampling", "permuting"):
        assert f"{words}: " in first
    assert set(shown.values()) == {""}


@pytest.mark.slow
def test_quiet_in_a_terminal(data: Path) -> None:
    assert in_terminal("select", *select_arguments(data, "y", *QUICK, "--quiet")) == (0, "")


def test_errors_in_a_terminal(data: Path) -> None:
    code, shown = in_terminal("select", data, "-t", "\x1b[31mnosuch")
    assert code == 2
    *_, line, end = plain(shown)
    assert end == ""
    assert_one_line(f"{line.rsplit(chr(13), 1)[-1]}\n")


@pytest.mark.slow
def test_no_decorations_elsewhere(data: Path) -> None:
    ended = as_process("select", *select_arguments(data, "y", "--assess", "--folds", "2"))
    assert (ended.code, ended.err) == (0, "")
    assert "predict y" in ended.out
    assert "\x1b" not in ended.out
    assert "\r" not in ended.out


# Pipes.


def unread(*arguments: object) -> Ended:
    """Run a command whose output nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [sys.executable, "-m", "greedyrls", *(str(one) for one in arguments)],
        stdout=writing,
        stderr=subprocess.PIPE,
        env=environment_here(),
        timeout=120,
        check=False,
    )
    os.close(writing)
    return Ended(ended.returncode, "", ended.stderr.decode("utf-8"))


@pytest.mark.slow
def test_an_output_that_nobody_reads(data: Path, tmp_path: Path) -> None:
    """The end of ``| head -1`` is no error, and the files are written anyway."""
    for extra in ([], ["--json"]):
        out = tmp_path / f"out{len(extra)}"
        arguments = select_arguments(data, "y", *QUICK, *extra, "--out", out)
        assert unread("select", *arguments) == (0, "", "")
        assert len(list(out.iterdir())) == 6
    assert unread("--help") == (0, "", "")
    assert unread() == (0, "", "")


@pytest.mark.slow
def test_the_first_line_of_a_long_output(tmp_path: Path) -> None:
    """Predictions of many rows, more than a pipe holds."""
    model = tmp_path / "model.json"
    columns, terms = (InputColumn("x0"),), (Term("x0", None, (2.0,)),)
    model.write_text(LinearModel("regression", "z", columns, terms, (1.0,)).to_json())
    rows = write_csv(tmp_path / "many.csv", {"x0": measured()["x0"] * 300})
    command = f'"{sys.executable}" -m greedyrls predict "{model}" "{rows}" | head -1; '
    command += "echo ${PIPESTATUS[0]}"
    ended = as_process("-c", command, command=("bash",))
    assert ended.out == "prediction\n0\n"
    assert "Traceback" not in ended.err
    assert "BrokenPipe" not in ended.err
    # Little enough to wait in a buffer until the end.
    assert unread("export", model, "--to", "sql") == (0, "", "")


# Encodings.

ASCII = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}


@pytest.mark.parametrize(
    "environment",
    [ASCII, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}],
    ids=["ascii", "C"],
)
@pytest.mark.slow
def test_other_encodings(environment: dict[str, str], tmp_path: Path) -> None:
    columns = measured()
    columns["größe ☃"] = columns.pop("x0")
    data = write_csv(tmp_path / "unicode.csv", columns)
    out = tmp_path / "out"
    arguments = ["select", *select_arguments(data, "y", *QUICK), "--out", out]
    ended = as_process(*arguments, environment=environment)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.isascii()
    assert "+-" in ended.out
    result = SelectionResult.from_json((out / "result.json").read_text())
    assert "größe ☃" in [feature.name for feature in result.features]
    assert "größe ☃" in (out / "path.csv").read_text(encoding="utf-8")


@pytest.mark.slow
def test_data_are_not_changed_to_fit_an_encoding(tmp_path: Path) -> None:
    """A label with a sign that the output lacks is an error, not another label."""
    data = write_csv(tmp_path / "data.csv", {"x0": measured()["x0"]})
    model = tmp_path / "model.json"
    columns, terms = (InputColumn("x0"),), (Term("x0", None, (2.0,)),)
    classes = ("größer", "kleiner")
    model.write_text(LinearModel("classification", "z", columns, terms, (1.0,), classes).to_json())
    ended = as_process("predict", model, data, environment=ASCII)
    assert (ended.code, ended.out) == (2, "")
    assert "has no 'ö'" in ended.err.encode().decode("unicode_escape")
    assert "--out FILE" in ended.err
    out = tmp_path / "p.csv"
    assert as_process("predict", model, data, "--out", out, environment=ASCII).code == 0
    assert "größer" in out.read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="names of files may be any bytes")
@pytest.mark.slow
def test_names_of_files_that_are_no_text(data: Path, tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/bad\xff.csv"
    with open(odd, "wb") as file:
        file.write(data.read_bytes())
    name, out = os.fsdecode(odd), tmp_path / "out"
    ended = as_process("select", *select_arguments(Path(name), "y", *QUICK), "--out", out)
    assert (ended.code, ended.err) == (0, "")
    assert len(list(out.iterdir())) == 6


# Starting up.


@pytest.mark.slow
def test_help_loads_next_to_nothing() -> None:
    code = (
        "import sys\nfrom greedyrls.cli import main\n"
        "for given in (['--help'], ['select', '--help'], ['--version'], []):\n"
        "    try: main(given)\n"
        "    except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    ended = as_process("-c", code, command=(sys.executable,))
    assert ended.code == 0
    loaded = {name.split(".")[0] for name in ended.err.split()}
    heavy = {"numpy", "scipy", "sklearn", "pyarrow", "rich", "matplotlib", "jinja2", "pandas"}
    assert not heavy & loaded
    assert not {"joblib", "tqdm", "asyncio", "onnx"} & loaded


@pytest.mark.slow
def test_the_script_and_the_module() -> None:
    script = Path(sys.executable).with_name("greedyrls")
    by_module = as_process("--help")
    assert by_module.code == 0
    assert by_module.err == ""
    for command in ("select", "assess", "predict", "report", "export", "demo", "bench"):
        assert command in by_module.out
    assert as_process("--version").out == f"greedyrls, version {__version__}\n"
    if script.exists():
        assert as_process("--help", command=(str(script),)) == by_module


@pytest.mark.slow
def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["select", "--help"]) == 0
    shown = capsys.readouterr().out
    for words in ("Examples:", "greedyrls select houses.csv --target price", "--out"):
        assert words in shown
    for title in ("Columns:", "Preparation:", "Selection:", "Assessment:", "Results:"):
        assert title in shown
    assert run([]) == 0
    assert "greedyrls demo" in capsys.readouterr().out


def test_a_process_for_scripts(data: Path) -> None:
    ended = as_process("select", *select_arguments(data, "y", *QUICK, "--json"))
    assert (ended.code, ended.err) == (0, "")
    command = f"greedyrls select {data} --target y --drop outcome --drop grade"
    assert SelectionResult.from_json(ended.out).origin.command.startswith(command)
