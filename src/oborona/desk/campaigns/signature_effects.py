"""Signatures that a decision of a campaign adds or puts in force, and how that is taken back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from oborona import state_files
from oborona.desk.call import CallError
from oborona.desk.campaigns.further_effects import FurtherEffects
from oborona.desk.signatures.first_trial import first_trial
from oborona.desk.signatures.store import open_signatures
from oborona.desk.signatures.trial import checked_signature
from oborona.desk.site import Site
from oborona.feedback.cases.effects import (
    CaseEffect,
    EffectKind,
    EffectLedger,
    EffectState,
    PlannedEffect,
)
from oborona.people.caller import Caller
from oborona.policy.signatures import Signature, SignatureFlag
from oborona.stores.signatures.rows import SignatureState, StoredSignature
from oborona.stores.signatures.store import SignatureStore


def plan_signatures(
    site: Site, caller: Caller, asked: FurtherEffects, reason: str, now: float
) -> list[PlannedEffect]:
    """Return what is to be done for the signatures that are asked for; what is in force is not.

    Raises:
        CallError: one can't be used, or good mail that is kept has it, or is no proposal.
        StoreError: the store can't be used.
    """
    if not asked.signatures and not asked.proposals:
        return []
    planned = list[PlannedEffect]()
    with _opened(site) as store:
        for wanted in dict.fromkeys(asked.signatures):
            signature = checked_signature(
                Signature(
                    id="s1",
                    flag=SignatureFlag.SPAM,
                    kind=wanted.kind,
                    value=wanted.value,
                    where=wanted.where,
                    owner=caller.name,
                    reason=reason,
                    author=caller.name,
                    created=now,
                    expires=asked.signed_until,
                    mode=asked.mode,
                )
            )
            _refuse_of_good_mail(site, signature)
            if store is None or store.same_in_force(signature, now) is None:
                made = {"signature": msgspec.to_builtins(signature)}
                planned.append(
                    PlannedEffect(kind=EffectKind.SIGNATURE, about=signature.value, made=made)
                )
        for name in dict.fromkeys(asked.proposals):
            if store is None:
                raise CallError(f"{name} is no proposal")
            before = store.get(name)
            if before.state is not SignatureState.PROPOSED:
                raise CallError(f"{name} is no proposal, it is {before.state}")
            _refuse_of_good_mail(site, before.signature)
            planned.append(_acceptance(before, asked, caller.name, now))
    return planned


def make_signature(site: Site, ledger: EffectLedger, effect: CaseEffect) -> CaseEffect:
    """Add a signature, or put one in force that waits, as it was planned.

    Raises:
        StoreError: the store can't be written.
    """
    with open_signatures(site) as store:
        if effect.kind is EffectKind.SIGNATURE:
            ((name, new),) = store.add([_planned(effect)], now=effect.at)
            if not new:
                return ledger.note(effect, EffectState.IDLE, say=f"{name} is the same")
            return ledger.note(effect, EffectState.DONE, made={**effect.made, "id": name})
        before, after = _before(effect), _record(effect.made)
        with store.transaction():
            if _standing(store.get(before.signature.id)) != _standing(before):
                say = "somebody has decided about it meanwhile"
                return ledger.note(effect, EffectState.IDLE, say=say)
            store.put_as(after, now=effect.at)
    return ledger.note(effect, EffectState.DONE)


def take_back_signature(
    site: Site, ledger: EffectLedger, effect: CaseEffect, *, by: str, now: float, dry: bool
) -> CaseEffect:
    """Take a signature out of use, or let it wait again, unless somebody has changed it since.

    Raises:
        StoreError: the store can't be written.
    """
    added = effect.kind is EffectKind.SIGNATURE
    state, say = EffectState.UNDONE, ""
    with open_signatures(site) as store, store.transaction():
        current = _added(store, effect) if added else _accepted(store, effect)
        if current is None:
            say = "it was not done"
        elif not _is_as_made(current, effect):
            state, say = EffectState.LEFT, "was changed since, and stays as it is"
            if current.state is SignatureState.REMOVED:
                say = "was taken out of use since"
            say = f"{current.signature.id} {say}"
        elif not dry:
            removed = {"state": SignatureState.REMOVED, "decided": now, "decided_by": by}
            after = msgspec.structs.replace(current, **removed) if added else _before(effect)
            store.put_as(after, now=now)
    if dry:
        return msgspec.structs.replace(effect, state=state, say=say)
    return ledger.note(effect, state, say=say)


def signatures_of(effects: list[CaseEffect] | list[PlannedEffect]) -> tuple[Signature, ...]:
    """Return the signatures that effects put in force, each with an id of its own."""
    found = list[Signature]()
    for effect in effects:
        if effect.kind is EffectKind.SIGNATURE:
            name = effect.made.get("id") or f"s{10**17 + len(found)}"
            found.append(msgspec.structs.replace(_planned(effect), id=name))
        elif effect.kind is EffectKind.PROPOSAL:
            found.append(_record(effect.made).signature)
    return tuple(found)


@contextmanager
def _opened(site: Site) -> Iterator[SignatureStore | None]:
    """The store; None where there is none yet: what is only planned makes none."""
    if not (site.state / state_files.SIGNATURES).exists():
        yield None
        return
    with open_signatures(site) as store:
        yield store


def _acceptance(
    before: StoredSignature, asked: FurtherEffects, by: str, now: float
) -> PlannedEffect:
    signature = msgspec.structs.replace(
        before.signature, mode=asked.mode, expires=asked.signed_until or before.signature.expires
    )
    after = msgspec.structs.replace(
        before, signature=signature, state=SignatureState.ACTIVE, decided=now, decided_by=by
    )
    return PlannedEffect(
        kind=EffectKind.PROPOSAL,
        about=signature.value,
        made=msgspec.to_builtins(after),
        before=msgspec.to_builtins(before),
    )


def _refuse_of_good_mail(site: Site, signature: Signature) -> None:
    trial = first_trial(site, signature, whole=False)
    if trial.kept_having:
        raise CallError(
            f"{signature.value}: {trial.kept_having} of {trial.kept} good messages that are kept"
            " have it"
        )


def _added(store: SignatureStore, effect: CaseEffect) -> StoredSignature | None:
    """Return the signature that an effect has added, whatever became of it; None = none."""
    wanted = _planned(effect)
    found = [
        record
        for record in store.made_at(wanted.created)
        if (record.signature.kind, record.signature.value) == (wanted.kind, wanted.value)
        and record.signature.author == wanted.author
    ]
    found.sort(key=lambda record: record.state is SignatureState.ACTIVE)  # one put back is another
    return found[-1] if found else None


def _accepted(store: SignatureStore, effect: CaseEffect) -> StoredSignature | None:
    """Return the signature that was to be put in force; None where it never was, or is lost."""
    before = _before(effect)
    try:
        current = store.get(before.signature.id)
    except KeyError:
        return None
    return None if _standing(current) == _standing(before) else current


def _is_as_made(current: StoredSignature, effect: CaseEffect) -> bool:
    """Tell whether nobody has changed a signature since an effect made it."""
    if effect.kind is EffectKind.PROPOSAL:
        return _standing(current) == _standing(_record(effect.made))
    made = _planned(effect)
    return _standing(current) == (SignatureState.ACTIVE, made.mode, made.expires, 0.0, "")


def _planned(effect: PlannedEffect) -> Signature:
    return msgspec.convert(effect.made["signature"], Signature)


def _before(effect: CaseEffect) -> StoredSignature:
    return _record(effect.before or {})


def _record(made: dict[str, Any]) -> StoredSignature:
    return msgspec.convert(made, StoredSignature)


def _standing(record: StoredSignature) -> tuple[object, ...]:
    """Return what a later act changes of a signature."""
    signature = record.signature
    return record.state, signature.mode, signature.expires, record.decided, record.decided_by
