"""My mail: what a reader did not get and why, what they said, their lists, and the digest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from aiohttp import web

from oborona.console.act_form import ACT_S, SAID, ActPlan
from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.language import gettext as _
from oborona.console.language import marked
from oborona.console.pages.my_texts import FATES, KINDS, STRICTNESS
from oborona.console.visit import Visit
from oborona.people.rights import Right

FILED: Final = frozenset({"junk", "moved"})
MINE_S: Final = 6.0  # seconds for what was kept away: the largest part
UNDO: Final = {
    "own.allow": "/my/restore",
    "own.deny": "/my/restore",
    "own.digest": "/my/digest",
    "own.not_spam": "/my/take-back",
    "own.remove": "/my/restore",
    "own.restore": "/my/restore",
    "own.say_again": "/my/take-back",
    "own.strict": "/my/strict",
    "own.take_back": "/my/say-again",
}
"""Forms that take acts back."""


class KeptMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that a reader did not get into their inbox."""

    id: str
    time: float
    fate: str
    sender: str
    header_from: str
    subject: str
    recipients: list[str] = []
    because: str
    author: str = ""
    where: str = ""
    desk: str = ""


class KeptMail(msgspec.Struct, frozen=True, kw_only=True):
    """All of it in some days."""

    messages: list[KeptMessage]
    older: str = ""
    reached: str = ""


class ListEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of one's lists."""

    side: str
    kind: str
    what: str
    time: float
    addresses: list[str] = []


class ReaderLists(msgspec.Struct, frozen=True, kw_only=True):
    """One's lists, and how strictly one's mail is looked at."""

    addresses: list[str]
    entries: list[ListEntry]
    contacts: int
    factors: dict[str, float]
    everywhere: bool = True
    digest: bool = False
    digest_hour: int | None = None
    site_hour: int = 0


