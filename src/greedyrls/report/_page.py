"""The page: template, style sheet and script combined into one self-contained file."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from importlib import resources
from typing import TYPE_CHECKING, Any

from ..app import SelectionResult
from ._contents import make_contents
from ._words import plain

if TYPE_CHECKING:
    import jinja2

_STYLES = ("colours.css", "page.css", "charts.css", "print.css")
_SCRIPTS = ("start.js", "model.js", "charts.js", "surface.js", "methods.js")
# Characters that could end the enclosing element, or a line of a script, are escaped.
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def render(result: SelectionResult) -> str:
    """Return the whole page as text."""
    environment = _environment()
    contents, data = make_contents(result)
    style, script = style_sheet(), _wrapped(_joined(_SCRIPTS))
    return environment.get_template("page.html").render(
        contents,
        style=style,
        script=script,
        policy=policy(style, script),
        data=data_block(data),
    )


def policy(style: str, script: str) -> str:
    """Return a content security policy: load nothing, and run only this script, by its hash.

    Even text that became an element by mistake would not run.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def data_block(data: Any) -> str:
    """Return data as JSON that is safe within an element of a page.

    >>> data_block({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPES)


@functools.cache
def _environment() -> jinja2.Environment:
    try:
        import jinja2
    except ImportError as error:
        raise ImportError("Reports need Jinja2: pip install 'greedyrls[cli]'.") from error

    return jinja2.Environment(
        loader=jinja2.FunctionLoader(_template),
        # Feature names are untrusted.
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: Any) -> Any:
    """Return texts on one line without unprintable characters; markup is left unchanged.

    A value and its error stay on one line.
    """
    if type(value) is not str:
        return value
    return plain(value).replace(" ± ", "\u00a0±\u00a0").replace(" ×10", "\u00a0×10")


def _template(name: str) -> str:
    file = resources.files(__package__) / "templates" / name
    return file.read_text(encoding="utf-8")


def style_sheet() -> str:
    """Return all styles; the dark colours of the system and of the reader are the same."""
    return _joined(_STYLES).replace("/* dark.css */", _template("dark.css"))


def _joined(names: tuple[str, ...]) -> str:
    return "\n".join(_template(name) for name in names)


def _wrapped(script: str) -> str:
    """Wrap a script in a function, so that it defines no global names."""
    return f'"use strict";\n(() => {{\n{script}\n}})();\n'


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
