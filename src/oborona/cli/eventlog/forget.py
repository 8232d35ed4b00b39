"""`oborona eventlog forget`: takes a person out of event logs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.event_logs import ErasureOrder, forget_event_person
from oborona.desk.asks.event_log_persons import ErasuresQuestion, LogErasure, list_erasures

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
    caller, question = terminal_caller(), ErasuresQuestion(log=only or "")
    if not person:
        _show(list_erasures(context, caller, question).erasures, as_json)
        return
    asked = forget_event_person(context, caller, ErasureOrder(person=list(person), log=only or ""))
    numbers = {(one.log, one.erasure) for one in asked.erasures}
    found, until = asked.erasures, time.monotonic() + WAIT_S * asked.runs
    while (waits := any(one.done is None for one in found)) and time.monotonic() < until:
        time.sleep(LOOK_S)
        erasures = list_erasures(context, caller, question).erasures
        found = tuple(one for one in erasures if (one.log, one.erasure) in numbers)
    _show(found, as_json)
    if waits and asked.runs:
        echo(
            "the process has other work before it; `oborona eventlog forget` shows when it is done"
        )
    elif waits:
        echo("the process of event logs does not run: `oborona eventlog run --once` does it now")


def _show(erasures: Sequence[LogErasure], as_json: bool) -> None:
    for one in erasures:
        if as_json:
            echo_json(one)
            continue
        rows = ", ".join(f"{count} of {kind}" for kind, count in one.removed.items())
        state = "waits" if one.done is None else f"done: {rows or 'no rows'}"
        echo(f"{one.log}: erasure {one.erasure} {state}")
        for name in one.unread:
            echo(f"{one.log}: {plain(name)} can't be read: nobody knows whose rows it has")
