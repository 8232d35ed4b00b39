"""An entity, and those that stand out."""

import msgspec

from oborona.desk.acts.forgiveness import ForgivenMessage
from oborona.desk.acts.reputation import ClearedEntity, NotedEntity, PinnedEntity
from oborona.desk.asks.entities import EntityRanking, RankedEntity
from oborona.desk.call import UndoCall
from oborona.desk.reputation.neighbourhood import EntityNeighbour, Neighbourhood
from oborona.desk.reputation.portrait import ShownEntity
from oborona.desk.reputation.statement import ShownPin
from oborona.people.rights import Role
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.judgement.model import EntityJudgement, HistoryMeasure
from oborona.reputation.timeline import TimelineBucket
from oborona.stores.pins.rows import PinNote
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW, DeskRefusalError

BAD = ReputationFlag.BAD
HOME = "/entity/198.51.100.0%2F24"
PIN = ShownPin(
    entity="198.51.100.0/24",
    kind="network",
    name="",
    flag=BAD,
    reason="spam <b>",
    by="anna",
    since=NOW,
    until=0.0,
)
QUIET, BUSY = TimelineBucket()._asdict(), TimelineBucket(seen=9, spam=4)._asdict()
SAID = HistoryMeasure(name="spam", value=0.4, confidence=1.0, say="\u202e4 of 9 <i>")
SEEN = ShownEntity(
    entity="198.51.100.0/24",
    kind="network",
    shingle="2:00",
    now=NOW,
    buckets=[QUIET] * 143 + [BUSY],
    days=[QUIET] * 13 + [BUSY],
    connect=None,
    judgement=EntityJudgement(flag=BAD, trust=-20.0, measures=(SAID,), say="spam"),
    pin=PIN,
    network_pin=None,
    notes=[PinNote(at=NOW, by="anna", text="called <b>")],
    changes=[],
    octets=80,
)
NEVER = msgspec.structs.replace(SEEN, buckets=[QUIET] * 144, days=[QUIET] * 14, pin=None, notes=[])
RANKED = RankedEntity(
    entity="198.51.100.0/24",
    shingle="2:00",
    flag=BAD,
    pinned=None,
    trust=-20.0,
    change=0.0,
    seen=9,
    say="<b>",
)
UNDO = UndoCall(call="reputation.clear", asked={"entity": SEEN.entity})
PINNED = PinnedEntity(entity=SEEN.entity, pin=PIN, before=None, undo=UNDO)
TOP = EntityRanking(
    entities=[
        RANKED,
        msgspec.structs.replace(RANKED, entity="2:1f2e3d4c5b6a7988", pinned=BAD, trust=12.0),
        msgspec.structs.replace(
            RANKED, entity=f"link:{'x' * 400}.example", flag=ReputationFlag.GOOD
        ),
    ]
)
HOSTILE = "\u202e<img src=x onerror=alert(1)>"


def neighbour(kind: str, name: str, entity: str, **more: object) -> EntityNeighbour:
    usual = {"messages": 12, "against": 9, "last": NOW - 60, "flag": BAD}
    return msgspec.convert(
        {"kind": kind, "name": name, "entity": entity, **usual, **more}, EntityNeighbour
    )


AROUND = Neighbourhood(
    entity=SEEN.entity,
    since=NOW - 7 * 86_400,
    reached=None,
    messages=1_234,
    neighbours=[
        neighbour("address", "198.51.100.7", "198.51.100.7"),
        neighbour("as", "AS64496", "AS64496", against=0, flag="good"),
        neighbour("domain", "shop.example", "shop.example", messages=1, against=0, flag="unknown"),
        neighbour("link", f"link:{HOSTILE}", f"link:{HOSTILE}", flag="poor"),
        neighbour("helo", HOSTILE, "", flag="unknown"),
        neighbour("helo", "mx.shop.example", "", flag="unknown"),
    ],
    further={"helo": 1_044},
)
CUT = msgspec.structs.replace(AROUND, reached=NOW - 3600)
NOTHING = msgspec.structs.replace(AROUND, messages=0, neighbours=[], further={})
FORGIVEN = ForgivenMessage(ident="06AV3K9W2M4QE", client="198.51.100.7", pieces=31)
FORGOTTEN = ClearedEntity(entity=SEEN.entity, pin=PIN, counts=True, writer="oborona[7]")


def around(answer: object) -> dict[str, object]:
    return {"reputation.neighbours": answer}


