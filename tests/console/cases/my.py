"""My mail."""

import msgspec

from oborona.desk.acts.own_lists import OwnEntryOutcome
from oborona.desk.acts.own_words import OwnPardonOutcome, PardonedCopy
from oborona.desk.asks.readers import OwnEntry, OwnLists, OwnStatement, OwnStatements
from oborona.desk.call import UndoCall
from oborona.desk.messages.own_mail import OwnMail, OwnMailFate, OwnMessage
from oborona.desk.readers.release import CopyFate
from oborona.feedback.events.model import EventKind
from oborona.people.rights import Role
from oborona.reputation.personal import EntryAction, PersonalEntryKind, PersonalEntrySource
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW, DeskRefusalError

JOE = "joe@example.test"
HOSTILE = '\u202e<img src=x onerror="alert(1)">'


def message(number: int, fate: OwnMailFate, because: str, **more: str) -> OwnMessage:
    made = OwnMessage(
        id=f"0KX{number}", time=NOW - number * 60, fate=fate, sender="bounce@shop.example",
        header_from="Shop <billing@shop.example>", subject="Invoice 17", recipients=(JOE,),
        because=because, author="billing@shop.example",
    )  # fmt: skip
    return msgspec.structs.replace(made, **more)


MASS = "it looks like a mass mailing"
DOOR = "its mail server is known for sending unwanted mail"
MAIL = OwnMail(
    messages=(
        message(1, OwnMailFate.JUNK, MASS),
        message(2, OwnMailFate.MOVED, HOSTILE, subject=HOSTILE, header_from=HOSTILE, where="A"),
        message(3, OwnMailFate.REFUSED, DOOR),
        message(4, OwnMailFate.REFUSED, DOOR, author="", sender="", header_from=""),
        message(5, OwnMailFate.DEFERRED, "its mail server was asked to come again later"),
    ),
    older="0KX5",
    reached="",
    since=NOW - 14 * 86_400,
)


def entry(side: EntryAction, kind: PersonalEntryKind, what: str) -> OwnEntry:
    return OwnEntry(
        side=side, kind=kind, what=what, time=NOW - 86_400, source=PersonalEntrySource.COMMAND,
        expires=0.0, note="", addresses=(JOE,),
    )  # fmt: skip


LISTS = OwnLists(
    addresses=(JOE,),
    entries=(
        entry(EntryAction.ALLOW, PersonalEntryKind.ADDRESS, "ann@a.example"),
        entry(EntryAction.DENY, PersonalEntryKind.DOMAIN, "x.example"),
        entry(EntryAction.DENY, PersonalEntryKind.TEXT, "9f3a5c7e11223344"),
        entry(EntryAction.DENY, PersonalEntryKind.SENDER, HOSTILE),
    ),
    contacts=1240,
    factors={JOE: 1.0},
    everywhere=False,
    digest=True,
    digest_hour=-1,
    site_hour=7,
)
WORDS = OwnStatements(
    words=tuple(
        OwnStatement(
            id=number, what=what, time=NOW - number, address=JOE, here=True,
            taken_back=taken_back, stands=not taken_back, message="0KX1", sender=HOSTILE,
            subject="Invoice", moved=moved, moves=(number,),
        )
        for number, what, taken_back, moved in (
            (4, EventKind.PARDON, False, "decided"),
            (3, EventKind.PARDON, False, "kept"),
            (2, EventKind.COMPLAINT, True, ""),
            (1, EventKind.PARDON, False, "failed"),
        )
    ),
    next=None,
)  # fmt: skip
ANSWERS = {
    "messages.mine": msgspec.to_builtins(MAIL),
    "own.lists": msgspec.to_builtins(LISTS),
    "own.said": msgspec.to_builtins(WORDS),
}
NOTHING = {
    "messages.mine": msgspec.to_builtins(OwnMail(messages=(), older="", reached="", since=NOW)),
    "own.lists": msgspec.to_builtins(
        OwnLists(
            addresses=(JOE,), entries=(), contacts=0, factors={JOE: 1.0}, everywhere=True
        )
    ),
    "own.said": {"words": [], "next": None},
}  # fmt: skip
AWAY = DeskRefusalError(503, "the store is away")
PARDONED = msgspec.to_builtins(
    OwnPardonOutcome(
        sender=HOSTILE,
        subject="Invoice 17",
        copies=tuple(PardonedCopy(address=JOE, fate=fate) for fate in CopyFate),
        undo=UndoCall("own.take_back", {"ids": [7], "moves": [9]}),
    )
)
ALLOWED = msgspec.to_builtins(
    OwnEntryOutcome(
        what="ann@a.example",
        addresses=(JOE,),
        undo=UndoCall("own.restore", {"before": [{"address": JOE, "things": [], "entries": []}]}),
    )
)
FORBIDDEN = (
    "who runs the mail server has decided about this sender, for everybody; only they can change it"
)

CASES = [
    PageCase(
        name="my",
        path="/my",
        role=Role.READER,
        answers=ANSWERS,
        texts=(
            "Invoice 17", MASS, "2: its mail server is known", "Not spam, move it", "Take it back",
            "on its way", "the letter stays", "Say it again", "Kept out: 3", "mailing", "Older",
            "1 240", "U+202E<img",
        ),
    ),
    PageCase(
        name="my-nothing",
        path="/my",
        role=Role.READER,
        answers=NOTHING,
        texts=("Nothing of yours was put into Junk.", "Nothing for you was refused.", "None yet"),
    ),
    PageCase(
        name="my-away",
        path="/my",
        role=Role.READER,
        answers={"messages.mine": AWAY, "own.lists": AWAY, "own.said": AWAY},
        texts=("Not available now", "They hold as always."),
    ),
    PageCase(
        name="my-slow",
        path="/my",
        role=Role.READER,
        answers={
            **ANSWERS,
            "messages.mine": msgspec.to_builtins(msgspec.structs.replace(MAIL, reached="0KX2")),
        },
        texts=("Not all days were searched.", "Go on"),
    ),
    PageCase(name="my-staff", path="/my", role=Role.ANALYST, status=403),
    PageCase(
        name="my-not-spam",
        path="/my/not-spam",
        role=Role.READER,
        form={"message": "0KX1"},
        answers={"own.not_spam": PARDONED},
        texts=("Done", "Undo", "It goes to your inbox", "U+202E<img"),
    ),
    PageCase(
        name="my-forbidden",
        path="/my/not-spam",
        role=Role.READER,
        form={"message": "0KX1"},
        answers={"own.not_spam": DeskRefusalError(422, FORBIDDEN)},
        status=422,
        texts=(FORBIDDEN, "Nothing was changed."),
    ),
    PageCase(
        name="my-allow",
        path="/my/entry",
        role=Role.READER,
        form={"what": "ann@a.example", "side": "allow"},
        answers={"own.allow": ALLOWED},
        texts=("Done", "ann@a.example", "Undo"),
    ),
    PageCase(
        name="my-undo-nonsense",
        path="/my/restore",
        role=Role.READER,
        form={"asked": "[" * 5000},
        answers={"own.restore": DeskRefusalError(422, "Object missing required field `before`")},
        status=422,
        texts=("Nothing was changed.",),
    ),
]  # fmt: skip
