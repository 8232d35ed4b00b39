"""What rules may name: the facts that `policy.facts.Facts` declares, counts and findings.

`SCHEMA` is what expressions are checked against, and what docs/policy/facts.md is written from;
`KEPT` is what the journal stores.
"""

from __future__ import annotations

from itertools import chain
from typing import Final

from oborona.message.findings import NAMES as NAMES_OF_PARSING
from oborona.message.shingles import TYPES, ShingleType
from oborona.policy.checks import FINDINGS
from oborona.policy.decision import PARTIAL, TEMPERROR, UNFINISHED
from oborona.policy.engines import FINDINGS as OF_ENGINES
from oborona.policy.expression import CountedType, Fact, FactSchema
from oborona.policy.facts import Facts
from oborona.policy.facts.declaration import by_area, declared
from oborona.policy.pictures import FINDINGS as OF_PICTURES
from oborona.policy.scripts.scripts import FINDINGS as OF_SCRIPTS
from oborona.types import Stage

_C, _S, _M = Stage.CONNECT, Stage.SENDER, Stage.CONTENT

_DECLARED: Final = tuple(declared(Facts))
AREAS: Final = by_area(_DECLARED)
"""Facts under the headings of the reference."""
TABLE: Final[tuple[Fact, ...]] = tuple(chain.from_iterable(AREAS.values()))
"""Facts in the order of the reference."""
KEPT: Final = tuple(attribute for attribute, declaration, _ in _DECLARED if declaration.kept)
"""Attributes of the facts that the journal stores, in its order."""

STAGES: Final = {
    ShingleType.CLIENT_IP: _C,
    ShingleType.CLIENT_NETWORK: _C,
    ShingleType.AS_NUMBER: _C,
    ShingleType.RDNS: _C,
    ShingleType.RDNS_DOMAIN: _C,
    ShingleType.COUNTRY: _C,
    ShingleType.HELO: _S,
    ShingleType.MAIL_FROM: _S,
    ShingleType.MAIL_FROM_DOMAIN: _S,
    ShingleType.IP_SENDERS: _C,
    ShingleType.ACCOUNT: _S,
    ShingleType.ACCOUNT_IP: _S,
    ShingleType.ACCOUNT_IPS: _S,
}
"""Stage from which a type of shingle is known; all others with the content."""

NAMES: Final = {kind.name.title().replace("_", ""): kind for kind in ShingleType}
"""How `count[...]` names each type: MAIL_FROM_DOMAIN is count[MailFromDomain]."""

DISTINCT: Final = {
    ShingleType.ENTITY_RECIPIENTS: "recipients per entity",
    ShingleType.SENDER_RECIPIENTS: "recipients per sender",
    ShingleType.SENDER_DOMAINS: "recipient domains per sender",
    ShingleType.SENDER_COUNTRIES: "countries per sender",
    ShingleType.IP_SENDERS: "senders per client",
    ShingleType.LINK_SENDERS: "senders per link domain",
    ShingleType.TEXT_IPS: "clients per text",
    ShingleType.TEXT_SENDERS: "senders per text",
    ShingleType.TEXT_RECIPIENTS: "recipients per text",
    ShingleType.ACCOUNT_IPS: "clients per account",
}
"""What `distinct()` calls the types that count distinct things."""

SCHEMA: Final = FactSchema(
    facts=TABLE,
    counted=tuple(
        CountedType(
            name=name,
            number=int(kind),
            stage=STAGES.get(kind, _M),
            doc=TYPES[kind].meaning,
            distinct=DISTINCT.get(kind, ""),
        )
        for name, kind in NAMES.items()
    ),
    findings=dict.fromkeys(
        (
            *NAMES_OF_PARSING,
            *FINDINGS,
            *OF_PICTURES,
            *OF_ENGINES,
            *OF_SCRIPTS,
            PARTIAL,
            TEMPERROR,
            UNFINISHED,
        ),
        _M,
    ),
)
