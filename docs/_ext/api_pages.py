"""Pages of the API reference: which members they have, and links from docstrings to guides."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_PAGE = re.compile(r"`*docs/((?:guide/|reference/|benchmarks/)?[\w-]+)\.md`*")


def link_guides(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Turn names of guides (docs/guide/gpu.md) into links."""
    lines[:] = [_PAGE.sub(r":doc:`/\1`", line) for line in lines]


def skip_inherited(
    app: Sphinx, what: str, name: str, thing: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out members that scikit-learn documents."""
    function = getattr(thing, "fget", None) or thing
    module = getattr(function, "__module__", None) or ""
    return True if module.startswith("sklearn") else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to autodoc, before numpydoc."""
    app.connect("autodoc-process-docstring", link_guides, priority=100)
    app.connect("autodoc-skip-member", skip_inherited)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
