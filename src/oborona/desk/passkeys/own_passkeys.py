"""One's own passkeys: made known, listed, removed, and shown in place of the password once more.

me.passkeys                        which there are
me.passkey_begin, me.passkey_add   → what the browser is told that is to make one; what it has made
me.passkey_remove
me.confirm_begin, me.confirm_passkey   as `me.confirm`, by a passkey
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

import msgspec

from oborona.desk.call import CallError, NotFoundError
from oborona.desk.open_call import OpenCall
from oborona.desk.own_call import OwnWord, SignedSession, own_call
from oborona.desk.passkeys.ceremony import (
    CeremonyError,
    making_options,
    new_key,
    read_made,
    signing_options,
)
from oborona.desk.passkeys.passkey_login import PasskeyOptions, shown_passkey, wanted_party
from oborona.desk.passkeys.relying_party import RelyingParty
from oborona.desk.people.views import PasskeyView, passkey_view
from oborona.people.challenge_book import ChallengeBook, ChallengeUse
from oborona.people.passkey_book import PasskeyBook, checked_passkey_name
from oborona.people.person import NoPersonError
from oborona.people.session_book import SessionBook
from oborona.people.store import PeopleStore
from oborona.telemetry.log import event

_REFUSED: Final = "this passkey was not taken: begin again"

log = logging.getLogger("oborona.desk")


class OwnPasskeyList(msgspec.Struct, frozen=True, kw_only=True):
    """One's passkeys, the oldest first.

    Args:
        passkeys: all of them.
        trouble: why the site can take none; empty = it can.
    """

    passkeys: list[PasskeyView]
    trouble: str = ""


class OwnPasskeys:
    """The passkeys of a site, each as its owner asks about it.

    Args:
        party: whom they are for; a text: why there are none.
        store: of people.
        sessions: of the same store.
    """

    def __init__(
        self, party: RelyingParty | str, store: PeopleStore, sessions: SessionBook
    ) -> None:
        self._party = party
        self._keys = PasskeyBook(store)
        self._sessions = sessions
        self._challenges = ChallengeBook(store)
        self.open_calls: Mapping[str, OpenCall] = {
            "me.passkeys": own_call(sessions, self._list),
            "me.passkey_begin": own_call(sessions, self._begin, fresh=True),
            "me.passkey_add": own_call(sessions, self._add, fresh=True),
            "me.passkey_remove": own_call(sessions, self._remove, fresh=True),
            "me.confirm_begin": own_call(sessions, self._begin_confirm),
            "me.confirm_passkey": own_call(sessions, self._confirm),
        }

    def _list(self, own: SignedSession, _asked: OwnWord) -> OwnPasskeyList:
        return OwnPasskeyList(
            passkeys=[passkey_view(key) for key in self._keys.of(own.view.person)],
            trouble=self._party if isinstance(self._party, str) else "",
        )

    def _begin(self, own: SignedSession, _asked: OwnWord) -> PasskeyOptions:
        party, person = wanted_party(self._party), own.view.person
        handle = self._keys.handle_of(person)
        challenge = self._challenges.ask(
            ChallengeUse.REGISTER, own.token, own.place, own.now, person=person.id, handle=handle
        )
        known = [key.credential for key in self._keys.of(person)]
        return PasskeyOptions(
            options=making_options(party, person.name, handle, challenge.octets, known)
        )

    def _add(self, own: SignedSession, asked: OwnWord) -> PasskeyView:
        party, person = wanted_party(self._party), own.view.person
        name = checked_passkey_name(asked.name)  # before the challenge is used up
        waiting = self._challenges.take(ChallengeUse.REGISTER, own.token, own.now)
        if waiting is None or waiting.person != person.id:
            raise CallError(_REFUSED)
        try:
            made = new_key(party, waiting.octets, read_made(asked.answer))
        except CeremonyError as error:
            event(log, logging.INFO, "a passkey was not taken", why=error, person=person.name)
            raise CallError(_REFUSED) from None
        kept = self._keys.add(
            person, name, made.credential, waiting.handle, made.public_key, made.signed, own.now
        )
        return passkey_view(kept)

    def _remove(self, own: SignedSession, asked: OwnWord) -> PasskeyView:
        try:
            return passkey_view(self._keys.remove(own.view.person, asked.ident))
        except NoPersonError as error:
            raise NotFoundError(str(error)) from None

    def _begin_confirm(self, own: SignedSession, _asked: OwnWord) -> PasskeyOptions:
        party, person = wanted_party(self._party), own.view.person
        known = [key.credential for key in self._keys.of(person)]
        if not known:
            raise NotFoundError("you have no passkey")
        challenge = self._challenges.ask(
            ChallengeUse.CONFIRM, own.token, own.place, own.now, person=person.id
        )
        return PasskeyOptions(
            options=signing_options(party, challenge.octets, known, verified=True)
        )

    def _confirm(self, own: SignedSession, asked: OwnWord) -> dict[str, bool]:
        party = wanted_party(self._party)
        waiting = self._challenges.take(ChallengeUse.CONFIRM, own.token, own.now)
        try:
            shown_passkey(party, self._keys, waiting, asked.answer, own.now, verified=True)
        except CeremonyError as error:
            event(
                log, logging.INFO, "a passkey was refused", why=error, person=own.view.person.name
            )
            raise CallError(_REFUSED) from None
        self._sessions.freshen(own.token, own.now)
        return {"fresh": True}
