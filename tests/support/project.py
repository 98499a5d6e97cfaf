"""Where the project's own files are: guides, tools, golden files."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
GUIDES = ROOT / "docs" / "guide"
SITE = ROOT / "docs" / "_build" / "html"
TESTS = ROOT / "tests"
TOOLS = ROOT / "tools"
