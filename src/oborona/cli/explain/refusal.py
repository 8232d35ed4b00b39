"""Why somebody was refused before the content: what the journal has of a reference."""

from __future__ import annotations

from typing import Final

import msgspec
from rich.table import Table
from rich.text import Text

from oborona.cli.duration import shown_utc
from oborona.cli.find import PLACES
from oborona.cli.terminal import Terminal, plain
from oborona.ident import to_text
from oborona.journal.refusal import COLLAPSE_S, REFERENCES, RecordedRefusal, Told
from oborona.session.account_refusal import ACCOUNT_BANNED, ACCOUNT_LIMITED
from oborona.session.refusals import TOO_BUSY, UNANSWERED
from oborona.types import Action, RuleHit, Stage

_MEANINGS: Final = {
    TOO_BUSY: "too much was to be judged at that time; nobody looked at it",
    UNANSWERED: "a fault of ours, which the log has; nobody looked at it",
    ACCOUNT_BANNED: "the account is banned: oborona account show",
    ACCOUNT_LIMITED: "the account is limited: oborona account show",
}


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
    )


def show_refusal(console: Terminal, explanation: RefusalExplanation) -> None:
    """Print why somebody was refused."""
    about = Table.grid(padding=(0, 2))
    helo = f" helo {explanation.helo}" if explanation.helo else ""
    for name, value in (
        ("reference", explanation.id),
        ("time", explanation.time),
        ("queue id", explanation.queue_id),
        ("client", f"{explanation.client or 'unknown'}{helo}"),
        ("from", "" if explanation.shared else _sender(explanation)),
        ("to", " ".join(explanation.recipients)),
        ("login", explanation.login),
    ):
        if value:
            about.add_row(name, plain(value))
    console.print(about, highlight=False)
    colour = "cyan" if explanation.verdict is Action.TEMPFAIL else "red"
    score = f" {explanation.score:.1f} / {explanation.line:g}" if explanation.score else ""
    where = f"{score}  refused {PLACES[explanation.told]}, before its content"
    console.print(Text.assemble((explanation.verdict.value, colour), where))
    meaning = _MEANINGS.get(explanation.decided_by)
    words = f"decided by {explanation.decided_by}{f' ({meaning})' if meaning else ''}"
    console.print(
        f"      {plain(words)}; policy {plain(explanation.policy) or 'unknown'}", highlight=False
    )
    for hit in explanation.rules:
        said = f" ({hit.say})" if hit.say else ""
        console.print(f"      {plain(f'{hit.name} {hit.score:+g}{said}')}", highlight=False)
    if explanation.times > 1:
        network = plain(explanation.network) or "many networks"
        console.print(
            f"{explanation.times} times from {network} for that reason, "
            f"{explanation.first} to {explanation.last}",
            highlight=False,
        )
    if explanation.shared:
        console.print(
            f"this reference was given to several: in {COLLAPSE_S / 60:g} minutes no more than "
            f"{REFERENCES} of a network are told apart",
            highlight=False,
        )


def _sender(explanation: RefusalExplanation) -> str:
    """Return the sender, as far as SMTP had come; a bounce has none."""
    named = explanation.sender or explanation.recipients
    return f"<{explanation.sender}>" if named or explanation.told is Told.SENDER else ""
