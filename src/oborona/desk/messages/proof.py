"""Who sent a message, as far as it was proved, and whom and what it names: out of its facts."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from oborona.desk.messages.explanation import VerdictExplanation, VerdictSide

_DKIM: Final = ("pass", "fail", "temperror", "permerror")  # the first that a signature came to
MOST_DOMAINS: Final = 20  # of links


class ProvedBy(msgspec.Struct, frozen=True, kw_only=True):
    """What one method came to."""

    method: str
    result: str
    of: str  # domain, sealer or name that it is about; empty = none


class MessageProof(msgspec.Struct, frozen=True, kw_only=True):
    """All methods, and who is proved."""

    methods: tuple[ProvedBy, ...]
    proved: str  # author or sender; empty = nobody


class ReputedEntity(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody or something whose reputation can be asked for."""

    kind: str  # author, sender, client, domain, login, link, list
    name: str


def proof_of(side: VerdictSide | None) -> MessageProof | None:
    """Return what was proved of a message; None where its facts are not known."""
    if side is None or "spf.result" not in side.facts:
        return None
    facts = side.facts
    results = facts.get("dkim.results") or ()
    dkim = next((word for word in _DKIM if word in results), "none")
    return MessageProof(
        methods=(
            _method("spf", facts.get("spf.result"), facts.get("spf.domain")),
            _method("dkim", dkim, " ".join(facts.get("dkim.domains") or ())),
            _method("dmarc", facts.get("dmarc.result"), facts.get("dmarc.domain")),
            _method("arc", facts.get("arc.result"), facts.get("arc.trusted")),
            _method("iprev", facts.get("iprev.result"), facts.get("client.name")),
        ),
        proved=str(facts.get("author") or facts.get("sender.proved") or ""),
    )


def entities_of(explanation: VerdictExplanation) -> tuple[ReputedEntity, ...]:
    """Return who and what a message names, most telling first."""
    side = explanation.then or explanation.now
    facts: dict[str, Any] = {} if side is None else side.facts
    named = [
        ("author", facts.get("author")),
        ("sender", explanation.sender),
        ("domain", facts.get("author.domain") or facts.get("from.domain")),
        ("client", explanation.client),
        ("login", explanation.login),
        ("list", facts.get("list_id")),
    ]
    links = facts.get("links.domains")
    named += [("link", one) for one in (links if isinstance(links, list) else ())[:MOST_DOMAINS]]
    return tuple(
        ReputedEntity(kind=kind, name=name)
        for kind, name in dict.fromkeys(named)
        if isinstance(name, str) and name
    )


def _method(name: str, result: object, of: object) -> ProvedBy:
    return ProvedBy(method=name, result=str(result or "none"), of=str(of) if of else "")