class ReaderWord(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a reader said of a letter."""

    id: int
    what: str
    time: float
    address: str
    taken_back: bool
    stands: bool
    sender: str = ""
    subject: str = ""
    moved: str = ""
    moves: list[int] = []
    desk: str = ""


class ReaderWords(msgspec.Struct, frozen=True, kw_only=True):
    """All of it, the newest first."""

    words: list[ReaderWord]


class OwnActUndo(msgspec.Struct, frozen=True, kw_only=True):
    """What takes an act back."""

    asked: dict[str, Any]


class OwnActAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What an act came to, as far as a reader is told."""

    undo: OwnActUndo | None = None
    sender: str = ""
    subject: str = ""
    copies: list[dict[str, str]] = []
    what: str = ""
    addresses: list[str] = []
    moves: list[int] = []


@page("GET", "/my", Right.OWN, menu=marked("My mail"), order=15)
async def show_my(visit: Visit) -> web.Response:
    """Show a reader all that is theirs.

    Raises:
        DeskError: what is asked can't be.
    """
    asked = {"older": visit.query("older"), "within": MINE_S - 1}
    kept = await visit.part("messages.mine", asked, KeptMail, MINE_S)
    messages = kept.messages if kept is not None else []
    filed = [one for one in messages if one.fate in FILED]
    refused = [one for one in messages if one.fate not in FILED]
    heads = ("id", "time", "fate", "from", "subject", "because")
    rows = [
        (one.id, one.time, one.fate, one.header_from or one.sender, one.subject, one.because)
        for one in messages
    ]
    if visit.query("as") == "csv":
        return visit.csv("my-mail", heads, rows)
    if visit.query("as") == "json":
        return visit.json("my-mail", messages)
    lists = await visit.part("own.lists", {}, ReaderLists)
    said = await visit.part("own.said", {}, ReaderWords)
    factors = set(lists.factors.values()) if lists is not None else set()
    return visit.render(
        "my/my.html",
        kept=kept,
        filed=filed,
        refused=refused,
        kinds=Counter(one.because for one in refused).most_common(),
        lists=lists,
        listed={
            side: [one for one in lists.entries if one.side == side] if lists is not None else []
            for side in ("allow", "deny")
        },
        said=said,
        strictness=STRICTNESS,
        factor=factors.pop() if len(factors) == 1 else None,
        fates=FATES,
        kind_names=KINDS,
        hours=_hours(lists) if lists is not None and lists.digest else [],
        hour="" if lists is None or lists.digest_hour is None else str(lists.digest_hour),
        say=_,  # a plain text, unlike what `_` of templates returns: the site may have written it
    )


@page("POST", "/my/not-spam", Right.OWN)
async def release_letter(visit: Visit) -> web.Response:
    """Take a letter out of Junk.

    Raises:
        DeskError: the desk does not answer.
    """
    order = {"message": visit.form.one("message")}
    return await _do(visit, "own.not_spam", order, _("Not spam"))


@page("POST", "/my/allow", Right.OWN)
async def allow_sender(visit: Visit) -> web.Response:
    """Always let somebody in.

    Raises:
        DeskError: the desk does not answer.
    """
    return await _do(visit, "own.allow", _what(visit), _("Always let in"))


@page("POST", "/my/deny", Right.OWN)
async def deny_sender(visit: Visit) -> web.Response:
    """Keep somebody out.

    Raises:
        DeskError: the desk does not answer.
    """
    return await _do(visit, "own.deny", _what(visit), _("Keep out"))


@page("POST", "/my/entry", Right.OWN)
async def add_entry(visit: Visit) -> web.Response:
    """Put somebody on one of the lists.

    Raises:
        DeskError: the desk does not answer.
    """
    if visit.form.one("side") == "deny":
        return await deny_sender(visit)
    return await allow_sender(visit)


@page("POST", "/my/remove", Right.OWN)
async def remove_entry(visit: Visit) -> web.Response:
    """Take somebody off the lists.

    Raises:
        DeskError: the desk does not answer.
    """
    order = {**_what(visit), "kind": visit.form.one("kind") or None}
    return await _do(visit, "own.remove", order, _("Off your lists"))


@page("POST", "/my/restore", Right.OWN)
async def restore_entries(visit: Visit) -> web.Response:
    """Make lists what they were.

    Raises:
        DeskError: the desk does not answer.
    """
    return await _do(visit, "own.restore", {}, _("Your lists are as before"))


@page("POST", "/my/strict", Right.OWN)
async def choose_strictness(visit: Visit) -> web.Response:
    """Have mail looked at more or less strictly.

    Raises:
        DeskError: the desk does not answer.
    """
    chosen = next((one.factor for one in STRICTNESS if one.name == visit.form.one("strict")), 0.0)
    return await _do(visit, "own.strict", {"factor": chosen}, _("Strictness"))


@page("POST", "/my/digest", Right.OWN)
async def choose_digest(visit: Visit) -> web.Response:
    """Choose when the digest comes.

    Raises:
        DeskError: the desk does not answer.
    """
    chosen = visit.form.one("hour")
    hour = int(chosen) if chosen.removeprefix("-").isdecimal() and len(chosen) < 4 else None
    return await _do(visit, "own.digest", {"hour": hour}, _("Digest"))


@page("POST", "/my/take-back", Right.OWN)
async def take_back(visit: Visit) -> web.Response:
    """Take back what was said.

    Raises:
        DeskError: the desk does not answer.
    """
    return await _do(visit, "own.take_back", _words(visit), _("Taken back"))


@page("POST", "/my/say-again", Right.OWN)
async def say_again(visit: Visit) -> web.Response:
    """Say again what was taken back.

    Raises:
        DeskError: the desk does not answer.
    """
    return await _do(visit, "own.say_again", _words(visit), _("Said again"))


def _hours(lists: ReaderLists) -> list[tuple[str, str]]:
    """Return when a digest may come, as a form's choice has it."""
    hours = [(str(hour), f"{hour}:00") for hour in range(24)]
    site = _("as everybody here: %(hour)s:00") % {"hour": lists.site_hour}
    return [("", site), ("-1", _("never")), *hours]


def _what(visit: Visit) -> dict[str, object]:
    return {"what": visit.form.one("what")}


def _words(visit: Visit) -> dict[str, object]:
    numbers = {
        name: [int(one) for one in visit.form.fields.get(name, ()) if _is_number(one)]
        for name in ("ids", "moves")
    }
    return dict(numbers)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19


async def _do(visit: Visit, call: str, order: Mapping[str, object], title: str) -> web.Response:
    """Do an act at once, and show how it is undone: it is on what is one's own, all of it can be
    taken back, and to say why would be to say it to oneself.
    """
    given = visit.form.one("asked")
    if given:  # an undo: the words of the answer before
        try:
            order = msgspec.json.decode(given, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            order = {}
    plan = ActPlan(call=call, order=order, title=title, back="/my", shown="my/done.html")
    try:
        answer = await visit.ask(call, order, OwnActAnswer, ACT_S)
    except DeskError as error:
        if error.status not in SAID:
            raise
        return visit.render("my/refused.html", error.status, plan=plan, told=_(error.text))
    undo = answer.undo
    fields = {"asked": msgspec.json.encode(undo.asked).decode()} if undo is not None else {}
    plan.undo = UNDO[call] if undo is not None else ""
    return visit.render(
        "act_done.html", plan=plan, answer=answer, dry=False, undo=fields, fates=FATES
    )
