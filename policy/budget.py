"""The budget of a scan: what it may still compute, and the results at the time it was spent.

A scan asks its budget between its steps; the caller measures: nothing here has a clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from oborona.policy.engines import EngineOpinion
from oborona.policy.evidence import SenderEvidence
from oborona.policy.signatures import SignatureMatches
from oborona.types import Finding

if TYPE_CHECKING:
    from oborona.policy.scan import Scan

HEAD_OCTETS: Final = (
    32 * 1024
)  # of a message that costs too much: its headers, and the words that a reader sees first


class OverBudgetError(Exception):
    """A scan has used up its budget; the text says how much that is."""


class ScanBudget(Protocol):
    """The budget of one scan."""

    def check(self) -> None:
        """Return at once where something is left.

        Raises:
            OverBudgetError: nothing is.
        """
        ...

    def again(self) -> None:
        """Allow the same once more, from here on."""
        ...


class NoScanBudget:
    """A budget without limits: for tools, tests, and judgements after the answer."""

    def check(self) -> None:
        """Go on."""

    def again(self) -> None:
        """Allow what is allowed."""


class ScanProgress:
    """The progress of a scan: results that hold for the message, wherever it ends.

    Args:
        budget: of the scan.
    """

    __slots__ = ("_before", "_budget", "evidence", "findings", "said", "scan", "signatures", "step")

    def __init__(self, budget: ScanBudget) -> None:
        self._budget = budget
        self.step = budget.check  # between two steps of the scan
        self.evidence: SenderEvidence | None = None
        self.findings: Sequence[Finding] = ()  # so far
        # of the whole message, where this goes on with its head
        self._before: tuple[Finding, ...] = ()
        self.signatures = SignatureMatches()
        self.said: tuple[EngineOpinion, ...] | None = None  # by other engines
        # with a first verdict: what is asked for after it may make another of it
        self.scan: Scan | None = None

    def ended(self, finding: Finding) -> None:
        """Go on from here with the head of the message, within the same budget once more."""
        self._before = (*self.findings, finding)
        self._budget.again()

    def found(self, findings: list[Finding]) -> list[Finding]:
        """Take the findings of the message.

        Return them with those of before that are not among them.
        """
        if self._before:
            names = {finding.name for finding in findings}
            findings = [
                *findings,
                *(finding for finding in self._before if finding.name not in names),
            ]
        self.findings = findings
        return findings

    def matched(self, matches: SignatureMatches) -> SignatureMatches:
        """Take signatures that were found; return them with those that were found before."""
        if self.signatures.signatures:
            matches = SignatureMatches(
                signatures=tuple(dict.fromkeys((*self.signatures.signatures, *matches.signatures)))
            )
        self.signatures = matches
        return matches
