"""What Exim is told: verdicts and their words, headers, and answers that nothing within them can
break.
"""

from __future__ import annotations

import base64
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.doors.exim.answer import MAX_REMOVED, NOTHING, TOO_BUSY, answer_line, error_line
from oborona.doors.reply import (
    ACCEPT,
    BUSY,
    CONTINUE,
    MAX_TEXT_LINES,
    TEMPFAIL,
    AddHeader,
    RemoveHeader,
    ReplyAction,
    SessionReply,
    VerdictDetails,
    hold_reply,
    refusal_reply,
)
from oborona.types import Action, Verdict
from tests.peers.readsocket import extract, pairs

NAMES = [
    "verdict", "score", "line", "karma", "id", "reference", "code", "text", "decided_by", "version",
]  # fmt: skip
TEXT = st.text(st.sampled_from(string.printable[:95].replace("%", "")), min_size=1, max_size=480)


def judged(
    action: Action, score: float = 12.34, karma: float | None = -3.0, by: str = "A_RULE"
) -> VerdictDetails:
    return VerdictDetails(
        verdict=Verdict(action=action, score=score, line=100.0, decided_by=by),
        ident="0SACAQKB800DF.H6KKNH5L7YB2AE4E",
        reference="0SACAQKB800DF",
        spam_score=100.0,
        reject_score=200.0,
        karma=karma,
    )


def told(line: bytes) -> dict[str, str]:
    """Return what Exim takes out of an answer; of one that is one."""
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    found = pairs(line.decode("ascii"))
    assert len(dict(found)) == len(found)
    return dict(found)


def test_a_verdict_with_all_that_is_known_of_it() -> None:
    line = answer_line(
        refusal_reply(
            550, "5.7.1", "Sender refused, reference 0SACAQKB800DF", judged(Action.REJECT, 300.0)
        )
    )
    assert line == (
        b"verdict=reject score=300.0 line=100 karma=-3 id=0SACAQKB800DF.H6KKNH5L7YB2AE4E "
        b"reference=0SACAQKB800DF code=550 "
        b'text="5.7.1 Sender refused, reference 0SACAQKB800DF" decided_by=A_RULE version=1 '
        b"of=content\n"
    )


@pytest.mark.parametrize(
    ("reply", "verdict", "code", "text"),
    [
        (CONTINUE, "accept", "0", ""),
        (ACCEPT, "accept", "0", ""),
        (SessionReply(judged=judged(Action.ACCEPT)), "accept", "0", ""),
        (SessionReply(judged=judged(Action.SPAM)), "spam", "0", ""),
        (SessionReply(answer=ReplyAction.ACCEPT, judged=judged(Action.SPAM)), "spam", "0", ""),
        (SessionReply(answer=ReplyAction.ACCEPT, judged=judged(Action.REJECT)), "spam", "0", ""),
        (
            SessionReply(judged=judged(Action.TEMPFAIL)),
            "accept",
            "0",
            "",
        ),  # refusing is switched off
        (SessionReply(answer=ReplyAction.DISCARD), "discard", "0", ""),
        (hold_reply("Spam", judged(Action.SPAM)), "hold", "550", "5.7.1 Spam"),
        (refusal_reply(554, "5.7.1", "No"), "reject", "554", "5.7.1 No"),
        (refusal_reply(550, "5.7.1", "No\nnever"), "reject", "550", "5.7.1 No never"),
        (
            refusal_reply(451, "4.7.1", "Later", judged(Action.TEMPFAIL)),
            "defer",
            "451",
            "4.7.1 Later",
        ),
        (BUSY, "defer", "451", "4.3.2 Too busy, try again later"),
        (TEMPFAIL, "defer", "451", "4.7.1 Service unavailable - try again later"),
        (SessionReply(answer=ReplyAction.REJECT), "reject", "550", "5.7.1 Command rejected"),
    ],
)
def test_each_reply_has_its_verdict(
    reply: SessionReply, verdict: str, code: str, text: str
) -> None:
    found = told(answer_line(reply))
    assert list(found) == NAMES
    assert (found["verdict"], found["code"], found["text"]) == (verdict, code, text)
    assert found["score"] == ("12.3" if reply.judged else "0.0")


