"""What rules may name: the facts that `policy.facts.Facts` declares, counts and findings.

`SCHEMA` is what expressions are checked against, and what docs/policy/facts.md is written from;
`KEPT` is what the journal stores.
"""

from __future__ import annotations

from itertools import chain
from typing import Final

from oborona.message.findings import NAMES as NAMES_OF_PARSING
from oborona.message.shingles import TYPES, Type
from oborona.policy.checks import FINDINGS
from oborona.policy.decide import PARTIAL, TEMPERROR, UNFINISHED
from oborona.policy.engines import FINDINGS as OF_ENGINES
from oborona.policy.expression import Counted, Fact, Schema
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
    Type.CLIENT_IP: _C,
    Type.CLIENT_NETWORK: _C,
    Type.AS_NUMBER: _C,
    Type.RDNS: _C,
    Type.RDNS_DOMAIN: _C,
    Type.COUNTRY: _C,
    Type.HELO: _S,
    Type.MAIL_FROM: _S,
    Type.MAIL_FROM_DOMAIN: _S,
    Type.IP_SENDERS: _C,
    Type.ACCOUNT: _S,
    Type.ACCOUNT_IP: _S,
    Type.ACCOUNT_IPS: _S,
}
"""Stage from which a type of shingle is known; all others with the content."""

NAMES: Final = {kind.name.title().replace("_", ""): kind for kind in Type}
"""How `count[...]` names each type: MAIL_FROM_DOMAIN is count[MailFromDomain]."""

DISTINCT: Final = {
    Type.ENTITY_RECIPIENTS: "recipients per entity",
    Type.SENDER_RECIPIENTS: "recipients per sender",
    Type.SENDER_DOMAINS: "recipient domains per sender",
    Type.SENDER_COUNTRIES: "countries per sender",
    Type.IP_SENDERS: "senders per client",
    Type.LINK_SENDERS: "senders per link domain",
    Type.TEXT_IPS: "clients per text",
    Type.TEXT_SENDERS: "senders per text",
    Type.TEXT_RECIPIENTS: "recipients per text",
    Type.ACCOUNT_IPS: "clients per account",
}
"""What `distinct()` calls the types that count distinct things."""

SCHEMA: Final = Schema(
    facts=TABLE,
    counted=tuple(
        Counted(
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
