"""What follows from a person's word for their own mail: entries of their list, at once and without
any training.

    spam    deny: the author, the list, the text
    ham     allow: the author, the list beside its proved domain, the text

By the author as authentication proved it.  Where nothing was proved, a complaint denies the address
in From only to mail that proves nothing either (it is another's name, most likely), and a pardon
only lifts what was denied.  Where MAIL FROM alone was proved, it stands for the author.

Who proved it is asked of the journal, for a message that has its id, signed by us; and where the
journal has forgotten it, of our own Authentication-Results above it.  Anything else a message says
of itself is a stranger's word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from oborona.authentication.header import dmarc_of
from oborona.authentication.model import Result
from oborona.domains import registrable
from oborona.feedback.word import Kind as Said
from oborona.message.model import Kind as EntityKind
from oborona.message.model import Message
from oborona.policy.headers import LOOKED_AT, RESULTS, foreign
from oborona.policy.personal import list_domain, text_values
from oborona.reputation.personal import (
    BrokenEntry,
    Entry,
    Kind,
    Side,
    Source,
    entry,
    mail_address,
    of_text,
)
from oborona.types import Proved, Shingle


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a message came from, as far as it is known."""

    claimed: str = ""  # address in From
    proved: Proved = Proved()
    list_id: str = ""
    list_domain: str = ""  # proved registrable domain beside it


_NOBODY: Final = Proved()


def origin_then(facts: Mapping[str, Any]) -> Origin | None:
    """Return where a message came from, by the facts that the journal has of it.

    None where it does not say what was proved.
    """
    if not isinstance(facts.get("author"), str):
        return None
    found = {
        name: facts.get(name) for name in ("author", "author_domain", "sender_proved", "login")
    }
    author, domain, sender, account = (
        one if isinstance(one, str) else "" for one in found.values()
    )
    proved = Proved(author=author, author_domain=domain, sender=sender, account=account.lower())
    list_id, signed = str(facts.get("list_id") or ""), facts.get("dkim_domains")
    whole = isinstance(signed, list | tuple | set | frozenset) and not facts.get("dkim_unsigned")
    return Origin(
        claimed=str(facts.get("from_address") or ""),
        proved=proved,
        list_id=list_id,
        list_domain=list_domain(list_id, map(str, signed or ()) if whole else (), proved)
        if list_id
        else "",
    )


def origin_said(message: Message, site: str, *, ours: bool) -> Origin:
    """Return where a message came from, by what it says.

    Args:
        message: as it lies in the mailbox.
        site: our authserv-id.
        ours: it bears an id that we signed: what came in under our names was removed, so that what
            is there is ours.
    """
    claimed = message.from_.address if message.from_ else ""
    list_id = next((one.value for one in message.entities if one.kind is EntityKind.LIST), "")
    proved = _said(message, site) if ours else _NOBODY
    return Origin(
        claimed=claimed,
        proved=proved,
        list_id=list_id,
        list_domain=list_domain(list_id, (), proved) if list_id else "",
    )


def unproved(origin: Origin) -> Origin:
    """Return where a message claims to come from."""
    return msgspec.structs.replace(origin, proved=_NOBODY, list_domain="")


def _said(message: Message, site: str) -> Proved:
    """Return what the topmost Authentication-Results of ours says of DMARC."""
    values = (one.raw for one in message.headers if one.name == RESULTS)
    own = next(
        (
            raw
            for raw in values
            if foreign(RESULTS, raw[:LOOKED_AT].decode("ascii", "replace"), site)
        ),
        b"",
    )
    said = dmarc_of(own)
    author = (
        mail_address(message.from_.address)
        if message.from_ and len(message.from_domains) <= 1
        else ""
    )
    domain = author.rpartition("@")[2]
    if said.result is not Result.PASS or not domain or said.domain != domain:
        return _NOBODY
    return Proved(author=author, author_domain=registrable(domain))


def entries(
    said: Said, origin: Origin, pieces: Sequence[Shingle], *, person: str, word: int, now: float
) -> list[Entry]:
    """Return what follows from a word for the mail of who said it.

    Args:
        said: spam or ham.
        origin: of the message.
        pieces: of the message.
        person: who says it; nobody denies themselves.
        word: its id.
        now: Unix seconds, when it was said.
    """
    spam = said is Said.SPAM
    wanted: list[tuple[Side, Kind, str, str]] = []
    side = Side.DENY if spam else Side.ALLOW
    claimed = mail_address(origin.claimed)
    if origin.proved.author:
        wanted.append((side, Kind.ADDRESS, origin.proved.author, ""))
    elif claimed:
        wanted.append((Side.DENY if spam else Side.LIFT, Kind.CLAIMED, claimed, ""))
        if not spam:
            wanted.append((Side.LIFT, Kind.ADDRESS, claimed, ""))
    if origin.proved.sender and not origin.proved.author:
        wanted.append((side, Kind.SENDER, origin.proved.sender, ""))
    if origin.list_id:
        known = spam or origin.list_domain
        wanted.append((side if known else Side.LIFT, Kind.LIST, origin.list_id, origin.list_domain))
    found: list[Entry] = []
    for one, kind, value, beside in wanted:
        if one is Side.DENY and kind is not Kind.CLAIMED and mail_address(value) == person:
            continue
        try:
            found.append(
                entry(one, kind, value, beside=beside, time=now, source=Source.WORD, word=word)
            )
        except BrokenEntry:  # what a stranger wrote there is no name at all
            continue
    values = text_values(pieces)
    if values:
        found.append(of_text(side, values, time=now, source=Source.WORD, word=word))
    return found
