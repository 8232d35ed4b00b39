"""`oborona outgoing reset`: an account's limits begin anew."""

from __future__ import annotations

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.outgoing import LimitsReset, reset_limits
from oborona.desk.call import NotFoundError


@click.command()
@click.argument("login", metavar="LOGIN")
@click.option("--dry-run", is_flag=True, help="Say what would be taken back, and leave it.")
@pass_cli_context
def reset(context: CliContext, login: str, dry_run: bool) -> None:
    """Take back what the account LOGIN used up of its limits in the last 24 hours: messages,
    recipients, new ones, and octets.

    Its earlier days, by which is judged what is usual for it, and what is known of spam and
    complaints stay. Exit status 1 where there is nothing to take back.
    """
    order = LimitsReset(login=login, dry=dry_run)
    try:
        used = reset_limits(context, terminal_caller(), order).used
    except NotFoundError as error:
        click.echo(str(error), err=True)
        click.get_current_context().exit(1)
    words = ", ".join(f"{number:,} {word}" for word, number in used.items())
    echo(f"{login}: {words} {'would be taken back' if dry_run else 'taken back'}")
