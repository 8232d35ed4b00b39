"""A person's lists: for support, who lets a sender in."""

import msgspec

from oborona.desk.acts.personal import ListedEntries
from oborona.desk.asks.personal import ShownEntry, ShownPerson
from oborona.desk.call import UndoCall
from oborona.people.rights import Role
from oborona.reputation.personal import EntryAction, PersonalEntryKind, PersonalEntrySource
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW, DeskRefusalError

HOME = "/person/joe@shop.example"
BANK = ShownEntry(
    side=EntryAction.ALLOW,
    kind=PersonalEntryKind.ADDRESS,
    value="\u202eoffice@bank.example<b>",
    beside="",
    time=NOW,
    source=next(iter(PersonalEntrySource)),
    expires=0.0,
    expired=False,
    word=0,
    note="by support <i>",
)
JOE = ShownPerson(person="joe@shop.example", strictness=1.0, contacts=12, entries=[BANK])
UNDO = UndoCall(
    call="personal.remove", asked={"person": JOE.person, "what": ["office@bank.example"]}
)
LET_IN = ListedEntries(person=JOE.person, entries=[BANK], say=[], undo=UNDO)
EMPTY = msgspec.structs.replace(JOE, entries=[])

CASES = [
    PageCase(
        name="person-lists",
        path=HOME,
        role=Role.SUPPORT,
        answers={"personal.show": msgspec.to_builtins(JOE)},
        texts=("U+202Eoffice@bank.example<b>", "let in", "no end", "12", "Let a sender in"),
    ),
    PageCase(
        name="person-empty",
        path=HOME,
        role=Role.ANALYST,
        answers={"personal.show": msgspec.to_builtins(EMPTY)},
        texts=("None yet",),
    ),
    PageCase(
        name="person-of-others",
        path=HOME,
        role=Role.SUPPORT,
        answers={"personal.show": DeskRefusalError(404, "no such person")},
        status=404,
        texts=("None found",),
    ),
    PageCase(
        name="person-allow",
        path=f"{HOME}/allow",
        role=Role.SUPPORT,
        form={"what": "office@bank.example"},
        answers={"personal.allow": msgspec.to_builtins(LET_IN)},
        texts=("What would be done", "Do it"),
    ),
    PageCase(
        name="person-allowed",
        path=f"{HOME}/allow",
        role=Role.SUPPORT,
        form={"what": "office@bank.example", "step": "do", "reason": "his bank", "key": "k1"},
        answers={"personal.allow": msgspec.to_builtins(LET_IN)},
        texts=("Done", "Undo"),
    ),
    PageCase(
        name="person-undo-of-something-else",
        path=f"{HOME}/undo",
        role=Role.SUPPORT,
        form={"call": "people.remove", "asked": "{}"},
        status=422,
    ),
]
