"""Whose mail it is, as far as a message needs to know."""

from __future__ import annotations

from typing import Final, Protocol

import msgspec

from oborona.policy.sender_facts import SenderFacts

DAY_S: Final = 86_400.0


class SendingAccount(msgspec.Struct, frozen=True, kw_only=True):
    """What mail of an account may be judged by."""

    id: str
    customer: str = ""  # id of who answers for it; empty: nobody is known
    born: float = 0.0  # Unix seconds; 0 = not known
    rating: int
    trusted_until: float | None = None  # Unix seconds; 0 = for ever, None = nobody trusts it
    logins: tuple[str, ...] = ()  # lower case
    networks: tuple[str, ...] = ()  # canonical text

    def trusted(self, now: float) -> bool:
        """Tell whether a person's trust is in force at Unix time `now`."""
        until = self.trusted_until
        return until is not None and (until == 0.0 or now < until)

    def age_days(self, now: float) -> float | None:
        """Return the days since it was made; None: nobody knows when it was."""
        return max(0.0, (now - self.born) / DAY_S) if self.born else None

    def tell(self, facts: SenderFacts, now: float) -> None:
        """Write what is known of it at Unix time `now` into facts."""
        facts.trusted, facts.rating = self.trusted(now), self.rating
        facts.age, facts.customer = self.age_days(now), self.customer or None


class KnownAccounts(Protocol):
    """The accounts of a site."""

    def sender(self, login: str, ip: str) -> SendingAccount | None:
        """Return whose mail it is; None: of nobody that is known.

        Args:
            login: that the mail server let in, in any capitals; empty: none.
            ip: of the client.
        """
        ...

    def network(self, ip: str) -> str:
        """Return the narrowest network of an account around an address; empty: there is none."""
        ...


class NoAccounts:
    """A site that has no accounts."""

    def sender(self, _login: str, _ip: str) -> SendingAccount | None:
        """Return None: nobody is known."""
        return None

    def network(self, _ip: str) -> str:
        """Return the empty text: there is none."""
        return ""
