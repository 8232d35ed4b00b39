"""`oborona outgoing reset`: an account's limits begin anew."""

from __future__ import annotations

import asyncio
import time
from typing import Final

import click

from oborona import secret, state_files
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.counters.window import BUCKET_S, BUCKETS_A_DAY, bucket_of
from oborona.desk.owner import as_owner_of
from oborona.errors import StoreError
from oborona.message.hashing import Hasher, ShingleType
from oborona.stores.counters import open_counters, open_readonly
from oborona.types import Amounts, CounterPrefix, Metric, Shingle

COUNTED: Final = {
    CounterPrefix.SENT: "messages",
    CounterPrefix.RECIPIENTS: "recipients",
    CounterPrefix.OCTETS: "octets",
    CounterPrefix.NEW_RECIPIENTS: "new recipients",
}


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
    now = time.time()
    hasher = Hasher(secret.load(context.state).shingles)
    account = hasher.shingle(ShingleType.ACCOUNT, login.lower())
    used = {prefix: asyncio.run(_last_day(context, account, prefix, now)) for prefix in COUNTED}
    if not any(map(sum, used.values())):
        click.echo(f"{login}: sent nothing in the last 24 hours", err=True)
        click.get_current_context().exit(1)
    words = ", ".join(f"{sum(used[prefix]):,} {word}" for prefix, word in COUNTED.items())
    if dry_run:
        echo(f"{login}: {words} would be taken back")
        return
    folder = context.state / state_files.COUNTERS
    if not folder.is_dir():
        raise StoreError(f"no spools in {folder}: has the writer run?")
    first = bucket_of(now) - BUCKETS_A_DAY + 1
    with as_owner_of(folder):
        counters = open_counters(context.loaded.settings, context.state, "cli")
        try:
            for prefix, buckets in used.items():
                for number, amount in enumerate(buckets):
                    if amount:
                        at = float((first + number) * BUCKET_S)
                        counters.take_back((account,), Amounts(seen=amount), at, prefix)
        finally:
            counters.close()
    echo(f"{login}: {words} taken back")


async def _last_day(
    context: CliContext, account: Shingle, prefix: CounterPrefix, now: float
) -> list[int]:
    """Return how much there was in each ten minutes of the last day, oldest first."""
    with open_readonly(context.loaded.settings, context.state) as store:
        (line,) = await store.timelines([account], now, prefix)
    return [bucket[Metric.SEEN] for bucket in line.buckets]
