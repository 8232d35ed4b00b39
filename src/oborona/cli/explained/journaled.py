"""Why a journaled message got its verdict, and what it would get now."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime

import click
import msgspec

from oborona.cli.explained.gathered import (
    by_name,
    counted,
    lines_of,
    opinion_of,
    rows_now,
    rows_then,
)
from oborona.cli.explained.model import Explanation, Side, changes, side_of
from oborona.cli.explained.pulled import final_parts
from oborona.policy.facts import Facts
from oborona.policy.gathered import mass_facts, repip_facts
from oborona.policy.load import Policy
from oborona.policy.models.opinion import UNTAUGHT
from oborona.policy.pasts import judge_pasts
from oborona.policy.reputed import Seen, pin_address, pins_of, with_reputation
from oborona.policy.scan import Site
from oborona.policy.settling import read_known
from oborona.recheck.entry import Entry, Late
from oborona.recheck.ident import to_text
from oborona.recheck.judged import Judge
from oborona.recheck.then import facts_then, readable, why_not
from oborona.types import Proved, Shingle, Verdict


async def explained(
    entry: Entry, late: Late | None, asked: Mapping[str, str] | None, policy: Policy, site: Site
) -> Explanation:
    """Return why an entry is what it is, and what the policy of now would say with the counts of now.

    Args:
        entry: of the journal.
        late: what was found in it after the answer.
        asked: what each rule asked then (`recheck.asks`); None = not known.
        policy: in force.
        site: whose counters are read, and whose final model is asked.
    """
    now = time.time()
    pieces = _pieces(entry, late)
    before = facts_then(entry)
    after = None if before is None else await _facts_now(before, pieces, policy, site, now)
    again = None if after is None else Judge(policy, site.final).judge(entry, asked, after)
    then = _then(entry, policy)
    side = None
    if again is not None:
        side = side_of(
            again.verdict,
            policy=policy.version,
            lines=lines_of(policy),
            facts=by_name(again.facts),
            model=then.model,
            not_judged=dict(again.unjudged),
            possible=tuple(dict.fromkeys((again.mildest, again.severest))),
        )
    return Explanation(
        id=to_text(entry.id),
        time=_moment(entry.time),
        queue_id=entry.queue_id,
        client=entry.client_ip,
        helo=entry.helo,
        sender=entry.sender,
        recipients=entry.recipients,
        login=entry.login,
        subject=entry.subject,
        message_id=entry.message_id,
        size=entry.size,
        then=then,
        now=side,
        no_now=why_not(entry),
        late=None if late is None else _late(late, entry),
        counts=counted(
            pieces,
            rows_then(entry.kept.counts if entry.kept else (), pieces),
            await rows_now(site, pieces, now),
        ),
        final_model=None if again is None else final_parts(site.final, again.facts, again.verdict.rules),
        **changes(then, side),
    )


def _pieces(entry: Entry, late: Late | None) -> tuple[Shingle, ...]:
    """Return what was asked about: the message's pieces, what its unique pairs count, and what was found late."""
    distinct = [Shingle(*one) for one in entry.kept.distinct] if entry.kept else []
    return tuple(dict.fromkeys((*entry.shingles, *distinct, *(late.shingles if late else ()))))


async def _facts_now(
    then: Facts, pieces: tuple[Shingle, ...], policy: Policy, site: Site, now: float
) -> Facts:
    """Return the facts of then with the counts of now, which hold the message itself."""
    known, faults = await read_known(site.counters, pieces, now, policy.compiled.timelines)
    for fault in faults:
        click.echo(f"oborona: {fault}", err=True)
    pinned = pins_of(pieces, site.pins, now)
    pin_address(known, pinned)
    facts = msgspec.structs.replace(
        then,
        known=known,
        partial=bool(faults),
        **mass_facts(known),
        **repip_facts(known, own=then.client_own),
    )
    plain, unkept = readable(facts)
    if "author" in unkept:  # judged by an older version, which did not say who was proved
        return facts
    who = Proved(
        author=plain.author,
        author_domain=plain.author_domain,
        sender=plain.sender_proved,
        account=plain.login.lower(),
    )
    judgements, _ = await judge_pasts(site.counters, known, who, site.hasher, site.pasts, now=now)
    seen = Seen(who, site.hasher, plain.repentity_shared, pinned, plain.client_own, judgements)
    return with_reputation(facts, seen)


def _then(entry: Entry, policy: Policy) -> Side:
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


def _late(late: Late, entry: Entry) -> Side:
    verdict = Verdict(
        action=late.verdict,
        score=late.score,
        line=late.line,
        decided_by=late.decided_by,
        rules=late.rules,
        findings=late.findings,
    )
    return side_of(verdict, policy=entry.policy_version, lines=None, facts=by_name(late.facts), model={})


def _moment(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).isoformat(sep=" ", timespec="seconds")
