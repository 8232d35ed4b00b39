"""Whose own mail a call is about: the caller's addresses, and no other."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from oborona.desk.call import CallError, NotFoundError
from oborona.people.caller import Caller
from oborona.reputation.personal import mail_address

OwnAddress = Annotated[str, Meta(max_length=320)]


def own_addresses(caller: Caller, address: str = "") -> tuple[str, ...]:
    """Return a caller's own addresses in their normal form, in order.

    Args:
        caller: whose.
        address: of these one alone; empty = all.

    Raises:
        NotFoundError: the address is not theirs.
        CallError: they have none.
    """
    mine = sorted(filter(None, map(mail_address, caller.scope.addresses)))
    if not mine:
        raise CallError("no mail address of yours is known here; ask who runs the mail server")
    if not address:
        return tuple(mine)
    named = mail_address(address)
    if named not in mine:
        raise NotFoundError("that address is not yours")
    return (named,)
