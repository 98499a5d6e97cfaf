"""Configuration of the documentation site: ``python3 dev.py docs`` builds it.

Nothing is fetched while it is built. Inventories of other projects are in ``_inventories/``,
MathJax comes from a package, and so do the fonts of the theme.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from sphinx_gallery.sorting import ExplicitOrder

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]

import inventories  # noqa: E402

import greedyrls  # noqa: E402
from greedyrls import assess  # noqa: E402

project = "greedyrls"
author = "The greedyrls developers"
copyright = author
version = release = greedyrls.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "api_pages",
    "page_checks",
    "result_pages",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "gallery_src"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
smartquotes = False  # quotes in types are those of Python
default_role = "py:obj"
toc_object_entries_show_parents = "hide"
nitpicky = True
nitpick_ignore_regex = [
    # Types in prose ("array-like of shape (m, n)") and names that users do not see.
    ("py:class", r"^(?!greedyrls\.(Greedy|Linear|Selection|Step|Stop|Size|Alpha|Counters)).*"),
    ("py:(obj|data|attr|meth|func|mod|exc)", r"(?!greedyrls\.[A-Za-z_]+$).*"),
]
# Excerpts of generated code have an ellipsis in them.
suppress_warnings = ["config.cache", "misc.highlighting_failure"]

# Markdown.
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

# The API reference.
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {
    **{name: f"greedyrls.{name}" for name in greedyrls.__all__ if name[0].isupper()},
    **{name: f"greedyrls.assess.{name}" for name in assess.__all__ if name[0].isupper()},
    "DataFrame": "pandas.DataFrame",
    "Generator": "numpy.random.Generator",
    "ndarray": "numpy.ndarray",
}
intersphinx_mapping = inventories.mapping(HERE / "_inventories")

# Mathematics: MathJax from a package, with its fonts (see `page_checks`).
mathjax_path = "mathjax/tex-chtml.js"
_mathjax = find_spec("sphinx-mathjax-offline")
if _mathjax is None or _mathjax.origin is None:
    raise RuntimeError("sphinx-mathjax-offline is not installed: python3 dev.py docs installs it")
mathjax_files = str(Path(_mathjax.origin).parent / "static" / "mathjax")

# The gallery: groups and examples in the order of reading.
_gallery = {
    "first_steps": ("regression", "classes", "text"),
    "choosing": ("size", "penalty", "losses", "patients", "time"),
    "honesty": ("optimism", "stability", "permutation"),
    "beyond": ("costs", "categories", "floating", "ranking", "kernel_centres", "files"),
    "comparisons": ("lasso", "abess"),
}
sphinx_gallery_conf = {
    "examples_dirs": "gallery_src",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "subsection_order": ExplicitOrder([f"gallery_src/{group}" for group in _gallery]),
    "within_subsection_order": ExplicitOrder(
        [f"plot_{name}.py" for names in _gallery.values() for name in names]
    ),
    "thumbnail_size": (480, 320),
    "backreferences_dir": "reference/backreferences",
    "doc_module": ("greedyrls",),
    "reference_url": {"greedyrls": None},
    "matplotlib_animations": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "default_thumb_file": str(HERE / "images" / "path.png"),
    "download_all_examples": False,
}

# The theme.
html_theme = "pydata_sphinx_theme"
html_title = "greedyrls"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = _logo = "_static/favicon.svg"
html_context = {"default_mode": "auto"}
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "logo": {"text": "greedyrls", "image_light": _logo, "image_dark": _logo},
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "show_prev_next": True,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    # Pages with something wide have no room for one.
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        **{page: [] for page in ("index", "guide/capabilities", "gallery/index")},
    },
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "search_as_you_type": False,
}
# Pages that are the only one of their section need no list of its pages.
html_sidebars = {page: [] for page in ("index", "theory", "changelog", "gallery/index")}
