"""What clients of spamd and of rspamd are told of a verdict, in the form in which each of them
reads it.
"""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.doors.headers import header_edits
from oborona.doors.reply import (
    ACCEPT,
    BUSY,
    AddHeader,
    ReplyAction,
    SessionReply,
    VerdictDetails,
    hold_reply,
    refusal_reply,
    refused_hold,
)
from oborona.doors.spamd import rspamc, spamc, tell_feedback
from oborona.doors.spamd.codec import SpamdCodec, SpamdRequest
from oborona.doors.spamd.report import LONGEST, report_lines
from oborona.doors.spamd.request import TrustOptions, message_to_scan
from oborona.feedback.events.model import EventChannel, EventKind
from oborona.ident import sign
from oborona.types import Action, RuleHit, RuleMode, Verdict
from tests.peers.spamc import request

NAME = "mx.example.test"
KEY = b"k" * 32
LETTER = (
    b"From joe Sun Nov 22 10:00:00 2026\nReturn-Path: <ann@a.example>\nReceived: from c "
    b"(a.example [192.0.2.9])\n"
    b"\tby mx (Postfix) with ESMTP id 4bQ1; Sun\nX-Mras: Ok\nFrom: ann@a.example\nX-Spam-Flag: "
    b"NO\n\nAt noon?\n\tX-Mras: no\n"
)
BELIEVING = TrustOptions(received=True, person="{user}", submission_port="", limit_bytes=1000)
RULES = (
    RuleHit(name="PILLS", score=112.5, say="pills of all kinds"),
    RuleHit(name="POLITE", score=-2.0),
    RuleHit(name="TRIED", score=50.0, mode=RuleMode.SHADOW),
)


def judged(
    action: Action, score: float, *, line: float = 100.0, by: str = "PILLS"
) -> VerdictDetails:
    return VerdictDetails(
        verdict=Verdict(action=action, score=score, line=line, decided_by=by, rules=RULES),
        ident=sign(77, KEY),
        reference="3k2",
        spam_score=100.0,
        reject_score=200.0,
    )


def taken(action: Action, score: float) -> SessionReply:
    return msgspec.structs.replace(ACCEPT, judged=judged(action, score))


OK = taken(Action.ACCEPT, 12.34)
SPAM = taken(Action.SPAM, 112.5)
MARKED_ONLY = taken(Action.REJECT, 250.0)  # refusing is switched off
REFUSED = refusal_reply(
    550, "5.7.1", "Message refused as spam, reference 3k2", judged(Action.REJECT, 250.0, line=200.0)
)
LISTED = refusal_reply(
    550, "5.7.1", "Message refused as spam, reference 3k2", judged(Action.REJECT, 0.0, line=200.0)
)
FILED = taken(Action.SPAM, 250.0)  # a table of engines refuses nothing
FRIEND = taken(Action.ACCEPT, 340.0)  # a list of the site says so
PUT_OFF = refusal_reply(
    451, "4.7.1", "Try again later, reference 3k2", judged(Action.TEMPFAIL, 40.0)
)
PUT_OFF_SPAM = refusal_reply(
    451, "4.7.1", "Try again later, reference 3k2", judged(Action.TEMPFAIL, 100.0)
)
HELD = hold_reply(
    "Message looks like spam, reference 3k2",
    judged(Action.SPAM, 112.5),
    (AddHeader("X-Mras-Id", "3k2"),),
)
TRAPPED = SessionReply(answer=ReplyAction.DISCARD, judged=judged(Action.ACCEPT, 3.0))


def asked(
    command: str, protocol: str = "SPAMC/1.5", *headers: str, message: bytes = LETTER
) -> SpamdRequest:
    found = SpamdCodec(1000).feed(request(command, message, protocol, *headers))
    assert found is not None
    return found


def spamd(command: str, reply: SessionReply, protocol: str = "SPAMC/1.5", *, message: bytes = LETTER, scale: float = 1.0) -> tuple[str, dict[str, str], bytes]:  # fmt: skip
    """Return status line, headers and body of an answer, whose length must be right where it is
    said.
    """
    wants = asked(command, protocol, message=message)
    head, _, body = spamc.spamc_answer(
        wants, message_to_scan(wants, BELIEVING), reply, NAME, scale
    ).partition(b"\r\n\r\n")
    status, *lines = head.decode("ascii").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines if line)
    if "Content-length" in headers:
        assert int(headers["Content-length"]) == len(body)
    return status, headers, body


