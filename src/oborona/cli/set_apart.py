"""`oborona set-apart`: messages over which workers died, and which are not looked into any more."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click
import msgspec

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.set_apart_messages import SetApartOrder, remove_set_apart
from oborona.desk.asks.set_apart_messages import SetApartMessage, SetApartQuestion, list_set_apart
from oborona.desk.call import NotFoundError
from oborona.telemetry.log import logfmt


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
    found = list_set_apart(context, terminal_caller(), SetApartQuestion()).messages
    rows = list(map(_row, found))
    if as_json:
        echo_json(rows)
    else:
        for row in rows:
            echo(logfmt(row))
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
    try:
        remove_set_apart(context, terminal_caller(), SetApartOrder(message=message))
    except NotFoundError as error:
        echo(f"{error}; `oborona set-apart list` shows them")
        click.get_current_context().exit(1)
    echo(f"{message}: forgotten")


def _row(one: SetApartMessage) -> dict[str, Any]:
    last = datetime.fromtimestamp(one.last, UTC).isoformat(timespec="seconds")
    return msgspec.structs.asdict(one) | {"last": last.replace("+00:00", "Z")}
