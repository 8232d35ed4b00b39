"""`oborona recheck look`: one message, or all of one recipient, judged again now.

What would be done, or done.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import click
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import Terminal, plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.recheck import LookOrder, look_again
from oborona.desk.call import NotFoundError
from oborona.desk.moves.look import RecheckLookResult
from oborona.ident import from_text


@click.command()
@click.argument("what", metavar="ID|MAILBOX")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show what would be moved, and move nothing; mailboxes are asked, too.",
)
@click.option("--all", "every", is_flag=True, help="Also show messages that stay where they are.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def look(context: CliContext, what: str, dry_run: bool, every: bool, as_json: bool) -> None:
    """Recheck delivered mail now: one message by its ID, or all messages of a recipient in the
    window.
    """
    number = from_text(what.partition(".")[0])
    if number is None and "@" not in what:
        raise click.UsageError(f"{what!r} is no id of a message and no mail address")
    order = LookOrder(
        message="" if number is None else what,
        recipient=what if number is None else "",
        dry=dry_run,
    )
    try:
        looks = look_again(context, terminal_caller(), order).copies
    except NotFoundError as error:
        click.echo(f"oborona: {error}", err=True)
        click.get_current_context().exit(os.EX_NOINPUT)
    shown = [
        result for result in looks if every or number is not None or result.target or result.stays
    ]
    if as_json:
        for result in shown:
            echo_json(result)
        return
    _show(shown)
    moving = sum(bool(result.target) for result in looks)
    words = "would be moved" if dry_run else "are decided, the keeper moves them"
    echo(f"{len(looks)} copies checked, {moving} {words}")


def _show(looks: Sequence[RecheckLookResult]) -> None:
    table = Table()
    for name in ("message", "from", "subject", "then", "now", "why", "what"):
        table.add_column(name, no_wrap=name == "message")  # a part of an ID is none
    for look in looks:
        now = " or ".join(look.possible) if len(look.possible) > 1 else look.now
        outcome = f"{look.source} → {look.target}" if look.target else look.stays or "stays"
        outcome += f", because: {look.because}" if look.because else ""
        table.add_row(
            look.id,
            plain(look.sender),
            plain(look.subject),
            f"{look.then} {look.then_score:.1f}",
            f"{now} {look.now_score:.1f} / {look.line:g}" if look.now else "?",
            plain(look.why),
            plain(" ".join(filter(None, (outcome, f"({look.mailbox})" if look.mailbox else "")))),
        )
    Terminal().print(table)
