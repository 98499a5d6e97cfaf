"""Which tests import a module of the package, found without running anything."""

from __future__ import annotations

import ast
import re
import sys
from collections import deque
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "greedyrls"
Defined = ast.FunctionDef | ast.ClassDef


def file_of(module: str, root: Path = ROOT) -> Path:
    """The file of a module in the package."""
    path = root.joinpath("src", *module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def full_name(name: str, root: Path = ROOT) -> str:
    """The dotted name of a module that is given as a name or as a path."""
    if name.endswith(".py"):
        name = ".".join(Path(name).resolve().relative_to(root / "src").with_suffix("").parts)
        name = name.removesuffix(".__init__")
    if name.split(".")[0] != PACKAGE:
        name = f"{PACKAGE}.{name}"
    if not file_of(name, root).exists():
        sys.exit(f"There is no module {name} in {root / 'src'}.")
    return name


def modules_of(name: str, root: Path = ROOT) -> list[str]:
    """A module itself, or all modules of a package."""
    file = file_of(name, root)
    if file.name != "__init__.py":
        return [name]
    paths = (path.relative_to(root / "src") for path in sorted(file.parent.rglob("*.py")))
    return [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in paths]


def is_for_types(node: ast.If) -> bool:
    """Whether a block is only for type checkers, also after the condition was negated."""
    test = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def imported(file: Path, module: str, modules: set[str], lazy: dict[str, str]) -> set[str]:
    """Modules that a file imports, at its top or later; lazy names are those of the package."""
    nodes = deque([ast.parse(file.read_text(encoding="utf-8"))])
    found: set[str] = set()
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    while nodes:
        node = nodes.popleft()
        if isinstance(node, ast.If) and is_for_types(node):
            continue
        nodes.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) + 1 - node.level]
            source = ".".join([*(parts if node.level else []), *filter(None, [node.module])])
            found |= {source, *(f"{source}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == PACKAGE:
            found.add(f"{PACKAGE}.{node.attr}")
    found |= {lazy[name] for name in found & lazy.keys()}
    # Importing a module runs its packages, too.
    found |= {name[: dot.start()] for name in found for dot in re.finditer(r"\.", name)}
    return (found & modules) - {module}


def files_of_tests(root: Path = ROOT) -> dict[str, Path]:
    """The files of tests and of their helpers by name; no two have the same."""
    return {file.stem: file for file in sorted((root / "tests").rglob("*.py"))}


def import_graph(root: Path = ROOT) -> dict[str, set[str]]:
    """What every module of the package and every file of tests imports of these."""
    files = {}
    for file in sorted((root / "src" / PACKAGE).rglob("*.py")):
        name = ".".join(file.relative_to(root / "src").with_suffix("").parts)
        files[name.removesuffix(".__init__")] = file
    files |= files_of_tests(root)
    lazy: dict[str, str] = {}
    for stub in (root / "src" / PACKAGE).rglob("__init__.pyi"):
        package = ".".join(stub.parent.relative_to(root / "src").parts)
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    lazy[f"{package}.{alias.name}"] = f"{package}.{node.module}"
    for node in ast.parse(files[PACKAGE].read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_PACKAGES":
            table: dict[str, str] = ast.literal_eval(node.value)
            for name, home in table.items():
                inner = f"{PACKAGE}.{home}.{name}"
                lazy[f"{PACKAGE}.{name}"] = lazy.get(inner, f"{PACKAGE}.{home}")
    return {name: imported(file, name, set(files), lazy) for name, file in files.items()}


def distances(graph: dict[str, set[str]], module: str) -> dict[str, int]:
    """How many imports lead from each file to a module, if any do."""
    importers: dict[str, list[str]] = {name: [] for name in graph}
    for name, targets in graph.items():
        for target in targets:
            importers[target].append(name)
    hops, queue = {module: 0}, deque([module])
    while queue:
        name = queue.popleft()
        for importer in importers[name]:
            if importer not in hops:
                hops[importer] = hops[name] + 1
                queue.append(importer)
    return hops


def files_testing(
    graph: dict[str, set[str]], module: str, most: int, root: Path = ROOT
) -> list[str]:
    """Test files that import a module, nearest first.

    Those that import it themselves or are named after it come first, then those in the folder of
    its package, then those with the fewest imports on the way, and of these the ones that have most
    of its words: its functions and classes, and the options that it knows.
    """
    tree = ast.parse(file_of(module, root).read_text(encoding="utf-8"))
    words = {node.name for node in ast.walk(tree) if isinstance(node, Defined)} | {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    name_words = _name_words(module.rpartition(".")[2])
    hops, paths = distances(graph, module), files_of_tests(root)

    folder = root / "tests" / [*module.split("."), ""][1].lstrip("_")

    def rank(name: str) -> tuple[bool, bool, int, int, str]:
        text = paths[name].read_text(encoding="utf-8")
        is_near = hops[name] == 1 or name_words <= _name_words(name)
        is_elsewhere = not paths[name].is_relative_to(folder)
        n_words = len(words & set(re.findall(r"\w+", text)))
        return not is_near, is_elsewhere, hops[name], -n_words, name

    files = sorted((name for name in hops if name.startswith("test_")), key=rank)
    return [paths[name].relative_to(root).as_posix() for name in files[:most]]


def _name_words(name: str) -> set[str]:
    """The words of a name, whether singular or plural."""
    return {word.removesuffix("s") for word in name.strip("_").split("_")}
