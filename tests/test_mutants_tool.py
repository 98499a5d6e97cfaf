"""The tool that runs mutants: which tests it takes, what it leaves alone, what it draws."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from project import TOOLS

# After everything else: the folder is not a package.
sys.path.append(str(TOOLS))

import imported_by
import mutants

INIT = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from ._types import Kind
_PACKAGES = {"fit": "_fit"}
"""
FILES = {
    "src/greedyrls/__init__.py": INIT,
    "src/greedyrls/_fit.py": "from . import _sums\n",
    "src/greedyrls/_sums.py": "def total():\n    from ._tiny import least\n    return least\n",
    "src/greedyrls/_tiny.py": "least = 1\n",
    "src/greedyrls/_types.py": "Kind = int\n",
    "src/greedyrls/cli/__init__.py": "from .._sums import total\n",
    "src/greedyrls/cli/_run.py": "from ._app import app\n",
    "src/greedyrls/cli/_app.py": "app = 1\n",
    "tests/support/helper.py": "from greedyrls import fit\n",
    "tests/test_far.py": "from helper import fit\n",
    "tests/test_lazy.py": "from greedyrls import fit\n",
    "tests/test_attribute.py": "import greedyrls\ngreedyrls.fit\n",
    "tests/test_word.py": "from greedyrls import fit\ntotal = fit\n",
    "tests/sums/test_direct.py": "import greedyrls._sums as sums\n",
    "tests/fit/test_sum.py": "from helper import fit\n",
    "tests/cli/deep/test_run.py": "from greedyrls.cli._run import app\n",
    "tests/test_none.py": "import json\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tmp_path


def test_tests_that_import_a_module_nearest_first(root: Path) -> None:
    graph = imported_by.import_graph(root)
    names = imported_by.files_testing(graph, "greedyrls._sums", 99, root)
    # By itself; by name; through a package; lazily, with most words of the module first; a helper.
    assert [Path(name).stem for name in names] == [
        *("test_direct", "test_sum", "test_word", "test_attribute", "test_lazy", "test_run"),
        "test_far",
    ]
    assert imported_by.files_testing(graph, "greedyrls._sums", 2, root) == names[:2]
    assert names[:2] == ["tests/sums/test_direct.py", "tests/fit/test_sum.py"]
    assert imported_by.files_testing(graph, "greedyrls._types", 99, root) == []
    # Of two that import it through a helper, the one in the folder of its package.
    names = imported_by.files_testing(graph, "greedyrls._fit", 99, root)
    assert names[-2:] == ["tests/fit/test_sum.py", "tests/test_far.py"]


def test_a_package_stands_for_its_modules(root: Path) -> None:
    names = ["greedyrls.cli", "greedyrls.cli._app", "greedyrls.cli._run"]
    assert imported_by.modules_of("greedyrls.cli", root) == names
    assert imported_by.modules_of("greedyrls._fit", root) == ["greedyrls._fit"]


def test_distances_count_imports(root: Path) -> None:
    graph = imported_by.import_graph(root)
    assert graph["greedyrls.cli._run"] == {"greedyrls", "greedyrls.cli", "greedyrls.cli._app"}
    assert imported_by.distances(graph, "greedyrls._sums") == {
        **{"greedyrls._sums": 0, "greedyrls._fit": 1, "greedyrls.cli": 1, "test_direct": 1},
        **{"greedyrls.cli._run": 2, "test_run": 2, "helper": 2},
        **{"test_lazy": 2, "test_attribute": 2, "test_word": 2, "test_far": 3, "test_sum": 3},
    }


def test_names_of_modules(root: Path) -> None:
    path = str(root / "src" / "greedyrls" / "cli" / "__init__.py")
    for name in ("cli", "greedyrls.cli", path):
        assert imported_by.full_name(name, root) == "greedyrls.cli"
    with pytest.raises(SystemExit, match=r"no module greedyrls\._other"):
        imported_by.full_name("_other", root)


@pytest.mark.slow
def test_every_module_of_the_package_is_tested() -> None:
    graph = imported_by.import_graph()
    for module in graph:
        if module.startswith("greedyrls.") and module != "greedyrls.__main__":
            importers = imported_by.distances(graph, module)
            assert any(name.startswith("test_") for name in importers), module


CODE = '''
"""About this."""
from __future__ import annotations
from typing import TYPE_CHECKING, Protocol
if TYPE_CHECKING:
    import json
Rows = tuple[int, 2]
Kind = int | None
class Sized(Protocol):
    @property
    def size(self) -> int: ...
class Box:
    """A box."""
    side: int | None = 1
def area(side: int | None, *, scale: float = 2.0) -> int | None:
    """Its area."""
    total: int | None = side * side
    return total
'''


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("About this", "About that"),
        ("A box", "A crate"),
        ("Its area", "Its size"),
        ("if TYPE_CHECKING", "if not TYPE_CHECKING"),
        ("tuple[int, 2]", "tuple[int, 3]"),
        ("Kind = int | None", "Kind = int & None"),
        ("    @property\n", ""),
        ("side: int | None = 1", "side: int & None = 1"),
        ("area(side: int | None", "area(side: int & None"),
        ("-> int | None", "-> int & None"),
        ("total: int | None", "total: int ^ None"),
    ],
)
def test_changes_of_no_consequence(before: str, after: str) -> None:
    assert before in CODE
    assert mutants.stripped(CODE.replace(before, after)) == mutants.stripped(CODE)


@pytest.mark.parametrize(
    ("before", "after"),
    [("= 1", "= 2"), ("2.0", "3.0"), ("side * side", "side + side"), ("return", "return not")],
)
def test_changes_of_consequence(before: str, after: str) -> None:
    assert before in CODE
    assert mutants.stripped(CODE.replace(before, after)) != mutants.stripped(CODE)


def test_samples_depend_on_the_seed_alone() -> None:
    places = [(module, "AddNot", number) for module in ("b", "a") for number in range(20)]
    order = mutants.shuffled(places, 3)
    assert sorted(order) == sorted(places)
    assert mutants.shuffled(reversed(places), 3) == order
    assert mutants.shuffled(places, 4) != order


def test_accepted_mutants_need_a_reason(tmp_path: Path) -> None:
    mutant = mutants.Mutant("greedyrls._fit", "AddNot", 0, 7, "if a:", "if not a:")
    entry = {"module": mutant.module, "operator": mutant.operator, "line": 90}
    entry |= {"before": mutant.before, "after": mutant.after}
    file = tmp_path / "accepted.json"
    file.write_text(json.dumps([entry]), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"greedyrls\._fit:90 has no reason"):
        mutants.accepted_in(file)
    file.write_text(json.dumps([entry | {"reason": "a is always true"}]), encoding="utf-8")
    assert mutants.accepted_in(file) == {mutant.key}  # though the line has moved
    assert mutants.accepted_in(None) == set()
