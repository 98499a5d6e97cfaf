"""Run random mutants of modules against the tests that import them.

    python3 dev.py mutants _criteria._choice _search._directions --count 24 --seed 0
    python3 dev.py mutants _criteria _features --count 300 --seed 0     all modules of packages

A mutant is a module with one small change: another operator, a number plus or minus 1, a condition
negated. Tests that pass all the same do not check that line. cosmic-ray makes the mutants. Each is
tested in a copy of the package, so the working tree is never changed.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from imported_by import (
    PACKAGE,
    ROOT,
    file_of,
    files_testing,
    full_name,
    import_graph,
    is_for_types,
    modules_of,
)

# Replacements within a group can go unnoticed. Others raise an error in the first test that comes
# there, or compare the identity of numbers and strings.
_OPERATOR_GROUPS = (
    {"Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow"},
    {"BitOr", "BitAnd", "BitXor"},
    {"Eq", "NotEq", "Lt", "LtE", "Gt", "GtE"},
    {"Is", "IsNot"},
)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a module."""

    module: str
    operator: str
    occurrence: int
    line: int
    before: str
    after: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What identifies it in a list of accepted mutants, also after lines have moved."""
        return self.module, self.operator, self.before, self.after


class _Stripped(ast.NodeTransformer):
    """Removes whatever cannot change a result: annotations, docstrings, protocols, type aliases."""

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        node.annotation = ast.Constant(None)  # a field of a dataclass needs one
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.returns = None
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST | None:
        is_protocol = any(ast.unparse(base) == "Protocol" for base in node.bases)
        return None if is_protocol else self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return None if node.module == "__future__" else node

    def visit_If(self, node: ast.If) -> ast.AST | None:
        return None if is_for_types(node) else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        is_alias = isinstance(node.value, ast.Subscript | ast.BinOp) and all(
            isinstance(name, ast.Name) and re.fullmatch(r"_?([A-Z]+[a-z]+)+", name.id)
            for name in node.targets
        )
        return None if is_alias else self.generic_visit(node)


def stripped(code: str) -> str:
    """The syntax tree of a module, without what cannot change a result."""
    return ast.dump(_Stripped().visit(ast.parse(code)))


def shuffled(items: Iterable[tuple[str, str, int]], seed: int) -> list[tuple[str, str, int]]:
    """All of them in an order that depends on the seed alone."""
    ordered = sorted(items)
    random.Random(seed).shuffle(ordered)
    return ordered


def _is_useful(operator: str) -> bool:
    """Whether mutants of an operator may go unnoticed."""
    match = re.search(r"(?:Binary|Comparison)Operator_(\w+)_(\w+)$", operator)
    return match is None or any(set(match.groups()) <= group for group in _OPERATOR_GROUPS)


def all_places(module: str) -> Iterator[tuple[str, str, int]]:
    """Every (module, operator, occurrence) that cosmic-ray can change."""
    from cosmic_ray import plugins
    from cosmic_ray.ast import ast_nodes, get_ast

    nodes = list(ast_nodes(get_ast(file_of(module).read_text(encoding="utf-8"))))
    for name in filter(_is_useful, plugins.operator_names()):
        operator = plugins.get_operator(name)
        if not operator.arguments():
            count = sum(len(list(operator().mutation_positions(node))) for node in nodes)
            yield from ((module, name.rpartition("/")[2], number) for number in range(count))


def mutated(module: str, operator: str, occurrence: int) -> tuple[Mutant, str] | None:
    """A mutant and its code, unless the change is of no consequence."""
    from cosmic_ray import mutating, plugins

    code = file_of(module).read_text(encoding="utf-8")
    changed = mutating.mutate_code(code, plugins.get_operator(f"core/{operator}")(), occurrence)
    try:
        if changed is None or stripped(changed) == stripped(code):
            return None
    except SyntaxError:
        return None
    old, new = code.splitlines(), changed.splitlines()
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    _, first, last, start, stop = next(part for part in matcher.get_opcodes() if part[0] != "equal")
    before, after = (
        " ".join(map(str.strip, lines)).strip() for lines in (old[first:last], new[start:stop])
    )
    return Mutant(module, operator, occurrence, first + 1, before, after), changed


def sample(modules: Sequence[str], count: int, seed: int) -> list[tuple[Mutant, str]]:
    """Some mutants with their code, each of consequence as likely as any other."""
    places = shuffled((place for module in modules for place in all_places(module)), seed)
    mutants: list[tuple[Mutant, str]] = []
    for place in places:
        if len(mutants) == count:
            break
        if (mutant := mutated(*place)) is not None:
            mutants.append(mutant)
    return mutants


def environment_of(source: Path) -> dict[str, str]:
    """The environment of tests that import the package from `source`."""
    # With CI set the examples of hypothesis are the same in every run.
    defaults = {"GREEDYRLS_EXAMPLES": "100", "CI": "1"}
    return defaults | os.environ | {"PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"}


def run_tests(source: Path, tests: Sequence[str], limit: float | None = None) -> int | None:
    """The exit code of pytest with the package from `source`; None after the time limit."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    # To a file: processes that tests started may outlive pytest and keep a pipe open.
    with (
        open(source / "output.txt", "w", encoding="utf-8") as output,
        subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment_of(source),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)  # with what the tests started
            process.kill()
            return None


