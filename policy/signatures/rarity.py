"""How rare a proposed signature is in good mail, by what was looked at and by what the counters
remember.
"""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.message.hashing import ShingleType
from oborona.policy.signatures.model import SignatureKind

# of its spam: as many may be counted that were neither judged nor shown to be spam
TENTH: Final = 0.1
COUNTED: Final = {
    SignatureKind.DOMAIN: ShingleType.LINK_DOMAIN,
    SignatureKind.HOST: ShingleType.HOST,
    SignatureKind.PHONE: ShingleType.PHONE,
    SignatureKind.ADDRESS: ShingleType.ADDRESS,
    SignatureKind.WALLET: ShingleType.WALLET,
    SignatureKind.HANDLE: ShingleType.HANDLE,
    SignatureKind.CHECKSUM: ShingleType.CHECKSUM,
    SignatureKind.LIST: ShingleType.LIST,
}
"""Type of shingle under which each kind of entity is counted; words have none."""


class Rarity(msgspec.Struct, frozen=True, kw_only=True):
    """How often good mail has a signature."""

    support: int  # messages of the spam that have it
    ham: int = 0  # good messages that have it, of those that were looked at
    ham_of: int = 0  # good messages that were looked at
    # messages that the counters remember with it, two weeks; None = it is not counted
    seen: int | None = None
    spam: int = 0  # of these judged spam
    pardons: int = 0  # people who said of one that it is no spam

    @property
    def unexplained(self) -> int:
        """Messages that the counters remember, and that are neither known spam nor those that were
        given as spam.
        """
        return max(0, (self.seen or 0) - self.spam - self.support)

    @property
    def rare(self) -> bool:
        """It may be proposed."""
        if self.ham or self.pardons:
            return False
        return self.unexplained <= self.support * TENTH

    @property
    def share(self) -> float | None:
        """The share of good mail that has it, at most, with 95 % confidence, where none of that
        which was looked at has; else None.

        Source: the rule of three: Hanley, Lippman-Hand, JAMA 249 (1983).
        """
        return min(1.0, 3.0 / self.ham_of) if self.ham_of and not self.ham else None

    def words(self) -> str:
        """Return what is known, for an analyst."""
        parts: list[str] = []
        if self.ham_of:
            bound = "" if self.share is None else f" (under {self.share:.2%})"
            parts.append(f"{self.ham} of {self.ham_of} good messages{bound}")
        if self.seen is not None:
            parts.append(f"{self.seen} counted in two weeks, {self.spam} of them spam")
        return "; ".join(parts) or "no good mail was looked at"
