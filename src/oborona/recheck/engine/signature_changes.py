"""Applies signatures that were added or removed since messages were judged to their evidence: pure.

An entity is found by its shingle.  Phrases and patterns need the text, which the journal does not
have: a new one is searched for in new mail only; a removed one is taken out of all evidence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from oborona.domains import registrable
from oborona.journal.entry import JournalEntry
from oborona.message.hashing import Hasher, ShingleType
from oborona.policy.facts import Facts, Words, with_values
from oborona.policy.signatures.check import BrokenSignature, entity
from oborona.policy.signatures.finder import SignatureMatches, in_id_order, marking_line, rule_name
from oborona.policy.signatures.model import (
    WORDS,
    Signature,
    SignatureFlag,
    SignatureKind,
    SignatureScope,
)
from oborona.types import RuleMode, Shingle

_TYPES: Final = {
    SignatureKind.URL: (ShingleType.URL,),
    SignatureKind.HOST: (ShingleType.HOST, ShingleType.PICTURE_HOST),
    SignatureKind.DOMAIN: (ShingleType.HOST,),
    SignatureKind.PHONE: (ShingleType.PHONE,),
    SignatureKind.WALLET: (ShingleType.WALLET,),
    SignatureKind.HANDLE: (ShingleType.HANDLE,),
    SignatureKind.LIST: (ShingleType.LIST,),
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
    if kind is SignatureKind.CHECKSUM:
        return (hasher.octets(ShingleType.CHECKSUM, bytes.fromhex(value)),)
    if kind is SignatureKind.ADDRESS:
        header, text = [ShingleType.FROM, ShingleType.REPLY_TO], [ShingleType.ADDRESS]
    elif kind is SignatureKind.DOMAIN and registrable(value) == value:
        header, text = [ShingleType.FROM_DOMAIN], [ShingleType.LINK_DOMAIN]
    # what is below a subdomain can't be told from what is beside it: it is found by its own name
    else:
        header, text = [], list(_TYPES[kind])
    types = {SignatureScope.HEADER: header or text, SignatureScope.TEXT: text}.get(
        signature.where, header + text
    )
    return tuple(hasher.shingle(shingle_type, value) for shingle_type in types)


class SignatureChanges:
    """The added and the removed signatures.

    Args:
        fresh: those that came or changed lately, by id.
        hasher: holds the site's secret.
        gone: ids of those that went lately.
    """

    def __init__(
        self, fresh: Mapping[str, Signature], hasher: Hasher, removed: Collection[str] = ()
    ) -> None:
        self._gone = frozenset(removed) | fresh.keys()  # what changed is found anew, as it is now
        self._by_shingle: dict[Shingle, list[Signature]] = {}
        self._words = frozenset(
            name for name, signature in fresh.items() if signature.kind in WORDS
        )
        for signature in fresh.values():
            for shingle in shingles_of(signature, hasher):
                self._by_shingle.setdefault(shingle, []).append(signature)

    def applied(
        self, entry: JournalEntry, facts: Facts, pieces: Iterable[Shingle], now: float
    ) -> tuple[JournalEntry, Facts]:
        """Return a message as if it had been judged with the signatures of now.

        Args:
            entry: of the journal, with what its verdict rested on.
            facts: of then.
            pieces: of the message.
            now: Unix seconds: those that expired before are not found.
        """
        if not self._gone and not self._by_shingle:
            return entry, facts
        signatures = {
            signature.id: signature
            for shingle in pieces
            for signature in self._by_shingle.get(shingle, ())
            if not signature.expired(now)
        }
        return self._own(entry, signatures.values()), self._flagged(facts, signatures.values())

    def _own(self, entry: JournalEntry, signatures: Iterable[Signature]) -> JournalEntry:
        """Return an entry with the signatures that are rules of their own as they are now."""
        evidence = entry.kept
        hits = SignatureMatches(signatures=in_id_order(signatures)).hits
        dropped = {rule_name_of(name) for name in self._gone - self._words}
        if evidence is None or (
            not hits and not any(hit.name in dropped for hit in evidence.signatures)
        ):
            return entry
        stay = tuple(hit for hit in evidence.signatures if hit.name not in dropped)
        return msgspec.structs.replace(
            entry, kept=msgspec.structs.replace(evidence, signatures=(*stay, *hits))
        )

    def _flagged(self, facts: Facts, signatures: Iterable[Signature]) -> Facts:
        """Return facts with the signatures that leave their score to the rules as they are now."""
        live = [
            signature
            for signature in signatures
            if signature.mode is RuleMode.LIVE and signature.score is None
        ]
        if spam := self._renewed(
            facts.signatures_spam, facts.signatures_spam_why, live, SignatureFlag.SPAM
        ):
            facts = with_values(facts, signatures_spam=spam[0], signatures_spam_why=spam[1])
        if ham := self._renewed(
            facts.signatures_ham, facts.signatures_ham_why, live, SignatureFlag.HAM
        ):
            facts = with_values(facts, signatures_ham=ham[0], signatures_ham_why=ham[1])
        marks = SignatureMatches(
            signatures=in_id_order(
                signature for signature in live if signature.flag is SignatureFlag.MARK
            )
        ).marks
        if marks and isinstance(facts.signatures_marks, frozenset):
            facts = with_values(facts, signatures_marks=facts.signatures_marks | marks)
        return facts

    def _renewed(
        self, named: Words, why: str, live: Iterable[Signature], flag: SignatureFlag
    ) -> tuple[Words, str] | None:
        """Return the signatures of a flag as they are now, and why.

        None where they are the same, or not kept.
        """
        if not isinstance(named, frozenset):
            return None
        mine = in_id_order(signature for signature in live if signature.flag is flag)
        stay = named - (self._gone - self._words) | {signature.id for signature in mine}
        return None if stay == named else (stay, marking_line(mine) if mine else why)


def rule_name_of(ident: str) -> str:
    """Return the name of the rule that a signature with this id is, where it is one of its own."""
    return rule_name(
        Signature(id=ident, flag=SignatureFlag.SPAM, kind=SignatureKind.PHRASE, value="")
    )
