"""Tolerances of the engine, each in one place."""

from __future__ import annotations

# Losses this close (relatively) are a tie, and the lowest index wins.
TIE = 1e-10
