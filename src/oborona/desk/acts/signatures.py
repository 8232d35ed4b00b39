"""Signatures added, and taken out of use."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta

from oborona.desk.act_report import ActReport
from oborona.desk.asks.signatures import MOST_MESSAGES
from oborona.desk.call import ActOrder, UndoCall, act
from oborona.desk.refusals import NothingDoneError
from oborona.desk.signatures.first_trial import FirstTrial, first_trial
from oborona.desk.signatures.store import open_signatures
from oborona.desk.signatures.trial import checked_signature, count_having
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.policy.signatures import Signature, SignatureFlag, SignatureKind, SignatureScope
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
        most: share of good mail that it may be found in.
        look: it is looked for first in good mail that the site has kept, and refused if that has
            it; a dry run tells in how many of the newest messages it is, too.
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
    look: bool = False


class AddedSignature(ActReport, frozen=True, kw_only=True):
    """A signature that was added.

    Args:
        id: its name; - where it has none yet.
        new: it was not there before.
        signature: itself.
        trial: where it was looked for first; None = nowhere.
    """

    id: str
    new: bool
    signature: Signature
    trial: FirstTrial | None = None


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
    trial = first_trial(site, checked, whole=asked.dry) if asked.look else None
    if asked.dry:
        return AddedSignature(dry=True, id="-", new=True, signature=checked, trial=trial)
    spam = checked.flag is SignatureFlag.SPAM
    if trial is not None and spam and trial.kept_having > asked.most * trial.kept:
        told = f"{trial.kept_having} of {trial.kept} good messages that are kept have it"
        raise NothingDoneError(f"not added: {told}")
    with open_signatures(site) as store:
        ((name, new),) = store.add([checked], now=now)
    undo = signature_removal([name]) if new else None
    return AddedSignature(id=name, new=new, signature=checked, trial=trial, undo=undo)


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


def signature_removal(names: list[str]) -> UndoCall:
    """Return the call that takes signatures out of use."""
    return UndoCall(call="signatures.remove", asked={"names": names})
