"""What a decision of a campaign may do beside labels and reports, as it is asked for and shown."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from oborona.desk.call import CallError, NotAllowedError
from oborona.feedback.cases.effects import CaseEffect, EffectKind, EffectState, PlannedEffect
from oborona.feedback.cases.store import CaseVerdict
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.policy.signatures import SignatureKind, SignatureScope
from oborona.stores.pins.store import LAST_TIME
from oborona.types import RuleMode

MOST: Final = 20  # of each
_NEEDS: Final = {
    EffectKind.SIGNATURE: Right.SIGNATURE,
    EffectKind.PROPOSAL: Right.SIGNATURE,
    EffectKind.PIN: Right.ENTITY,
    EffectKind.MOVES: Right.MOVE,
}
_End = Annotated[float, Meta(ge=0, le=LAST_TIME)]


class WantedSignature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signature of spam: what it looks for, and where."""

    value: str
    kind: SignatureKind
    where: SignatureScope = SignatureScope.ANY


class FurtherEffects(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be done beside labels and reports; nothing, where nothing is told.

    Args:
        signatures: that are added.
        proposals: signatures that wait, by their ids: these are put in force.
        mode: of both: on trial, or live.
        signed_until: when both expire, Unix seconds; 0 = never.
        pins: entities whose reputation is set, as they are typed: to bad for spam, good for good
            mail.
        pinned_until: when that ends, Unix seconds; 0 = never.
        recheck: copies that were delivered are judged again now, and moved.
    """

    signatures: Annotated[tuple[WantedSignature, ...], Meta(max_length=MOST)] = ()
    proposals: Annotated[tuple[str, ...], Meta(max_length=MOST)] = ()
    mode: RuleMode = RuleMode.SHADOW
    signed_until: _End = 0.0
    pins: Annotated[tuple[str, ...], Meta(max_length=MOST)] = ()
    pinned_until: _End = 0.0
    recheck: bool = False

    @property
    def kinds(self) -> frozenset[EffectKind]:
        """The kinds of effects that are asked for."""
        asked = {
            EffectKind.SIGNATURE: self.signatures,
            EffectKind.PROPOSAL: self.proposals,
            EffectKind.PIN: self.pins,
            EffectKind.MOVES: self.recheck,
        }
        return frozenset(kind for kind, wanted in asked.items() if wanted)


class ShownEffect(msgspec.Struct, frozen=True, kw_only=True):
    """An effect of a decision.

    Args:
        kind: what it is.
        about: the signature's value, the entity.
        state: planned, done, idle, undone or left.
        say: why it was not done, or left.
        mode: of a signature.
        flag: of a pin.
        until: of both, Unix seconds; 0 = for ever.
        before: what was there: `proposed`, the flag of the pin before; empty = nothing.
        messages: that are judged again.
        copies: of these that are moved, or moved back.
    """

    kind: EffectKind
    about: str
    state: EffectState
    say: str = ""
    mode: str = ""
    flag: str = ""
    until: float = 0.0
    before: str = ""
    messages: int = 0
    copies: int = 0


def require_rights(caller: Caller, kinds: frozenset[EffectKind]) -> None:
    """Refuse effects that a caller may not have by themselves.

    Raises:
        NotAllowedError: they lack a right.
    """
    for kind in sorted(kinds):
        if not caller.may(_NEEDS[kind]):
            raise NotAllowedError(
                f"an effect of this decision ({kind}) needs the right {_NEEDS[kind]}",
                needs=_NEEDS[kind],
            )


def require_sense(verdict: CaseVerdict, asked: FurtherEffects, now: float) -> None:
    """Refuse effects that do not go with a verdict, or that end before they begin.

    Raises:
        CallError: one does not.
    """
    if verdict is not CaseVerdict.SPAM and (asked.signatures or asked.proposals):
        raise CallError("signatures are added for spam alone: good mail's words anybody can write")
    if verdict is CaseVerdict.NEWSLETTER and asked.pins:
        raise CallError("a newsletter is no spam for all: no reputation is set for it")
    for until in (asked.signed_until, asked.pinned_until):
        if 0 < until <= now:
            raise CallError("an end lies in the past")


def shown_effect(effect: PlannedEffect) -> ShownEffect:
    """Return an effect as it is shown."""
    made, before = effect.made, effect.before or {}
    signature: dict[str, Any] = made.get("signature", {})
    pin: dict[str, Any] = made.get("pin", {})
    done = effect if isinstance(effect, CaseEffect) else None
    return ShownEffect(
        kind=effect.kind,
        about=effect.about,
        state=EffectState.PLANNED if done is None else done.state,
        say="" if done is None else done.say,
        mode=signature.get("mode", ""),
        flag=pin.get("flag", ""),
        until=(signature or {"expires": pin.get("until", 0.0)})["expires"],
        before=before.get("state", "") or before.get("pin", {}).get("flag", ""),
        messages=len(made.get("messages", ())),
        copies=len(made.get("moves", ())),
    )
