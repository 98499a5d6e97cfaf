"""Kernels of Triton's in its interpreter, which must be on before Triton is loaded."""

from __future__ import annotations

import os
import subprocess
import sys


def run_in_interpreter(file: str, expected: str, *chosen: str) -> None:
    """Run the tests of a file in a process of its own, and see that as many passed."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", file]
    done = subprocess.run(
        [*command, *chosen],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert expected in done.stdout
