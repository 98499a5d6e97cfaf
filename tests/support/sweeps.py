"""How many problems the sweeps of random problems draw: `@settings(max_examples=EXAMPLES)`."""

from __future__ import annotations

import os

_QUICK, _ALL = 45, 150

# Test modules read it when they are imported, which is after conftest.py has chosen the tier.
EXAMPLES = _QUICK


def choose_tier(is_all: bool) -> None:
    """Set the number by tier; GREEDYRLS_EXAMPLES overrides it."""
    global EXAMPLES
    EXAMPLES = int(os.environ.get("GREEDYRLS_EXAMPLES", _ALL if is_all else _QUICK))
