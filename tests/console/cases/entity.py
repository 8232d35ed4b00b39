"""An entity, and those that stand out."""

import msgspec

from oborona.desk.acts.reputation import PinnedEntity
from oborona.desk.asks.entities import EntityRanking, RankedEntity
from oborona.desk.call import UndoCall
from oborona.desk.reputation.portrait import ShownEntity
from oborona.desk.reputation.statement import ShownPin
from oborona.people.rights import Role
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.judgement.model import EntityJudgement, HistoryMeasure
from oborona.reputation.timeline import TimelineBucket
from oborona.stores.pins.rows import PinNote
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW

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
TOP = EntityRanking(entities=[RANKED])


CASES = [
    PageCase(
        name="entity",
        path=HOME,
        answers={"reputation.show": msgspec.to_builtins(SEEN)},
        texts=("U+202E4 of 9 <i>", "spam <b>", "called <b>", "Clear the override", "bad"),
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
        texts=("198.51.100.0/24", "worst"),
    ),
    PageCase(
        name="entities-none",
        path="/entities?kind=network",
        answers={"reputation.top": {"entities": []}},
        texts=("None found",),
    ),
]
