"""Tasks in processes of their own, each answer kept in a file: a run that was stopped goes on."""

from __future__ import annotations

import json
import multiprocessing
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from harness import machine
from harness.writer import read_json, write_compact_json

_REFRESH_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Task:
    """A call whose answer is a dictionary, the file that keeps it, and what it is good for.

    An answer is used again only where `settings` are what they were. `cost` is about how many
    seconds it takes, for the progress bar.
    """

    name: str
    call: Callable[..., dict[str, Any]]
    arguments: tuple[Any, ...]
    file: Path
    settings: dict[str, Any]
    cost: float


class Bar(Protocol):
    """What is used of a tqdm bar."""

    def update(self, n: float) -> Any: ...

    def set_description_str(self, desc: str) -> Any: ...

    def refresh(self) -> Any: ...


def kept(task: Task) -> dict[str, Any] | None:
    """The answer of an earlier run, if it was to the same question."""
    if not task.file.is_file():
        return None
    content = read_json(task.file)
    # As they read after a round trip: a tuple comes back as a list.
    if content.get("task_settings") != json.loads(json.dumps(task.settings)):
        return None
    answer: dict[str, Any] = content["answer"]
    return answer


def run(
    tasks: Sequence[Task], bar: Bar, *, jobs: int, threads: int, fresh_processes: bool = False
) -> list[dict[str, Any]]:
    """The answers in the order of the tasks, those that are kept taken from their files.

    Each process gets `threads` threads; with `fresh_processes` each task has one of its own.
    """
    answers = {task.name: answer for task in tasks if (answer := kept(task)) is not None}
    bar.update(sum(task.cost for task in tasks if task.name in answers))
    left = [task for task in tasks if task.name not in answers]
    if left:
        machine.pin_threads(threads)
        pool = ProcessPoolExecutor(
            min(jobs, len(left)),
            # Forked processes would have the number of threads of this one.
            mp_context=multiprocessing.get_context("spawn"),
            # Ctrl-C is for this process, which then ends the others.
            initializer=signal.signal,
            initargs=(signal.SIGINT, signal.SIG_IGN),
            max_tasks_per_child=1 if fresh_processes else None,
        )
        try:
            futures = {pool.submit(task.call, *task.arguments): task for task in left}
            _collect(futures, answers, bar)
        except BaseException:
            # What runs now may take minutes more, and nobody waits for it.
            for process in multiprocessing.active_children():
                process.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
    return [answers[task.name] for task in tasks]


def _collect(
    futures: dict[Future[dict[str, Any]], Task], answers: dict[str, dict[str, Any]], bar: Bar
) -> None:
    """Keep each answer as soon as it is there."""
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, _REFRESH_SECONDS, FIRST_COMPLETED)
        for future in done:
            task = futures[future]
            answer = future.result()
            write_compact_json(task.file, {"task_settings": task.settings, "answer": answer})
            answers[task.name] = answer
            bar.set_description_str(task.name)
            bar.update(task.cost)
        # The clock moves on a screen; in a log every tick would be a line.
        if sys.stderr.isatty():
            bar.refresh()
