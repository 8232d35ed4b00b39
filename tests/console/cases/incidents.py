"""Incidents: open, closed, none, away; what a person does about them."""

from msgspec import to_builtins

from oborona.accounts.incidents.incident import (
    ActionKind,
    ActionState,
    IncidentAction,
    IncidentVerdict,
)
from oborona.accounts.incidents.incident_view import IncidentView
from oborona.accounts.inspector.decision import IncidentLine
from oborona.desk.acts.incidents import IncidentOutcome
from oborona.desk.asks.incidents import IncidentList
from oborona.people.rights import Role
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW, DeskRefusalError


def incident(number: int, verdict: IncidentVerdict | None = None) -> IncidentView:
    """Return an incident with all that the desk tells."""
    return IncidentView(
        id=number,
        account="joe\u202e<b>/x",
        address="192.0.2.7",
        metric="recipients",
        window="hour",
        opened=NOW - 900,
        last=NOW - 60,
        excesses=3,
        verdict=verdict,
        closed=NOW if verdict else 0.0,
        limit="HOURLY",
        value=900.0,
        most=200.0,
        usual=None if verdict else 12.0,
        then="defer",
        rating=35,
        line=IncidentLine.DUTY,
        say="rating 35 <i>",
        evidence={"subjects": ["Your parcel <b>"], "rows": {"hour": 3}},
        idents=("01JD0000000000000000000000",),
        taken_by="anna" if verdict else "",
        verdict_by="anna" if verdict else "",
        note="by phone" if verdict else "",
        actions=(
            IncidentAction(
                id=1,
                incident=number,
                kind=ActionKind.LIMIT,
                target="joe",
                state=ActionState.DONE,
                wanted_at=NOW - 800,
                done_at=NOW - 799,
            ),
            IncidentAction(
                id=2,
                incident=number,
                kind=ActionKind.HOOK,
                target="joe",
                state=ActionState.WANTED,
                wanted_at=NOW - 800,
                answer="no route <b>",
            ),
        ),
    )


OPEN, CLOSED = incident(17), incident(16, IncidentVerdict.SPAM)
LISTED = IncidentList(incidents=(OPEN, CLOSED), next=16)
AWAY = DeskRefusalError(503, "the store is away")
DONE = {"step": "do", "reason": "asked by phone", "key": "k1"}

CASES = [
    PageCase(
        name="incidents",
        path="/incidents",
        answers={"incident.list": to_builtins(LISTED)},
        texts=("HOURLY", "U+202E<b>/x", "It was spam", "Older"),
    ),
    PageCase(
        name="incidents-none",
        path="/incidents",
        answers={"incident.list": to_builtins(IncidentList(incidents=(), next=None))},
        texts=("No incident is open.",),
    ),
    PageCase(
        name="incidents-none-of",
        path="/incidents?which=all&account=%22%3E%3Cb%3E&before=7",
        answers={"incident.list": to_builtins(IncidentList(incidents=(), next=None))},
        texts=("No incident is so.",),
    ),
    PageCase(
        name="incidents-away",
        path="/incidents",
        answers={"incident.list": AWAY},
        texts=("There is no file of accounts yet",),
    ),
    PageCase(
        name="incident",
        path="/incident/17",
        answers={"incident.show": to_builtins(OPEN)},
        texts=("at most 200", "usually 12", "no route <b>", "Close it", "Your parcel"),
    ),
    PageCase(
        name="incident-closed",
        path="/incident/16",
        role=Role.AUDITOR,
        answers={"incident.show": to_builtins(CLOSED)},
        texts=("It was spam", "by phone"),
    ),
    PageCase(name="incident-no-number", path="/incident/1e9", status=404, texts=("None found",)),
    PageCase(
        name="incident-take",
        path="/incidents/act",
        form={"deed": "take", "id": "17"},
        answers={"incident.take": to_builtins(IncidentOutcome(incident=OPEN))},
        texts=("Look after it", "Do it"),
    ),
    PageCase(
        name="incident-close",
        path="/incidents/act",
        form={"deed": "close", "id": "17", "verdict": "spam"},
        answers={"incident.close": to_builtins(IncidentOutcome(incident=OPEN, rating=35))},
        texts=("Rating now", "35", "spam"),
    ),
    PageCase(
        name="incident-undone",
        path="/incidents/act",
        form={"deed": "undo", "id": "17", **DONE},
        answers={
            "incident.undo": to_builtins(IncidentOutcome(incident=OPEN, taken_back=("limit",)))
        },
        texts=("Taken back", "limit", "Done"),
    ),
    PageCase(
        name="incident-no-act",
        path="/incidents/act",
        form={"deed": "forget", "id": "17"},
        status=404,
        texts=("None found",),
    ),
]
