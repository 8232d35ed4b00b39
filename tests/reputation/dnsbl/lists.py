"""DNS lists and answers for tests."""

from __future__ import annotations

from typing import Any

from oborona.dns import DnsAnswer, DnsOutcome
from oborona.reputation.dnsbl import DnsList, parse
from oborona.reputation.subject import ListSubject


def a_list(*of: ListSubject, **changed: Any) -> DnsList:
    """Return a list that weighs 127.0.0.2 with 100 and any other code with 10.

    `changed` by field.
    """
    values: dict[str, Any] = {
        "name": "LIST",
        "zone": "list.test",
        "of": of or (ListSubject.CLIENT,),
        "codes": parse({"127.0.0.2": 100}, 10),
    }
    return DnsList(**(values | changed))


def found(*codes: str) -> DnsAnswer:
    """Return an answer with addresses."""
    return DnsAnswer(outcome=DnsOutcome.FOUND, records=codes, ttl=60)


NOTHING = DnsAnswer(outcome=DnsOutcome.NO_NAME, ttl=60)
EMPTY = DnsAnswer(outcome=DnsOutcome.NO_DATA, ttl=60)
SILENCE = DnsAnswer(outcome=DnsOutcome.TEMPERROR, why="timeout")
