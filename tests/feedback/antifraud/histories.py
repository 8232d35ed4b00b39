"""Histories of feedback as tables: read, and told to a made-up site
(tests/golden/antifraud/README.md).
"""

import re
import tomllib
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from oborona.feedback.antifraud.standing import DAY_S
from oborona.feedback.events.model import EventChannel, EventKind
from oborona.types import Action
from tests.feedback.antifraud.site import Message, Site

FOLDER: Final = Path(__file__).parents[2] / "golden" / "antifraud"
TODAY: Final = 1_780_012_800.0  # midnight UTC

VERBS: Final = {
    "complain": EventKind.COMPLAINT,
    "pardon": EventKind.PARDON,
    "read": EventKind.READ,
    "delete": EventKind.DELETED,
}

_WHEN: Final = re.compile(
    r"(?:(?P<first>-?\d+)(?:\.\.(?P<last>-?\d+)(?:/(?P<step>\d+))?)? "
    r")?(?P<hour>\d\d):(?P<minute>\d\d)(?: \+(?P<span>\d+)(?P<unit>[smh]))?"
)
_DEED: Final = re.compile(
    r"(?:(?P<number>\d+) )?(?P<who>[a-z]+) (?:(?P<verb>complain|pardon|read|delete)s?(?: "
    r"of)?|says? (?P<word>spam|ham) of|gets?)"
    r" (?P<campaign>[a-z]+)(?P<each>\*?)(?: x (?P<times>\d+))?(?P<flags>(?:, [a-z0-9 ]+)*)"
)
_PEOPLE: Final = re.compile(r"(?:(\d+) )?([a-z]+)((?:, \d+ [a-z]+)*)")
_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}


class History(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table."""

    what: str
    people: list[str]
    happened: list[str]
    believed: list[str]
    because: str
    campaigns: list[str] = []
    taken_back: str = "0"
    rules: list[str] = []
    never: list[str] = []
    weights: list[str] = []


class Deed(NamedTuple):
    """One event, before it is told."""

    time: float
    order: int
    what: EventKind
    way: EventChannel
    person: str
    message: Message


def histories() -> list[tuple[str, History]]:
    """Return all tables, each with its file."""
    found: list[tuple[str, History]] = []
    for file in sorted(FOLDER.glob("*.toml")):
        tables: Any = tomllib.loads(file.read_text())["history"]
        found += [(file.stem, one) for one in msgspec.convert(tables, list[History])]
    return found


def past(history: History) -> Site:
    """Return the site as it is before anything happens."""
    site = Site(look_s=20.0)
    for text in history.people:
        found = _PEOPLE.fullmatch(text)
        assert found, text
        known = dict(_pair(part) for part in found[3].split(", ")[1:])
        for name in members(found[2], int(found[1] or 1)):
            person = site.people[name]
            person.first = TODAY - known["days"] * DAY_S if "days" in known else 0.0
            for what in ("complaints", "pardons", "right", "wrong"):
                setattr(person, what, known.get(what, 0))
    return site


def deeds_of(history: History) -> list[Deed]:
    """Return what happened, in order of time."""
    groups = {}
    for text in history.people:
        found = _PEOPLE.fullmatch(text)
        assert found, text
        groups[found[2]] = members(found[2], int(found[1] or 1))
    filed = {text.split(", ")[0] for text in history.campaigns if "filed" in text.split(", ")}
    deeds: list[Deed] = []
    for line in history.happened:
        deeds += _deeds(line, groups, filed, len(deeds))
    return sorted(deeds)


def told(history: History) -> Site:
    """Tell a site what happened."""
    site, deeds = past(history), deeds_of(history)
    for deed in deeds:
        site.hear(deed.what, deed.message, deed.time, deed.person, deed.way)
    for deed in {one.message.campaign: one for one in deeds}.values():
        site.look_again(deed.message.campaign, deed.time)
    return site


def members(group: str, size: int) -> list[str]:
    """Return the people of a group."""
    return [f"{group}{number}@site.example" for number in range(size)]


def ranged(text: str) -> tuple[float, float]:
    """Return the limits of "3", "3..5", "0.1..0.3"."""
    low, _, high = text.partition("..")
    return float(low), float(high or low)


def _pair(text: str) -> tuple[str, int]:
    number, _, what = text.partition(" ")
    return (what if what in ("days", "right", "wrong") else what.rstrip("s") + "s"), int(number)


def _deeds(line: str, groups: dict[str, list[str]], filed: set[str], order: int) -> list[Deed]:
    when, _, deed = line.partition(": ")
    at, does = _WHEN.fullmatch(when), _DEED.fullmatch(deed)
    assert at, f"{when!r} is no time"
    assert does, f"{deed!r} is nothing that is done"
    flags = [flag for flag in does["flags"].split(", ") if flag]
    what, way, people = _who(does, groups)
    times = int(does["times"] or 1)
    first = int(at["first"] or 0)
    days = range(first, int(at["last"] or first) + 1, int(at["step"] or 1))
    span = float(at["span"] or 0) * _UNITS[at["unit"] or "s"]
    found: list[Deed] = []
    for day in days:
        start = TODAY + day * DAY_S + int(at["hour"]) * 3600 + int(at["minute"]) * 60
        total = len(people) * times
        for number in range(total):
            person, turn = people[number % len(people)], number // len(people)
            time = start + (span * number / total if span else number)
            campaign = does["campaign"] + (f"{day}-{turn}-{person}" if does["each"] else "")
            message = _message(
                campaign,
                "" if "same" in flags else f"{person}{day}-{turn}",
                flags,
                does["campaign"] in filed,
                time,
            )
            found.append(Deed(time, order + len(found), what, way, person, message))
    return found


def _who(
    does: re.Match[str], groups: dict[str, list[str]]
) -> tuple[EventKind, EventChannel, list[str]]:
    if does["who"] in ("trap", "traps"):
        return EventKind.TRAP, EventChannel.TRAP, [""] * int(does["number"] or 1)
    if does["who"] == "admin":
        return (
            (EventKind.COMPLAINT if does["word"] == "spam" else EventKind.PARDON),
            EventChannel.COMMAND,
            [""],
        )
    if does["who"] == "nobody":
        return VERBS[does["verb"]], EventChannel.REPORT, [""] * int(does["number"] or 1)
    everybody = groups[does["who"]]
    return (
        VERBS[does["verb"]],
        EventChannel.SIEVE,
        everybody[: int(does["number"] or len(everybody))],
    )


def _message(campaign: str, name: str, flags: list[str], filed: bool, time: float) -> Message:
    late = next((int(flag.split()[1]) for flag in flags if flag.startswith("late ")), 0)
    unknown = [
        flag
        for flag in flags
        if flag.split()[0] not in ("same", "unsigned", "asked", "others", "late")
    ]
    assert not unknown, unknown
    return Message(
        campaign=campaign,
        name=f"{campaign} {name}",
        verdict=Action.SPAM if filed else Action.ACCEPT,
        signed="unsigned" not in flags,
        recipient="others" not in flags,
        asked_for="asked" in flags,
        delivered=time - late * DAY_S - 600,
    )
