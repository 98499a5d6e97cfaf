"""Results of benchmarks as pages of the site.

Pages link to ``benchmarks/results/*.md`` by their path in the repository, where the links work as
well. Here these files are copied to a generated folder, and links to them lead there.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_HOW = "README.md"
_FOLDER = "benchmarks/results"
_HEADINGS = {
    "simulations/claims.md": "Claims by simulation",
    "simulations/coverage.md": "Coverage of intervals: all cells",
}
_LINK = re.compile(r"\]\((?:\.\./)+benchmarks/(?:results/(?P<page>[\w/]+)\.md|(?P<how>README\.md))")


def copy_results(app: Sphinx) -> None:
    """Write the pages, and touch none that has not changed."""
    source = Path(app.srcdir).parent / "benchmarks"
    target = Path(app.srcdir) / _FOLDER
    # Those that begin with a heading or get one; others are parts of tables.
    texts = {}
    for page in source.glob("results/*.md"):
        texts[page.name] = page.read_text("utf-8")
    for name, heading in _HEADINGS.items():
        texts[name] = f"# {heading}\n\n{(source / 'results' / name).read_text('utf-8')}"
    texts = {name: text for name, text in texts.items() if text.startswith("# ")}
    texts["running.md"] = (source / _HOW).read_text("utf-8").replace("](results/", "](")
    for name, text in texts.items():
        text = re.sub(r"\]\((?:\.\./)+docs/", "](/", text)
        file = target / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")


def lead_there(app: Sphinx, name: str, content: list[str]) -> None:
    """Change links from the file in the repository to the page of the site."""
    content[0] = _LINK.sub(
        lambda match: f"](/{_FOLDER}/{match['page'] or 'running'}.md", content[0]
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Copy before pages are looked for."""
    app.connect("builder-inited", copy_results, priority=100)
    app.connect("source-read", lead_there)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
