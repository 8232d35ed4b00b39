"""Which way imports point: never back, and pure packages touch no socket, file, clock or logger."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

MAY_IMPORT = {
    "message": set[str](),
    "reputation": set[str](),
    "authentication": set[str](),
    "counters": set[str](),
    "policy": {"message", "authentication", "reputation", "counters"},
    "recheck": {"metrics", "policy", "message", "authentication", "reputation", "counters"},
    "feedback": {"metrics", "policy", "message", "authentication", "reputation", "counters"},
    "milter": {
        "metrics",
        "config",
        "feedback",
        "recheck",
        "policy",
        "message",
        "authentication",
        "reputation",
        "counters",
    },
    "config": set[str](),
}
EVERYONE = {
    "types",
    "errors",
    "lock",
    "secret",
    "begun",
    "state_files",
    "sqlite_file",
    "sqlite_damage",
    "whole_file",
    "toml",
    "dns",
    "domains",
}
PURE = [
    "message",
    "authentication",
    "reputation",
    "policy",
    "counters/window.py",
    "counters/record.py",
    "counters/picture.py",
]
IMPURE = {
    "asyncio", "logging", "os", "random", "secrets", "select", "shutil", "signal", "socket", "sqlite3", "subprocess",
    "tempfile", "threading", "time", "uvloop", "aiosqlite", "lmdb", "dns",
}  # fmt: skip
CONCURRENT = {"src/oborona/authentication/verify.py"}  # asks for everything at once: that is what it is for
READS_FILES = {"policy/load.py", "policy/watch.py"}  # policy files are read where they are understood


def modules(folder: str) -> Iterator[Path]:
    where = ROOT / folder if (ROOT / folder).exists() else ROOT / "src/oborona" / folder
    yield from [where] if where.is_file() else sorted(where.glob("**/*.py"))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 or "expression" in path.parts or "config" in path.parts, (
                f"{path}: relative import"
            )
            if node.level == 0:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_point_inward(package: str) -> None:
    allowed = MAY_IMPORT[package] | EVERYONE | {package, "__version__"}
    for path in modules(package):
        for name in imported(path):
            if name.startswith("oborona."):
                assert name.split(".")[1] in allowed, f"{path} imports {name}"


@pytest.mark.parametrize("package", PURE)
def test_pure_packages_take_the_world_as_arguments(package: str) -> None:
    for path in modules(package):
        if str(path.relative_to(ROOT)) in READS_FILES:
            continue
        for name in imported(path):
            if name.startswith("asyncio") and str(path.relative_to(ROOT)) in CONCURRENT:
                continue
            assert name.split(".")[0] not in IMPURE, f"{path} imports {name}"
