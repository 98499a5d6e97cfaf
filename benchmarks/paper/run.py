"""Run every experiment of the paper: `python benchmarks/paper/run.py --data-dir DIR`."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    # Modules are found from the folder of all benchmarks, not from that of this script.
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from paper.command import main

    sys.exit(main())
