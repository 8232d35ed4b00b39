"""Until when signatures hold, and whether they count or are on trial."""

from __future__ import annotations

import time
from typing import Annotated

from msgspec import Meta

from oborona.desk.act_report import ActReport
from oborona.desk.call import ActOrder, UndoCall, act
from oborona.desk.refusals import NothingDoneError, UnusableValueError
from oborona.desk.signatures.store import open_signatures
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.policy.signatures.check import LAST_TIME
from oborona.types import RuleMode


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


class SignatureModeOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """Whether a signature counts: live, or in shadow mode.

    Args:
        name: its id.
        mode: from now on.
    """

    name: str
    mode: RuleMode


class ModeOfSignature(ActReport, frozen=True, kw_only=True):
    """A signature with its new mode.

    Args:
        name: its id.
        mode: from now on.
        before: until now.
    """

    name: str
    mode: RuleMode
    before: RuleMode


@act("signatures.mode", Right.SIGNATURE, about=("name", "mode"))
def set_signature_mode(site: Site, caller: Caller, asked: SignatureModeOrder) -> ModeOfSignature:
    """Put a signature on trial, or in force.

    Raises:
        UnknownNameError: it is not there.
        NothingDoneError: it is so already.
        StoreError: the store can't be written.
    """
    with open_signatures(site) as store:
        before = store.get(asked.name).signature.mode
        if before is asked.mode:
            raise NothingDoneError(f"{asked.name} is {before} already")
        if not asked.dry:
            store.set_mode(asked.name, asked.mode, now=time.time())
    undo = UndoCall(call="signatures.mode", asked={"name": asked.name, "mode": before})
    return ModeOfSignature(
        dry=asked.dry, name=asked.name, mode=asked.mode, before=before, undo=undo
    )
