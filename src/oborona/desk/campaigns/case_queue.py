"""Which campaigns need a person, and in which order: what was said of each, summed up.

false positive   three proven people say that it is no spam, and it lies in Junk
contested        a rule of antifraud says so, or as many say the one as the other
unsettled        people complain, and nothing is known for certain
settled          the site, a trap or proven people have said what it is
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final

import msgspec

from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventKind

NEWEST: Final = 1_000  # campaigns that are looked at
AT_ONCE: Final = 400  # campaigns in one question
FACTOR: Final = 3  # complaints and pardons so near each other are a contest
PROVEN: Final = 3  # people
_SAID: Final = (
    "SELECT campaign, what, sum(events), count(*), sum(weight > 0), sum(weight),"
    " sum(proven AND weight > 0), max(settled <> '') FROM campaign_person WHERE campaign IN ({})"
    " GROUP BY campaign, what"
)
_EVENTS: Final = (
    "SELECT campaign, max(' ' || rules || ' ' LIKE '% CONTESTED %' OR ' ' || rules || ' ' LIKE"
    " '% BRIGADE %'), max(way = 'command' AND person = '' AND counts),"
    " max(CASE WHEN what <> 'read' THEN ident END) FROM event WHERE campaign IN ({})"
    " GROUP BY campaign"
)


class CaseUrgency(IntEnum):
    """Why a campaign needs a person: the smaller, the sooner."""

    FALSE_POSITIVE = 0
    CONTESTED = 1
    UNSETTLED = 2
    SETTLED = 3


class SpokenSum(msgspec.Struct, frozen=True, kw_only=True):
    """How many said one thing of a campaign."""

    reports: int = 0
    people: int = 0
    believed: int = 0  # people
    weight: float = 0.0  # of those who are believed
    proven: int = 0  # of those who are believed


class CampaignSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign, and what was said of it."""

    id: int
    first: float  # Unix seconds, of its first report
    last: float
    complaints: SpokenSum
    pardons: SpokenSum
    traps: int
    contested: bool  # a rule of antifraud says so
    by_site: bool  # the site itself has said what it is
    known: bool  # proven people have: their records count it
    proposals: tuple[str, ...]  # signatures that were proposed for it
    sample: int | None  # id of a message in the journal; None = none is known

    def urgency(self, *, in_junk: bool) -> CaseUrgency:
        """Return how soon a person is needed.

        Args:
            in_junk: its sample was judged to be spam.
        """
        if self.by_site:
            return CaseUrgency.SETTLED
        if self.pardons.proven >= PROVEN and in_junk:
            return CaseUrgency.FALSE_POSITIVE
        few, many = sorted((self.complaints.reports, self.pardons.reports))
        if self.contested or (few and many <= FACTOR * few):
            return CaseUrgency.CONTESTED
        if self.complaints.reports and not self.traps and not self.known:
            return CaseUrgency.UNSETTLED
        return CaseUrgency.SETTLED


def campaign_summaries(
    log: EventLog, since: float, only: int | None = None
) -> list[CampaignSummary]:
    """Return campaigns and what was said of them, the newest first.

    Args:
        log: of events.
        since: Unix seconds; those of which anything was said from then on.
        only: this one alone.
    """
    if only is None:
        rows = log.rows(
            "SELECT id, first, last, traps, proposals FROM campaign WHERE last >= ?"
            " ORDER BY last DESC LIMIT ?",
            (since, NEWEST),
        )
    else:
        rows = log.rows(
            "SELECT id, first, last, traps, proposals FROM campaign WHERE id = ?", (only,)
        )
    summaries = list[CampaignSummary]()
    for start in range(0, len(rows), AT_ONCE):
        summaries += _summed(log, rows[start : start + AT_ONCE])
    return summaries


def _summed(log: EventLog, rows: Sequence[tuple[Any, ...]]) -> list[CampaignSummary]:
    idents = tuple(row[0] for row in rows)
    marks = ", ".join("?" * len(idents))
    sums = dict[tuple[int, str], SpokenSum]()
    known = set[int]()
    for campaign, what, reports, people, believed, weight, proven, settled in log.rows(
        _SAID.format(marks), idents
    ):
        sums[campaign, what] = SpokenSum(
            reports=reports, people=people, believed=believed, weight=weight, proven=proven
        )
        if settled:
            known.add(campaign)
    said = {row[0]: row[1:] for row in log.rows(_EVENTS.format(marks), idents)}
    summaries = []
    for ident, first, last, traps, proposals in rows:
        contested, by_site, sample = said.get(ident, (0, 0, None))
        summaries.append(
            CampaignSummary(
                id=ident,
                first=first,
                last=last,
                complaints=sums.get((ident, EventKind.COMPLAINT), SpokenSum()),
                pardons=sums.get((ident, EventKind.PARDON), SpokenSum()),
                traps=traps,
                contested=bool(contested),
                by_site=bool(by_site),
                known=ident in known,
                proposals=tuple(proposals.split()),
                sample=sample,
            )
        )
    return summaries
