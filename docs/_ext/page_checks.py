"""What is checked of the pages that were written, and MathJax for those with formulas.

A broken link within the site is a warning, and warnings are errors.
"""

from __future__ import annotations

import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from docutils import nodes
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_TAG_LIST = """.. raw:: html

  <div id='sg-tag-list' class='sphx-glr-tag-list'></div>
"""
_log = logging.getLogger(__name__)


class _Page(HTMLParser):
    """What a page links to and loads, and the names of its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.without_alt: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors.update(value for name in ("id", "name") if (value := values.get(name)))
        self.links.update(value for name in ("href", "src") if (value := values.get(name)))
        source = values.get("src") or (values.get("href") if tag == "link" else None) or ""
        if tag in ("script", "img", "link") and urlsplit(source).netloc:
            self.fetched.append(source)
        if tag == "img" and "alt" not in values:
            self.without_alt.append(values.get("src") or "")


def copy_mathjax(app: Sphinx, exception: Exception | None) -> None:
    """Copy MathJax and its fonts; the package has more forms of it than we use."""
    if exception is not None or app.builder.format != "html":
        return
    source, target = Path(app.config.mathjax_files), Path(app.outdir, "_static", "mathjax")
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(source / "tex-chtml.js", target)
    fonts = Path("output", "chtml", "fonts")
    shutil.copytree(source / fonts, target / fonts, dirs_exist_ok=True)


def check_pages(app: Sphinx, exception: Exception | None) -> None:
    """Warn of links that lead nowhere, pictures without words, and files from other sites."""
    if exception is not None or app.builder.format != "html":
        return
    root = Path(app.outdir)
    # Not pages of an earlier build that have no source any more.
    names = [*app.env.found_docs, "genindex", "py-modindex", "search"]
    files = [Path(app.builder.get_outfilename(name)).resolve() for name in names]
    pages = {file: _Page(file.read_text(encoding="utf-8")) for file in files if file.exists()}
    for file, page in pages.items():
        name = file.relative_to(root.resolve())
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link == "#":
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            anchor = unquote(parts.fragment)
            if not target.exists():
                _log.warning("%s links to %s, which does not exist", name, link)
            elif anchor and target in pages and anchor not in pages[target].anchors:
                _log.warning("%s links to %s, which has no such anchor", name, link)
        for source in page.fetched:
            _log.warning("%s would load %s from another site", name, source)
        for picture in page.without_alt:
            _log.warning("%s has a picture without alternative text: %s", name, picture)


def drop_tag_lists(app: Sphinx, name: str, content: list[str]) -> None:
    """Remove the gallery's lists of tags, which are empty and have the same id in every section."""
    if name.startswith("gallery/"):
        content[0] = content[0].replace(_TAG_LIST, "")


def mark_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Give cells of tables that say yes or no a class, for their colour."""
    for cell in doctree.findall(nodes.entry):
        if (word := cell.astext().strip()) in ("yes", "no"):
            cell["classes"].append(word)


def setup(app: Sphinx) -> dict[str, bool]:
    """Run at the end of a build."""
    app.add_config_value("mathjax_files", "", "html")
    app.connect("source-read", drop_tag_lists)
    app.connect("doctree-read", mark_cells)
    app.connect("build-finished", copy_mathjax, priority=100)
    app.connect("build-finished", check_pages, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
