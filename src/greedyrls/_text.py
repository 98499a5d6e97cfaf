"""Untrusted text, such as names in files, where it is shown."""

from __future__ import annotations


def printable(text: str) -> str:
    """Text without control characters, which could break a line or steer a terminal."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )
