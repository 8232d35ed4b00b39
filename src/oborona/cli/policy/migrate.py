"""`oborona policy migrate`: copies of files that ship leave the site's policy folder, what was
changed in them stays.
"""

from __future__ import annotations

import time

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.cli.policy.migration.execution import backup_of, carry_out
from oborona.cli.policy.migration.plan import MigrationPlan, plan_migration


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
@pass_cli_context
def migrate(context: CliContext, dry_run: bool) -> None:
    """Move the policy folder over from the layout in which it held copies of all files that ship.

    Unchanged copies go, those of older versions too: what ships is read from the program. Of a copy
    that was changed by hand, the changes are written into a file of their own. The folder as it was
    is kept beside it. What would lose or change anything of yours is refused; it may be run again
    at any time.

    Exit status 78 when it refuses.
    """
    folders = context.policy_folders
    if folders.own is None:
        echo("nothing to move: paths.policy is the folder that ships")
        return
    plan = plan_migration(folders, backup_of(folders.own, time.time()))
    if plan is None:
        echo(f"nothing to move: {folders.own} holds no copies of files that ship")
        return
    _show(plan)
    if dry_run:
        echo("nothing was done: --dry-run")
        return
    carry_out(plan)
    echo(f"moved; the folder as it was: {plan.backup}")


def _show(plan: MigrationPlan) -> None:
    unchanged = [path.name for path in plan.gone if path.name not in plan.changes]
    if unchanged:
        echo(f"unchanged copies that go: {', '.join(unchanged)}")
    for name, changed in plan.changes.items():
        echo(
            f"{name}: a copy changed by hand{'' if changed.words else ', in what decides nothing'}"
        )
        for line in changed.words:
            echo(f"    {line}")
    for name in plan.new:
        echo(f"new file: {plan.folder / name}")
    for stay in plan.stays:
        echo(f"stays, in the place of the one that ships: {stay.name}: {stay.why}")
    if plan.news:
        echo("what newer files that ship bring:")
        for news in plan.news:
            echo(f"    {news.told()}")
    else:
        echo("the policy means what it meant")
