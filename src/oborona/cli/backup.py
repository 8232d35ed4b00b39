"""`oborona backup` and `restore`: all of a site in one folder, and back."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.daemon.backup.creation import create_backup
from oborona.daemon.backup.disk import octets_below
from oborona.daemon.backup.restore import restore_backup
from oborona.desk.owner import as_owner_of


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@pass_cli_context
def backup(context: CliContext, folder: Path) -> None:
    """Write settings, policy, secret and all stores into FOLDER, which must not be there yet.

    The daemon may run: the stores are copied as they were at one moment. Counters in a cluster are
    not in it. Only its owner can read what is written; `sha256sum -c SHA256SUMS` in FOLDER tells
    whether it is whole.
    """
    manifest = create_backup(context.loaded, folder, partial(as_owner_of, context.state))
    echo(
        f"{folder}: {octets_below(folder) >> 20} MiB, {len(manifest.stores)} stores, "
        f"{len(manifest.places)} files and folders of settings"
    )
    if manifest.cluster:
        click.echo("oborona: the counters are in the cluster, and not in the backup", err=True)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--force", is_flag=True, help="Set aside a state that is there.")
@pass_cli_context
def restore(context: CliContext, folder: Path, force: bool) -> None:
    """Put back what `backup` wrote into FOLDER, where it was; with --state DIR, the state alone,
    into DIR.

    The daemon must be stopped. All of the backup is checked before anything is changed. What lies
    there is kept: settings beside the new ones, as NAME.before-restore-TIME, a state within its
    folder.
    """
    done = restore_backup(folder, state=context.state_asked, force=force)
    echo(f"{done.state}: as on {done.manifest.host} at {done.manifest.made}")
    for path in done.aside:
        echo(f"kept what was there: {path}")
    if done.unowned:
        click.echo(
            (
                f"oborona: there is no user {done.manifest.owner} here: give it to the "
                f"daemon's (chown -R)"
            ),
            err=True,
        )
    if done.manifest.cluster:
        click.echo("oborona: the counters are in the cluster, and were not in the backup", err=True)
