"""What a person lets go speaks for where it came from: it counts no more as held there.

An account is known where its mail left on an earlier day, unless more than a quarter of it was held
or refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from oborona import secret, state_files
from oborona.cli.context import CliContext
from oborona.desk.outgoing.queue_entry import QueueEntry
from oborona.desk.owner import as_owner_of
from oborona.errors import StoreAbsent, StoreError
from oborona.journal.entry import JournalEntry
from oborona.message.hashing import Hasher
from oborona.message.unique_pairs import account_place
from oborona.session.judged_message import HELD
from oborona.stores.counters import open_counters
from oborona.types import Amounts, Client, CounterPrefix, Envelope


def clear_places(context: CliContext, released: Sequence[QueueEntry]) -> None:
    """Take back that messages were held from the counts of where they came from.

    What can't be is said on standard error: the messages are on their way all the same.

    Args:
        context: of the site.
        released: messages that were let go.
    """
    entries = [one.entry for one in released if one.entry is not None]
    held = [entry for entry in entries if entry.login and HELD in entry.findings]
    if not held:
        return
    try:
        _take_back(context, held)
    except StoreError as error:
        click.echo(f"oborona: counted as held where it came from: {error}", err=True)


def _take_back(context: CliContext, entries: Sequence[JournalEntry]) -> None:
    folder = context.state / state_files.COUNTERS
    if not folder.is_dir():
        raise StoreAbsent(f"no spools in {folder}: has the writer run?", state_files.COUNTERS)
    hasher = Hasher(secret.load(context.state).shingles)
    with as_owner_of(folder):
        counters = open_counters(context.loaded.settings, context.state, "cli")
        try:
            for entry in entries:
                sent = Envelope(client=Client(ip=entry.client_ip), login=entry.login)
                place = account_place(sent, hasher)
                counters.take_back(place, Amounts(spam=1), entry.time, CounterPrefix.OUT)
        finally:
            counters.close()
