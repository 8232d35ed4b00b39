"""The ask about messages over which workers died, and which are not looked into any more."""

from __future__ import annotations

import time

import msgspec

from oborona.desk.call import ask
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.session.quarantine import suspect_store


class SetApartQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which there are."""


class SetApartMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message over which workers died.

    Args:
        message: its identity.
        apart: it is not looked into any more.
        deaths: of workers.
        last: when the last of them was, Unix seconds.
        how: the last worker ended.
        queue: its queue id.
        client: who brought it.
        sender: in the envelope.
        version: of Oborona.
        kept: file of the message itself; empty = it is not kept.
    """

    message: str
    apart: bool
    deaths: int
    last: float
    how: str
    queue: str
    client: str
    sender: str
    version: str
    kept: str


class SetApartMessages(msgspec.Struct, frozen=True, kw_only=True):
    """All of them, the latest last."""

    messages: tuple[SetApartMessage, ...]


@ask("set_apart.list", Right.TRACK)
def list_set_apart(site: Site, _caller: Caller, asked: SetApartQuestion) -> SetApartMessages:
    """Return the messages over which workers died; after two deaths one is filed as spam unread.

    Raises:
        StoreError: the folder is there and can't be read.
    """
    found = []
    for suspect in suspect_store.read_suspects(site.state, time.time()):
        file = suspect_store.message_file(site.state, suspect.identity)
        found.append(
            SetApartMessage(
                message=suspect.identity,
                apart=suspect.apart,
                deaths=suspect.deaths,
                last=suspect.last,
                how=suspect.how,
                queue=suspect.queue_id,
                client=suspect.client,
                sender=suspect.sender,
                version=suspect.version,
                kept=str(file) if file.exists() else "",
            )
        )
    return SetApartMessages(messages=tuple(found))
