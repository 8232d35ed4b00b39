"""`oborona console`: pages for people, of what the desk answers; by itself, or beside the other
processes of `oborona serve`.
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
from oborona.cli.desk import require_console, tell_nobody
from oborona.cli.terminal_person import terminal_person
from oborona.console.lasting_parts import lasting_parts
from oborona.console.service import serve_console
from oborona.daemon import sockets
from oborona.daemon.beside import BesideProcess, run_beside
from oborona.daemon.confinement.kinds import ProcessKind
from oborona.errors import ConfigError
from oborona.people.link_book import PATH, LinkBook
from oborona.people.person import Person
from oborona.people.rights import Role
from oborona.people.store import PeopleStore, new_person

FIRST: Final = "admin"


@click.command()
@pass_cli_context
def console(context: CliContext) -> None:
    """Run the console alone: pages of what the desk answers; it opens no store."""
    require_console(context)
    if not context.loaded.settings.console.listen:
        raise ConfigError("console.listen is empty: there is nothing to run")
    click.get_current_context().exit(
        run_beside(context.loaded, [console_process(context)], tell_nobody)
    )


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


def console_process(context: CliContext) -> BesideProcess:
    """Return the console as a process among the daemon's."""
    settings = context.loaded.settings
    path = settings.console.desk_path(context.state)
    parts = lasting_parts()  # here, so that a process that rested knows the forms from before

    def listen(listening: ExitStack) -> tuple[socket.socket, ...]:
        door = settings.console
        opened = sockets.listen(
            door.address, owner=door.socket_owner, group=door.socket_group, mode=door.mode
        )
        listening.callback(sockets.close_and_unlink, opened)
        return (opened,)

    def run(opened: tuple[socket.socket, ...], ready: Callable[[], None]) -> int:
        return serve_console(settings, parts, opened[0], path, ready)

    return BesideProcess("console", ProcessKind.CONSOLE, listen, run, gives_way=True)


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
