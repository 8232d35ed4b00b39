"""Facts about what proves who sent a message."""

from __future__ import annotations

from typing import Final

from oborona.authentication.model import Published, Result
from oborona.policy.expression.forms import Form
from oborona.policy.fact_tables.area import Area, Words, fact
from oborona.types import Stage

_S, _M = Stage.SENDER, Stage.CONTENT
_SPF = (
    Result.NONE,
    Result.NEUTRAL,
    Result.PASS,
    Result.FAIL,
    Result.SOFTFAIL,
    Result.TEMPERROR,
    Result.PERMERROR,
)
_DKIM = (Result.PASS, Result.FAIL, Result.POLICY, Result.NEUTRAL, Result.TEMPERROR, Result.PERMERROR)
_DMARC = (Result.NONE, Result.PASS, Result.FAIL, Result.TEMPERROR, Result.PERMERROR)
_ARC = (Result.NONE, Result.PASS, Result.FAIL, Result.TEMPERROR)

AREA: Final = Area(
    "Authentication",
    (
        fact("spf.result", str, _S, "SPF of MAIL FROM", words=_SPF, example="pass"),
        fact("spf.domain", str, _S, "the domain that was checked", example="example.org", form=Form.SMALL),
        fact("spf.helo", str, _S, "SPF of the HELO name", words=_SPF, example="none"),
        fact(
            "dkim.domains",
            Words,
            _M,
            "domains whose DKIM signatures passed",
            example=frozenset({"example.org"}),
            form=Form.SMALL,
        ),
        fact(
            "dkim.results",
            Words,
            _M,
            "results of all DKIM signatures",
            words=_DKIM,
            example=frozenset({"pass"}),
        ),
        fact("dkim.signatures", int, _M, "DKIM signatures, those not looked at included", example=1),
        fact(
            "dkim.unsigned",
            int,
            _M,
            "octets of the body that the best signature of From's domain leaves out by its l= tag; of any signature where none of its own passed",
            unit="bytes",
            example=0,
        ),
        fact("dmarc.result", str, _M, "DMARC of From's domain", words=_DMARC, example="pass"),
        fact(
            "dmarc.domain",
            str,
            _M,
            "the domain in From that it is about: of several the one that asks for most",
            example="example.org",
            form=Form.SMALL,
        ),
        fact(
            "dmarc.policy",
            str,
            _M,
            "what the domain publishes; none without a record",
            words=tuple(Published),
            example="quarantine",
        ),
        fact(
            "dmarc.disposition",
            str,
            _M,
            "what it asks to be done with this message; none where a trusted ARC sealer saw it pass",
            words=tuple(Published),
            example="none",
        ),
        fact(
            "dmarc.aligned",
            bool,
            _M,
            "SPF or DKIM passed for From's domain, for each of several, record or not",
            example=True,
        ),
        fact(
            "arc.result",
            str,
            _M,
            "the chain of ARC seals",
            words=_ARC,
            example="none",
        ),
        fact("arc.instances", int, _M, "ARC seals", example=0),
        fact(
            "arc.trusted",
            str,
            _M,
            "the trusted sealer whose results are used, empty = none",
            example="lists.example.org",
        ),
    ),
)
