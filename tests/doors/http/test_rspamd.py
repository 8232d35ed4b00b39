"""A reply as rspamd's clients read it, and in our own words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from oborona.doors.http.reply import verdict_answer
from oborona.doors.http.rspamd import check_answer, legacy_check_answer
from oborona.doors.reply import (
    ACCEPT,
    AddHeader,
    RemoveHeader,
    ReplyAction,
    SessionReply,
    hold_reply,
    refusal_reply,
)
from oborona.types import Action, RuleHit, RuleMode
from tests.doors.http.sittings import judged


def said(reply: SessionReply) -> dict[str, Any]:
    assert reply.judged is not None
    return check_answer(reply, reply.judged, 0.25)


@pytest.mark.parametrize(
    ("reply", "action", "verdict"),
    [
        (SessionReply(judged=judged()), "no action", "accept"),
        (SessionReply(answer=ReplyAction.ACCEPT, judged=judged()), "no action", "accept"),
        (SessionReply(answer=ReplyAction.ACCEPT, judged=judged(Action.SPAM)), "add header", "spam"),
        (
            SessionReply(answer=ReplyAction.ACCEPT, judged=judged(Action.REJECT)),
            "add header",
            "spam",
        ),
        (refusal_reply(550, "5.7.1", "Refused", judged(Action.REJECT)), "reject", "reject"),
        (refusal_reply(451, "4.7.1", "Later", judged(Action.TEMPFAIL)), "soft reject", "tempfail"),
        (SessionReply(answer=ReplyAction.DISCARD, judged=judged()), "discard", "discard"),
        (hold_reply("Spam", judged(Action.SPAM)), "reject", "hold"),
    ],
)
def test_what_is_done(reply: SessionReply, action: str, verdict: str) -> None:
    assert said(reply)["action"] == action
    assert verdict_answer(reply).verdict == verdict


def test_scores_lines_and_rules() -> None:
    verdict = msgspec.structs.replace(
        judged().verdict,
        rules=(
            RuleHit(name="A", score=30.0, say="seen 7 times"),
            RuleHit(name="B", score=50.0, mode=RuleMode.SHADOW),
        ),
    )
    found = said(SessionReply(judged=msgspec.structs.replace(judged(), verdict=verdict)))
    assert (found["score"], found["required_score"]) == (12.5, 200.0)
    assert found["thresholds"] == {"reject": 200.0, "add header": 100.0}
    assert found["symbols"]["A"] == {
        "name": "A",
        "score": 30.0,
        "metric_score": 30.0,
        "options": ["seen 7 times"],
        "description": "",
    }
    assert (found["symbols"]["B"]["score"], found["symbols"]["B"]["options"]) == (0.0, [])
    assert found["is_skipped"] is False
    assert found["oborona"]["id"] == "0SACAQKB800DF.H6KKNH5L7YB2AE4E"
    assert "milter" not in found
    assert "messages" not in found


def test_words_for_the_sender_are_one_line() -> None:
    reply = refusal_reply(550, "5.7.1", "Refused\nreference 7", judged(Action.REJECT))
    assert said(reply)["messages"] == {"smtp_message": "Refused reference 7"}
    assert msgspec.to_builtins(verdict_answer(reply).smtp) == {
        "code": 550,
        "enhanced": "5.7.1",
        "text": "Refused\nreference 7",
    }


def test_header_edits_as_a_proxy_of_rspamd_does_them() -> None:
    edits = (
        RemoveHeader("X-Mras", 1),
        RemoveHeader("X-Mras-Id", 3),
        RemoveHeader("x-mras-id", 1),
        AddHeader("Authentication-Results", "mx;\n\tspf=pass", top=True),
        AddHeader("X-Mras", "Ok"),
        AddHeader("X-Two", "1"),
        AddHeader("X-Two", "2"),
    )
    reply = SessionReply(
        answer=ACCEPT.answer, edits=edits, removed=("trap@x.example",), judged=judged()
    )
    assert said(reply)["milter"] == {
        "remove_headers": {"X-Mras": 1, "X-Mras-Id": 0},
        "add_headers": {
            "Authentication-Results": {"value": "mx;\n\tspf=pass", "order": 0},
            "X-Mras": {"value": "Ok"},
            "X-Two": [{"value": "1"}, {"value": "2"}],
        },
        "del_rcpt": ["trap@x.example"],
    }
    ours = verdict_answer(reply)
    assert ours.headers.add == edits[3:]
    assert ours.headers.remove == edits[:3]
    assert ours.removed_recipients == ("trap@x.example",)


def test_the_answer_of_old_has_one_metric_with_the_symbols_in_it() -> None:
    found = legacy_check_answer(
        said(SessionReply(answer=ReplyAction.ACCEPT, judged=judged(Action.SPAM, 120.0)))
    )
    metric = found["default"]
    assert (metric["is_spam"], metric["is_skipped"], metric["score"], metric["action"]) == (
        True,
        False,
        120.0,
        "add header",
    )
    assert metric["NO_NAME"]["options"] == ["it has no name"]
    assert "score" not in found
    assert "message-id" in found
    assert legacy_check_answer(said(SessionReply(judged=judged())))["default"]["is_spam"] is False


def test_where_nothing_was_judged_nothing_is_against_it() -> None:
    found = verdict_answer(SessionReply())
    assert (found.verdict, found.score, found.line, found.rules, found.smtp) == (
        "accept",
        0.0,
        0.0,
        (),
        None,
    )
