"""The second step of a login: codes of six digits that a telephone makes (TOTP, RFC 6238)."""

from __future__ import annotations

import hmac
from typing import Final

import pyotp

STEP_S: Final = 30
DIGITS: Final = 6
AROUND: Final = 1  # steps before and after, for clocks that go wrong and people who type slowly
ISSUER: Final = "Oborona"


def new_secret() -> str:
    """Return a new secret of 160 bits, as telephones take it."""
    return pyotp.random_base32()


def enrolment_uri(secret: str, name: str, site: str) -> str:
    """Return what a telephone reads from a QR code.

    Args:
        secret: of the person.
        name: of the person.
        site: whose console it is.
    """
    issuer = f"{ISSUER} {site}" if site else ISSUER
    return pyotp.TOTP(secret).provisioning_uri(name=name, issuer_name=issuer)


def step_of(secret: str, code: str, after: int, now: float) -> int:
    """Return the step that a code is of; 0 where it is of none that may be.

    Args:
        secret: of the person.
        code: as it was typed.
        after: the last step whose code was taken: one of it or before it is refused.
        now: Unix seconds.
    """
    digits = "".join(code[: 4 * DIGITS].split())
    if len(code) > 4 * DIGITS or len(digits) != DIGITS or not digits.isascii():
        return 0
    generator, current, found = pyotp.TOTP(secret, interval=STEP_S), int(now) // STEP_S, 0
    for step in range(current - AROUND, current + AROUND + 1):
        if hmac.compare_digest(generator.at(step * STEP_S), digits) and step > max(after, 0):
            found = step
    return found
