"""What is held in the mail server's queue, written down for the keeper, which tells people; and its
senders told, once a day each.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
import msgspec

from oborona import state_files
from oborona.accounts.held_mail import DAY_S, held_mail_of
from oborona.atomic_file import write_atomically
from oborona.cli.context import CliContext
from oborona.cli.outgoing.sender_notice import NoticeKind, tell_senders
from oborona.cli.terminal import plain
from oborona.desk.outgoing.hold_queue import HoldQueue, hold_queue
from oborona.desk.outgoing.queue_entry import QueueEntry, queue_entries
from oborona.desk.owner import as_owner_of
from oborona.telemetry.alert import encodable_text

_TOLD: Final = msgspec.json.Decoder(dict[str, float])  # Unix seconds, by login


def write_held_mail(context: CliContext, folder: Path | None) -> None:
    """Write down what Oborona has had held, in place of what was written before, and tell whose it
    is, where the settings say so.

    Args:
        context: whose state folder it is.
        folder: of main.cf, where Postfix has several instances.

    Raises:
        NoMailServerError: there is none here.
        PostfixError, ProgramError: it can't be asked.
        StoreError: it can't be written down.
    """
    queue = hold_queue(folder)
    listing = queue.listing().held
    ours = [one for one in queue_entries(context, listing) if one.ours]
    messages = [(one.queued.since, encodable_text(one.login)) for one in ours]
    octets = msgspec.json.encode(held_mail_of(messages, time.time()))
    with as_owner_of(context.state):
        write_atomically(context.state / state_files.QUEUE_HELD, octets)
    if context.loaded.settings.alarm.tell_senders:
        _tell(context, queue, ours)


def _tell(context: CliContext, queue: HoldQueue, ours: Sequence[QueueEntry]) -> None:
    """Tell the senders of held mail who were not told within a day, and note it.

    A kill between the two has somebody told twice.
    """
    path, now = context.state / state_files.SENDERS_TOLD, time.time()
    try:
        told = _TOLD.decode(path.read_bytes())
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        told = {}  # one that is damaged has some told twice
    lately = {login: at for login, at in told.items() if now - DAY_S < at <= now}
    sent = tell_senders(context, queue, NoticeKind.HELD, ours, told_already=lately)
    for address, why in sent.failed.items():
        click.echo(f"oborona: {plain(address)} is not told: {why}", err=True)
    fresh = lately | {encodable_text(login): now for login in sent.told}
    if fresh != told:
        with as_owner_of(context.state):
            write_atomically(path, msgspec.json.encode(fresh))
