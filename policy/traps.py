"""Traps: addresses that no person uses, so that all their mail is spam.  Pure.

An address is compared in its normal form: lower case, its domain in A-labels.  Trap domains and
patterns leave out postmaster@ and abuse@, where people write about the domain itself (RFC 2142); an
admin who wants them as traps names them as addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, Final

import re2

from oborona.domains import normal_host
from oborona.reputation.personal import mail_address

MAX_PATTERN: Final = 500  # characters
PATTERN_MEMORY: Final = 1 << 20  # bytes that RE2 may take for one pattern
ROLES: Final = frozenset({"postmaster", "abuse"})
NOBODYS: Final = ("x7q2v9k4w1@example.com", "zhk-81.tt@mail.example.net")
"""Addresses that a pattern of traps has no reason to match: one that matches all of them matches
everybody's.
"""


class TrapAction(StrEnum):
    """What becomes of mail to traps once it is learned from."""

    DROP = "drop"  # taken and thrown away
    FILE = "file"  # delivered, marked as spam
    REJECT = "reject"  # refused as spam is


class BrokenTrap(ValueError):  # noqa: N818 - reads as what happened
    """A text that can't be a trap; the text says why."""


class Traps:
    """All traps of a policy.

    Args:
        addresses: in their normal form.
        domains: in A-labels and lower case; one that begins with a full stop is meant with all
            below it.
        patterns: of RE2, of whole addresses.

    Raises:
        BrokenTrap: a pattern that can't be used.
    """

    def __init__(
        self,
        addresses: Iterable[str] = (),
        domains: Iterable[str] = (),
        patterns: Sequence[str] = (),
    ) -> None:
        self._addresses = frozenset(addresses)
        named = frozenset(domains)
        self._exactly = frozenset(domain.removeprefix(".") for domain in named)
        self._below = frozenset(domain[1:] for domain in named if domain[0] == ".")
        self._patterns = tuple(map(compile_trap_pattern, patterns))

    def __len__(self) -> int:
        return len(self._addresses) + len(self._exactly) + len(self._patterns)

    def has(self, address: str) -> bool:
        """Tell whether an address is a trap.

        Args:
            address: of a recipient, as a mail server names it: anything.
        """
        if not len(self):
            return False
        parsed = mail_address(address)
        if not parsed or parsed in self._addresses:
            return bool(parsed)
        local, _, domain = parsed.rpartition("@")
        if local in ROLES:
            return False
        return (
            domain in self._exactly
            or (bool(self._below) and any(above in self._below for above in _above(domain)))
            or any(pattern.fullmatch(parsed) for pattern in self._patterns)
        )

    def among(self, recipients: Iterable[str]) -> tuple[str, ...]:
        """Return those of some addresses that are traps, as they were given."""
        return (
            tuple(recipient for recipient in recipients if self.has(recipient)) if len(self) else ()
        )


def trap_address(text: str) -> str:
    """Return the normal form of an address that is to be a trap.

    Raises:
        BrokenTrap: it is none.
    """
    parsed = mail_address(text)
    if not parsed:
        raise BrokenTrap(f"{text[:100]!r} is no mail address")
    return parsed


def trap_domain(text: str) -> str:
    """Return the normal form of a domain that is to be a trap, with the full stop before it that
    stands for all below it.

    Raises:
        BrokenTrap: it is none, or one that holds many people's.
    """
    name = normal_host(text.removeprefix("."))
    if not name or name[-1].isdigit() or "@" in text:
        raise BrokenTrap(f"{text[:100]!r} is no domain")
    if "." not in name:
        raise BrokenTrap(f"{text[:100]!r} is a domain under which everybody is")
    return f".{name}" if text.startswith(".") else name


def compile_trap_pattern(pattern: str) -> Any:
    """Return a pattern of whole addresses; capital letters are as small ones.

    Raises:
        BrokenTrap: RE2 does not take it, or it matches everybody.
    """
    if len(pattern) > MAX_PATTERN:
        raise BrokenTrap(f"a pattern has at most {MAX_PATTERN} characters")
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.case_sensitive = False
    options.max_mem = PATTERN_MEMORY
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as fault:
        words = fault.args[0] if fault.args else "not a pattern"
        problem = words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
        raise BrokenTrap(f"{pattern[:100]!r}: {problem}") from None
    if all(compiled.fullmatch(address) for address in NOBODYS):
        raise BrokenTrap(f"{pattern[:100]!r} matches everybody's address")
    return compiled


def _above(domain: str) -> Iterable[str]:
    """Yield a domain and all above it."""
    yield domain
    while "." in domain:
        domain = domain.partition(".")[2]
        yield domain


NO_TRAPS: Final = Traps()
