"""A reply of a session as rspamd's clients read it.  Pure.

Our scale stays: `score` is ours, `required_score` the line above which mail is refused, as rspamd's
is.  `symbols` are the rules that fired, those in shadow mode with a score of 0.  `milter` has the
header edits, in the form of rspamd's proxy: one header of a name is removed by its number, several
of them all, for there is no word for some.

Source: docs.rspamd.com, Rspamd protocol; src/libserver/milter.c; haraka-plugin-rspamd.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from oborona.doors.http.reply import verdict_word
from oborona.doors.reply import AddHeader, SessionReply, VerdictDetails, refused_hold
from oborona.types import RuleHit, RuleMode

ACTIONS: Final = {
    "accept": "no action",
    "spam": "add header",
    "reject": "reject",
    "tempfail": "soft reject",
    "discard": "discard",
}
ALL: Final = 0  # instead of the number of a header to remove
_MOST: Final = 100  # hosts, and addresses of the text: who asks wants to see some


def check_answer(reply: SessionReply, judged: VerdictDetails, took_s: float) -> dict[str, Any]:
    """Return the answer to /checkv2.

    Args:
        reply: of the session.
        judged: its own, which is there.
        took_s: seconds from the whole request on.
    """
    scanned, reply = judged.scan, refused_hold(reply)
    answer: dict[str, Any] = {
        "is_skipped": False,
        "score": judged.verdict.score,
        "required_score": judged.reject_score,
        "action": ACTIONS[verdict_word(reply)],
        "thresholds": {"reject": judged.reject_score, "add header": judged.spam_score},
        "symbols": _symbols(judged.verdict.rules),
        "urls": _distinct(link.host for link in scanned.message.links) if scanned else [],
        "emails": list(scanned.message.addresses[:_MOST]) if scanned else [],
        "message-id": scanned.message.message_id if scanned else "",
        "time_real": round(took_s, 6),
        "oborona": {  # what rspamd has no word for
            "id": judged.ident,
            "reference": judged.reference,
            "decided_by": judged.verdict.decided_by,
            "karma": judged.karma,
        },
    }
    if reply.text:
        answer["messages"] = {"smtp_message": reply.text.replace("\n", " ")}
    if reply.edits or reply.removed:
        answer["milter"] = _milter(reply)
    return answer


def legacy_check_answer(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the same as clients of rspamd before 1.6 read it: one metric, with the symbols in
    it.
    """
    metric = {name: answer[name] for name in ("is_skipped", "score", "required_score", "action")}
    metric["is_spam"] = answer["action"] in {"add header", "reject"}
    others = {
        name: value for name, value in answer.items() if name not in metric and name != "symbols"
    }
    return {"default": metric | answer["symbols"]} | others


def _symbols(rules: tuple[RuleHit, ...]) -> dict[str, dict[str, Any]]:
    symbols: dict[str, dict[str, Any]] = {}
    for hit in rules:
        live = hit.mode is RuleMode.LIVE
        symbols[hit.name] = {
            "name": hit.name,
            "score": hit.score if live else 0.0,
            "metric_score": hit.score,
            "options": [hit.say] if hit.say else [],
            "description": "" if live else "in shadow mode",
        }
    return symbols


def _milter(reply: SessionReply) -> dict[str, Any]:
    milter: dict[str, Any] = {}
    added: dict[str, list[dict[str, Any]]] = {}
    removed: dict[str, tuple[str, int]] = {}
    for edit in reply.edits:
        if isinstance(edit, AddHeader):
            where = {"order": 0} if edit.top else {}  # without an order it is put behind all others
            added.setdefault(edit.name, []).append({"value": edit.value, **where})
        else:
            low = edit.name.lower()
            removed[low] = (removed[low][0], ALL) if low in removed else (edit.name, edit.index)
    if added:
        milter["add_headers"] = {
            name: headers[0] if len(headers) == 1 else headers for name, headers in added.items()
        }
    if removed:
        milter["remove_headers"] = dict(removed.values())
    if reply.removed:
        milter["del_rcpt"] = list(reply.removed)
    return milter


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name))[:_MOST]
