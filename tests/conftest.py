"""Two tiers of tests, problems that are the same at every run, and components that must be there.

`pytest` runs the quick tier: no test marked `slow`, and short sweeps of random problems. `--all`
runs everything. The problems that Hypothesis draws are the same at every run; fresh ones are drawn
where GREEDYRLS_FUZZ_SEED says so (`python3 dev.py fuzz`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, settings

# Before their import: what helpers assert is shown with its values, as in test files.
pytest.register_assert_rewrite(
    *(file.stem for file in (Path(__file__).parent / "support").glob("*.py"))
)

import components  # noqa: E402
import fuzzing  # noqa: E402
import sweeps  # noqa: E402
from traps import Traps  # noqa: E402
from tuning import Tune, change  # noqa: E402

if TYPE_CHECKING:
    from command_line import CommandLine

# Triton kernels run on a GPU, or else in Triton's interpreter: it must be on when that is loaded.
if not Path("/dev/nvidiactl").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")

_FUZZ_SEED = os.environ.get("GREEDYRLS_FUZZ_SEED")

settings.register_profile(
    "greedyrls",
    deadline=None,
    derandomize=_FUZZ_SEED is None,
    database=None,
    # What is drawn must not depend on how quickly other tests ran.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    phases=[phase for phase in Phase if phase is not Phase.explain],
)
settings.load_profile("greedyrls")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("greedyrls")
    group.addoption("--all", action="store_true", help="run slow tests and long sweeps, too")
    group.addoption(
        "--require-all",
        action="store_true",
        help="fail where a component (browser, compiler, Dask, ONNX, PyTorch, Triton) is missing",
    )


def pytest_configure(config: pytest.Config) -> None:
    sweeps.choose_tier(config.getoption("--all"))
    if config.getoption("--require-all"):
        components.require_all()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--all") or config.getoption("keyword") or _names_tests(config):
        chosen = items[:]
    else:
        chosen = [item for item in items if item.get_closest_marker("slow") is None]
    if _FUZZ_SEED is not None:
        chosen = [item for item in chosen if fuzzing.is_sweep(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


def _names_tests(config: pytest.Config) -> bool:
    """Whether the command line names tests one by one: these are run whatever their tier."""
    return any("::" in argument for argument in config.args)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(components.in_one_line())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    if _FUZZ_SEED is None:
        yield
        return
    with fuzzing.watched(item, _FUZZ_SEED):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Iterator[pytest.TestReport]:
    report = yield
    if _FUZZ_SEED is not None and report.failed:
        text = fuzzing.reproduction(item)
        if text is not None:
            report.sections.append(("a test that reproduces it", text))
    return report


@pytest.fixture(autouse=True)
def no_figure_stays() -> Iterator[None]:
    """Pictures of one test are closed before the next, in whatever order they run."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def tune(monkeypatch: pytest.MonkeyPatch) -> Tune:
    """Changes settings of the engine (tuning.SETTINGS) until the end of the test."""
    return partial(change, monkeypatch)


@pytest.fixture
def numpy_steps(tune: Tune) -> None:
    """Have no compiled steps: the test is about how the general engine works inside."""
    tune(compiled_steps=False)


@pytest.fixture
def module() -> ModuleType:
    """The module of compiled steps."""
    from internals import native

    found = native()
    if found is None:
        pytest.skip("needs the compiled steps")
    return found


@pytest.fixture
def traps(monkeypatch: pytest.MonkeyPatch) -> Traps:
    """Interrupts, watches or replaces calls (traps.POINTS) until the end of the test."""
    return Traps(monkeypatch)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """Runs commands in this process."""
    from command_line import CommandLine  # which needs Click

    return CommandLine(capsys)