def check_import(source: Path) -> None:
    """Leave if tests would not import the package from `source`."""
    show = [sys.executable, "-c", f"import {PACKAGE}; print({PACKAGE}.__file__)"]
    where = subprocess.check_output(show, cwd=ROOT, env=environment_of(source), text=True)
    if not Path(where.strip()).is_relative_to(source):
        sys.exit(f"Tests would import {where.strip()} rather than the copy in {source}.")


def checked(base: Path, tests: Sequence[str]) -> float:
    """Seconds that the tests take without a mutant; leaves if they do not pass."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        source = Path(folder).resolve()
        shutil.copytree(base / PACKAGE, source / PACKAGE)
        if code := run_tests(source, tests):
            tail = (source / "output.txt").read_text(encoding="utf-8").splitlines()[-20:]
            failure = f"Without a mutant pytest ends with code {code}: see above."
            sys.exit("\n".join([*tail, failure]))
    seconds = time.perf_counter() - began
    print(f"Without a mutant {' '.join(tests)} passed in {seconds:.0f} s", flush=True)
    return seconds


def verdict(base: Path, mutant: Mutant, code: str, tests: Sequence[str], limit: float) -> str:
    """Whether the tests notice a mutant."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        source = Path(folder).resolve()
        shutil.copytree(base / PACKAGE, source / PACKAGE)
        file = source / file_of(mutant.module).relative_to(ROOT / "src")
        file.write_text(code, encoding="utf-8")
        # Compiled files of the copy are up to date, apart from that of the mutant.
        for compiled in file.parent.glob(f"__pycache__/{file.stem}.*"):
            compiled.unlink()
        exit_code = run_tests(source, tests, limit)
    return "timed out" if exit_code is None else "killed" if exit_code else "survived"


def accepted_in(file: Path | None) -> set[tuple[str, str, str, str]]:
    """Mutants that were reviewed; each must come with a reason."""
    entries = [] if file is None else json.loads(file.read_text(encoding="utf-8"))
    for entry in entries:
        if not entry.get("reason"):
            sys.exit(f"{file}: {entry['module']}:{entry['line']} has no reason.")
    return {
        tuple(entry[name] for name in ("module", "operator", "before", "after"))
        for entry in entries
    }


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "modules",
        nargs="+",
        metavar="MODULE",
        help="name or path of a module, such as _criteria._choice, or a package",
    )
    parser.add_argument("--count", type=int, default=24, help="mutants of all modules together")
    parser.add_argument("--skip", type=int, default=0, help="the first so many, tested before")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at a time")
    parser.add_argument("--most-files", type=int, default=12, help="test files for each module")
    parser.add_argument("--tests", help="arguments for pytest instead of the tests that import it")
    parser.add_argument("--limit", type=float, help="seconds for each mutant")
    parser.add_argument("--survivors", type=Path, help="write the survivors to this JSON file")
    parser.add_argument("--accepted", type=Path, help="survivors with reasons, as such a file")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Test mutants; the exit code is 1 if any survived that is not accepted."""
    options = parsed(arguments)
    accepted, graph = accepted_in(options.accepted), import_graph()
    tests = {
        module: shlex.split(options.tests or "") or files_testing(graph, module, options.most_files)
        for name in options.modules
        for module in modules_of(full_name(name))
    }
    mutants = sample(list(tests), options.count, options.seed)[options.skip :]
    limits: dict[tuple[str, ...], float] = {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        base = Path(folder).resolve()
        shutil.copytree(ROOT / "src" / PACKAGE, base / PACKAGE)
        check_import(base)
        selections = list({tuple(tests[mutant.module]): None for mutant, _ in mutants})
        with ThreadPoolExecutor(options.jobs) as pool:
            times = list(pool.map(partial(checked, base), selections))
        for files, seconds in zip(selections, times, strict=True):
            limits[files] = options.limit or 60.0 + 3.0 * seconds

        def judge(item: tuple[Mutant, str]) -> tuple[Mutant, str]:
            mutant, code = item
            files = tests[mutant.module]
            result = verdict(base, mutant, code, files, limits[tuple(files)])
            is_accepted = result == "survived" and mutant.key in accepted
            return mutant, "accepted" if is_accepted else result

        results = []
        with ThreadPoolExecutor(options.jobs) as pool:
            for mutant, result in pool.map(judge, mutants):
                results.append((mutant, result))
                where = f"{file_of(mutant.module).relative_to(ROOT)}:{mutant.line}"
                change = f"{mutant.before}  →  {mutant.after or '(removed)'}"
                print(f"{result:9}  {where}  {mutant.operator}  {change}", flush=True)
    counts = Counter(result for _, result in results)
    noticed = counts["killed"] + counts["timed out"]
    share = f"{noticed / len(results):.0%}" if results else "none"
    print(f"{len(results)} mutants, {share} killed: {dict(counts)}")
    survivors = [asdict(mutant) for mutant, result in results if result == "survived"]
    if options.survivors is not None:
        text = json.dumps(survivors, indent=2, ensure_ascii=False)
        options.survivors.write_text(text + "\n", encoding="utf-8")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
