"""Which way imports point: never back, and pure packages touch no socket, file, clock or logger."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PURE_ROOMS = {"message", "authentication", "reputation", "counters"}
MAY_IMPORT = {
    "toml": set[str](),
    "message": set[str](),
    "reputation": set[str](),
    "authentication": set[str](),
    "counters": set[str](),
    "config": {"toml"},
    "replication": set[str](),
    "policy": PURE_ROOMS | {"toml"},
    "telemetry": {"metrics"},
    "resolver": {"metrics", "config", "telemetry"},
    "journal": {"message", "reputation", "counters", "policy"},
    "feedback": PURE_ROOMS | {"policy", "metrics"},
    "recheck": PURE_ROOMS | {"policy", "metrics", "journal"},
    "accounts": {"message", "reputation", "counters", "metrics", "telemetry"}
    | {"stores", "policy", "config"},
    "counter_load": {"counters"},
    "eventlog": {
        "journal",
        "feedback",
        "accounts",
        "recheck",
        "policy",
        "reputation",
        "metrics",
        "config",
        "toml",
    }
    | {"telemetry"},
    "stores": {"message", "reputation", "counters", "policy", "metrics", "config", "telemetry"}
    | {"journal", "feedback", "recheck"},
    "doors": {"message", "authentication", "reputation", "policy", "metrics", "config", "telemetry"}
    | {"journal", "feedback", "recheck", "accounts", "eventlog"},
    "milter": {"config", "doors"},
    "session": {"message", "authentication", "reputation", "policy", "metrics", "config"}
    | {"telemetry", "resolver", "journal", "feedback", "recheck", "doors", "accounts"},
    "audit": set[str](),
    "people": set[str](),
    # opens no store and holds no secret: who takes it over has what its signed-in people have
    "console": {"people", "config", "doors", "reputation", "telemetry"},
    "desk": PURE_ROOMS
    | {"audit", "people", "config", "policy", "session", "stores", "eventlog", "daemon"}
    | {"telemetry", "doors", "toml", "journal", "feedback", "recheck", "accounts"}
    | {"milter", "resolver"},
    "daemon": {
        "audit",
        "people",
        "accounts",
        "message",
        "reputation",
        "counters",
        "policy",
        "metrics",
        "config",
        "telemetry",
    }
    | {"toml", "resolver", "journal", "feedback", "recheck", "stores", "doors", "milter"}
    | {"session", "eventlog"},
    "cli": PURE_ROOMS - {"authentication"}
    | {"toml", "policy", "config", "telemetry", "resolver", "journal", "feedback", "recheck"}
    | {"stores", "doors", "milter", "session", "daemon", "counter_load", "accounts"}
    | {"eventlog", "desk", "audit", "people", "console"},
}
EVERYONE = {
    "_core",  # native; it imports nothing
    "types",
    "errors",
    "lock",
    "secret",
    "ident",
    "call_places",
    "client_network",
    "heartbeat",
    "doorbell",
    "store_birth",
    "state_files",
    "sqlite_file",
    "sqlite_damage",
    "replication",  # below what opens a store
    "atomic_file",
    "page",
    "plain_text",
    "extras",
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
    "counters/timeline_chart.py",
]
IMPURE = {
    "asyncio", "logging", "os", "random", "secrets", "select", "shutil", "signal", "socket", "sqlite3", "subprocess",
    "tempfile", "threading", "time", "uvloop", "aiosqlite", "lmdb", "dns",
}  # fmt: skip
# asks for everything at once: that is what it is for
CONCURRENT = {"src/oborona/authentication/verification.py"}
READS_FILES = {  # policy files are read where they are understood
    "policy/folders.py",
    "policy/list_files.py",
    "policy/load.py",
    "policy/shipped_files.py",
    "policy/watch.py",
}
OPENS = {
    "open", "read_text", "read_bytes", "write_text", "write_bytes", "unlink", "mkdir", "rename", "touch",
    "iterdir", "glob", "rglob", "exists", "stat", "is_file", "is_dir",
}  # fmt: skip
SEAM = "."  # modules directly in a room: what its folders share
INSIDE = {  # what a folder of a room may import of the room, beside itself
    "doors": {
        "exim": {SEAM},
        "http": {SEAM},
        "spamd": {SEAM},
        "policy_service": {SEAM},
        "smtp": {SEAM},
        "proxy": {SEAM, "smtp"},
        "delivery": {SEAM, "smtp"},
    },
    "daemon": {
        "alarm": set[str](),
        "flows": set[str](),
        "confinement": set[str](),
        "reader": {SEAM, "confinement"},
        "publisher": {SEAM},
        "intake": {SEAM},
        "trainer": {"site"},
        "final_trainer": {"confinement"},
        "keeper": {"alarm", "publisher", "site"},
        "exporter": {"keeper"},
        "backup": {SEAM},
        "site": set[str](),
    },
}


def modules(folder: str) -> Iterator[Path]:
    where = ROOT / folder if (ROOT / folder).exists() else ROOT / "src/oborona" / folder
    yield from [where] if where.is_file() else sorted(where.glob("**/*.py"))


@cache
def imported(path: Path) -> tuple[str, ...]:
    return tuple(named_in(path))


def named_in(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 or "expression" in path.parts or "config" in path.parts, (
                f"{path}: relative import"
            )
            if node.level == 0:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms_imported(path: Path) -> Iterator[str]:
    """Yield what a module imports of `oborona`: the names of rooms, and of modules beside them."""
    for name in imported(path):
        if name.startswith("oborona."):
            yield name.split(".")[1]


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_point_inward(package: str) -> None:
    allowed = MAY_IMPORT[package] | EVERYONE | {package, "__version__"}
    for path in modules(package):
        for room in rooms_imported(path):
            assert room in allowed, f"{path} imports {room}"


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_each_arrow_that_is_allowed_is_used(package: str) -> None:
    used = {room for path in modules(package) for room in rooms_imported(path)}
    assert MAY_IMPORT[package] - used == set(), "take them out: nobody needs them"


def test_what_everyone_may_import_several_rooms_import() -> None:
    used = {
        name: {
            room for room in MAY_IMPORT for path in modules(room) if name in rooms_imported(path)
        }
        for name in EVERYONE
    }
    assert {name for name, rooms in used.items() if len(rooms) < 2} == set()


@pytest.mark.parametrize("package", PURE)
def test_pure_packages_take_the_world_as_arguments(package: str) -> None:
    for path in modules(package):
        if str(path.relative_to(ROOT)) in READS_FILES:
            continue
        for name in imported(path):
            if name.startswith("asyncio") and str(path.relative_to(ROOT)) in CONCURRENT:
                continue
            assert name.split(".")[0] not in IMPURE, f"{path} imports {name}"


@pytest.mark.parametrize("package", PURE)
def test_pure_packages_open_no_file(package: str) -> None:
    """Whatever they import: data that is installed with a package is read by
    `importlib.resources.files`.
    """
    for path in modules(package):
        if str(path.relative_to(ROOT)) in READS_FILES:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and called(node) in OPENS:
                source = ast.unparse(node)
                assert "files('oborona." in source or opens_no_file(node), (
                    f"{path}:{node.lineno}: {source}"
                )


def called(node: ast.Call) -> str:
    function = node.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def opens_no_file(node: ast.Call) -> bool:
    """Archives within messages, and pictures in memory, are opened by methods of the same name."""
    source = ast.unparse(node.func)
    return source in ("self.open", "Image.open") or source.startswith("_AttachmentWalk(")


def parts_imported(room: str, path: Path) -> Iterator[str]:
    """Yield which folders of a room a module imports, and `SEAM` for the modules directly in it."""
    for name in imported(path):
        if name.startswith(f"oborona.{room}."):
            part = name.split(".")[2]
            yield part if (ROOT / "src/oborona" / room / part).is_dir() else SEAM


@pytest.mark.parametrize("room", INSIDE)
def test_folders_of_a_room_share_its_seam_alone(room: str) -> None:
    where = ROOT / "src/oborona" / room
    assert set(INSIDE[room]) == {path.name for path in where.iterdir() if any(path.glob("*.py"))}
    for folder, shared in INSIDE[room].items():
        used = set[str]()
        for path in modules(f"{room}/{folder}"):
            for part in parts_imported(room, path):
                assert part in shared | {folder}, f"{path} imports {part}"
                used.add(part)
        assert shared - used == set(), f"{folder}: take them out, nobody needs them"


def test_the_console_loads_nothing_that_opens_a_store() -> None:
    """Not by way of what it imports, either."""
    opens = {"sqlite3", "aiosqlite", "lmdb", "oborona.secret", "oborona.sqlite_file"}
    program = (
        "import sys, oborona.console.server\n"
        f"assert not {opens} & set(sys.modules), {opens} & set(sys.modules)\n"
        "rooms = {name.split('.')[1] for name in sys.modules if name.startswith('oborona.')}\n"
        "assert not {'desk', 'stores', 'journal', 'audit', 'daemon'} & rooms, rooms"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT, timeout=60)


def test_the_daemon_loads_no_packages_of_event_logs() -> None:
    """They are an extra, and weigh more than a worker: the process of event logs loads them."""
    heavy = {"deltalake", "duckdb", "ibis", "pyarrow"}
    program = (
        "import sys, oborona.daemon.serve, oborona.daemon.worker, oborona.cli.processes\n"
        "import oborona.doors.http.server\n"
        f"assert not {heavy} & set(sys.modules), {heavy} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT, timeout=60)
