"""What people do about campaigns: who looks at one, what was decided, and what is put off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from oborona import state_files
from oborona.desk.campaigns.case_queue import (
    CampaignSummary,
    CaseUrgency,
)
from oborona.desk.site import Site
from oborona.feedback.cases.store import CaseDecision, CaseLock, CaseStore


class CaseBook(msgspec.Struct, frozen=True, kw_only=True):
    """What people do about campaigns, by the numbers of these."""

    locks: dict[int, CaseLock] = {}
    decisions: dict[int, CaseDecision] = {}
    snoozed: dict[int, CaseLock] = {}

    def urgency(self, summary: CampaignSummary, junk: set[int]) -> CaseUrgency:
        """Return how soon a person is needed; what is decided waits for something new.

        Args:
            summary: what was said of the campaign.
            junk: messages that were judged to be spam.
        """
        decision = self.decisions.get(summary.id)
        if decision is not None and decision.done and summary.last <= decision.at:
            return CaseUrgency.SETTLED
        return summary.urgency(in_junk=summary.sample in junk)

    def needs_person(self, summary: CampaignSummary, junk: set[int]) -> bool:
        """Return whether a person is needed now."""
        settled = self.urgency(summary, junk) is CaseUrgency.SETTLED
        return not settled and summary.id not in self.snoozed


def read_cases(site: Site, log: bytes, now: float) -> CaseBook:
    """Return who looks at which campaigns, what was decided, and what is put off.

    Args:
        site: whose.
        log: origin of its log of events.
        now: Unix seconds.
    """
    with open_cases(site) as store:
        if store is None:
            return CaseBook()
        return CaseBook(
            locks=store.locks(log, now),
            decisions=store.decisions(log),
            snoozed=store.snoozed(log, now),
        )


@contextmanager
def open_cases(site: Site, *, make: bool = False) -> Iterator[CaseStore | None]:
    """Open the file of cases as the daemon's user; None where there is none, and none is made."""
    path = site.state / state_files.CASES
    if not make and not path.exists():
        yield None
        return
    with site.as_owner(), CaseStore(path, make=make) as opened:
        yield opened
