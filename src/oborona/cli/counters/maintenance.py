"""`oborona counters verify`, `compact`, `forget`."""

from __future__ import annotations

import click

from oborona import state_files
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.cli.shingle import of_service, shingle_named
from oborona.cli.terminal_person import terminal_caller
from oborona.counters.compact import compact as compact_store
from oborona.desk.acts.counters import ForgetOrder, forget_counts
from oborona.desk.asks.counter_store import CounterCheckQuestion, verify_counters
from oborona.desk.octets import size
from oborona.desk.owner import as_owner_of
from oborona.message.shingle_name import name_of
from oborona.stores.counters import check_is_local
from oborona.types import CounterPrefix, Shingle


@click.command()
@pass_cli_context
def verify(context: CliContext) -> None:
    """Read the whole counter store, and say what is wrong with it; a running daemon is not
    disturbed.

    Exit status 1 when something is wrong.
    """
    report = verify_counters(context, terminal_caller(), CounterCheckQuestion())
    for problem in report.problems:
        echo(problem)
    echo(
        f"{report.folder}: {report.records:,} records, {report.cells:,} cells, "
        f"{len(report.problems) or 'no'} problems"
    )
    if report.problems:
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
    order = ForgetOrder(shingle=name_of(shingle), prefix=CounterPrefix(prefix), dry=True)
    known = forget_counts(context, terminal_caller(), order)
    counted = " ".join(f"{metric} {number}" for metric, number in known.counts.items())
    echo(f"{known.shingle}, {prefix}, in two weeks: {counted}")
    if not yes:
        click.confirm("Forget it?", abort=True)
    order.dry = False
    writer = forget_counts(context, terminal_caller(), order).writer
    echo(f"to be forgotten by {writer}" if writer else "to be forgotten when the writer runs again")
