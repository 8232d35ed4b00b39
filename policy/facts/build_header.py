"""What the header of a message says, and how its names fit each other and the envelope."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from oborona.domains import MAX_HOST, registrable
from oborona.message.model import EntityKind, Mailbox, Message
from oborona.message.normalise import normalise
from oborona.policy.facts import MAILER_LIMIT, Facts, with_values
from oborona.types import Envelope

_NOBODY: Final = Mailbox(name="", address="", domain="")
_URGENT_X: Final = ("1", "2")  # X-Priority, as in "1 (Highest)"
_URGENT: Final = frozenset({"high", "urgent"})
_MAX_COUNTED: Final = 1_000  # characters of a subject; what is longer is no subject
_NAME: Final = re.compile(r"[\w-]+(?:\.[\w-]+)+")


def with_header(facts: Facts, message: Message, envelope: Envelope, *, now: float) -> Facts:
    """Return facts with what the header tells, and how the message is built.

    Args:
        facts: of the message.
        message: parsed.
        envelope: of the message.
        now: Unix seconds.
    """
    times = Counter([header.name for header in message.headers])
    facts = with_values(
        facts,
        message_truncated=message.truncated,
        message_parts=len(message.parts),
        message_depth=message.depth,
        message_tree=message.mime_tree,
        headers=frozenset(times),
        headers_count=len(message.headers),
        received_count=times["received"],
        date_age_hours=(now - message.date) / 3600 if message.date is not None else None,
        mailer=(message.get("x-mailer") or message.get("user-agent") or "").lower()[:MAILER_LIMIT],
        urgent=_urgent(message, times),
        bulk=_to_many(message, times),
        automatic=_automatic(message),
        unsubscribe="list-unsubscribe" in times,
        unsubscribe_one_click="list-unsubscribe-post" in times and "list-unsubscribe" in times,
        list_id=next(
            (entity.value for entity in message.entities if entity.kind is EntityKind.LIST), ""
        ),
    )
    return _with_names(_with_subject(facts, message), message, envelope)


def _with_subject(facts: Facts, message: Message) -> Facts:
    counted = message.subject[:_MAX_COUNTED]
    letters = sum(map(str.isalpha, counted))
    return with_values(
        facts,
        subject=normalise(message.subject),
        subject_raw=message.subject,
        subject_capitals=sum(map(str.isupper, counted)) / letters if letters else None,
        subject_digits=sum(map(str.isdecimal, counted)) / len(counted) if counted else None,
        subject_words=len(message.subject.split()),
    )


def _with_names(facts: Facts, message: Message, envelope: Envelope) -> Facts:
    """Return facts with who is named, and which of the names are one."""
    reply_to = message.reply_to[0] if message.reply_to else _NOBODY
    sender = message.from_ or _NOBODY
    own = site_of(sender.domain)
    to = {box.address.lower() for box in message.recipients}
    address = sender.address.lower()
    by = message.message_id.rpartition("@")[2].lower()
    return with_values(
        facts,
        from_address=sender.address,
        from_name=normalise(sender.name),
        from_name_raw=sender.name,
        from_domain=sender.domain,
        from_count=message.from_count,
        from_is_sender=bool(address) and address == envelope.sender.lower(),
        from_domain_is_sender=bool(own)
        and own == site_of(envelope.sender.rpartition("@")[2].lower()),
        from_domain_is_client=bool(own)
        and own == site_of(envelope.client.name.rstrip(".").lower()),
        from_name_has_address="@" in sender.name,
        reply_to_address=reply_to.address,
        reply_to_domain=reply_to.domain,
        reply_to_differs=bool(reply_to.domain) and site_of(reply_to.domain) != own,
        to_count=len(message.recipients),
        to_has_recipient=any(recipient.lower() in to for recipient in envelope.recipients),
        to_is_from=bool(address) and address in to,
        message_id=message.message_id,
        message_id_domain=by,
        message_id_is_from=bool(own) and own == site_of(by),
    )


def site_of(name: str) -> str:
    """Return the registrable domain of a name that can be one, else nothing."""
    return registrable(name) if len(name) <= MAX_HOST and _NAME.fullmatch(name) else ""


def _urgent(message: Message, times: Counter[str]) -> bool:
    if "x-priority" in times and (message.get("x-priority") or "").strip().startswith(_URGENT_X):
        return True
    return any(
        name in times and (message.get(name) or "").strip().lower() in _URGENT
        for name in ("importance", "priority")
    )


def _to_many(message: Message, times: Counter[str]) -> bool:
    if "list-id" in times or "list-unsubscribe" in times:
        return True
    return (message.get("precedence") or "").strip().lower() in ("bulk", "list", "junk")


def _automatic(message: Message) -> bool:
    submitted = (message.get("auto-submitted") or "no").strip().lower()
    return not submitted.startswith("no") or any(
        kind in message.mime_tree for kind in ("text/calendar", "multipart/report")
    )
