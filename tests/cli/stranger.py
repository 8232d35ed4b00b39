"""Every command once, as somebody without rights: `python -m tests.cli.stranger FOLDER WHERE`, one
JSON object a command.

Everything is imported first, for a stranger may not be able to read it; then each command runs in a
child of its own that is nobody (or, for `--owner`, the state's owner).  Arguments are made from
click's own types.  WHERE is the state folder.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import io
import json
import os
import pkgutil
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from oborona.cli import main

NOBODY = 65534
SECONDS = 60  # for one command
VALUES = {
    "shingle": "from:00ff00ff00ff00ff", "person": "ann@b.example", "factor": "0.5", "entity": "ann@a.example", "kind": "from",
    "names": "s1", "name": "s1", "flag": "bad", "by": "1", "ident": "0SAH375J007Q5", "message": "0SAH375J007Q5", "number": "1", "rule": "LINKS",
}  # fmt: skip
DAEMONS = {"serve", "worker", "writer", "keeper", "reader", "trainer", "intake", "opensmtpd-filter"}
LONG = {"bench"}
"""Runs for as long as it is told, and makes a store of its own."""


def closed_to_strangers(program: Path) -> bool:
    """Whether somebody without rights can't start a program: of a Python below /root, say."""
    return any(not folder.stat().st_mode & 0o001 for folder in [program, *program.parents])


def leaves(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            below = main.imported(name) if command is main else command.get_command(ctx, name)
            assert below is not None
            yield from leaves(below, (*path, name))
    else:
        yield path, command


def arguments(command: click.Command, folder: Path) -> list[str]:
    """Return plausible arguments of a command: what it asks for, and no more."""
    found: list[str] = []
    for one in command.params:
        if isinstance(one, click.Option) and one.required:
            found += [one.opts[0], value(one, folder)]
    if any("--json" in one.opts for one in command.params):
        found.append("--json")
    return found + [value(one, folder) for one in command.params if isinstance(one, click.Argument)]


def value(one: click.Parameter, folder: Path) -> str:
    kind = one.type
    if isinstance(kind, click.Choice):
        return str(
            next(iter(kind.choices)).value
            if hasattr(next(iter(kind.choices)), "value")
            else next(iter(kind.choices))
        )
    if isinstance(kind, click.Path):
        return str(folder / ("mails" if not kind.file_okay else "letter.eml"))
    if isinstance(kind, click.File):
        return str(folder / "letter.eml")
    if isinstance(kind, click.IntRange | click.FloatRange):
        return str(kind.min or 1)
    if isinstance(kind, type(click.INT) | type(click.FLOAT)):
        return "1"
    if kind.name == "span":
        return "1h"
    return VALUES.get(one.name or "", "ann@a.example")


def snapshot(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Return what lies in a folder and below."""
    found: dict[str, tuple[Any, ...]] = {}
    for path in sorted(folder.rglob("*")):
        at = path.lstat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (at.st_mode, at.st_uid, at.st_size if path.is_file() else 0, digest)
    return found


def run(words: list[str], user: int, out: str) -> dict[str, Any]:
    """Run a command in a child; return its status and what it says."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 250
        try:
            os.close(reading)
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(writing, 2)
            match out:
                case "closed":
                    os.close(1)
                case "full":
                    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
                case _:
                    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            signal.alarm(SECONDS)
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY) if user else None
            os.setresuid(user, user, user) if user else None
            os.environ.update(HOME="/", USER="nobody", LOGNAME="nobody")
            os.environ.pop("SUDO_USER", None)
            sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False))
            sys.stdout = (
                None if out == "closed" else io.TextIOWrapper(io.FileIO(1, "w", closefd=False))
            )
            sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), line_buffering=True)
            sys.argv = ["oborona", *words]
            try:
                main()
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
            except BaseException:  # noqa: BLE001 - as Python itself would tell it
                traceback.print_exc()
                status = 1
            try:
                if sys.stdout is not None:
                    sys.stdout.flush()
            except OSError as error:  # as Python tells it at its end
                sys.stderr.write(f"Exception ignored: {error}\n")
                status = 120
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        told = said.read(65536).decode(errors="replace")
    _, ended = os.waitpid(child, 0)
    return {"status": os.waitstatus_to_exitcode(ended), "stderr": told}


def everything() -> None:
    """Import every module of ours: nothing is to be found missing because a stranger can't read
    it.
    """
    for package in ("oborona.cli", "oborona.config", "oborona.milter", "oborona.policy", "oborona.recheck", "oborona.feedback", "oborona.counters", "oborona.reputation", "oborona.message", "oborona.authentication"):  # fmt: skip
        found = importlib.import_module(package)
        for one in pkgutil.walk_packages(found.__path__, f"{package}."):
            with contextlib.suppress(ImportError):
                importlib.import_module(one.name)
    for late in (
        "_strptime",
        "multiprocessing.popen_spawn_posix",
        "multiprocessing.resource_tracker",
        "encodings.idna",
        "unicodedata",
        "zlib",
        "lzma",
        "bz2",
    ):
        importlib.import_module(late)


def walk(
    folder: Path, state: Path, user: int, out: str, only: str, watched: list[Path]
) -> Iterator[dict[str, Any]]:
    before = {str(one): snapshot(one) for one in watched}
    for path, command in leaves(main):
        if (
            path[-1] in LONG
            or (path[-1] in DAEMONS and only != "all")
            or (only not in ("", "all") and only != path[0])
        ):
            continue
        if path[-1] == "verify" and closed_to_strangers(Path(sys.executable).resolve()):
            continue  # it starts a Python of its own
        words = [*path, *arguments(command, folder)]
        settings = ["--state", str(state), "--set", f"paths.policy={folder / 'policy'}"]
        found = run([*settings, *words], user, out) | {"words": words}
        after = {str(one): snapshot(one) for one in watched}
        found["changed"] = sorted(
            {
                name
                for one in before
                for name in before[one].keys() | after[one].keys()
                if before[one].get(name) != after[one].get(name)
            }
        )
        before = after
        yield found


if __name__ == "__main__":
    asked = argparse.ArgumentParser()
    asked.add_argument("folder", type=Path)
    asked.add_argument("state", type=Path)
    asked.add_argument("--user", type=int, default=NOBODY)
    asked.add_argument("--out", default="null")
    asked.add_argument("--only", default="")
    asked.add_argument("--watch", type=Path, nargs="*", default=[])
    given = asked.parse_args()
    everything()
    for one in walk(given.folder, given.state, given.user, given.out, given.only, given.watch):
        print(json.dumps(one), flush=True)
