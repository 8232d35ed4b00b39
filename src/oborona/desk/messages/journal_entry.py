"""Why a journaled message got its verdict, and what it would get now."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from oborona.desk.messages.contributions import final_parts, shipped_parts
from oborona.desk.messages.elements import (
    by_name,
    lines_of,
    opinion_of,
    piece_counts,
    rows_now,
    rows_then,
)
from oborona.desk.messages.explanation import VerdictExplanation, VerdictSide, changes, side_of
from oborona.desk.moment import shown_utc
from oborona.ident import to_text
from oborona.journal.entry import JournalEntry, LateFindings
from oborona.policy.load import Policy
from oborona.policy.models.opinion import UNTAUGHT
from oborona.policy.scan import ScanSite
from oborona.recheck.facts_at_delivery import facts_then, why_not
from oborona.recheck.facts_today import direction_of, facts_now, pieces_of
from oborona.recheck.rejudgement import Rejudger
from oborona.types import Verdict


async def explain_entry(
    entry: JournalEntry,
    late: LateFindings | None,
    asked: Mapping[str, str] | None,
    policy: Policy,
    site: ScanSite,
    notice: Callable[[str], None],
) -> VerdictExplanation:
    """Return why an entry is what it is, and what the policy of now would say with the counts of
    now.

    Args:
        entry: of the journal.
        late: what was found in it after the answer.
        asked: what each rule asked then (`recheck.asks`); None = not known.
        policy: in force.
        site: whose counters are read, and whose final model is asked.
        notice: gets what could not be read.
    """
    now = time.time()
    pieces = pieces_of(entry, late)
    before, after = facts_then(entry), None
    if before is not None:
        after, faults = await facts_now(before, pieces, policy, site, now)
        for fault in faults:
            notice(str(fault))
    rejudged = None if after is None else Rejudger(policy, site.final).judge(entry, asked, after)
    then = _then(entry, policy)
    side = None
    if rejudged is not None:
        side = side_of(
            rejudged.verdict,
            policy=policy.version,
            lines=lines_of(policy),
            facts=by_name(rejudged.facts),
            model=then.model,
            not_judged=dict(rejudged.unjudged),
            possible=tuple(dict.fromkeys((rejudged.mildest, rejudged.severest))),
        )
    return VerdictExplanation(
        id=to_text(entry.id),
        time=shown_utc(entry.time),
        queue_id=entry.queue_id,
        client=entry.client_ip,
        helo=entry.helo,
        sender=entry.sender,
        recipients=entry.recipients,
        login=entry.login,
        subject=entry.subject,
        message_id=entry.message_id,
        size=entry.size,
        door=entry.door,
        then=then,
        now=side,
        no_now=why_not(entry),
        late=None if late is None else _late(late, entry),
        counts=piece_counts(
            pieces,
            rows_then(entry.kept.counts if entry.kept else (), pieces),
            await rows_now(site, pieces, now, direction_of(entry), notice),
        ),
        final_model=None
        if rejudged is None
        else final_parts(site.final, rejudged.facts, rejudged.verdict.rules, policy),
        shipped_model=None
        if rejudged is None
        else shipped_parts(site.final, rejudged.facts, rejudged.verdict.rules, policy),
        **changes(then, side),
    )


def _then(entry: JournalEntry, policy: Policy) -> VerdictSide:
    verdict = Verdict(
        action=entry.verdict,
        score=entry.score,
        line=entry.line,
        decided_by=entry.decided_by,
        rules=entry.rules,
        findings=entry.findings,
        would=entry.would,
    )
    return side_of(
        verdict,
        policy=entry.policy_version,
        lines=lines_of(policy) if entry.policy_version == policy.version else None,
        facts=by_name(entry.facts),
        model=opinion_of(entry.kept.opinion if entry.kept else UNTAUGHT),
    )


def _late(late: LateFindings, entry: JournalEntry) -> VerdictSide:
    verdict = Verdict(
        action=late.verdict,
        score=late.score,
        line=late.line,
        decided_by=late.decided_by,
        rules=late.rules,
        findings=late.findings,
    )
    return side_of(
        verdict, policy=entry.policy_version, lines=None, facts=by_name(late.facts), model={}
    )
