"""`oborona set-apart`: messages over which workers died, and which are not looked into any more."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import NamedTuple

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.session.quarantine import suspect_store
from oborona.session.quarantine.suspect_store import Suspect
from oborona.telemetry.log import logfmt


class SetApartMessage(NamedTuple):
    """One message, as it is shown."""

    message: str
    apart: bool
    deaths: int
    last: str
    how: str
    queue: str
    client: str
    sender: str
    version: str
    kept: str  # file; empty: the message itself is not kept


@click.group("set-apart")
def set_apart() -> None:
    """Show messages over which workers died, and have one judged again (docs/troubleshooting.md).

    After two deaths a message is not looked into any more: it is filed as spam.
    """


@set_apart.command("list")
@click.option("--json", "as_json", is_flag=True, help="A JSON list.")
@pass_cli_context
def list_(context: CliContext, as_json: bool) -> None:
    """List them, the latest last; kept= is the file of the message itself.

    Exit status 1 when there is none.
    """
    rows = [
        _set_apart_message(context, suspect)
        for suspect in suspect_store.read_suspects(context.state, time.time())
    ]
    if as_json:
        echo_json([row._asdict() for row in rows])
    else:
        for row in rows:
            echo(logfmt(row._asdict()))
    if not rows:
        click.get_current_context().exit(1)


@set_apart.command()
@click.argument("message")
@pass_cli_context
def remove(context: CliContext, message: str) -> None:
    """Forget what is known of MESSAGE, and the copy of it that is kept: within ten seconds it is
    judged as any other again.

    Exit status 1 when there is no such message.
    """
    identities = {
        suspect.identity for suspect in suspect_store.read_suspects(context.state, time.time())
    }
    if message not in identities:
        echo(f"no message {message!a} is known; `oborona set-apart list` shows them")
        click.get_current_context().exit(1)
    suspect_store.remove_suspect(context.state, message)
    echo(f"{message}: forgotten")


def _set_apart_message(context: CliContext, suspect: Suspect) -> SetApartMessage:
    file = suspect_store.message_file(context.state, suspect.identity)
    return SetApartMessage(
        message=suspect.identity,
        apart=suspect.apart,
        deaths=suspect.deaths,
        last=datetime.fromtimestamp(suspect.last, UTC)
        .isoformat(timespec="seconds")
        .replace("+00:00", "Z"),
        how=suspect.how,
        queue=suspect.queue_id,
        client=suspect.client,
        sender=suspect.sender,
        version=suspect.version,
        kept=str(file) if file.exists() else "",
    )
