"""What people said, and who they are."""

import msgspec

from oborona.desk.acts.events import (
    EventRestorationOutcome,
    EventWithdrawalOutcome,
    WithdrawnEvent,
)
from oborona.desk.asks.events import EarlierDecision, EventDetails, EventPage, ReporterDetails
from oborona.desk.events.event_log import ReporterSummary
from oborona.feedback.antifraud.model import DailyThresholds
from oborona.feedback.events.model import EventChannel, EventKind, StoredEvent
from oborona.people.rights import Role
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW, DeskRefusalError

EVENT = StoredEvent(
    id=3, what=EventKind.COMPLAINT, way=EventChannel.SIEVE, time=NOW, heard=NOW,
    person="eve@e.example", ident=7, message_id="<1@a.example> \u202e", mailbox="Junk",
    source="dovecot", decided=NOW, counts=True, own=True, weight=0.3, rules=(), say="believed",
    message=b"", campaign=1812, turn=1, done=1, word=4, effects=("denied <b>",),
)  # fmt: skip
BACK = msgspec.structs.replace(EVENT, id=4, counts=False, own=False, rules=("TAKEN_BACK",))
WAITS = msgspec.structs.replace(EVENT, id=5, decided=None, person="", what=EventKind.TRAP)
EARLIER = EarlierDecision(
    event=4, turn=1, time=NOW, counts=True, own=False, weight=0.5, rules=("FLOOD",), say="was"
)
REPORTER = ReporterSummary(
    person="eve@e.example", weight=0.8, standing="proven", right=3.0, wrong=1.0, caught=0,
    complaints=4, pardons=1, complaints_today=1, pardons_today=0, first=NOW,
)  # fmt: skip
WITHDRAWN = WithdrawnEvent(
    id=3, what=EventKind.COMPLAINT, person="eve@e.example", source="dovecot", was="accepted 0.30"
)


def listed(*events: StoredEvent, following: int | None = None) -> dict[str, object]:
    """Return the desk's answer."""
    return {"events.list": msgspec.to_builtins(EventPage(events=events, next=following))}


def person(summary: ReporterSummary | None) -> dict[str, object]:
    """Return the desk's answer about a person."""
    today = DailyThresholds(complaints=10.0, pardons=5.0, people=3)
    details = ReporterDetails(person=summary, thresholds=today, events=(EVENT,))
    return {"events.person": msgspec.to_builtins(details)}


CASES = [
    PageCase(
        name="said",
        path="/said?what=complaint&rule=x%22%3E&believed=yes&before=9",
        role=Role.ANALYST,
        answers=listed(EVENT, BACK, WAITS, following=3),
        texts=("eve@e.example", "yes, weight 0.30", "TAKEN_BACK", "waits", "Older"),
    ),
    PageCase(
        name="said-none",
        path="/said",
        role=Role.AUDITOR,
        answers=listed(),
        texts=("Nobody has said such a thing",),
    ),
    PageCase(
        name="said-wrong",
        path="/said?person=nobody",
        role=Role.ANALYST,
        answers={"events.list": DeskRefusalError(422, "'nobody' is no mail address")},
        texts=("'nobody' is no mail address",),
    ),
    PageCase(
        name="said-one",
        path="/said/3",
        role=Role.ANALYST,
        answers={
            "events.show": msgspec.to_builtins(
                EventDetails(event=EVENT, raw_octets=0, decisions_before=())
            )
        },
        texts=("denied <b>", "Case 1812", "Believe it no more", "Who is this?"),
    ),
    PageCase(
        name="said-one-back",
        path="/said/4",
        role=Role.ANALYST,
        answers={
            "events.show": msgspec.to_builtins(
                EventDetails(event=BACK, raw_octets=9, decisions_before=(EARLIER,))
            )
        },
        texts=("Believe it as before", "FLOOD", "yes, weight 0.50"),
    ),
    PageCase(name="said-no-number", path="/said/x", role=Role.ANALYST, status=404),
    PageCase(
        name="said-person",
        path="/said/person/eve%40e.example",
        role=Role.ANALYST,
        answers=person(REPORTER),
        texts=("eve@e.example", "proven", "1 of at most 10", "Show what would be taken back"),
    ),
    PageCase(
        name="said-person-new",
        path="/said/person/eve%40e.example",
        role=Role.AUDITOR,
        answers=person(None),
        texts=("eve@e.example", "Reports"),
    ),
    PageCase(
        name="said-take-back",
        path="/said/take-back",
        role=Role.ANALYST,
        form={"ids": "3", "step": "do", "reason": "a robot", "key": "k"},
        answers={
            "events.take_back": msgspec.to_builtins(
                EventWithdrawalOutcome(events=(WITHDRAWN,), undo=None)
            )
        },
        texts=("1 report is believed no more", "accepted 0.30", "Undo"),
    ),
    PageCase(
        name="said-restore",
        path="/said/restore",
        role=Role.ANALYST,
        form={"ids": "3 4"},
        answers={
            "events.restore": msgspec.to_builtins(EventRestorationOutcome(events=(3, 4), undo=None))
        },
        texts=("2 reports are decided as before",),
    ),
]
