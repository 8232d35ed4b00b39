"""Facts about the client: where it is, who knows it, what is remembered of it."""

from __future__ import annotations

from typing import Final

from oborona.authentication.model import Result
from oborona.policy.expression.forms import Form
from oborona.policy.fact_tables.area import SHARE, Area, Words, fact
from oborona.reputation.flag import Flag
from oborona.types import Stage

_C = Stage.CONNECT

AREA: Final = Area(
    "Client",
    (
        fact("client.ip", str, _C, "address of the SMTP client", example="192.0.2.25"),
        fact(
            "client.name",
            str,
            _C,
            "verified rDNS name of the client, empty when it has none",
            example="mail.example.org",
        ),
        fact(
            "client.local",
            bool,
            _C,
            "the client is a loopback, link-local or private address, or no network client at all",
            example=False,
        ),
        fact(
            "client.own",
            bool,
            _C,
            "one of ours: it logged in, is in a network of the site, came by a submission port, or is no client on the Internet",
            example=False,
        ),
        fact(
            "client.country",
            str,
            _C,
            "country of the client's address; none where it is not known, as without a database",
            unit="ISO 3166-1, two capital letters",
            example="NL",
            optional=True,
            form=Form.CAPITAL,
            longest=2,
        ),
        fact(
            "client.as_number",
            int,
            _C,
            "number of the autonomous system that announces it; none where it is not known",
            example=64496,
            optional=True,
        ),
        fact(
            "client.as_name",
            str,
            _C,
            "whose that is, as its database has it; none where it is not known",
            example="EXAMPLE-NET",
            optional=True,
        ),
        fact(
            "lists.client",
            Words,
            _C,
            "DNS lists that list the client's address or name",
            example=frozenset({"SPAMHAUS_ZEN"}),
            form=Form.CAPITAL,
        ),
        fact(
            "iprev.result",
            str,
            _C,
            "does the client's name lead back to it",
            words=(Result.PASS, Result.FAIL, Result.TEMPERROR, Result.PERMERROR, Result.NONE),
            example="pass",
        ),
        fact(
            "repip.flag",
            str,
            _C,
            "what the counters remember of the address",
            words=tuple(Flag),
            example="unknown",
        ),
        fact(
            "repip.share",
            float,
            _C,
            "expected share of bad mail from the address; 0.5 where nothing is known",
            unit=SHARE,
            example=0.5,
        ),
    ),
)