CASES = [
    PageCase(
        name="entity",
        path=HOME,
        answers={
            "reputation.show": msgspec.to_builtins(SEEN),
            **around(msgspec.to_builtins(AROUND)),
        },
        texts=(
            "U+202E4 of 9 <i>",
            "spam <b>",
            "called <b>",
            "Clear the override",
            "bad",
            "network",
            "Look through the mail",
            "Forget its counts",
            "Forgive a message",
        ),
    ),
    PageCase(
        name="entity-never-seen",
        path=HOME,
        answers={"reputation.show": msgspec.to_builtins(NEVER)},
        texts=("Never seen here", "Set an override"),
    ),
    PageCase(
        name="entity-support",
        path=HOME,
        role=Role.SUPPORT,
        answers={"reputation.show": msgspec.to_builtins(SEEN)},
        texts=("Judgement",),
    ),
    PageCase(
        name="entity-set",
        path=f"{HOME}/set",
        form={"flag": "bad", "days": "7", "step": "do", "reason": "spam", "key": "k"},
        answers={"reputation.set": msgspec.to_builtins(PINNED)},
        texts=("Done", "Undo"),
    ),
    PageCase(name="entity-days", path=f"{HOME}/set", form={"flag": "bad", "days": "x"}, status=422),
    PageCase(
        name="entities",
        path="/entities",
        answers={"reputation.top": msgspec.to_builtins(TOP)},
        texts=("198.51.100.0/24", "worst", "by hand", "+12", "has no name any more"),
    ),
    PageCase(
        name="entities-not-yet",
        path="/entities",
        answers={
            "reputation.top": DeskRefusalError(
                404, "no counter store", why="absent", store="counters"
            )
        },
        texts=("None yet", "counts begin with the first message"),
    ),
    PageCase(name="entity-typed", path="/entity?name=link%3Ax.example", status=303),
    PageCase(
        name="entity-around",
        path=f"{HOME}/around",
        answers=around(msgspec.to_builtins(AROUND)),
        texts=(
            "In 1 234 messages",
            "Looked at was all back to",
            "198.51.100.7",
            "12 messages, 9 spam",
            "name by which it says hello",
            "And 1 044 more.",
            "U+202E<img src=x",
        ),
    ),
    PageCase(
        name="entity-around-cut",
        path=f"{HOME}/around",
        answers=around(msgspec.to_builtins(CUT)),
        texts=("There was more to look through",),
    ),
    PageCase(
        name="entity-around-none",
        path=f"{HOME}/around",
        answers=around(msgspec.to_builtins(NOTHING)),
        texts=("None found", "No mail with it came since"),
    ),
    PageCase(
        name="entity-around-away",
        path=f"{HOME}/around",
        answers=around(DeskRefusalError(503, "journal.db: is damaged", why="damaged")),
        texts=("Not available now", "All else is shown."),
    ),
    PageCase(
        name="entity-around-not-yet",
        path=f"{HOME}/around",
        answers=around(DeskRefusalError(404, "none", why="absent", store="journal.db")),
        texts=("None yet", "No message has come here yet"),
    ),
    PageCase(
        name="entity-damaged",
        path=HOME,
        answers={"reputation.show": DeskRefusalError(503, "/var/x: is <b> damaged", why="damaged")},
        status=503,
        texts=("A store is damaged", "/var/x: is <b> damaged"),
    ),
    PageCase(
        name="entity-forget",
        path=f"{HOME}/forget",
        form={"any": ""},
        answers={"reputation.clear": msgspec.to_builtins(FORGOTTEN)},
        texts=("What would be done", "That can't be taken back.", "Reason"),
    ),
    PageCase(
        name="entity-forgive",
        path=f"{HOME}/forgive",
        form={"ident": "06AV3K9W2M4QE", "step": "do", "reason": "ours", "key": "k"},
        answers={"reputation.forgive": msgspec.to_builtins(FORGIVEN)},
        texts=("Done", "31 counts are taken back."),
    ),
    PageCase(
        name="entity-forgive-nothing",
        path=f"{HOME}/forgive",
        form={"ident": "x"},
        answers={"reputation.forgive": DeskRefusalError(422, "'x' is no id of a message")},
        status=422,
        texts=("is no id of a message",),
    ),
    PageCase(
        name="entity-note",
        path=f"{HOME}/note",
        form={"text": "called", "step": "do", "reason": "so", "key": "k"},
        answers={"reputation.note": msgspec.to_builtins(NotedEntity(entity=SEEN.entity))},
        texts=("Done",),
    ),
    PageCase(
        name="entities-none",
        path="/entities?kind=network",
        answers={"reputation.top": {"entities": []}},
        texts=("None found",),
    ),
]
