"""Signatures that came or went since messages were judged, applied to what is kept of those: pure.

An entity is found by its shingle.  Phrases and patterns want the text, which the mailbox has and
the journal has not: a new one is looked for in mail that comes, and in nothing that was delivered;
one that is gone is taken out wherever it was found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from oborona.domains import registrable
from oborona.journal.entry import Entry
from oborona.message.hashing import Hasher, Type
from oborona.policy.facts import Facts, Words, with_values
from oborona.policy.signatures.check import BrokenSignature, entity
from oborona.policy.signatures.matched import Matched, in_order, rule_name, told
from oborona.policy.signatures.model import WORDS, Flag, Kind, Signature, Where
from oborona.types import Mode, Shingle

_TYPES: Final = {
    Kind.URL: (Type.URL,),
    Kind.HOST: (Type.HOST, Type.PICTURE_HOST),
    Kind.DOMAIN: (Type.HOST,),
    Kind.PHONE: (Type.PHONE,),
    Kind.WALLET: (Type.WALLET,),
    Kind.HANDLE: (Type.HANDLE,),
    Kind.LIST: (Type.LIST,),
}


def shingles_of(signature: Signature, hasher: Hasher) -> tuple[Shingle, ...]:
    """Return the shingles of messages that have the entity of a signature.

    None for words, and for what is no entity.

    Args:
        signature: checked.
        hasher: holds the site's secret.
    """
    if signature.kind in WORDS:
        return ()
    try:
        kind, value = entity(signature)
    except BrokenSignature:
        return ()
    if kind is Kind.CHECKSUM:
        return (hasher.octets(Type.CHECKSUM, bytes.fromhex(value)),)
    if kind is Kind.ADDRESS:
        header, text = [Type.FROM, Type.REPLY_TO], [Type.ADDRESS]
    elif kind is Kind.DOMAIN and registrable(value) == value:
        header, text = [Type.FROM_DOMAIN], [Type.LINK_DOMAIN]
    # what is below a subdomain can't be told from what is beside it: it is found by its own name
    else:
        header, text = [], list(_TYPES[kind])
    types = {Where.HEADER: header or text, Where.TEXT: text}.get(signature.where, header + text)
    return tuple(hasher.shingle(one, value) for one in types)


class Signed:
    """What of signatures is new, and what is gone.

    Args:
        fresh: those that came or changed lately, by id.
        hasher: holds the site's secret.
        gone: ids of those that went lately.
    """

    def __init__(
        self, fresh: Mapping[str, Signature], hasher: Hasher, gone: Collection[str] = ()
    ) -> None:
        self._gone = frozenset(gone) | fresh.keys()  # what changed is found anew, as it is now
        self._by_shingle: dict[Shingle, list[Signature]] = {}
        self._words = frozenset(name for name, one in fresh.items() if one.kind in WORDS)
        for one in fresh.values():
            for shingle in shingles_of(one, hasher):
                self._by_shingle.setdefault(shingle, []).append(one)

    def applied(
        self, entry: Entry, facts: Facts, pieces: Iterable[Shingle], now: float
    ) -> tuple[Entry, Facts]:
        """Return a message as if it had been judged with the signatures of now.

        Args:
            entry: of the journal, with what its verdict rested on.
            facts: of then.
            pieces: of the message.
            now: Unix seconds: those that expired before are not found.
        """
        if not self._gone and not self._by_shingle:
            return entry, facts
        found = {
            one.id: one
            for shingle in pieces
            for one in self._by_shingle.get(shingle, ())
            if not one.expired(now)
        }
        return self._own(entry, found.values()), self._flagged(facts, found.values())

    def _own(self, entry: Entry, found: Iterable[Signature]) -> Entry:
        """Return an entry with the signatures that are rules of their own as they are now."""
        kept = entry.kept
        hits = Matched(signatures=in_order(found)).hits
        dropped = {rule_name_of(name) for name in self._gone - self._words}
        if kept is None or (not hits and not any(hit.name in dropped for hit in kept.signatures)):
            return entry
        stay = tuple(hit for hit in kept.signatures if hit.name not in dropped)
        return msgspec.structs.replace(
            entry, kept=msgspec.structs.replace(kept, signatures=(*stay, *hits))
        )

    def _flagged(self, facts: Facts, found: Iterable[Signature]) -> Facts:
        """Return facts with the signatures that leave their score to the rules as they are now."""
        live = [one for one in found if one.mode is Mode.LIVE and one.score is None]
        if spam := self._renewed(facts.signatures_spam, facts.signatures_spam_why, live, Flag.SPAM):
            facts = with_values(facts, signatures_spam=spam[0], signatures_spam_why=spam[1])
        if ham := self._renewed(facts.signatures_ham, facts.signatures_ham_why, live, Flag.HAM):
            facts = with_values(facts, signatures_ham=ham[0], signatures_ham_why=ham[1])
        marks = Matched(signatures=in_order(one for one in live if one.flag is Flag.MARK)).marks
        if marks and isinstance(facts.signatures_marks, frozenset):
            facts = with_values(facts, signatures_marks=facts.signatures_marks | marks)
        return facts

    def _renewed(
        self, named: Words, why: str, live: Iterable[Signature], flag: Flag
    ) -> tuple[Words, str] | None:
        """Return the signatures of a flag as they are now, and why.

        None where they are the same, or not kept.
        """
        if not isinstance(named, frozenset):
            return None
        mine = in_order(one for one in live if one.flag is flag)
        stay = named - (self._gone - self._words) | {one.id for one in mine}
        return None if stay == named else (stay, told(mine) if mine else why)


def rule_name_of(ident: str) -> str:
    """Return the name of the rule that a signature with this id is, where it is one of its own."""
    return rule_name(Signature(id=ident, flag=Flag.SPAM, kind=Kind.PHRASE, value=""))
