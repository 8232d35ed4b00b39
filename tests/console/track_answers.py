"""Mail as searches of the desk find it, for cases of pages."""

from __future__ import annotations

from typing import Any

import msgspec

from oborona.desk.asks.messages import MessageList
from oborona.desk.messages.found_messages import FoundMessage, FoundMove, FoundReport
from oborona.ident import first_id_at, to_text
from oborona.journal.refusal import Told
from oborona.types import Action, RuleHit, Stage
from tests.console.stub_desk import NOW

ID = to_text(first_id_at(NOW - 300))


def found_message(**changes: Any) -> FoundMessage:
    """Return a message as a search finds it."""
    fields: dict[str, Any] = {
        "id": ID,
        "time": NOW - 300,
        "refused": False,
        "verdict": Action.SPAM,
        "score": 112.0,
        "line": 100.0,
        "decided_by": "MASS_TEXT",
        "reasons": (RuleHit(name="MASS_TEXT", score=70, say="the text came 312 times"),),
        "queue_id": "4XYZ1234",
        "message_id": "<1@bank.example>",
        "client": "203.0.113.9",
        "helo": "mx.bank.example",
        "sender": "a@bank.example",
        "header_from": "Bank <a@bank.example>",
        "recipients": ("joe@shop.example", "ann@shop.example"),
        "login": "",
        "subject": "Your card <b>",
        "size": 12_000,
        "stage": Stage.CONTENT,
        "told": Told.CONTENT,
        "head": "",
        "network": "",
        "times": 1,
        "door": "milter",
        "last": None,
        "said": (FoundReport(person="joe@shop.example", what="pardon", time=NOW, believed=True),),
        "moves": (
            FoundMove(
                id=7,
                recipient="joe@shop.example",
                target="INBOX",
                state="done",
                time=NOW,
                back=False,
            ),
        ),
    }
    return FoundMessage(**{**fields, **changes})


def refused_message(**changes: Any) -> FoundMessage:
    """Return refusals before the content, as a search finds them."""
    return found_message(
        **{
            "id": to_text(first_id_at(NOW - 900)),
            "time": NOW - 900,
            "refused": True,
            "verdict": Action.REJECT,
            "decided_by": "ZEN",
            "reasons": (),
            "subject": "",
            "recipients": ("joe@shop.example",),
            "stage": Stage.CONNECT,
            "told": Told.RECIPIENT,
            "head": to_text(first_id_at(NOW - 900)),
            "network": "203.0.113.0/24",
            "times": 7,
            "last": NOW - 400,
            "said": (),
            "moves": (),
            **changes,
        }
    )


def found_mail(*hits: FoundMessage, **changes: Any) -> dict[str, Any]:
    """Return what `messages.find` answers."""
    fields: dict[str, Any] = {
        "older": "",
        "reached": "",
        "read_whole": (),
        "since": NOW - 14 * 86_400,
        "refusals_since": NOW - 3 * 86_400,
    }
    answer: dict[str, Any] = msgspec.to_builtins(MessageList(hits=hits, **{**fields, **changes}))
    return {"messages.find": answer}
