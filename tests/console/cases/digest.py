"""Links of a digest."""

import msgspec

from oborona.desk.acts.own_words import OwnPardonOutcome, PardonedCopy
from oborona.desk.digest.links import DigestLinkView
from oborona.desk.readers.release import CopyFate
from oborona.people.digest_link import DigestAct
from tests.console.page_case import PageCase
from tests.console.stub_desk import DeskRefusalError

HOSTILE = '\u202e<img src=x onerror="alert(1)">'
PATH = "/digest/7.free.0KX1.1796000000.abc"
OVER = DeskRefusalError(410, "this link is too old, or is none of ours")


def looked(act: DigestAct, **more: str) -> dict[str, object]:
    return {"digest.look": msgspec.to_builtins(DigestLinkView(act=act, **more))}


LETTER = looked(
    DigestAct.NOT_SPAM, sender=HOSTILE, subject="Invoice 17", author="billing@shop.example"
)
DONE = msgspec.to_builtins(
    OwnPardonOutcome(
        sender="",
        subject="",
        copies=(PardonedCopy(address="joe@example.test", fate=CopyFate.MOVES),),
        undo=None,
    )
)

CASES = [
    PageCase(
        name="digest-link",
        path=PATH,
        role=None,
        answers=LETTER,
        texts=("Not spam, move it", "Invoice 17", "U+202E<img"),
    ),
    PageCase(
        name="digest-allow",
        path=PATH,
        role=None,
        answers=looked(DigestAct.ALLOW, author="billing@shop.example"),
        texts=("Always let in", "billing@shop.example"),
    ),
    PageCase(
        name="digest-over",
        path=PATH,
        role=None,
        answers={"digest.look": OVER},
        status=410,
        texts=("This link is too old, or is none of ours.",),
    ),
    PageCase(
        name="digest-done",
        path=PATH,
        role=None,
        form={},
        answers={**LETTER, "digest.follow": DONE},
        texts=("Done", "It goes to your inbox"),
    ),
    PageCase(
        name="digest-forbidden",
        path=PATH,
        role=None,
        form={},
        answers={**LETTER, "digest.follow": DeskRefusalError(422, "that is your own address")},
        status=422,
        texts=("that is your own address", "Not spam, move it"),
    ),
    PageCase(
        name="digest-stop",
        path="/digest-stop/7.stop..1796000000.abc",
        role=None,
        answers=looked(DigestAct.STOP),
        texts=("No more digests",),
    ),
    PageCase(
        name="digest-stopped",
        path="/digest-stop/7.stop..1796000000.abc",
        role=None,
        form={},
        answers={**looked(DigestAct.STOP), "digest.follow": {"hour": -1, "undo": None}},
        texts=("You get no more of these mails.",),
    ),
    PageCase(
        name="digest-stop-other",
        path="/digest-stop/7.free.0KX1.1796000000.abc",
        role=None,
        form={},
        answers={**LETTER, "digest.follow": DONE},
        status=404,
        texts=("None found",),
    ),
]
