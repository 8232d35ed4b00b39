"""Signing in by a passkey: in place of password and code, or after a password in place of a code.

login.passkey_begin    → what the browser is told that is to sign
login.passkey          what it has signed → a session

In place of both, the authenticator must have checked who holds it, by a finger or a PIN.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from oborona.desk.call import CallError, NotFoundError
from oborona.desk.open_call import OpenCall
from oborona.desk.passkeys.ceremony import (
    CeremonyError,
    octets_of,
    read_shown,
    signatures_after,
    signing_options,
)
from oborona.desk.passkeys.relying_party import RelyingParty
from oborona.people.challenge_book import Challenge, ChallengeBook, ChallengeUse
from oborona.people.login_book import LoggedIn, LoginRefused
from oborona.people.login_way import LoginWay
from oborona.people.outside_book import OutsideBook
from oborona.people.passkey_book import PasskeyBook
from oborona.people.person import Person, PersonState
from oborona.people.store import PeopleStore
from oborona.telemetry.log import event

LEAST_BROWSER: Final = 16  # letters of what a browser is known by: nobody guesses another's
MOST_BROWSER: Final = 200
Begin = Callable[[LoggedIn | LoginRefused, str, float], Any]

log = logging.getLogger("oborona.desk")


class PasskeyBegin(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What `login.passkey_begin` is told.

    Args:
        browser: what it is known by before anybody is signed in.
        step: its password was right, and a second step is to follow.
    """

    browser: str
    step: bool = False


class PasskeyWord(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What `login.passkey` is told.

    Args:
        browser: as before.
        answer: what the browser's authenticator has said, in JSON.
        device: token that the browser kept of its last login here; empty = none.
        step: as before.
    """

    browser: str
    answer: str
    device: str = ""
    step: bool = False


class PasskeyOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a browser is told that is to make a key or to sign with one."""

    options: msgspec.Raw


class PasskeyLogin:
    """Signs people of a site in by their passkeys.

    Args:
        party: whom passkeys are for; a text: why there are none.
        store: of people.
        people: of the same store.
        begin: makes the answer of a login.
    """

    def __init__(
        self, party: RelyingParty | str, store: PeopleStore, people: OutsideBook, begin: Begin
    ) -> None:
        self._party = party
        self._store = store
        self._people = people
        self._begin = begin
        self._keys = PasskeyBook(store)
        self._challenges = ChallengeBook(store)
        self.open_calls: Mapping[str, OpenCall] = {
            "login.passkey_begin": OpenCall(PasskeyBegin, self._ask),
            "login.passkey": OpenCall(PasskeyWord, self._log_in),
        }

    def await_step(self, person: Person, browser: str, place: str, now: float) -> None:
        """Note that somebody's password was right, and this browser is to show their passkey."""
        if not isinstance(self._party, str) and _is_browser(browser):
            self._challenges.ask(ChallengeUse.STEP, browser, place, now, person=person.id)

    def _ask(self, asked: PasskeyBegin, _token: str, place: str, _agent: str) -> PasskeyOptions:
        now, party = time.time(), wanted_party(self._party)
        if not _is_browser(asked.browser):
            raise CallError("browser: is none")
        if not asked.step:
            challenge = self._challenges.ask(ChallengeUse.SIGN_IN, asked.browser, place, now)
            return PasskeyOptions(
                options=signing_options(party, challenge.octets, [], verified=True)
            )
        waiting = self._challenges.look(ChallengeUse.STEP, asked.browser, now)
        person = self._store.of(waiting.person) if waiting and waiting.person else None
        if waiting is None or person is None:
            raise NotFoundError("give your password first")
        known = [key.credential for key in self._keys.of(person)]
        return PasskeyOptions(options=signing_options(party, waiting.octets, known, verified=False))

    def _log_in(self, asked: PasskeyWord, _token: str, place: str, agent: str) -> Any:
        now, party = time.time(), wanted_party(self._party)
        way = LoginWay.PASSWORD if asked.step else LoginWay.PASSKEY
        use = ChallengeUse.STEP if asked.step else ChallengeUse.SIGN_IN
        waiting = self._challenges.take(use, asked.browser, now)
        known = self._store.of(waiting.person) if waiting and waiting.person else None
        charged = self._people.charge(known.name if known else "", place, now, asked.device)
        if isinstance(charged, LoginRefused):
            return self._begin(charged, place, now)
        try:
            person = self._shown(party, waiting, asked.answer, known, now)
        except CeremonyError as error:
            event(log, logging.INFO, "a passkey was refused", why=error, place=place)
            refused = self._people.wrong(known, way, place, agent, charged, now)
            return self._begin(refused, place, now)
        begun = self._people.begin(person, way, place, agent, asked.device, charged, now)
        return self._begin(begun, place, now)

    def _shown(
        self,
        party: RelyingParty,
        waiting: Challenge | None,
        answer: str,
        known: Person | None,
        now: float,
    ) -> Person:
        """Return who has signed a challenge.

        Raises:
            CeremonyError: nobody who may.
        """
        alone = known is None  # in place of a password, too
        person = shown_passkey(party, self._keys, waiting, answer, now, verified=alone)
        if alone and not person.password:
            raise CeremonyError(f"{person.name} is to set a password first")
        if person.state is not PersonState.ACTIVE:
            raise CeremonyError(f"{person.name} may not sign in by it")
        return person


def wanted_party(party: RelyingParty | str) -> RelyingParty:
    """Return whom passkeys are for.

    Raises:
        CallError: the site can have none; the text says why.
    """
    if isinstance(party, str):
        raise CallError(party)
    return party


def shown_passkey(
    party: RelyingParty,
    keys: PasskeyBook,
    waiting: Challenge | None,
    answer: str,
    now: float,
    *,
    verified: bool,
) -> Person:
    """Return whose passkey has signed a challenge, and note that it has.

    Args:
        party: whom it is for.
        keys: of the site.
        waiting: what was to be signed, and by whom; None = nothing was.
        answer: what the browser's authenticator has said, in JSON.
        now: Unix seconds.
        verified: the authenticator must have checked who holds it.

    Raises:
        CeremonyError: it was signed by none, or by another person's.
    """
    if waiting is None:
        raise CeremonyError("no such challenge is open")
    shown = read_shown(answer)
    found = keys.found(octets_of(shown.raw_id))
    if found is None:
        raise CeremonyError("nobody has this passkey")
    person, key = found
    if waiting.person not in (None, person.id):
        raise CeremonyError("it is another person's passkey")
    handle = octets_of(shown.response.user_handle or "")
    if handle != key.handle and (handle or waiting.person is None):
        raise CeremonyError("it is another person's handle")
    signed = signatures_after(
        party,
        waiting.octets,
        shown,
        public_key=key.public_key,
        signed=key.signed,
        verified=verified,
    )
    if not keys.used(key, signed, now):
        raise CeremonyError("it was used at the same time elsewhere")
    return person


def _is_browser(text: str) -> bool:
    return LEAST_BROWSER <= len(text) <= MOST_BROWSER
