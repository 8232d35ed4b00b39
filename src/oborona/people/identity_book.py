"""Whose a token is, of a session or a key: what is asked for every call."""

from __future__ import annotations

import time

from oborona.people.caller import Caller
from oborona.people.key_book import KeyBook
from oborona.people.session_book import SessionBook
from oborona.people.store import PeopleStore
from oborona.people.token import KEY_PREFIX


class IdentityBook:
    """Sessions and keys of a store of people; any number of threads may ask.

    Args:
        store: where they are kept.
        step_required: admins have no right before they have a second step.
    """

    def __init__(self, store: PeopleStore, *, step_required: bool) -> None:
        self._sessions = SessionBook(store, step_required=step_required)
        self._keys = KeyBook(store)

    def caller_of(self, token: str, place: str, agent: str) -> Caller | None:
        """Return whose token it is; None = it is nobody's, or no longer.

        Args:
            token: of a session, or an API key; any text.
            place: address of the client.
            agent: what its program calls itself, which is of no account here.

        Raises:
            StoreError: that can't be told now.
        """
        book = self._keys if token.startswith(KEY_PREFIX) else self._sessions
        return book.caller_of(token, place, time.time())
