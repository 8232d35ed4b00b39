"""Calls about oneself: of whoever is signed in, with whatever rights."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

from oborona.desk.call import NotAllowedError
from oborona.desk.open_call import OpenCall, SignInNeededError
from oborona.people.session_book import SessionBook, SessionView


class OwnWord(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What calls about oneself are told, each its own field."""

    ident: str = ""
    password: str = ""
    new: str = ""
    code: str = ""
    language: str = ""
    name: str = ""
    answer: str = ""


class SignedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that a call about oneself comes with.

    Args:
        view: of the session.
        token: of it.
        place: address of the client.
        now: Unix seconds.
    """

    view: SessionView
    token: str
    place: str
    now: float


OwnFunction = Callable[[SignedSession, OwnWord], Any]


def session_view(sessions: SessionBook, token: str, place: str, now: float) -> SessionView:
    """Return the session that a token is of.

    Raises:
        SignInNeededError: it is of none.
    """
    view = sessions.look(token, place, now) if token else None
    if view is None:
        raise SignInNeededError("sign in")
    return view


def own_call(sessions: SessionBook, function: OwnFunction, *, fresh: bool = False) -> OpenCall:
    """Return a call of who is signed in.

    Args:
        sessions: of the site.
        function: answers it.
        fresh: it wants a password or passkey that was given just now.
    """

    def run(asked: OwnWord, token: str, place: str, _agent: str) -> Any:
        now = time.time()
        view = session_view(sessions, token, place, now)
        if fresh and not view.is_fresh:
            raise NotAllowedError("give your password once more first", needs="password")
        return function(SignedSession(view=view, token=token, place=place, now=now), asked)

    return OpenCall(OwnWord, run)
