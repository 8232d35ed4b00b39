"""From what a mailbox says to an event: who it was, and which message."""

from __future__ import annotations

import pytest

from oborona.errors import PeerError
from oborona.feedback.events.message_reference import event_of, person_address, read_reference
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent
from oborona.ident import sign
from tests.daemon.intake.takings import KEY

NOW = 1_790_000_000.0
OURS = f"X-Mras-Id: {sign(7, KEY)}"
LETTER = (
    f"{OURS}\r\nMessage-ID: <a@b.example>\r\nSubject: x\r\n\r\nX-Mras-Id: no field\r\n".encode()
)


def event(
    raw: bytes = LETTER, *, template: str = "{user}@example.org", **arguments: str
) -> FeedbackEvent:
    return event_of({"user": "joe", **arguments}, raw, key=KEY, template=template, now=NOW)


@pytest.mark.parametrize(
    ("user", "template", "address"),
    [
        ("joe@Example.ORG", "{user}", "joe@example.org"),
        ("joe", "{user}", ""),
        ("joe", "{user}@example.org", "joe@example.org"),
        ("joe@example.org", "{local}@mail.example", "joe@mail.example"),
        ("joe@example.org", "{local}+x@{domain}", "joe+x@example.org"),
        ("joe", "{local}@{domain}", ""),
        ("", "{user}@example.org", ""),
        ("joe@пример.рф", "{user}", "joe@xn--e1afmkfd.xn--p1ai"),
        ("joe\nx", "{user}@example.org", ""),
        ("j" * 400, "{user}@example.org", ""),
        ("{domain}", "{user}@example.org", "{domain}@example.org"),
    ],
)
def test_whose_mailbox_it_is(user: str, template: str, address: str) -> None:
    assert person_address(user, template) == address


@pytest.mark.parametrize(
    ("raw", "ident", "message_id"),
    [
        pytest.param(LETTER, 7, "a@b.example", id="ours"),
        pytest.param(LETTER.replace(b"\r\n", b"\n"), 7, "a@b.example", id="line ends of Unix"),
        pytest.param(
            f"X-Mras-Id: {sign(8, KEY)}\r\n".encode() + LETTER, 7, "a@b.example", id="two: the last"
        ),
        pytest.param(
            LETTER.replace(b"X-Mras-Id:", b"X-MRAS-ID:\r\n "),
            7,
            "a@b.example",
            id="folded, another case",
        ),
        pytest.param(
            f"X-Mras-Id: {sign(7, b'x' * 32)}\r\n\r\n".encode(), None, "", id="another site's"
        ),
        pytest.param(b"X-Mras-Id: 0000000000007.AAAAAAAAAAAAAAAA\r\n\r\n", None, "", id="forged"),
        pytest.param(b"", None, "", id="nothing"),
        pytest.param(b"\0\xff" * 1000, None, "", id="no message"),
        pytest.param(b"A: b\r\n" * 100_000 + LETTER, None, "", id="a header without end"),
    ],
)
def test_which_message_it_is(raw: bytes, ident: int | None, message_id: str) -> None:
    found = read_reference(raw, KEY)
    assert found.ident == ident
    assert found.message_id == message_id


def test_a_message_id_that_is_no_text_can_be_stored() -> None:
    read_reference(b"Message-ID: <\xff\xfe\xed\xa0\x80>\r\n\r\n", KEY).message_id.encode()


def test_a_complaint_has_the_message_with_it() -> None:
    assert event(what="complaint", mailbox="Junk") == FeedbackEvent(
        what=EventKind.COMPLAINT,
        way=EventChannel.SIEVE,
        time=NOW,
        person="joe@example.org",
        ident=7,
        message_id="a@b.example",
        raw=LETTER,
        mailbox="Junk",
        source="dovecot",
    )


def test_mail_that_is_not_ours_may_be_complained_about() -> None:
    assert event(b"Subject: x\r\n\r\n", what="complaint").ident is None


def test_a_message_that_does_not_come_along_is_named_by_its_id() -> None:
    found = event(b"", what="pardon", id=sign(9, KEY), messageid="<c@d.example>")
    assert (found.ident, found.message_id, found.raw) == (9, "c@d.example", b"")


def test_an_id_beside_a_message_is_not_believed() -> None:
    assert event(b"Subject: x\r\n\r\n", what="pardon", id=sign(9, KEY)).ident is None


def test_reading_the_same_message_again_has_the_same_key() -> None:
    read = event(b"", what="read", id=sign(9, KEY), mailbox="INBOX")
    assert (read.way, read.ident, len(read.key)) == (EventChannel.MAILBOX, 9, 16)
    assert event(b"", what="read", id=sign(9, KEY), mailbox="Work").key == read.key
    others = [
        event(b"", what="deleted", id=sign(9, KEY)),
        event(b"", what="read", id=sign(10, KEY)),
        event(b"", what="read", id=sign(9, KEY), user="eve"),
    ]
    assert len({one.key for one in (read, *others)}) == 4
    assert event(what="complaint").key == b""  # each counts as what it is


def test_what_is_said_again_because_no_answer_came_is_known() -> None:
    said = event(what="complaint", mailbox="Junk", when="2026-11-22T15:43:09Z")
    assert len(said.key) == 16
    assert event(what="complaint", mailbox="Junk", when="2026-11-22T15:43:09Z").key == said.key
    others = [
        event(what="complaint", when="2026-11-22T15:43:10Z"),
        event(what="pardon", when="2026-11-22T15:43:09Z"),
        event(what="complaint", when="2026-11-22T15:43:09Z", user="eve"),
        event(LETTER + b"x", what="complaint", when="2026-11-22T15:43:09Z"),
    ]
    assert len({one.key for one in (said, *others)}) == 5
    event(what="complaint", when="\udcff")


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        (LETTER, {}),
        (LETTER, {"what": "trap"}),
        (LETTER, {"what": "Complaint"}),
        (LETTER, {"what": "complaint", "user": ""}),
        (LETTER, {"what": "complaint", "user": "joe smith"}),
        (b"", {"what": "complaint"}),
        (b"", {"what": "complaint", "id": "forged"}),
        (b"", {"what": "read", "id": ""}),
        (b"Subject: x\r\n\r\n", {"what": "read"}),
    ],
)
def test_what_says_nothing_that_could_be_believed(raw: bytes, arguments: dict[str, str]) -> None:
    with pytest.raises(PeerError):
        event(raw, **arguments)


def test_a_mailbox_name_that_is_no_unicode_can_be_stored() -> None:
    event(what="complaint", mailbox="\udcff").mailbox.encode()