def test_what_is_empty_takes_nothing_of_what_follows() -> None:
    found = told(NOTHING)
    assert (
        found["line"],
        found["karma"],
        found["id"],
        found["reference"],
        found["decided_by"],
    ) == ("",) * 5
    assert (found["verdict"], found["version"]) == ("accept", "1")
    assert told(answer_line(SessionReply(judged=judged(Action.ACCEPT, karma=None))))["karma"] == ""
    assert told(answer_line(SessionReply(judged=judged(Action.ACCEPT, karma=0.0))))["karma"] == "0"
    assert told(TOO_BUSY)["verdict"] == "defer"


def test_trouble_has_its_own_word() -> None:
    found = told(error_line('not "base64": \\ \n\xe9'))
    assert (found["verdict"], found["code"], found["text"]) == ("error", "0", 'not "base64": \\ ??')


def test_headers_come_as_lines_and_the_names_of_what_must_go() -> None:
    edits = (
        RemoveHeader("X-Mras", 2),
        RemoveHeader("x-mras", 1),
        RemoveHeader("Authentication-Results", 1),
        RemoveHeader('X-Mras-"${run{x}}', 1),
        RemoveHeader("X-Mras-Old", 1),
        AddHeader("X-Mras", "Probable"),
        AddHeader("X-Mras-Reason", "A=1.0\n\tB=2.0"),
        AddHeader("Authentication-Results", "mx.test;\n\tspf=pass", top=True),
    )
    found = told(
        answer_line(
            SessionReply(answer=ReplyAction.ACCEPT, edits=edits, judged=judged(Action.SPAM))
        )
    )
    assert list(found) == [*NAMES, "headers64", "remove"]
    assert base64.b64decode(found["headers64"]) == (
        b"Authentication-Results: mx.test;\n\tspf=pass\nX-Mras: Probable\nX-Mras-Reason: "
        b"A=1.0\n\tB=2.0\n"
    )
    assert found["remove"] == "x-mras:Authentication-Results:X-Mras-Old"


def test_among_many_forged_names_those_that_are_read_are_removed() -> None:
    forged = [RemoveHeader(f"X-Mras-{number}", 1) for number in range(9000)]
    reply = SessionReply(answer=ReplyAction.ACCEPT, edits=(*forged, RemoveHeader("X-Spam-Flag", 1)))
    removed = told(answer_line(reply))["remove"].split(":")
    assert removed[0] == "X-Spam-Flag"
    assert len(removed) == MAX_REMOVED


def test_a_text_is_one_line_that_a_client_takes_whole() -> None:
    found = told(answer_line(refusal_reply(550, "5.7.1", "\n".join(["x" * 480] * MAX_TEXT_LINES))))
    assert found["text"] == "5.7.1 " + "x" * 480


@given(text=TEXT, by=st.text(), ident=st.text(), karma=st.none() | st.floats(-100, 100))
def test_nothing_in_a_reply_breaks_its_answer(
    text: str, by: str, ident: str, karma: float | None
) -> None:
    """Invariant: one line, the same names in the same order, the text as it was, the rest as far as
    it is printable ASCII.
    """
    rests: Any = judged(Action.REJECT, karma=karma, by=by)
    found = told(answer_line(refusal_reply(550, "5.7.1", text, rests)))
    assert list(found) == [*NAMES, "of"]
    assert found["text"] == f"5.7.1 {text}"
    assert found["decided_by"] == "".join(letter if " " <= letter <= "~" else "?" for letter in by)
    assert (found["verdict"], found["code"], found["version"]) == ("reject", "550", "1")


@given(st.text())
def test_nothing_in_a_trouble_breaks_its_answer(what: str) -> None:
    """Invariant: one line, and the verdict is error."""
    line = error_line(what)
    assert told(line)["verdict"] == "error"
    assert extract("text", line.decode()) == "".join(
        one if " " <= one <= "~" else "?" for one in what
    )
