"""A search that is cut off goes on from its checkpoint, and ends as if nothing had happened."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from checkpoints import MOVING, SEARCHES, Search, assert_same, assert_same_steps
from greedyrls import SelectionPath, Step, StopReason, extend_path, greedy_path
from greedyrls.files import open_npy
from internals import checkpoint as room
from traps import Traps, interrupt, interrupted_at, trapped

PLAIN = [name for name, search in SEARCHES.items() if search.estimator is None]
NESTED = ["nested", "nested size", "nested beyond", "classifier"]


def document(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_bytes())
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "search.checkpoint"


@pytest.mark.parametrize("name", SEARCHES)
def test_the_path_is_that_without_a_checkpoint(name: str, file: Path) -> None:
    search = SEARCHES[name]
    whole = search.run()
    first = search.run(file)
    assert_same(first, whole)
    written = file.read_bytes()
    again = search.run(file)
    assert_same(again, whole)
    assert again.steps == first.steps
    if name != "function":  # its steps are made again, since only its name is known
        assert again == first
        assert file.read_bytes() == written
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("name", PLAIN)
def test_interrupted_after_every_step(name: str, file: Path) -> None:
    search = SEARCHES[name]
    whole = search.run()
    told: list[Step] = []

    def callback(step: Step) -> None:
        told.append(step)
        raise KeyboardInterrupt

    path = search.run(file, callback=callback)
    while path.interrupted:
        if "joint" not in name:
            assert path.steps == tuple(told)  # each told once, and kept to the last bit
            assert_same_steps(path, whole)
            (record,) = document(file)["searches"]
            assert len(record["steps"]) == len(told)
        before = len(told)
        path = search.run(file, callback=callback)
        assert len(told) - before == path.interrupted
    assert_same(path, whole)
    if "joint" not in name:
        assert path.steps == tuple(told)


def assert_same_moves(path: SelectionPath, whole: SelectionPath) -> None:
    """The same additions and removals, as far as the path goes, and the same sets."""
    for step, same in zip(path.steps, whole.steps, strict=False):
        assert (step.action, step.features) == (same.action, same.features)
        assert step.forced == same.forced
        assert step.loss == pytest.approx(same.loss, rel=1e-11)
        assert [index for index, _ in step.runners_up] == [index for index, _ in same.runners_up]


def assert_same_result(path: SelectionPath, whole: SelectionPath) -> None:
    assert_same_moves(path, whole)
    assert len(path.steps) == len(whole.steps)
    assert path.stop_reason is whole.stop_reason
    assert [best.features for best in path.sets] == [best.features for best in whole.sets]
    assert path.chosen_size == whole.chosen_size
    np.testing.assert_allclose(path.coef(), whole.coef(), rtol=1e-8, atol=1e-12)


# Exchanges after the choice of a size are made again.
@pytest.mark.parametrize("name", [name for name in MOVING if name != "swap, size"])
def test_searches_that_remove_features_go_on_after_every_step(name: str, file: Path) -> None:
    search = MOVING[name]
    whole = search.run()
    if name.split(", ")[-1] not in ("function", "groups", "nested"):
        assert any(step.action == "remove" for step in whole.steps)
    told: list[Step] = []

    def callback(step: Step) -> None:
        told.append(step)
        raise KeyboardInterrupt

    path = None
    while path is None or path.interrupted:
        before = len(told)
        try:
            path = search.run(file, callback=callback)
        except KeyboardInterrupt:  # backward, or before the first step
            assert len(told) == before + 1
            continue
        assert len(told) - before == path.interrupted
        assert path.steps == tuple(told)
        assert_same_moves(path, whole)
    assert_same_result(path, whole)
    again = search.run(file)
    assert again.steps == path.steps
    assert_same_result(again, whole)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.parametrize("name", MOVING)
def test_searches_that_remove_features_are_killed_at_any_line(name: str, file: Path) -> None:
    search = MOVING[name]
    whole = search.run()
    lines = lines_of(search, file.with_name("other"))
    file.with_name("other").unlink()
    draw = random.Random(name)
    kills = 0
    while killed(search, file, draw.randint(1, max(2, lines // 2))) and kills < 6:
        kills += 1
        if file.exists():
            document(file)
    assert kills
    assert_same_result(search.run(file), whole)


@pytest.mark.parametrize("name", ["floating", "floating, folds", "foba", "floating, forced"])
def test_a_longer_search_that_removes_features_continues(name: str, file: Path) -> None:
    search = MOVING[name]
    whole = search.run()
    short = search._replace(n_features=3).run(file)
    assert_same_result(search.run(file), whole)
    cv, count = search.options.get("cv", "loo"), search.options.get("n_runners_up", 0)
    for path in (short, whole.truncated(3)):
        longer = extend_path(path, search.X, search.y, 7, cv=cv, n_runners_up=count)
        if search.n_features == 7:
            assert_same_result(longer, whole)
        else:
            assert_same_moves(longer, whole)
    other = extend_path(whole.truncated(2), search.X, search.y, 4, cv=cv, n_runners_up=count)
    assert_same_result(other, search._replace(n_features=4).run())


@pytest.mark.parametrize("name", ["backward", "backward, folds", "backward, forced"])
def test_larger_sets_of_a_backward_search(name: str, file: Path) -> None:
    search = MOVING[name]
    whole = search.run()
    short = search._replace(n_features=3).run(file)
    assert_same_result(search.run(file), whole)
    cv = search.options.get("cv", "loo")
    longer = extend_path(short, search.X, search.y, 5, cv=cv)
    assert longer.steps == short.steps
    assert_same_result(longer, whole)
    assert [best.forced for best in longer.sets] == [best.forced for best in whole.sets]
    with pytest.raises(ValueError, match="The data are not those of the path"):
        extend_path(short.truncated(2), search.X, search.y[::-1], 5, cv=cv)


def test_a_path_of_exchanges_does_not_grow(file: Path) -> None:
    search = MOVING["swap"]
    search._replace(n_features=3).run(file)
    with pytest.raises(ValueError, match="was made with n_features 3, not 4"):
        search.run(file)


@pytest.mark.parametrize("direction", ["floating", "backward"])
def test_a_checkpoint_of_another_direction(direction: str, file: Path) -> None:
    search = MOVING[direction]
    search.run(file)
    with pytest.raises(ValueError, match=f"was made with direction '{direction}'"):
        greedy_path(search.X, search.y, search.n_features, checkpoint=file, n_runners_up=2)


@pytest.mark.parametrize("name", NESTED)
def test_interrupted_in_every_outer_fold(name: str, file: Path, traps: Traps) -> None:
    search = SEARCHES[name]
    whole = search.run()
    begun: list[int] = []

    def cut_off(begin: Any, *args: Any, **options: Any) -> None:
        begun.append(len(begun))
        if len(begun) % 2 == 0:  # one fold is made, then the next is cut off
            raise KeyboardInterrupt
        begin(*args, **options)

    traps.around("begin outer fold", cut_off)
    path = None
    while path is None:
        try:
            path = search.run(file)
        except KeyboardInterrupt:
            finished = sum(len(stage) for stage in document(file)["outer_folds"])
            assert finished == (len(begun) + 1) // 2  # none is made twice
    assert_same(path, whole)


@pytest.mark.parametrize("name", ["nested beyond", "joint beyond"])
def test_penalties_beyond_the_grid_are_in_the_file(name: str, file: Path) -> None:
    path = SEARCHES[name].run(file)
    assert path.surface is not None
    more = len(path.surface.alphas) - 7
    assert more in (1, 2, 3)
    found = document(file)
    assert len(found["alphas"]) == 7
    if name == "joint beyond":
        assert len(found["searches"]) == 7 + more
    else:
        # The grid, no other loss, and each penalty beyond with its three folds.
        assert [len(stage) for stage in found["outer_folds"]] == [3, 0, *[3] * more]


def test_penalties_are_those_of_the_file(file: Path, traps: Traps) -> None:
    # With other threads a sum may end in another digit; the penalties must not.
    search = SEARCHES["nested size"]
    whole = search.run()
    with interrupted_at("begin outer fold", 1), pytest.raises(KeyboardInterrupt):
        search.run(file)
    traps.replace("scale penalties", interrupt)
    path = search.run(file)
    assert path.surface is not None
    assert whole.surface is not None
    assert path.surface.alphas.tolist() == whole.surface.alphas.tolist()


def test_the_loss_with_all_features_is_not_made_again(file: Path, traps: Traps) -> None:
    search = SEARCHES["all features"]
    whole = search.run()
    assert search.run(file, callback=interrupt).interrupted
    traps.replace("fit all features", interrupt)
    assert_same(search.run(file), whole)


class _Killer:
    """Kills this process at the n-th line that the package executes."""

    def __init__(self, n: int) -> None:
        self.left = n

    def call(self, frame: FrameType, event: str, arg: Any) -> Any:
        name = frame.f_globals.get("__name__", "")
        is_ours = name.startswith("greedyrls.") or name == "tempfile"
        return self.line if is_ours else None

    def line(self, frame: FrameType, event: str, arg: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.line


def killed(search: Search, file: Path, n: int) -> bool:
    """Run in a process of its own until its n-th line; whether it was killed there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads that do not come along
        child = os.fork()
    if child == 0:
        try:
            sys.settrace(_Killer(n).call)
            search.run(file)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def lines_of(search: Search, file: Path) -> int:
    """How many lines a run with a checkpoint executes."""
    counter = _Killer(0)
    before = sys.gettrace()
    sys.settrace(counter.call)
    try:
        search.run(file)
    finally:
        sys.settrace(before)
    return -counter.left


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.parametrize("name", SEARCHES)
def test_killed_at_any_line_again_and_again(name: str, file: Path) -> None:
    search = SEARCHES[name]
    whole = search.run()
    lines = lines_of(search, file.with_name("other"))
    file.with_name("other").unlink()
    draw = random.Random(name)
    kills = 0
    while killed(search, file, draw.randint(1, max(2, lines // 2))) and kills < 6:
        kills += 1
        if file.exists():
            document(file)
    assert kills
    assert_same(search.run(file), whole)


_SCRIPT = """
import sys, time
from checkpoints import SEARCHES
from greedyrls import greedy_path
search = SEARCHES["nested size"]
print("ready", flush=True)
search.run(sys.argv[1], callback=lambda step: time.sleep(0.03))
"""


@pytest.mark.slow
def test_killed_from_outside(file: Path) -> None:
    whole = SEARCHES["nested size"].run()
    places = os.pathsep.join(sys.path)
    draw = random.Random(1)
    codes = []
    for _ in range(3):
        child = subprocess.Popen(
            [sys.executable, "-c", _SCRIPT, str(file)],
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": places},
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        try:
            child.wait(draw.uniform(0.1, 0.5))
        except subprocess.TimeoutExpired:
            child.kill()
        child.stdout.close()
        codes.append(child.wait())
        if codes[-1] == 0:
            break
    assert set(codes) <= {0, -signal.SIGKILL}
    assert_same(SEARCHES["nested size"].run(file), whole)


@pytest.mark.parametrize("where", ["os.fsync", "os.replace"])
def test_cut_off_while_writing(where: str, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search = SEARCHES["leave-one-out"]
    whole = search.run()
    calls = 0
    really = getattr(os, where.removeprefix("os."))

    def trapped(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return really(*args)

    monkeypatch.setattr(where, trapped)
    path = search.run(file)
    assert path.interrupted
    assert_same_steps(path, whole)
    assert list(file.parent.iterdir()) == [file]
    assert_same(search.run(file), whole)


def test_a_part_left_by_a_killed_run_does_no_harm(file: Path) -> None:
    search = SEARCHES["folds"]
    left = file.with_name(f".{file.name}.abcdefgh.part")
    left.write_bytes(b'{"format": "greedyrls.check')
    assert_same(search.run(file), search.run())
    assert left.exists()


def test_the_file_is_whole_at_every_moment(file: Path) -> None:
    search = SEARCHES["leave-one-out"]
    ended = threading.Event()
    sizes: set[int] = set()
    torn: list[bytes] = []

    def read() -> None:
        while not ended.is_set():
            try:
                data = file.read_bytes()
            except FileNotFoundError:  # between two runs
                continue
            if not room._is_sealed(data):
                torn.append(data)
            sizes.update(len(one["steps"]) for one in json.loads(data)["searches"])

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for _ in range(5):
            search.run(file)
            file.unlink()
    finally:
        ended.set()
        reader.join()
    assert not torn
    assert len(sizes) > 2


def test_written_after_each_step(file: Path) -> None:
    seen = []

    def callback(step: Step) -> None:
        searches = document(file)["searches"]
        seen.append(len(searches[0]["steps"]) if searches else 0)

    SEARCHES["folds"].run(file, callback=callback)
    # The step itself is written once the callback has answered.
    assert seen == list(range(7))


def test_a_callback_that_says_stop_has_ended_the_search(file: Path) -> None:
    search = SEARCHES["leave-one-out"]
    path = search.run(file, callback=lambda step: step.index == 2)
    assert path.stop_reason is StopReason.CALLBACK
    again = search.run(file, callback=interrupt)
    assert again == path


def test_a_callback_killed_before_its_answer_is_asked_again(file: Path) -> None:
    search = SEARCHES["leave-one-out"]

    def fail(step: Step) -> bool:
        if step.index == 2:
            raise RuntimeError("no")
        return False

    with pytest.raises(RuntimeError):
        search.run(file, callback=fail)
    path = search.run(file, callback=lambda step: step.index == 2)
    assert_same(path, search.run(callback=lambda step: step.index == 2))


def test_stopped_by_the_callback_but_not_finished(file: Path) -> None:
    search = SEARCHES["leave-one-out"]
    with trapped() as traps:
        traps.replace("finish checkpoint", lambda self, path: None)
        path = search.run(file, callback=lambda step: step.index == 2)
    again = search.run(file, callback=interrupt)
    assert_same(again, path)


@pytest.mark.parametrize("name", ["patience", "size", "all", "leave-one-out"])
def test_killed_between_the_last_step_and_the_end(name: str, file: Path) -> None:
    search = SEARCHES[name]
    with trapped() as traps:
        traps.replace("finish checkpoint", lambda self, path: None)
        path = search.run(file)
    again = search.run(file, callback=interrupt)
    assert_same(again, path)
    assert again.steps == path.steps
    assert document(file)["path"] is not None


def test_a_numerical_limit_is_told_again(file: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 12))
    y = rng.standard_normal(6)

    def run(checkpoint: Path | None) -> SelectionPath:
        with pytest.warns(RuntimeWarning, match="smaller than the rounding"):
            return greedy_path(X, y, 12, alpha=1e-14, checkpoint=checkpoint)

    whole = run(None)
    assert whole.stop_reason is StopReason.NUMERICAL_LIMIT
    for _ in range(2):
        path = run(file)
        assert path.stop_reason is StopReason.NUMERICAL_LIMIT
        assert path.indices.tolist() == whole.indices.tolist()


@pytest.mark.parametrize("name", ["leave-one-out", "folds", "patience"])
def test_more_features_continue_a_shorter_path(name: str, file: Path) -> None:
    search = SEARCHES[name]
    whole = search.run()
    shorter = search._replace(n_features=3).run(file)
    told: list[Step] = []
    path = search.run(file, callback=told.append)
    assert_same(path, whole)
    assert path.steps[:3] == shorter.steps
    assert len(told) == len(path) - 3
    assert search.run(file) == path


def test_ways_to_compute_the_same_do_not_matter(file: Path) -> None:
    search = SEARCHES["bounded"]
    X, y = search.X, search.y
    path = greedy_path(X, y, 8, search="bounded", checkpoint=file, callback=interrupt)
    assert len(path) == 1
    apart = np.repeat(np.asfortranarray(X), 2, axis=0)[::2]
    others: dict[str, Any] = {"search": "exhaustive", "block_rows": 13, "n_jobs": 2}
    assert_same(greedy_path(apart, y, 8, checkpoint=file, **others), greedy_path(X, y, 8))


@pytest.mark.parametrize("cv", ["loo", 4])
def test_in_a_file_or_in_memory(cv: Any, file: Path) -> None:
    X, y = SEARCHES["folds"].X, SEARCHES["folds"].y
    np.save(file.with_name("X.npy"), X)
    stored = open_npy(file.with_name("X.npy"), memory_limit="100MB")
    whole = greedy_path(X, y, 8, cv=cv)
    for data in (X, stored, X, stored, stored):
        assert greedy_path(data, y, 8, cv=cv, checkpoint=file, callback=interrupt).interrupted
    assert len(document(file)["searches"][0]["steps"]) == 5
    assert_same(greedy_path(stored, y, 8, cv=cv, checkpoint=file), whole)


def test_another_folder_is_no_other_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search = SEARCHES["leave-one-out"]
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(tmp_path)
    search.run(Path("here.json"), callback=lambda step: os.chdir(other))
    assert len(document(tmp_path / "here.json")["searches"][0]["steps"]) == 8
    assert not list(other.iterdir())
