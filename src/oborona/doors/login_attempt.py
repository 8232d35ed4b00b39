"""What a mail server tells of somebody who logged in or could not, and who is told of it."""

from __future__ import annotations

from typing import Protocol

import msgspec


class LoginAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who logged in, or could not."""

    login: str  # as the client gave it
    address: str = ""  # of the client; empty: not known
    protocol: str = ""  # of the mail server, such as imap or smtp
    why: str = ""  # it failed, such as password; empty: it did not


class LoginObserver(Protocol):
    """Who is told of logins, and may forbid them."""

    def forbids(self, login: str) -> bool:
        """Tell whether an account may not log in now."""
        ...

    async def failed(self, attempt: LoginAttempt) -> bool:
        """Count a login that failed for its password; tell whether it is counted; never raises."""
        ...
