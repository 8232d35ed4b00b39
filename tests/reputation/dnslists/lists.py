"""DNS lists and answers for tests."""

from __future__ import annotations

from typing import Any

from oborona.dns import Answer, Outcome
from oborona.reputation.dnslists import DnsList, parse
from oborona.reputation.subject import Subject


def a_list(*of: Subject, **changed: Any) -> DnsList:
    """Return a list that weighs 127.0.0.2 with 100 and any other code with 10.

    `changed` by field.
    """
    values: dict[str, Any] = {
        "name": "LIST",
        "zone": "list.test",
        "of": of or (Subject.CLIENT,),
        "codes": parse({"127.0.0.2": 100}, 10),
    }
    return DnsList(**(values | changed))


def found(*codes: str) -> Answer:
    """Return an answer with addresses."""
    return Answer(outcome=Outcome.FOUND, records=codes, ttl=60)


NOTHING = Answer(outcome=Outcome.NO_NAME, ttl=60)
EMPTY = Answer(outcome=Outcome.NO_DATA, ttl=60)
SILENCE = Answer(outcome=Outcome.TEMPERROR, why="timeout")
