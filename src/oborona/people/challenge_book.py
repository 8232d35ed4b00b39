"""Challenges: what an authenticator is asked to sign; for five minutes, once, by one browser.

Each is tied to what it is for and to the session or browser that asked: another one's answer to it
is none.  A second challenge for the same takes the place of the first.
"""

from __future__ import annotations

import secrets
from enum import StrEnum
from hashlib import blake2b
from typing import Final

import msgspec

from oborona.people.store import PeopleStore
from oborona.people.wait import network_of

CHALLENGE_S: Final = 300.0
MOST_OPEN: Final = 10_000  # then the oldest go
MOST_OF_NETWORK: Final = 100  # the same, so that one network drives no other's out
_OCTETS: Final = 32
_HASH_BYTES: Final = 16


class ChallengeUse(StrEnum):
    """What the answer to a challenge does."""

    REGISTER = "register"  # makes a passkey known
    SIGN_IN = "sign_in"  # begins a session, in place of a password and a second step
    STEP = "step"  # begins a session, after a password
    CONFIRM = "confirm"  # in place of the password once more


class Challenge(msgspec.Struct, frozen=True, kw_only=True):
    """One that was asked.

    Args:
        octets: that are to be signed.
        person: id of who is to sign; None = who it is shows itself.
        handle: as an authenticator is to know them; empty where no passkey is made.
    """

    octets: bytes
    person: int | None = None
    handle: bytes = b""


class ChallengeBook:
    """The challenges of a store of people.

    Args:
        store: where they are kept.
    """

    def __init__(self, store: PeopleStore) -> None:
        self._store = store

    def ask(
        self,
        use: ChallengeUse,
        of: str,
        place: str,
        now: float,
        *,
        person: int | None = None,
        handle: bytes = b"",
    ) -> Challenge:
        """Return a new challenge.

        Args:
            use: what it is for.
            of: token of the session, or what the browser is known by; any text.
            place: address of the client.
            now: Unix seconds.
            person: id of who is to sign; None = who it is shows itself.
            handle: as an authenticator is to know them.
        """
        asked = Challenge(octets=secrets.token_bytes(_OCTETS), person=person, handle=handle)
        network = _hash("network", network_of(place))
        row = (_hash(use, of), asked.octets, person, handle, network, now + CHALLENGE_S)
        with self._store.transaction() as db:
            db.execute("DELETE FROM challenge WHERE until <= ?", (now,))
            db.execute("INSERT OR REPLACE INTO challenge VALUES (?, ?, ?, ?, ?, ?)", row)
            for where, values, most in (
                (" WHERE network = ?", (network,), MOST_OF_NETWORK),
                ("", (), MOST_OPEN),
            ):
                db.execute(
                    "DELETE FROM challenge WHERE whose IN (SELECT whose FROM challenge"  # noqa: S608 - our own words
                    f"{where} ORDER BY until DESC, whose LIMIT -1 OFFSET ?)",
                    (*values, most),
                )
        return asked

    def look(self, use: ChallengeUse, of: str, now: float) -> Challenge | None:
        """Return the challenge that is open; None = there is none."""
        found = self._store.rows(
            "SELECT octets, person, handle, until FROM challenge WHERE whose = ?", (_hash(use, of),)
        )
        return _challenge(found[0], now) if found else None

    def take(self, use: ChallengeUse, of: str, now: float) -> Challenge | None:
        """Return the challenge that is open, and use it up; None = there is none, or no longer."""
        with self._store.transaction() as db:
            found = db.execute(
                "DELETE FROM challenge WHERE whose = ? RETURNING octets, person, handle, until",
                (_hash(use, of),),
            ).fetchall()
        return _challenge(found[0], now) if found else None


def _challenge(row: tuple[bytes, int | None, bytes, float], now: float) -> Challenge | None:
    octets, person, handle, until = row
    if not now < until <= now + CHALLENGE_S:
        return None
    return Challenge(octets=octets, person=person, handle=handle)


def _hash(use: str, of: str) -> bytes:
    octets = f"{use} {of}".encode("utf-8", "surrogatepass")
    return blake2b(octets, digest_size=_HASH_BYTES).digest()
