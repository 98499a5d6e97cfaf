"""Untrusted text, such as names in files, where it is shown."""

from __future__ import annotations


def printable(text: str) -> str:
    """Text without control characters, which could break a line or steer a terminal."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def quoted(text: str) -> str:
    """A word for a shell; what a terminal should not see is escaped, as bash and zsh read it."""
    import shlex

    if text.isprintable():
        return shlex.quote(text)
    escaped = "".join(
        letter
        if letter.isprintable() and letter not in "\\'"
        else "".join(f"\\x{byte:02x}" for byte in letter.encode(errors="surrogateescape"))
        for letter in text
    )
    return f"$'{escaped}'"
