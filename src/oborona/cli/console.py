"""`oborona desk` and `oborona console`: pages for people, and what answers them; each by itself, or
beside the other processes of `oborona serve`.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

import click

from oborona import state_files
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.terminal_person import terminal_person
from oborona.console.service import serve_console
from oborona.daemon import sockets
from oborona.daemon.confinement.kinds import ProcessKind
from oborona.daemon.serve import BesideProcess, run_beside
from oborona.daemon.state import prepare_state
from oborona.desk.process import desk_path, desk_process
from oborona.errors import ConfigError
from oborona.people.link_book import PATH, LinkBook
from oborona.people.person import Person
from oborona.people.rights import Role
from oborona.people.store import PeopleStore, new_person

FIRST: Final = "admin"


@click.command()
@pass_cli_context
def desk(context: CliContext) -> None:
    """Run the desk alone: it reads and changes stores for pages and programs that may."""
    _require(context)
    prepare_state(context.state)
    click.get_current_context().exit(run_beside(context.loaded, [_desk(context)], _nothing))


@click.command()
@pass_cli_context
def console(context: CliContext) -> None:
    """Run the console alone: pages of what the desk answers; it opens no store."""
    _require(context)
    if not context.loaded.settings.console.listen:
        raise ConfigError("console.listen is empty: there is nothing to run")
    click.get_current_context().exit(run_beside(context.loaded, [_console(context)], _nothing))


def console_processes(context: CliContext) -> list[BesideProcess]:
    """Return the desk and the console, as the settings want them beside the daemon."""
    settings = context.loaded.settings.console
    if not settings.enabled:
        return []
    return [_desk(context), *([_console(context)] if settings.listen else [])]


def console_words(context: CliContext) -> list[str]:
    """Return what is told of the console to who starts the daemon by hand.

    Where nobody may sign in yet, with a link for the first admin.
    """
    settings = context.loaded.settings.console
    if not (settings.enabled and settings.listen):
        return []
    url = settings.pages_url
    with PeopleStore(context.state / state_files.PEOPLE) as store:
        if store.has_admin():
            return ["", f"Pages: {url}"]
        person = store.find(FIRST) or store.add(_first(terminal_person().name))
        link = LinkBook(store).make(person, time.time())
    return [
        "",
        f"Pages: {url}",
        f"  {url}{PATH}{link}",
        f"      once and within a day: sets the password of {FIRST}, the first who may sign in",
    ]


def _require(context: CliContext) -> None:
    if not context.loaded.settings.console.enabled:
        raise ConfigError("console.enabled is false: there is nothing to run")


def _desk(context: CliContext) -> BesideProcess:
    return desk_process(context.source, context.loaded.settings, context.state)


def _console(context: CliContext) -> BesideProcess:
    settings = context.loaded.settings
    path = desk_path(settings, context.state)

    def listen(listening: ExitStack) -> tuple[socket.socket, ...]:
        door = settings.console
        opened = sockets.listen(
            door.address, owner=door.socket_owner, group=door.socket_group, mode=door.mode
        )
        listening.callback(sockets.close_and_unlink, opened)
        return (opened,)

    def run(opened: tuple[socket.socket, ...], ready: Callable[[], None]) -> int:
        return serve_console(settings, opened[0], path, ready)

    return BesideProcess("console", ProcessKind.CONSOLE, listen, run)


def _first(by: str) -> Person:
    nothing = frozenset[str]()
    return new_person(
        FIRST,
        roles=frozenset({Role.ADMIN}),
        domains=nothing,
        addresses=nothing,
        language="",
        made_by=by,
        now=time.time(),
    )


def _nothing() -> None:
    """Nobody waits for a word."""
