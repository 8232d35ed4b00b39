"""`oborona policy status` and `share`: one policy on several machines."""

from __future__ import annotations

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.policy.versions import show_publication, without_option, write_as_asker
from oborona.cli.terminal import plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.asks.policy_status import (
    MachineVersion,
    PolicyStatusQuestion,
    SitePolicyStatus,
    show_policy_status,
)
from oborona.desk.doctor.machines import SILENT_S
from oborona.desk.doctor.traffic import ago
from oborona.desk.owner import as_owner_of
from oborona.desk.policy.proposal import check_alone
from oborona.desk.policy.shared_folder import share_folder


@click.command()
@click.option("--json", "as_json", is_flag=True, help="The same as one JSON object.")
@pass_cli_context
def status(context: CliContext, as_json: bool) -> None:
    """Show which version of the policy each machine of the site judges by. Exit status 1 when one
    has another than the site.
    """
    with as_owner_of(context.state):
        found = show_policy_status(context, terminal_caller(), PolicyStatusQuestion())
    if as_json:
        echo_json(found)
    else:
        _show(found)
    if found.away or any(_differs(one, found) for one in found.machines):
        click.get_current_context().exit(1)


@click.command()
@click.option("--reason", required=True, help="Why: it stands in the history, with your name.")
@click.option("--take", is_flag=True, help="Let the folder hold what the site has instead.")
@click.option(
    "--alone", is_flag=True, help="Without the second person whom console.two_persons wants."
)
@without_option
@click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
@pass_cli_context
def share(
    context: CliContext,
    reason: str,
    take: bool,
    alone: bool,
    without: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Publish on all machines of the site what the policy folder of this one holds, as edited
    here.

    With --take what was edited here is set aside, and the site's policy takes its place.
    """
    caller = terminal_caller()
    check_alone(context, caller, alone=alone)
    with as_owner_of(context.state):
        done = share_folder(
            context,
            caller,
            reason,
            take=take,
            dry=dry_run,
            without=without,
            write=write_as_asker,
        )
    show_publication(done, dry=dry_run)


def _show(found: SitePolicyStatus) -> None:
    echo(f"version {found.version or '-'}, policy {found.meaning or '-'}")
    if not found.machine:
        echo("this machine is alone: it is of no site")
    if found.away:
        echo(plain(f"of the others nothing is known: {found.away}"))
    for one in found.machines:
        words = [
            f"{one.name}{' (this one)' if one.here else ''}: version {one.version or '-'}",
            f"policy {one.meaning or '-'}",
        ]
        if one.version:
            words.append(f"for {ago(one.since_s)}")
        if one.silent_s > SILENT_S:
            words.append(f"last heard of {ago(one.silent_s)} ago")
        if one.trouble:
            words.append(one.trouble)
        echo(plain(f"    {', '.join(words)}"))


def _differs(one: MachineVersion, found: SitePolicyStatus) -> bool:
    return bool(one.trouble) or one.silent_s > SILENT_S or one.version != found.version
