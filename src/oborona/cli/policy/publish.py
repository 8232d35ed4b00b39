"""`oborona policy publish`: a draft of the console, live, by who is at the terminal."""

from __future__ import annotations

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.policy.versions import show_publication, without_option, write_as_asker
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.owner import as_owner_of
from oborona.desk.policy.guarded_publication import publish_live
from oborona.desk.policy.proposal import check_alone


@click.command()
@click.argument("draft")
@click.option("--reason", required=True, help="Why: it stands in the history, with your name.")
@click.option("--sure", is_flag=True, help="Also if much good mail would be judged otherwise.")
@click.option(
    "--alone", is_flag=True, help="Without the second person whom console.two_persons wants."
)
@without_option
@click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
@pass_cli_context
def publish(
    context: CliContext,
    draft: str,
    reason: str,
    sure: bool,
    alone: bool,
    without: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Publish DRAFT live, once it is checked and its tests hold, and have the daemon judge by it.

    Its very text must have been tried by a preview. If the daemon refuses it, what was there is
    put back.
    """
    caller = terminal_caller()
    check_alone(context, caller, alone=alone)
    with as_owner_of(context.state):
        done = publish_live(
            context,
            caller,
            draft,
            reason,
            sure=sure,
            dry=dry_run,
            write=write_as_asker,
            without=without,
        )
    show_publication(done, dry=dry_run)
