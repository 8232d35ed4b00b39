"""The act by which a message is judged as any other again, over which workers died."""

from __future__ import annotations

from typing import Annotated

import msgspec

from oborona.desk.asks.set_apart_messages import SetApartMessage, SetApartQuestion, list_set_apart
from oborona.desk.call import ActOrder, NotFoundError, act
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.session.quarantine import suspect_store


class SetApartOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """A message by its identity, as `set_apart.list` tells it."""

    message: Annotated[str, msgspec.Meta(max_length=200)]


class ForgottenMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What was known of it; in a dry run, what is."""

    message: SetApartMessage


@act("set_apart.remove", Right.RELOAD, about=("message",))
def remove_set_apart(site: Site, caller: Caller, asked: SetApartOrder) -> ForgottenMessage:
    """Forget what is known of a message, and the copy of it that is kept: within ten seconds it is
    judged as any other.

    Raises:
        NotFoundError: nothing is known of it.
        StoreError: it can't be forgotten.
    """
    known = list_set_apart(site, caller, SetApartQuestion()).messages
    found = next((one for one in known if one.message == asked.message), None)
    if found is None:
        raise NotFoundError(f"no message {asked.message!a} is known")
    if not asked.dry:
        suspect_store.remove_suspect(site.state, found.message)
    return ForgottenMessage(message=found)
