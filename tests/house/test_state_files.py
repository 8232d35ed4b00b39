"""Names in the state folder stand in one module: nobody else spells them, and no command loads a
daemon to learn one.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from oborona import state_files
from oborona.daemon.state import prepare_state

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src/oborona"
NAMES = {
    value for name, value in vars(state_files).items() if name.isupper() and isinstance(value, str)
}
TOLD_APART = {name for name in NAMES if "." in name}  # the others are words that mean much else
BESIDE = ("-wal", "-shm")  # SQLite's own, beside each of its files
STARTS_THE_DAEMON = "oborona.cli.processes"
IN_DOCS = re.compile(r"`(?:counters/)?([a-z-]+(?:\.[a-z]+)*\.(?:db|mdb|lock|weights|known|table))`")
OF_OTHERS = {"requirements.lock", "policy.known"}  # the second is a fact


def modules() -> Iterator[Path]:
    """Yield all modules of the product, each once."""
    for folder in (PACKAGE, *(link for link in PACKAGE.iterdir() if link.is_symlink())):
        yield from sorted(folder.rglob("*.py"))


def literals(path: Path) -> Iterator[str]:
    """Yield the strings of a module but its docstrings."""
    tree = ast.parse(path.read_text())
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


def command_modules() -> list[str]:
    """Return the names of the command line's modules."""
    paths = (path.relative_to(PACKAGE).with_suffix("") for path in (PACKAGE / "cli").rglob("*.py"))
    return sorted(f"oborona.{'.'.join(path.parts)}".removesuffix(".__init__") for path in paths)


def test_a_name_in_the_state_folder_is_spelled_once() -> None:
    spelled = [
        f"{path.relative_to(ROOT)}: {text}"
        for path in modules()
        if path.name != "state_files.py"
        for text in literals(path)
        if text in TOLD_APART or text.rpartition("/")[2] in TOLD_APART
    ]
    assert not spelled


def test_names_differ_and_each_says_who_writes_it() -> None:
    body = ast.parse((PACKAGE / "state_files.py").read_text()).body
    named = [
        node.target.id
        for node in body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    told = [
        after.value.value
        for node, after in pairwise(body)
        if isinstance(node, ast.AnnAssign)
        and isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
        and isinstance(after.value.value, str)
    ]
    assert len(named) == len(told) == len(NAMES)
    assert all(re.search(r": .|\bby\b .", words) for words in told)


def test_what_is_made_ready_is_named(tmp_path: Path) -> None:
    state = tmp_path / "state"
    prepare_state(state)
    made = {path.relative_to(state) for path in state.rglob("*")}
    unnamed = {
        str(path)
        for path in made
        if not {path.name, *(path.name.removesuffix(end) for end in BESIDE)} & NAMES
        and path.parent.name != state_files.BEGUN
    }
    assert made
    assert not unnamed


def test_documents_use_names_that_there_are() -> None:
    pages = [
        ROOT / "README.md",
        *(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "adr"),
    ]
    named = {name for page in pages for name in IN_DOCS.findall(page.read_text())} - OF_OTHERS
    assert {state_files.JOURNAL, state_files.COUNTERS_DATA, state_files.SECRET_NOTE} <= named
    assert named <= NAMES


def test_no_command_but_the_daemons_loads_a_worker() -> None:
    names = [
        name
        for name in command_modules()
        if name != STARTS_THE_DAEMON and not name.endswith("__main__")
    ]
    assert len(names) > 80
    program = (
        "import importlib, sys\n"
        f"for name in {names}:\n"
        "    importlib.import_module(name)\n"
        "    assert 'oborona.daemon.worker' not in sys.modules, name\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