@pytest.mark.parametrize(
    ("reply", "want"),
    [
        (OK, "False ; 12.3 / 100.0"),
        (SPAM, "True ; 112.5 / 100.0"),
        (MARKED_ONLY, "True ; 250.0 / 100.0"),
        (REFUSED, "True ; 250.0 / 100.0"),
        (LISTED, "True ; 200.0 / 100.0"),
        (FILED, "True ; 199.9 / 100.0"),
        (FRIEND, "False ; 99.9 / 100.0"),
        (PUT_OFF, "False ; 40.0 / 100.0"),
        (PUT_OFF_SPAM, "True ; 100.0 / 100.0"),
        (TRAPPED, "True ; 100.0 / 100.0"),
    ],
)
def test_the_word_and_the_number_say_the_same(reply: SessionReply, want: str) -> None:
    assert spamd("CHECK", reply) == ("SPAMD/1.1 0 EX_OK", {"Spam": want}, b"")


@given(
    st.floats(-500, 1500),
    st.floats(1, 1000),
    st.booleans(),
    st.sampled_from([0.001, 0.05, 1.0, 7.0]),
)
def test_no_rounding_makes_a_number_contradict_its_word(
    score: float, line: float, spam: bool, scale: float
) -> None:
    shown, bar = spamc.shown_points(score, line, spam=spam, scale=scale)
    assert (float(shown) >= float(bar)) == spam
    if (score >= line) == spam and abs(score - line) * scale > 0.2:
        assert float(shown) == pytest.approx(score * scale, abs=0.0501)


def test_points_are_told_in_the_clients_scale() -> None:
    assert spamd("CHECK", SPAM, scale=0.05)[1] == {"Spam": "True ; 5.6 / 5.0"}
    assert spamd("CHECK", FRIEND, scale=0.05)[1] == {"Spam": "False ; 4.9 / 5.0"}
    assert spamd("CHECK", LISTED, scale=0.05)[1] == {"Spam": "True ; 10.0 / 5.0"}
    assert spamd("CHECK", FILED, scale=0.05)[1] == {"Spam": "True ; 9.9 / 5.0"}


@pytest.mark.parametrize(
    ("command", "version", "names"),
    [
        ("CHECK", "1.5", {"Spam"}),
        ("SYMBOLS", "1.5", {"Content-length", "Spam"}),
        ("REPORT", "1.3", {"Content-length", "Spam"}),
        ("PROCESS", "1.3", {"Content-length", "Spam"}),
        ("REPORT", "1.2", {"Spam"}),  # Exim's: with both it can't read the answer
        ("SYMBOLS", "1.2", {"Spam"}),
        ("PROCESS", "1.2", {"Content-length"}),
    ],
)
def test_a_client_gets_the_headers_that_its_version_reads(
    command: str, version: str, names: set[str]
) -> None:
    assert set(spamd(command, SPAM, f"SPAMC/{version}")[1]) == names


def test_symbols_are_the_rules_that_count() -> None:
    assert spamd("SYMBOLS", SPAM)[2] == b"PILLS,POLITE"
    assert spamd("SYMBOLS", SPAM, "SPAMC/1.2")[2] == b"PILLS,POLITE\r\n"


def test_a_report_is_for_people_and_for_spam_alone_where_it_is_asked_so() -> None:
    body = spamd("REPORT", SPAM)[2].decode()
    assert "Content analysis details:   (112.5 points, 100.0 required)" in body
    assert re.search(r"^ 112\.5 PILLS +pills of all kinds$", body, re.MULTILINE)
    assert re.search(r"^  -2\.0 POLITE$", body, re.MULTILINE)
    assert "reference 3k2" in body
    assert "TRIED" not in body
    assert spamd("REPORT_IFSPAM", SPAM)[1]["Spam"] == "True ; 112.5 / 100.0"
    assert spamd("REPORT_IFSPAM", SPAM)[2].decode() == body
    assert spamd("REPORT_IFSPAM", OK)[1:] == (
        {"Content-length": "0", "Spam": "False ; 12.3 / 100.0"},
        b"",
    )


