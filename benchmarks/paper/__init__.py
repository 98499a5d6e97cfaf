"""Every experiment of the paper: `python benchmarks/paper/run.py --help`."""
