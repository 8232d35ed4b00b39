"""`oborona eventlog forget`: takes a person out of event logs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import click

from oborona import lock, state_files
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.eventlog.logs import open_log_store, person_hashes, schema_of
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import plain
from oborona.daemon.event_logs import check_packages

if TYPE_CHECKING:
    from oborona.eventlog.erasure.book import PersonErasure

WAIT_S: Final = 60.0
LOOK_S: Final = 0.2


@click.command()
@click.argument("person", nargs=-1)
@click.option("--log", "only", metavar="LOG", help="In this log alone; default: in our own.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each log and name.")
@pass_cli_context
def forget(context: CliContext, person: tuple[str, ...], only: str | None, as_json: bool) -> None:
    """Take a PERSON out of all tables of event logs: an address, a login, a network; of a log of
    others all parts that it declares, in their order. Without a PERSON: show what was asked for.

    The process of event logs does it; this waits a minute for it. Files that others dropped are
    theirs, and stay. What the person does later comes into the logs again.
    """
    check_packages()
    from oborona.eventlog.erasure.book import ErasureBook  # noqa: PLC0415 - the engine takes a second to load
    from oborona.eventlog.erasure.persons import scrub_reasons  # noqa: PLC0415
    from oborona.eventlog.folder import LogFolder  # noqa: PLC0415
    from oborona.eventlog.known_logs import root_folder, schemas  # noqa: PLC0415
    from oborona.eventlog.schema import OWN_NAMES  # noqa: PLC0415

    settings, state = context.loaded.settings, context.state
    known = [one.name for one in schemas(settings)]
    if only:
        known = [schema_of(context, only).name]
    elif person:
        known = [name for name in known if name in OWN_NAMES]
    with open_log_store(context) as store:
        books = {log: ErasureBook(store, log) for log in known}
        if not person:
            _show({log: book.all() for log, book in books.items()}, as_json)
            return
        asked = {log: person_hashes(context, log, person) for log in known}
        numbers = {}
        for log, book in books.items():
            numbers[log] = set(book.ask(asked[log], time.time()))
            book.scrub(person)
            scrub_reasons(LogFolder(root_folder(settings, state), log).aside_folder, person)
        runs = lock.holder(state / state_files.EVENT_LOG_LOCK) is not None
        until = time.monotonic() + WAIT_S * runs
        while True:
            found = {
                log: [one for one in book.all() if one.id in numbers[log]]
                for log, book in books.items()
            }
            waits = any(one.done is None for ones in found.values() for one in ones)
            if not waits or time.monotonic() >= until:
                break
            time.sleep(LOOK_S)
    _show(found, as_json)
    if waits and runs:
        echo(
            "the process has other work before it; `oborona eventlog forget` shows when it is done"
        )
    elif waits:
        echo("the process of event logs does not run: `oborona eventlog run --once` does it now")


def _show(found: dict[str, list[PersonErasure]], as_json: bool) -> None:
    for log, erasures in found.items():
        for one in erasures:
            row = {
                "log": log,
                "erasure": one.id,
                "asked": one.asked,
                "done": one.done,
                "removed": dict(one.removed),
                "unread": list(one.unread),
            }
            if as_json:
                echo_json(row)
                continue
            rows = ", ".join(f"{count} of {kind}" for kind, count in one.removed.items())
            state = "waits" if one.done is None else f"done: {rows or 'no rows'}"
            echo(f"{log}: erasure {one.id} {state}")
            for name in one.unread:
                echo(f"{log}: {plain(name)} can't be read: nobody knows whose rows it has")
