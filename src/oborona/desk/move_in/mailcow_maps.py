"""The maps that an admin of mailcow fills in its pages: all of them hold regular expressions."""

from __future__ import annotations

from typing import Final, NamedTuple

from oborona.desk.move_in.perl_patterns import checked_pattern, pattern_of
from oborona.desk.move_in.plan import MovePlan
from oborona.desk.move_in.plan_parts import SourcePlace
from oborona.desk.move_in.sources import SourceFolder
from oborona.desk.move_in.their_addresses import entry_of
from oborona.policy.signatures import SignatureKind
from oborona.reputation.locallists import ListAction
from oborona.reputation.subject import ListSubject

A_MAP: Final = 100.0  # points of a rule on trial


class _PatternMap(NamedTuple):
    """A map: the fact that it is about, and whether it lets in."""

    fact: str
    lets_in: bool


_MAPS: Final = {
    "global_smtp_from_whitelist.map": _PatternMap("sender", True),
    "global_smtp_from_blacklist.map": _PatternMap("sender", False),
    "global_mime_from_whitelist.map": _PatternMap("from.address", True),
    "global_mime_from_blacklist.map": _PatternMap("from.address", False),
    "global_rcpt_whitelist.map": _PatternMap("recipient", True),
    "global_rcpt_blacklist.map": _PatternMap("recipient", False),
}
_PROOFS: Final = {"sender": "spf.result == 'pass'", "from.address": "dmarc.aligned"}
_WORDS: Final = ("bad_words.map", "bad_words_de.map")
_CLIENTS: Final = "ip_wl.map"


def read_maps(folder: SourceFolder, names: list[str], plan: MovePlan) -> None:
    """Take the maps that are known; lines of others are left.

    Raises:
        ConfigError: a file can't be read.
    """
    for name in names:
        base = name.rpartition("/")[2]
        clients = None
        if base == _CLIENTS:
            clients = plan.begin_list(
                "clients", ListAction.ALLOW, [ListSubject.CLIENT], why=f"{base} of mailcow"
            )
        for line in folder.lines(name, plan):
            try:
                if clients is not None:
                    plan.enter(clients, entry_of(line.text.split()[0]).entry, line.place)
                elif base in _MAPS:
                    _rule(base, line.text, line.place, plan)
                elif base in _WORDS:
                    _ = plan.sign(
                        _pattern(line.text), line.place, kind=SignatureKind.PATTERN, reason=base
                    )
                else:
                    plan.leave(line.place, line.text, "no map of mailcow that is known here")
            except ValueError as fault:
                plan.leave(line.place, line.text, str(fault))


def _rule(base: str, text: str, place: SourcePlace, plan: MovePlan) -> None:
    found = _MAPS[base]
    proved = f" and {_PROOFS[found.fact]}" if found.lets_in and found.fact in _PROOFS else ""
    plan.rule(
        base.removesuffix(".map"),
        f"matches({found.fact}, {_pattern(text)!r}){proved}",
        -A_MAP if found.lets_in else A_MAP,
        f"{base} of mailcow",
        place,
    )


def _pattern(text: str) -> str:
    return (
        pattern_of(text).text
        if text.startswith("/")
        else checked_pattern(text.split(maxsplit=1)[0])
    )
