"""Signatures added, taken out of use, proposed and decided about."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta

from oborona.desk.act_report import ActReport
from oborona.desk.asks.signatures import MOST_MESSAGES, ShownProposal
from oborona.desk.call import ActOrder, UndoCall, act
from oborona.desk.refusals import NothingDoneError, UnusableValueError
from oborona.desk.signatures.candidate import mined_candidates
from oborona.desk.signatures.store import open_signatures
from oborona.desk.signatures.text_lines import MAX_FILE, read_signatures
from oborona.desk.signatures.trial import checked_signature, count_having
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.policy.signatures import Signature, SignatureFlag, SignatureKind, SignatureScope
from oborona.policy.signatures.check import LAST_TIME
from oborona.policy.signatures.mining import MAX_PROPOSED
from oborona.stores.signatures.rows import SignatureState
from oborona.types import RuleMode

SignatureNames = Annotated[list[str], Meta(min_length=1, max_length=MOST_MESSAGES)]
Messages = Annotated[list[bytes], Meta(max_length=MOST_MESSAGES)]


class SignatureOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """A signature that is to be added; its reason stands in the header of mail that it decides.

    Args:
        value: a phrase, or what `kind` says.
        flag: of mail that has it.
        kind: of the value.
        where: it is looked for.
        inside: a phrase that is found inside longer words, too.
        owner: who answers for it; empty = who adds it.
        expires: Unix seconds; 0 = never.
        score: its own; None = that of the rule for all.
        mode: live, or shadow.
        ham: good mail: it is refused if it is found there.
        most: share of `ham` that it may be found in.
    """

    value: str
    flag: SignatureFlag = SignatureFlag.SPAM
    kind: SignatureKind = SignatureKind.PHRASE
    where: SignatureScope = SignatureScope.ANY
    inside: bool = False
    owner: str = ""
    expires: float = 0.0
    score: float | None = None
    mode: RuleMode = RuleMode.LIVE
    ham: Messages = msgspec.field(default_factory=list)
    most: float = 0.001


class AddedSignature(ActReport, frozen=True, kw_only=True):
    """A signature that was added.

    Args:
        id: its name; - where it has none yet.
        new: it was not there before.
    """

    id: str
    new: bool


@act("signatures.add", Right.SIGNATURE, about=("value",))
def add_signature(site: Site, caller: Caller, asked: SignatureOrder) -> AddedSignature:
    """Add a signature, unless good mail has it.

    Raises:
        UnusableValueError: it can't be used.
        NothingDoneError: good mail has it.
        StoreError: the store can't be written.
    """
    return add_unless_good(site, caller, asked, asked.ham)


def add_unless_good(
    site: Site, caller: Caller, asked: SignatureOrder, good: Iterable[bytes]
) -> AddedSignature:
    """Add a signature as `signatures.add` does, with any number of good messages."""
    now = time.time()
    checked = checked_signature(
        Signature(
            id="s1",
            flag=asked.flag,
            kind=asked.kind,
            value=asked.value,
            where=asked.where,
            inside=asked.inside,
            owner=asked.owner or caller.name,
            reason=asked.reason,
            author=caller.name,
            created=now,
            expires=asked.expires,
            score=asked.score,
            mode=asked.mode,
        )
    )
    if checked.flag is SignatureFlag.SPAM:
        hits, total = count_having(site, checked, good)
        if hits > asked.most * total:
            raise NothingDoneError(f"not added: {hits} of {total} good messages have it")
    if asked.dry:
        return AddedSignature(dry=True, id="-", new=True)
    with open_signatures(site) as store:
        ((name, new),) = store.add([checked], now=now)
    return AddedSignature(id=name, new=new, undo=_removal([name]) if new else None)


class SignatureNamesOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """Which signatures, by their ids."""

    names: SignatureNames


class ChangedSignatures(ActReport, frozen=True, kw_only=True):
    """Signatures whose state has changed, in order."""

    names: list[str]
    state: SignatureState


@act("signatures.remove", Right.SIGNATURE, about=("names",))
def remove_signatures(site: Site, caller: Caller, asked: SignatureNamesOrder) -> ChangedSignatures:
    """Take signatures out of use: all of them, or none.

    Raises:
        UnknownNameError: one is not there.
        StoreError: the store can't be written.
    """
    with open_signatures(site) as store:
        records = [store.get(name) for name in asked.names]
        names = [record.signature.id for record in records]
        for name in () if asked.dry else names:
            store.decide(name, SignatureState.REMOVED, by=caller.name, now=time.time())
    was = [record.signature for record in records if record.state is SignatureState.ACTIVE]
    undo = None
    if was:
        lines = b"\n".join(msgspec.json.encode(signature) for signature in was)
        undo = UndoCall(call="signatures.import", asked={"content": lines, "called": "undo"})
    return ChangedSignatures(dry=asked.dry, names=names, state=SignatureState.REMOVED, undo=undo)


def _removal(names: list[str]) -> UndoCall:
    return UndoCall(call="signatures.remove", asked={"names": names})


class SignatureEndOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """When a signature is over.

    Args:
        name: its id.
        until: Unix seconds; 0 = never; what is past = at once.
    """

    name: str
    until: Annotated[float, Meta(ge=0, le=LAST_TIME)]


class EndedSignature(ActReport, frozen=True, kw_only=True):
    """A signature with its new end.

    Args:
        name: its id.
        until: Unix seconds; 0 = never.
        before: its end until now.
    """

    name: str
    until: float
    before: float


@act("signatures.expire", Right.SIGNATURE, about=("name",))
def expire_signature(site: Site, caller: Caller, asked: SignatureEndOrder) -> EndedSignature:
    """Set when a signature expires.

    Raises:
        UnknownNameError: it is not there.
        StoreError: the store can't be written.
    """
    now = time.time()
    if not 0 <= asked.until <= LAST_TIME:
        raise UnusableValueError("an end is 0 for never, or Unix seconds", "until")
    with open_signatures(site) as store:
        before = store.get(asked.name).signature.expires
        if not asked.dry:
            store.expire(asked.name, asked.until, now=now)
    undo = UndoCall(call="signatures.expire", asked={"name": asked.name, "until": before})
    return EndedSignature(
        dry=asked.dry, name=asked.name, until=asked.until, before=before, undo=undo
    )


@act("signatures.accept", Right.SIGNATURE, about=("names",))
def accept_signatures(site: Site, caller: Caller, asked: SignatureNamesOrder) -> ChangedSignatures:
    """Put proposed signatures in force.

    Raises:
        UnusableValueError: one is no proposal, or not there; nothing is done.
        StoreError: the store can't be written.
    """
    names = _decide(site, caller, asked, SignatureState.ACTIVE)
    return ChangedSignatures(
        dry=asked.dry, names=names, state=SignatureState.ACTIVE, undo=_removal(names)
    )


@act("signatures.decline", Right.SIGNATURE, about=("names",))
def decline_signatures(site: Site, caller: Caller, asked: SignatureNamesOrder) -> ChangedSignatures:
    """Decline proposed signatures; they are not proposed again.

    Raises:
        UnusableValueError: one is no proposal, or not there; nothing is done.
        StoreError: the store can't be written.
    """
    names = _decide(site, caller, asked, SignatureState.DECLINED)
    return ChangedSignatures(dry=asked.dry, names=names, state=SignatureState.DECLINED)


def _decide(
    site: Site, caller: Caller, asked: SignatureNamesOrder, state: SignatureState
) -> list[str]:
    with open_signatures(site) as store:
        for record in [store.get(name) for name in asked.names]:
            if record.state is not SignatureState.PROPOSED:
                raise UnusableValueError(
                    f"{record.signature.id} is no proposal, it is {record.state}"
                )
        for name in () if asked.dry else asked.names:
            store.decide(name, state, by=caller.name, now=time.time())
    return asked.names


class SignatureImportOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """A file of signatures; its reason is that of lines of text.

    Args:
        content: the file.
        called: its name.
        flag: of lines of text.
        kind: of lines of text.
        owner: who answers for them; empty = their author.
        author: who adds them; empty = the caller.
        skip_broken: pass over lines that can't be used.
    """

    content: Annotated[bytes, Meta(max_length=MAX_FILE)]
    called: Annotated[str, Meta(max_length=1000)] = "-"
    flag: SignatureFlag = SignatureFlag.SPAM
    kind: SignatureKind = SignatureKind.PHRASE
    owner: str = ""
    author: str = ""
    skip_broken: bool = False


class ImportedSignatures(ActReport, frozen=True, kw_only=True):
    """What was taken of a file.

    Args:
        added: how many are new.
        same: how many were there already.
        passed_over: lines that can't be used, and why.
    """

    added: int
    same: int
    passed_over: list[str]


@act("signatures.import", Right.SIGNATURE)
def import_signatures(
    site: Site, caller: Caller, asked: SignatureImportOrder
) -> ImportedSignatures:
    """Add all lines of a file in one step: all or, if one can't be used, none.

    Raises:
        MisusedCallError: a line can't be used, or there is too much.
        StoreError: the store can't be written.
    """
    author = asked.author or caller.name
    pattern = Signature(
        id="s1",
        flag=asked.flag,
        kind=asked.kind,
        value="",
        owner=asked.owner or author,
        reason=asked.reason,
        author=author,
        created=time.time(),
    )
    signatures, passed_over = read_signatures(
        asked.content, asked.called, pattern, skip=asked.skip_broken
    )
    if asked.dry:
        return ImportedSignatures(dry=True, added=len(signatures), same=0, passed_over=passed_over)
    with open_signatures(site) as store:
        results = store.add(signatures, now=pattern.created)
    new = [name for name, is_new in results if is_new]
    return ImportedSignatures(
        added=len(new),
        same=len(results) - len(new),
        passed_over=passed_over,
        undo=_removal(new) if 0 < len(new) <= MOST_MESSAGES else None,
    )


class ProposeOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """Spam that signatures are to be found in; its reason is theirs.

    Args:
        spam: whole messages.
        ham: good mail to compare with, the more the better.
        owner: who will answer for them; empty = the caller.
        limit: proposals at most.
    """

    spam: Messages
    ham: Messages = msgspec.field(default_factory=list)
    owner: str = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_PROPOSED)] = 20


class ProposedSignatures(ActReport, frozen=True, kw_only=True):
    """Signatures that wait for a decision now."""

    proposals: list[ShownProposal]


@act("signatures.propose", Right.SIGNATURE)
def propose_from_spam(site: Site, caller: Caller, asked: ProposeOrder) -> ProposedSignatures:
    """Propose signatures; nothing is in force until `signatures.accept`.

    Raises:
        StoreError: the store can't be written.
    """
    return propose_from(site, caller, asked, asked.spam, asked.ham or None)


def propose_from(
    site: Site,
    caller: Caller,
    asked: ProposeOrder,
    spam: Iterable[bytes],
    ham: Iterable[bytes] | None,
) -> ProposedSignatures:
    """Propose signatures as `signatures.propose` does, from any number of messages."""
    candidates = mined_candidates(
        site,
        spam,
        ham,
        owner=asked.owner or caller.name,
        author=caller.name,
        reason=asked.reason,
        most=asked.limit,
    )
    names = [("-", True)] * len(candidates)
    if not asked.dry:
        with open_signatures(site) as store:
            names = store.add(
                [candidate.signature for candidate in candidates],
                now=time.time(),
                state=SignatureState.PROPOSED,
                evidence=[candidate.evidence for candidate in candidates],
            )
    proposals = [
        ShownProposal(id=name, signature=candidate.signature, evidence=candidate.evidence)
        for (name, new), candidate in zip(names, candidates, strict=True)
        if new
    ]
    undo = None
    if proposals and not asked.dry:
        asked_names = {"names": [proposal.id for proposal in proposals]}
        undo = UndoCall(call="signatures.decline", asked=asked_names)
    return ProposedSignatures(dry=asked.dry, proposals=proposals, undo=undo)
