"""`oborona people passkey`: keys of authenticators, by which people sign in."""

from __future__ import annotations

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.people.output import passkey_line
from oborona.cli.people.site import people_site
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.passkeys import PasskeyOrder, remove_passkeys
from oborona.desk.asks.people import PersonQuestion, list_passkeys

ALL = "all"


@click.group()
def passkey() -> None:
    """Show and remove passkeys: somebody has lost a telephone or a key of theirs.

    Passkeys are made by their owner, on their own page of the console.
    """


@passkey.command(name="list")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def list_(context: CliContext, name: str, as_json: bool) -> None:
    """Show the passkeys of NAME. Exit status 1 where there is none."""
    with people_site(context) as site:
        found = list_passkeys(site, terminal_caller(), PersonQuestion(name=name)).passkeys
    for one in found:
        if as_json:
            echo_json(one)
        else:
            echo(passkey_line(one))
    if not found:
        click.get_current_context().exit(1)


@passkey.command()
@click.argument("name")
@click.argument("passkey", metavar="PASSKEY|all")
@pass_cli_context
def remove(context: CliContext, name: str, passkey: str) -> None:
    """Remove a passkey of NAME, or all: it signs nobody in any more.

    Sessions that began by it go on; `people sessions NAME --end all` ends them.
    """
    order = PasskeyOrder(name=name, passkey="" if passkey == ALL else passkey)
    with people_site(context) as site:
        removed = remove_passkeys(site, terminal_caller(), order).removed
    for one in removed:
        echo(f"removed: {passkey_line(one)}")
    if not removed:
        echo(f"{name} has no passkey")