def test_a_report_fits_into_exims_buffer_whatever_fired() -> None:
    many = tuple(RuleHit(name=f"RULE_{number}", score=1.0, say="ю" * 300) for number in range(2000))
    rests = judged(Action.SPAM, 112.5)
    rests = msgspec.structs.replace(
        rests, verdict=msgspec.structs.replace(rests.verdict, rules=many)
    )
    text = report_lines(rests, NAME, "1", "2", 1.0)
    assert len(text) < LONGEST + 200
    assert len(text.encode()) < 2 * LONGEST
    assert re.search(r"\(\d+ more\)\n\Z", text)


@pytest.mark.parametrize(
    ("reply", "word", "flag"),
    [(OK, b"Ok", False), (SPAM, b"Probable", True), (REFUSED, b"Spam", True), (PUT_OFF, b"Ok", False), (PUT_OFF_SPAM, b"Probable", True), (TRAPPED, b"Probable", True)],
)  # fmt: skip
def test_a_message_comes_back_marked_and_otherwise_as_it_was(
    reply: SessionReply, word: bytes, flag: bool
) -> None:
    _, _, body = spamd("PROCESS", reply)
    head, _, text = body.partition(b"\n\n")
    assert text == LETTER.partition(b"\n\n")[2]
    lines = head.split(b"\n")
    assert lines[0] == b"From joe Sun Nov 22 10:00:00 2026"
    assert re.findall(rb"^X-Mras: (.*)$", head, re.MULTILINE) == [word], "the forged one is gone"
    assert (b"X-Spam-Flag: YES" in lines, b"X-Spam-Flag: NO" in lines) == (flag, False)
    rest = [
        line
        for line in lines
        if not line.startswith(
            (b"X-Mras", b"X-Spam-Flag", b"Authentication-Results: mx.example.test; none", b"\t")
        )
        or b"Postfix" in line
    ]
    assert rest == [
        line for line in LETTER.partition(b"\n\n")[0].split(b"\n") if not line.startswith(b"X-")
    ]


@pytest.mark.parametrize("command", ["PROCESS", "HEADERS"])
@pytest.mark.parametrize("message", [LETTER, LETTER.replace(b"\n", b"\r\n"), LETTER.replace(b"\nX", b"\r\nX"), b"\nhi\n", b"hi", b""])  # fmt: skip
def test_line_ends_stay_as_they_came(command: str, message: bytes) -> None:
    _, _, body = spamd(command, SPAM, message=message)
    wants = asked(command, message=message)
    edits = header_edits(
        judged(Action.SPAM, 112.5), message_to_scan(wants, BELIEVING).message, NAME, own=False
    )
    added = {f"{one.name}:".encode() for one in edits if isinstance(one, AddHeader)}
    assert all(name in body for name in added)
    if b"\r\n" not in message:
        assert b"\r" not in body
    elif b"\n" not in message.replace(b"\r\n", b""):
        assert b"\n" not in body.replace(b"\r\n", b"")
    if command == "HEADERS":
        assert re.search(rb"\r?\n\r?\n\Z", body)
        assert body.count(b"\n\n") + body.count(b"\r\n\r\n") == 1
    else:
        end = message.find(b"At noon")
        assert body.endswith(message[end:] if end >= 0 else message.lstrip(b"\n"))


def test_what_is_not_there_whole_is_not_given_back() -> None:
    large = LETTER + b"x" * 5000
    assert spamd("PROCESS", SPAM, message=large)[0].startswith("SPAMD/1.1 69 EX_UNAVAILABLE")
    assert spamd("HEADERS", SPAM, message=large)[0] == "SPAMD/1.1 0 EX_OK"
    assert spamd("CHECK", SPAM, message=large)[1] == {"Spam": "True ; 112.5 / 100.0"}
    header = b"X-A: " + b"x" * 5000 + b"\n\nhi\n"
    assert spamd("HEADERS", SPAM, message=header)[0].startswith("SPAMD/1.1 69 EX_UNAVAILABLE")


