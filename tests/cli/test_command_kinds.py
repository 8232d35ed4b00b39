"""Every command is an ask, an act, or exempt with a reason; and every act is some command's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click
import pytest

from oborona.audit.declarations import ACTS
from oborona.audit.texts import is_secret
from oborona.cli import main
from oborona.cli.act_rows import DRY, REASONS
from oborona.cli.command_index import FILE
from oborona.cli.command_kinds import KINDS, ActCommand, Ask, Exempt
from oborona.desk import calls
from oborona.desk.call import CALLS

REACHED = 130  # commands that a call of the desk does, too


def walk(commands: dict[str, Any], *path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, told in commands.items():
        if "commands" in told:
            yield from walk(told["commands"], *path, name)
        else:
            yield " ".join((*path, name)), told


BY_SENDERS = "appeals.send"  # of a public page: no call of a person, and no command
COMMANDS = dict(walk(json.loads(FILE.read_bytes())))
ACTING = {name: kind for name, kind in KINDS.items() if isinstance(kind, ActCommand)}


def parameters(command: str) -> set[str]:
    return {parameter["name"] for parameter in COMMANDS[command]["parameters"]}


def test_every_command_is_of_a_kind_and_nothing_else_is() -> None:
    assert set(KINDS) == set(COMMANDS)


def test_who_is_exempt_has_a_reason() -> None:
    assert all(len(kind.why) > 20 for kind in KINDS.values() if isinstance(kind, Exempt))


def test_every_act_is_declared_and_used() -> None:
    used = [name for kind in ACTING.values() for name in (kind.act, kind.other[1]) if name]
    assert len(used) == len(set(used)), "one command each"
    called = {name for name, call in CALLS.items() if call.acts}
    assert set(used) | called | {BY_SENDERS} == set(ACTS)


def test_what_a_command_asks_the_desk_answers() -> None:
    assert calls.__doc__
    asked = {name for kind in KINDS.values() if isinstance(kind, Ask) for name in kind.calls}
    assert asked <= {name for name, call in CALLS.items() if not call.acts}


def test_what_undoes_an_act_is_an_act() -> None:
    assert {act.undo for act in ACTS.values()} <= {"", *ACTS}


@pytest.mark.parametrize("command", ACTING)
def test_an_act_of_a_command_is_as_its_parameters_say(command: str) -> None:
    kind, names = ACTING[command], parameters(command)
    assert set(kind.about) <= names
    assert {kind.when, kind.other[0]} - {""} <= names
    for act in {kind.act, kind.other[1]} - {""}:
        assert ACTS[act].dry or DRY not in names
    assert len(names & set(REASONS)) <= 1, "which of them is the reason?"


def test_no_command_takes_a_secret_on_its_line() -> None:
    """Other users of the machine could read it; a file that holds one may be named."""
    named = {name for command in COMMANDS for name in parameters(command) if is_secret(name)}
    assert named == set()


@pytest.mark.parametrize("word", ["remove", "add", "import", "undo", "set", "forget", "install"])
def test_what_sounds_like_an_act_is_one(word: str) -> None:
    for name, kind in KINDS.items():
        if name.split()[-1].split("-")[0] == word:
            assert isinstance(kind, ActCommand), name


def calls_of(kind: ActCommand | Ask | Exempt) -> set[str]:
    """Return the calls of the desk that do what a command does."""
    if isinstance(kind, Ask):
        return set(kind.calls)
    if isinstance(kind, ActCommand):
        return {kind.act, kind.other[1]} & set(CALLS)
    return set()


def test_commands_are_reached_by_pages_and_programs_too() -> None:
    """What is reached stays so: the number only grows."""
    click_tree = {" ".join(path) for path in walk_click(main)}
    assert click_tree == set(KINDS), "as click has them"
    reached = {name for name, kind in KINDS.items() if calls_of(kind)}
    assert len(reached) >= REACHED, sorted(set(KINDS) - reached)


@pytest.mark.parametrize("command", sorted(KINDS))
def test_what_no_call_does_says_why(command: str) -> None:
    """Each command is reached by a call, or stays at the terminal for a reason; never both."""
    kind = KINDS[command]
    if isinstance(kind, Ask):
        assert kind.calls
    if isinstance(kind, ActCommand):
        assert bool(calls_of(kind)) != (len(kind.alone) > 20)


def walk_click(group: click.Group, *path: str) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from walk_click(command, *path, name)
        elif command is not None:
            yield (*path, name)
