"""Calls that need no right: to sign in, and about oneself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from oborona.desk.call import CallError


class SignInNeededError(CallError):
    """The call is of somebody who is signed in, and nobody is."""

    status = 401


class OpenCall:
    """One of them.

    Args:
        asked: type of what it is told.
        function: told, token, place, agent → what JSON can carry.
    """

    def __init__(
        self, asked: type[msgspec.Struct], function: Callable[[Any, str, str, str], Any]
    ) -> None:
        self._asked = asked
        self._function = function

    def run(self, body: bytes, token: str, place: str, agent: str) -> bytes:
        """Return the answer in JSON.

        Args:
            body: what it is told, a JSON object; empty = nothing.
            token: of a session, or empty.
            place: address of the client.
            agent: what its program calls itself.

        Raises:
            OboronaError: it can't be answered.
        """
        try:
            asked = msgspec.json.decode(body or b"{}", type=self._asked)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise CallError(str(error)) from None
        return msgspec.json.encode(self._function(asked, token, place, agent))
