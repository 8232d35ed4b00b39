"""`oborona counters verify`, `compact`, `forget`."""

from __future__ import annotations

import asyncio
import time

import click

from oborona import state_files
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.cli.owner import as_owner_of
from oborona.cli.shingle import of_service, shingle_named
from oborona.counters.compact import compact as compact_store
from oborona.counters.verify_subprocess import verify_in_subprocess
from oborona.desk.octets import size
from oborona.errors import StoreError
from oborona.lock import holder
from oborona.message.shingle_name import name_of
from oborona.stores.counters import check_is_local, open_counters, open_readonly
from oborona.types import CounterPrefix, Metric, Shingle, Window


@click.command()
@pass_cli_context
def verify(context: CliContext) -> None:
    """Read the whole counter store, and say what is wrong with it; a running daemon is not
    disturbed.

    Exit status 1 when something is wrong.
    """
    check_is_local(context.loaded.settings)
    folder = context.state / state_files.COUNTERS
    report = verify_in_subprocess(folder)
    for problem in report.problems:
        echo(problem)
    echo(
        f"{folder}: {report.records:,} records, {report.cells:,} cells, "
        f"{len(report.problems) or 'no'} problems"
    )
    if not report.clean:
        click.get_current_context().exit(1)


@click.command()
@pass_cli_context
def compact(context: CliContext) -> None:
    """Give the disk back what the counter store does not use; stop the writer first.

    A copy of what is used takes the place of the file: there must be room for it beside the other.
    Workers may go on.
    """
    check_is_local(context.loaded.settings)
    folder = context.state / state_files.COUNTERS
    with as_owner_of(folder):
        done = compact_store(folder)
    echo(f"{folder}: {size(done.before)} before, {size(done.after)} now")


@click.command()
@click.argument("shingle", type=shingle_named)
@of_service
@click.option("--yes", is_flag=True, help="Do not ask.")
@pass_cli_context
def forget(context: CliContext, shingle: Shingle, prefix: str, yes: bool) -> None:
    """Forget what is counted under a shingle, TYPE:HASH as `top`, `check --json` and `explain`
    print it.

    What comes after this counts from zero.
    """
    folder = context.state / state_files.COUNTERS
    service = CounterPrefix(prefix)
    counted = asyncio.run(_read_totals(context, shingle, service))
    echo(f"{name_of(shingle)}, {prefix}, in two weeks: {counted}")
    if not yes:
        click.confirm("Forget it?", abort=True)
    if not folder.is_dir():
        raise StoreError(f"no spools in {folder}: has the writer run?")
    with as_owner_of(folder):
        spooled = open_counters(context.loaded.settings, context.state, "cli")
        try:
            spooled.forget(shingle, time.time(), service)
        finally:
            spooled.close()
    writer = holder(folder / state_files.COUNTERS_LOCK)
    echo(
        f"to be forgotten by {writer}"
        if writer is not None
        else "to be forgotten when the writer runs again"
    )


async def _read_totals(context: CliContext, shingle: Shingle, prefix: CounterPrefix) -> str:
    with open_readonly(context.loaded.settings, context.state) as store:
        [totals] = await store.read([shingle], time.time(), prefix)
    last = totals[Window.FORTNIGHT]
    return " ".join(f"{metric.name.lower()} {last[metric]}" for metric in Metric)
