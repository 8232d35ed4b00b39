"""The audit log's pages."""

from typing import Any

import msgspec

from oborona.audit.reader import AuditedAct
from oborona.audit.row import ActOutcome
from oborona.desk.asks.audit import CheckedChain, FoundActs
from oborona.people.rights import Role
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW, DeskRefusalError

UNDO = '{"call":"people.on","asked":{"name":"bob"}}'
ACT = AuditedAct(
    number=7,
    looked=False,
    at=NOW,
    act="people.off",
    person="anna",
    roles="admin",
    source="session=s17",
    way="page",
    place="192.0.2.7",
    about="bob \u202e<b>",
    arguments='{"a":"<i>"}',
    reason="left the company",
    dry=False,
    outcome=ActOutcome.DONE,
    status=200,
    message="",
    took=0.02,
    undo=UNDO,
)
ACTS = [
    ACT,
    msgspec.structs.replace(
        ACT, number=5, undo="", outcome=ActOutcome.FAILED, message="no room", dry=True
    ),
    msgspec.structs.replace(ACT, number=3, looked=True, act="messages.find", undo=""),
    msgspec.structs.replace(ACT, number=1, outcome=ActOutcome.OPEN, took=None, undo="", way="key"),
]


def found(*acts: AuditedAct, more: bool = False, own: bool = False) -> dict[str, Any]:
    undoable = [act.number for act in acts if act.undo]
    told: dict[str, Any] = msgspec.to_builtins(
        FoundActs(acts=list(acts), undoable=undoable, more=more, own=own)
    )
    return {"audit.find": told}


def chain(*faults: str, more: int = 0) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(
        CheckedChain(
            rows=1234,
            first=1,
            end=f"1234:{'ab' * 32}",
            dropped=0,
            unkeyed=2,
            faults=list(faults),
            more=more,
        )
    )
    return {"audit.verify": told}


CASES = [
    PageCase(
        name="audit",
        path="/audit?person=anna&looks=1&open=1",
        answers=found(*ACTS, more=True),
        texts=("Who did what", "people.off", "left the company", "no room", "Undo", "Older"),
    ),
    PageCase(
        name="audit-own",
        path="/audit",
        role=Role.READER,
        answers=found(ACTS[1], own=True),
        texts=("What you did",),
    ),
    PageCase(name="audit-none", path="/audit", answers=found(), texts=("None found",)),
    PageCase(
        name="audit-wrong",
        path="/audit?since=yesterday",
        answers={"audit.find": DeskRefusalError(422, "'yesterday' is no time")},
        status=422,
        texts=("is no time",),
    ),
    PageCase(
        name="audit-away",
        path="/audit",
        answers={"audit.find": DeskRefusalError(503, "the log is away")},
        status=503,
        texts=("Not available now",),
    ),
    PageCase(
        name="audit-chain", path="/audit/chain", answers=chain(), texts=("Whole until", "1234:abab")
    ),
    PageCase(
        name="audit-broken",
        path="/audit/chain",
        answers=chain("row 7 was changed", more=3),
        texts=("Not whole", "row 7 was changed", "And 3 more."),
    ),
    PageCase(
        name="audit-anchor",
        path="/audit/chain?anchor=x",
        answers={"audit.verify": DeskRefusalError(422, "write NUMBER:HASH")},
        status=422,
        texts=("write NUMBER:HASH",),
    ),
    PageCase(
        name="audit-undo",
        path="/audit/undo",
        form={"number": "7"},
        answers={"audit.find": lambda _: found(ACT)["audit.find"]}
        | {"people.on": {"person": {"name": "bob"}}},
        texts=("Take back: people.off", "What would be done"),
    ),
    PageCase(
        name="audit-undo-none",
        path="/audit/undo",
        form={"number": "5"},
        answers=found(ACTS[1]),
        status=404,
    ),
    PageCase(name="audit-undo-what", path="/audit/undo", form={"number": "7e9"}, status=404),
]