@pytest.mark.parametrize("reply", [BUSY, SessionReply(), SessionReply(answer=ReplyAction.TEMPFAIL)])
def test_where_nobody_judged_the_client_is_told_to_come_again_in_one_line(
    reply: SessionReply,
) -> None:
    wants = asked("CHECK")
    assert (
        spamc.spamc_answer(wants, message_to_scan(wants, BELIEVING), reply, NAME, 1.0)
        == spamc.TOO_BUSY
    )
    assert re.fullmatch(rb"SPAMD/1\.1 75 EX_TEMPFAIL [ -~]+\r\n", spamc.TOO_BUSY)
    answer = rspamc.rspamc_answer(asked("CHECK", "RSPAMC/1.3"), reply, NAME)
    assert exim(answer)[:4] == (False, 0.0, "soft reject", "4.3.2 Too busy, try again later")


EXIM = re.compile(
    (
        r"RSPAMD/(\S{1,7}) 0 EX_OK\r\nMetric: default; (\S{1,7}) ([0-9.-]+) / ([0-9.-]+) / "
        r"([0-9.-]+)\r\nAction: ([^\r]*)\r\n(.*)\r?\n"
    ),
    re.DOTALL,
)


def exim(answer: bytes) -> tuple[bool, float, str, str]:
    """Return what Exim reads of an answer: whether it is spam to `spam =`, $spam_score,
    $spam_action, and what follows in $spam_report.
    """
    found = EXIM.fullmatch(answer.decode())
    assert found is not None, answer
    assert found[2] in ("True;", "False;")
    spam = float(found[3]) >= float(found[4])
    assert spam == (found[2] == "True;")
    return spam, float(found[3]), found[6], found[7].rstrip("\r\n")


@pytest.mark.parametrize(
    ("reply", "want"),
    [
        (REFUSED, (True, 250.0, "reject", "5.7.1 Message refused as spam, reference 3k2")),
        (PUT_OFF, (False, 40.0, "soft reject", "4.7.1 Try again later, reference 3k2")),
        (TRAPPED, (True, 100.0, "discard", "")),
        (HELD, (True, 112.5, "hold", "X-Mras-Id: 3k2")),
        (SPAM, (True, 112.5, "add header", "")),
        (MARKED_ONLY, (True, 250.0, "add header", "")),
        (OK, (False, 12.34, "no action", "")),
        (FRIEND, (False, 99.99, "no action", "")),
    ],
)
def test_exim_gets_an_action_and_the_words_for_it(
    reply: SessionReply, want: tuple[bool, float, str, str]
) -> None:
    assert exim(rspamc.rspamc_answer(asked("CHECK", "RSPAMC/1.3"), reply, NAME)) == want


def test_exim_gets_the_headers_one_a_line_the_topmost_first() -> None:
    edits = (
        AddHeader("X-Mras", "Probable"),
        AddHeader("X-Mras-Reason", "PILLS=112.5\n\tPOLITE=-2.0"),
        AddHeader("Authentication-Results", "mx;\n\tspf=none", top=True),
    )
    reply = msgspec.structs.replace(SPAM, edits=edits)
    assert exim(rspamc.rspamc_answer(asked("CHECK", "RSPAMC/1.3"), reply, NAME))[3].split("\n") == [
        "Authentication-Results: mx;",
        "\tspf=none",
        "X-Mras: Probable",
        "X-Mras-Reason: PILLS=112.5",
        "\tPOLITE=-2.0",
    ]


def test_rspamc_asks_for_symbols_and_reports_too() -> None:
    assert exim(rspamc.rspamc_answer(asked("SYMBOLS", "RSPAMC/1.3"), SPAM, NAME))[3].split(
        "\r\n"
    ) == [
        "Symbol: PILLS(112.50)",
        "Symbol: POLITE(-2.00)",
    ]
    assert (
        "pills of all kinds"
        in exim(rspamc.rspamc_answer(asked("REPORT", "RSPAMC/1.3"), SPAM, NAME))[3]
    )


def test_troubles_are_one_line_of_ascii_whatever_they_quote() -> None:
    for answer in (spamc.error_answer(spamc.PROTOCOL, "no: 'ю'"), rspamc.error_answer("no: 'ю'")):
        assert re.fullmatch(rb"R?SPAMD/1\.[13] 76 EX_PROTOCOL no: '\\u044e'\r\n", answer)


