"""What is held in the mail server's queue, written down for the keeper, which tells people."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from oborona import state_files
from oborona.accounts.held_mail import held_mail_of
from oborona.atomic_file import write_atomically
from oborona.cli.context import CliContext
from oborona.cli.outgoing.hold_queue import hold_queue
from oborona.cli.outgoing.queue_entry import queue_entries
from oborona.cli.owner import as_owner_of
from oborona.telemetry.alert import encodable_text


def write_held_mail(context: CliContext, folder: Path | None) -> None:
    """Write down what Oborona has had held, in place of what was written before.

    Args:
        context: whose state folder it is.
        folder: of main.cf, where Postfix has several instances.

    Raises:
        NoMailServerError: there is none here.
        PostfixError, ProgramError: it can't be asked.
        StoreError: it can't be written down.
    """
    listing = hold_queue(folder).listing().held
    ours = [one for one in queue_entries(context, listing) if one.ours]
    messages = [(one.queued.since, encodable_text(one.login)) for one in ours]
    octets = msgspec.json.encode(held_mail_of(messages, time.time()))
    with as_owner_of(context.state):
        write_atomically(context.state / state_files.QUEUE_HELD, octets)
