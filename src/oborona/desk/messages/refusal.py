"""Why somebody was refused before the content: what the journal has of a reference."""

from __future__ import annotations

import msgspec

from oborona.desk.moment import shown_utc
from oborona.ident import to_text
from oborona.journal.refusal import RecordedRefusal, Told
from oborona.types import Action, RuleHit, Stage


class RefusalExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """Of one reference; names and meaning of its fields stay."""

    id: str
    time: str  # ISO 8601, when the reference was first given out
    refused: bool = True  # before its content: told from a message by this
    stage: Stage  # of what was judged: connect, sender, recipient; content where nobody was
    told: Told  # where the client heard of it
    verdict: Action
    score: float
    line: float
    decided_by: str
    policy: str  # version
    rules: tuple[RuleHit, ...]
    queue_id: str
    client: str  # its network, where the reference is shared
    helo: str
    sender: str
    recipients: tuple[str, ...]  # the first
    login: str
    shared: bool  # given to several who are not told apart
    network: str  # of all that are counted together; empty = of any
    times: int  # how many they are
    named: int  # recipients that they named
    first: str  # ISO 8601
    last: str
    door: str  # the listener that it came by; empty = of an older Oborona


def explain_refusal(recorded: RecordedRefusal) -> RefusalExplanation:
    """Return what the journal has of a reference, as it is shown."""
    refusal = recorded.refusal
    return RefusalExplanation(
        id=to_text(refusal.id),
        time=shown_utc(refusal.time),
        stage=refusal.stage,
        told=refusal.told,
        verdict=refusal.verdict,
        score=refusal.score,
        line=refusal.line,
        decided_by=refusal.decided_by,
        policy=refusal.policy_version,
        rules=refusal.rules,
        queue_id=refusal.queue_id,
        client=refusal.client_ip,
        helo=refusal.helo,
        sender=refusal.sender,
        recipients=refusal.recipients,
        login=refusal.login,
        shared=recorded.shared,
        network=recorded.network,
        times=recorded.times,
        named=recorded.recipients,
        first=shown_utc(recorded.first),
        last=shown_utc(recorded.last),
        door=refusal.door,
    )
