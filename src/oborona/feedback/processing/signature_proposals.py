"""Proposes signatures for a campaign that several people complained of, from its raw copies; a
person decides about them.
"""

from __future__ import annotations

from typing import Final

from oborona.feedback.events.log import EventLog
from oborona.feedback.processing.ports import ProposalSink

MOST_COPIES: Final = 20  # of a campaign: what it has in common shows in fewer
AGAIN: Final = 4  # times as many people: a campaign that changes its text is looked at again


def propose(
    log: EventLog, campaign: int, proposer: ProposalSink, *, people: int, now: float
) -> list[str]:
    """Propose signatures where enough agree; return the names of those that are new.

    Args:
        log: of events.
        campaign: its id.
        proposer: of signatures.
        people: so many distinct persons who complain, and are believed, or traps, are enough.
        now: Unix seconds.

    Raises:
        StoreError: they can't be written down, or the log not be read.
    """
    ((agree, proposed),) = log.rows(
        "SELECT (SELECT count(*) FROM campaign_person WHERE campaign = c.id AND what = "
        "'complaint' AND weight > 0) + c.traps,"
        " c.proposed FROM campaign c WHERE c.id = ?",
        (campaign,),
    ) or [(0, 0)]
    if agree < max(people, proposed * AGAIN):
        return []
    rows = log.rows(
        "SELECT e.id FROM event e JOIN raw r ON r.id = e.id WHERE e.campaign = ? AND e.counts AND "
        "e.what IN ('complaint', 'trap')"
        " ORDER BY e.id DESC LIMIT ?",
        (campaign, MOST_COPIES),
    )
    copies = [log.raw(ident) for (ident,) in rows]
    names = proposer.propose(copies, f"{agree} agree in campaign {campaign}", now) if copies else []
    with log.transaction() as db:
        db.execute(
            (
                "UPDATE campaign SET proposed = ?, proposals = trim(proposals || ' ' || ?) "
                "WHERE id = ?"
            ),
            (agree, " ".join(names), campaign),
        )
    return names


def proposals_of(log: EventLog, campaign: int) -> list[str]:
    """Return the names of the signatures that were proposed of a campaign."""
    rows = log.rows("SELECT proposals FROM campaign WHERE id = ?", (campaign,))
    return rows[0][0].split() if rows else []