# --- TELL ---


def tell(
    *headers: str, user: str = "Joe@Example.test", message: bytes = LETTER
) -> tell_feedback.TellResult:
    wants = asked("TELL", "SPAMC/1.5", *headers, f"User: {user}", message=message)
    return tell_feedback.tell_result(wants, key=KEY, template="{user}", now=1000.0)


@pytest.mark.parametrize(
    ("headers", "what", "answer"),
    [
        (["Message-class: spam", "Set: local"], EventKind.COMPLAINT, "DidSet: local\r\n"),
        (
            ["Message-class: SPAM", "Set: local,remote"],
            EventKind.COMPLAINT,
            "DidSet: local,remote\r\n",
        ),
        (["Message-class: ham", "Set: local"], EventKind.PARDON, "DidSet: local\r\n"),
        (
            ["Message-class: ham", "Set: local", "Remove: remote"],
            EventKind.PARDON,
            "DidSet: local\r\nDidRemove: remote\r\n",
        ),
    ],
)
def test_what_somebody_says_of_a_message_is_an_event(
    headers: list[str], what: EventKind, answer: str
) -> None:
    event = tell(*headers).event
    assert event is not None
    assert (event.what, event.way, event.time, event.person) == (
        what,
        EventChannel.SPAMD,
        1000.0,
        "joe@example.test",
    )
    assert event.raw == LETTER.partition(b"\n")[2], "the line of a mailbox is no part of it"
    assert (
        tell_feedback.tell_done_answer(asked("TELL", "SPAMC/1.5", *headers))
        == f"SPAMD/1.1 0 EX_OK\r\n{answer}\r\n".encode()
    )


def test_a_header_with_a_space_before_its_colon_is_no_line_of_a_mailbox() -> None:
    letter = b"From : Ann <ann@a.example>\nSubject: x\n\nhi\n"
    event = tell("Message-class: spam", "Set: local", message=letter).event
    assert event is not None
    assert event.raw == letter


def test_a_message_that_we_have_seen_is_known_by_its_id() -> None:
    told_of = f"X-Mras-Id: {sign(77, KEY)}\nMessage-ID: <1@a.example>\n\nhi\n".encode()
    event = tell("Message-class: spam", "Set: local", message=told_of).event
    assert event is not None
    assert (event.ident, event.message_id) == (77, "1@a.example")


@pytest.mark.parametrize(
    ("headers", "user", "why"),
    [
        (["Remove: local"], "joe@example.test", b"69 EX_UNAVAILABLE Nothing is forgotten here"),
        ([], "joe@example.test", b"69 EX_UNAVAILABLE"),
        (["Message-class: eggs", "Set: local"], "joe@example.test", b"76 EX_PROTOCOL"),
        (["Set: local"], "joe@example.test", b"76 EX_PROTOCOL"),
        (
            ["Message-class: spam", "Set: local"],
            "root",
            b"77 EX_NOPERM Who says so? User 'root' is no mail",
        ),
        (["Message-class: spam", "Set: local"], "", b"77 EX_NOPERM"),
        (["Message-class: spam", "Set: local"], "ю" * 3000, b"77 EX_NOPERM"),
    ],
)
def test_what_says_nothing_is_refused_in_one_line(
    headers: list[str], user: str, why: bytes
) -> None:
    said = tell(*headers, user=user)
    assert said.event is None
    assert said.refusal.startswith(b"SPAMD/1.1 " + why)
    assert said.refusal.count(b"\n") == 1
    assert len(said.refusal) < 1000


def test_the_letter_of_these_tests_is_read_as_it_should_be() -> None:
    wants = asked("CHECK")
    assert message_to_scan(wants, BELIEVING).message.raw.startswith(
        b"X-Mras: Ok\r\nFrom: ann@a.example\r\n"
    )


def test_spamc_which_refuses_by_score_is_told_to_refuse_what_it_can_not_hold() -> None:
    wants = asked("CHECK")
    answer = spamc.spamc_answer(
        wants, message_to_scan(wants, BELIEVING), refused_hold(HELD), NAME, 1.0
    )
    assert b"Spam: True ; 200.0 / 100.0" in answer
