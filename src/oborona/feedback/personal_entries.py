"""Entries of a person's own list that follow from their label: at once, without any training.

    spam    deny: the author, the list, the text
    ham     allow: the author, the list beside its proved domain, the text

The author is the one that authentication proved.  If nothing was proved, the address in From is
most likely another's: a complaint then denies it only to mail that proves nothing either, and a
pardon only lifts a denial.  If MAIL FROM alone was proved, it stands for the author.

The proof is taken from the journal, for a message with its id signed by us; if the journal has
forgotten it, from our own Authentication-Results header.  All other headers are a stranger's claim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from oborona.authentication.header import dmarc_of
from oborona.authentication.model import AuthResult
from oborona.domains import registrable
from oborona.feedback.label import LabelKind
from oborona.message.model import EntityKind, Message
from oborona.policy.headers import LOOKED_AT, RESULTS, is_forged_header
from oborona.policy.personal_list_match import list_domain, text_values
from oborona.reputation.personal import (
    EntryAction,
    InvalidPersonalEntry,
    PersonalEntry,
    PersonalEntryKind,
    PersonalEntrySource,
    entry,
    mail_address,
    of_text,
)
from oborona.types import ProvedIdentity, Shingle


class LabelOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """The sender of a message, as far as he is known."""

    claimed: str = ""  # address in From
    proved: ProvedIdentity = ProvedIdentity()
    list_id: str = ""
    list_domain: str = ""  # proved registrable domain beside it


_NOBODY: Final = ProvedIdentity()


def origin_from_journal(facts: Mapping[str, Any]) -> LabelOrigin | None:
    """Return where a message came from, by the facts that the journal has of it.

    None where it does not say what was proved.
    """
    if not isinstance(facts.get("author"), str):
        return None
    identities = {
        name: facts.get(name) for name in ("author", "author_domain", "sender_proved", "login")
    }
    author, domain, sender, account = (
        value if isinstance(value, str) else "" for value in identities.values()
    )
    proved = ProvedIdentity(
        author=author, author_domain=domain, sender=sender, account=account.lower()
    )
    list_id, signed = str(facts.get("list_id") or ""), facts.get("dkim_domains")
    whole = isinstance(signed, list | tuple | set | frozenset) and not facts.get("dkim_unsigned")
    return LabelOrigin(
        claimed=str(facts.get("from_address") or ""),
        proved=proved,
        list_id=list_id,
        list_domain=list_domain(list_id, map(str, signed or ()) if whole else (), proved)
        if list_id
        else "",
    )


def origin_from_message(message: Message, site: str, *, ours: bool) -> LabelOrigin:
    """Return where a message came from, by what it says.

    Args:
        message: as it lies in the mailbox.
        site: our authserv-id.
        ours: it bears an id that we signed: what came in under our names was removed, so that what
            is there is ours.
    """
    claimed = message.from_.address if message.from_ else ""
    list_id = next(
        (entity.value for entity in message.entities if entity.kind is EntityKind.LIST), ""
    )
    proved = _read_proof(message, site) if ours else _NOBODY
    return LabelOrigin(
        claimed=claimed,
        proved=proved,
        list_id=list_id,
        list_domain=list_domain(list_id, (), proved) if list_id else "",
    )


def claimed_origin(origin: LabelOrigin) -> LabelOrigin:
    """Return where a message claims to come from."""
    return msgspec.structs.replace(origin, proved=_NOBODY, list_domain="")


def _read_proof(message: Message, site: str) -> ProvedIdentity:
    """Return what the topmost Authentication-Results of ours says of DMARC."""
    values = (field.raw for field in message.headers if field.name == RESULTS)
    own = next(
        (
            raw
            for raw in values
            if is_forged_header(RESULTS, raw[:LOOKED_AT].decode("ascii", "replace"), site)
        ),
        b"",
    )
    own_result = dmarc_of(own)
    author = (
        mail_address(message.from_.address)
        if message.from_ and len(message.from_domains) <= 1
        else ""
    )
    domain = author.rpartition("@")[2]
    if own_result.result is not AuthResult.PASS or not domain or own_result.domain != domain:
        return _NOBODY
    return ProvedIdentity(author=author, author_domain=registrable(domain))


def entries_from_label(
    label: LabelKind,
    origin: LabelOrigin,
    pieces: Sequence[Shingle],
    *,
    person: str,
    word: int,
    now: float,
) -> list[PersonalEntry]:
    """Return what follows from a word for the mail of who said it.

    Args:
        label: spam or ham.
        origin: of the message.
        pieces: of the message.
        person: who says it; nobody denies themselves.
        word: its id.
        now: Unix seconds, when it was said.
    """
    spam = label is LabelKind.SPAM
    candidates: list[tuple[EntryAction, PersonalEntryKind, str, str]] = []
    side = EntryAction.DENY if spam else EntryAction.ALLOW
    claimed = mail_address(origin.claimed)
    if origin.proved.author:
        candidates.append((side, PersonalEntryKind.ADDRESS, origin.proved.author, ""))
    elif claimed:
        candidates.append(
            (EntryAction.DENY if spam else EntryAction.LIFT, PersonalEntryKind.CLAIMED, claimed, "")
        )
        if not spam:
            candidates.append((EntryAction.LIFT, PersonalEntryKind.ADDRESS, claimed, ""))
    if origin.proved.sender and not origin.proved.author:
        candidates.append((side, PersonalEntryKind.SENDER, origin.proved.sender, ""))
    if origin.list_id:
        trusted = spam or origin.list_domain
        candidates.append(
            (
                side if trusted else EntryAction.LIFT,
                PersonalEntryKind.LIST,
                origin.list_id,
                origin.list_domain,
            )
        )
    entries: list[PersonalEntry] = []
    for action, kind, value, beside in candidates:
        if (
            action is EntryAction.DENY
            and kind is not PersonalEntryKind.CLAIMED
            and mail_address(value) == person
        ):
            continue
        try:
            entries.append(
                entry(
                    action,
                    kind,
                    value,
                    beside=beside,
                    time=now,
                    source=PersonalEntrySource.WORD,
                    word=word,
                )
            )
        except InvalidPersonalEntry:  # what a stranger wrote there is no name at all
            continue
    values = text_values(pieces)
    if values:
        entries.append(of_text(side, values, time=now, source=PersonalEntrySource.WORD, word=word))
    return entries
