"""One row of what a search in the journal finds, made of a row of the journal."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from oborona import ident
from oborona.journal.refusal import Told
from oborona.journal.texts import from_json, unpack_text
from oborona.types import Action, RuleHit, RuleMode, Stage

REASONS: Final = 2  # that a row shows
_RULES: Final = msgspec.json.Decoder(tuple[RuleHit, ...])
_TEXTS: Final = msgspec.json.Decoder(tuple[str, ...])


class SearchHit(msgspec.Struct, frozen=True, kw_only=True):
    """One message, or refusals before the content, in the results of a search."""

    id: str
    time: float  # Unix seconds
    verdict: Action
    score: float
    line: float
    decided_by: str
    queue_id: str
    message_id: str
    client: str
    helo: str
    sender: str
    header_from: str
    recipients: tuple[str, ...]
    login: str
    subject: str
    size: int
    rules: tuple[RuleHit, ...]
    stage: Stage = Stage.CONTENT  # of what was judged
    told: Told = Told.CONTENT  # where the client heard of it
    head: str = ""  # of refusals: the first of those that are counted together
    network: str = ""  # of refusals: of the client
    times: int = 1  # how many they are
    last: float | None = None  # of refusals: when the last of them was, Unix seconds
    door: str = ""  # the listener that it came by; empty = unknown, or of an older Oborona

    @property
    def reasons(self) -> tuple[RuleHit, ...]:
        """The live rules that weigh most."""
        live = [hit for hit in self.rules if hit.mode is RuleMode.LIVE]
        return tuple(sorted(live, key=lambda hit: -abs(hit.score))[:REASONS])


def message_hit(row: tuple[Any, ...]) -> SearchHit | None:
    """Return a message of these columns; None = its row is damaged."""
    try:
        (
            number, when, verdict, score, line, decided_by, queue_id, message_id, client, helo, sender, header_from, recipients,
            login, subject, size, rules, door,
        ) = row  # fmt: skip
        return SearchHit(
            id=ident.to_text(number),
            time=float(when),
            verdict=Action(verdict),
            score=float(score),
            line=float(line),
            decided_by=decided_by,
            queue_id=unpack_text(queue_id),
            message_id=unpack_text(message_id),
            client=unpack_text(client),
            helo=unpack_text(helo),
            sender=unpack_text(sender),
            header_from=unpack_text(header_from),
            recipients=from_json(recipients, _TEXTS),
            login=unpack_text(login),
            subject=unpack_text(subject),
            size=int(size),
            rules=from_json(rules, _RULES),
            door=door or "",
        )
    except (ValueError, TypeError):
        return None


def refusal_hit(row: tuple[Any, ...]) -> SearchHit | None:
    """Return a refusal of these columns and its own behind them; None = its row is damaged."""
    *columns, head, stage, told, network, times, last = row
    hit = message_hit(tuple(columns))
    try:
        return hit and msgspec.structs.replace(
            hit,
            head=ident.to_text(head),
            stage=Stage(stage),
            told=Told(told),
            network=unpack_text(network),
            times=int(times),
            last=float(last),
        )
    except (ValueError, TypeError):
        return None
