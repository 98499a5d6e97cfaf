"""Safe display of untrusted text, such as names in files."""

from __future__ import annotations


def printable(text: str) -> str:
    """Replace control characters, which could break a line or control a terminal."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def quoted(text: str) -> str:
    """Quote a word for a shell; control characters are escaped in the syntax of bash and zsh."""
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
