"""amavisd's maps of senders and recipients, as lists of ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from oborona.desk.move_in.perl_patterns import pattern_of
from oborona.desk.move_in.perl_tokens import PerlKind
from oborona.desk.move_in.perl_values import PerlValue, pairs_of
from oborona.desk.move_in.plan import MovePlan
from oborona.desk.move_in.plan_parts import OldProgram, PlannedList, SourcePlace
from oborona.desk.move_in.sources import SourceFolder
from oborona.desk.move_in.their_addresses import entry_of, personal_entry
from oborona.reputation.locallists import ListAction
from oborona.reputation.personal import EntryAction, mail_address
from oborona.reputation.subject import ListSubject
from oborona.types import RuleMode

A_POINT: Final = 20.0  # points of ours for one of theirs, as of SpamAssassin's
A_LIST: Final = 100.0  # points of a rule on trial that stands for an entry of a list
HOMES: Final = ("/etc/amavis", "/etc/amavisd", "/var/lib/amavis", "/var/amavis")
_FILE: Final = "read_hash"
_EVERYBODY: Final = "."
_UNPROVED: Final = (
    "whitelist_sender believes whatever MAIL FROM says: here an allow counts when SPF proves it"
)


class _AddressMap(NamedTuple):
    """What a map of theirs is."""

    action: ListAction
    of: ListSubject


_SITE: Final = {
    f"{kind}_sender": _AddressMap(action, ListSubject.SENDER)
    for kind, action in (("whitelist", ListAction.ALLOW), ("blacklist", ListAction.DENY))
} | {kind: _AddressMap(ListAction.ALLOW, ListSubject.RECIPIENT) for kind in ("spam_lovers", "bypass_spam_checks")}  # fmt: skip
_PERSONS: Final = {
    "per_recip_whitelist_sender_lookup_tables": EntryAction.ALLOW,
    "per_recip_blacklist_sender_lookup_tables": EntryAction.DENY,
}
_SCORES: Final = "score_sender_maps"
_LEVELS: Final = ("spam_tag2_level_maps", "spam_kill_level_maps")


class _Key(NamedTuple):
    """One key of a map."""

    text: str
    place: SourcePlace
    is_pattern: bool = False


class AmavisLists:
    """Maps as they come.

    Args:
        folder: files that they read lie there.
        plan: takes what becomes of them.
        now: Unix seconds.
    """

    def __init__(self, folder: SourceFolder, plan: MovePlan, now: float) -> None:
        self._folder = folder
        self._plan = plan
        self._now = now
        self._lists: dict[tuple[str, ListAction, RuleMode], PlannedList] = {}
        self._levels: list[tuple[str, float, SourcePlace]] = []

    def take(self, variable: str, value: PerlValue, place: SourcePlace) -> bool:
        """Take an assignment; tell whether it is of a map that is known.

        Args:
            variable: with its sign.
            value: of it.
            place: of the statement.
        """
        name = variable[1:].removesuffix("_maps").removesuffix("_acl").removesuffix("_re")
        if variable[1:] in _PERSONS:
            for person, theirs in pairs_of(value):
                self._person(person, theirs, _PERSONS[variable[1:]], place)
        elif variable[1:] == _SCORES:
            self._scores(value, place)
        elif variable[1:] in _LEVELS:
            self._level(variable[1:], value, place)
        elif name in _SITE:
            self._site(name, value, place)
        else:
            return False
        self._plan.carried.add(place)
        return True

    def end(self, usual: float) -> None:
        """Take what is known at the end alone.

        Args:
            usual: the line of everybody.
        """
        for person, level, place in self._levels:
            self._plan.set_strictness(person, level / usual, place)

    def _site(self, name: str, value: PerlValue, place: SourcePlace) -> None:
        found = _SITE[name]
        for key in self._keys(value, place):
            if key.is_pattern:
                fact = "sender" if found.of is ListSubject.SENDER else "recipient"
                points = -A_LIST if found.action is ListAction.ALLOW else A_LIST
                self._pattern(name, key, fact, points)
            else:
                self._enter(name, found, RuleMode.LIVE, key)

    def _enter(self, name: str, found: _AddressMap, mode: RuleMode, key: _Key) -> None:
        if key.text.startswith("!") or key.text == _EVERYBODY:
            why = "an exception, or everybody: a list has whole names"
            self._plan.leave(key.place, key.text, why)
            return
        try:
            entry = entry_of(key.text).entry
        except ValueError as fault:
            self._plan.leave(key.place, key.text, str(fault))
            return
        which = name, found.action, mode
        if which not in self._lists:
            self._lists[which] = self._plan.begin_list(
                name, found.action, [found.of], why=f"{name} of amavis", mode=mode
            )
        if name == "whitelist_sender":
            self._plan.tell(_UNPROVED)
        self._plan.enter(self._lists[which], entry, key.place)

    def _pattern(self, name: str, key: _Key, fact: str, points: float) -> None:
        try:
            pattern = pattern_of(key.text).text
        except ValueError as fault:
            self._plan.leave(key.place, key.text, str(fault))
            return
        proved = " and spf.result == 'pass'" if points < 0 and fact == "sender" else ""
        when = f"matches({fact}, {pattern!r}){proved}"
        self._plan.rule(name, when, points, f"{name} of amavis", key.place)

    def _person(
        self, person: PerlValue, theirs: PerlValue, side: EntryAction, place: SourcePlace
    ) -> None:
        address = mail_address(person.text)
        for key in self._keys(theirs, place):
            what = f"{person.text}: {key.text}"
            if not address or key.is_pattern:
                why = "a person's list is one person's, and has whole names"
                self._plan.leave(key.place, what, why)
                continue
            note = f"from {OldProgram.AMAVIS}, {key.place}"
            try:
                entry = personal_entry(side, key.text, note, self._now)
            except ValueError as fault:
                self._plan.leave(key.place, what, str(fault))
            else:
                self._plan.put(address, entry, key.place)

    def _scores(self, value: PerlValue, place: SourcePlace) -> None:
        """Take points of senders: those for everybody are lists and rules on trial."""
        for recipient, tables in pairs_of(value):
            here = place._replace(line=recipient.line)
            if recipient.text != _EVERYBODY:
                why = "points for one recipient: a person has lists here, and no points"
                self._plan.leave(here, recipient.text, why)
                continue
            for table in tables.members or (tables,):
                if table.text not in ("{", "new_RE"):
                    self._plan.leave(here, table.text, "is no table of senders known here")
                    continue
                for sender, points in _scored(table):
                    self._score(sender, points, place)

    def _score(self, sender: PerlValue, text: str, place: SourcePlace) -> None:
        key = _Key(sender.text, place._replace(line=sender.line), sender.kind is PerlKind.PATTERN)
        try:
            points = float(text)
        except ValueError:
            self._plan.leave(key.place, key.text, "has no points that stand there as they are")
            return
        if key.is_pattern:
            self._pattern(_SCORES, key, "sender", points * A_POINT)
            return
        action = ListAction.ALLOW if points < 0 else ListAction.DENY
        self._plan.tell("senders who only add or take points there are lists on trial here")
        self._enter("scored", _AddressMap(action, ListSubject.SENDER), RuleMode.SHADOW, key)

    def _level(self, name: str, value: PerlValue, place: SourcePlace) -> None:
        for person, level in pairs_of(value):
            here, what = place._replace(line=person.line), f"{person.text} => {level.text}"
            address = mail_address(person.text)
            if name != _LEVELS[0]:
                self._plan.leave(here, what, "a person has one line here, of spam")
            elif not address:
                self._plan.leave(here, what, "is not one person: strictness is one person's here")
            else:
                try:
                    self._levels.append((address, float(level.text), here))
                except ValueError:
                    self._plan.leave(here, what, "is no score")

    def _keys(self, value: PerlValue, place: SourcePlace) -> Iterator[_Key]:
        """Yield senders or recipients of a map; variables have assignments of their own."""
        here = place._replace(line=value.line)
        if value.kind is PerlKind.SIGN and value.text == _FILE:
            for member in value.members:
                yield from self._file(member.text, here)
        elif value.kind is PerlKind.SIGN and value.text == "{":
            for key, allowed in pairs_of(value):
                there = place._replace(line=key.line)
                if allowed.text in ("0", ""):
                    self._plan.leave(there, key.text, "is not on the list")
                else:
                    yield _Key(key.text, there)
        elif value.kind is PerlKind.SIGN and value.text in ("(", "[", "new_RE"):
            for member in value.members:
                yield from self._keys(member, place)
        elif value.kind in (PerlKind.TEXT, PerlKind.PATTERN):
            yield _Key(value.text, here, value.kind is PerlKind.PATTERN)
        elif value.kind is not PerlKind.VARIABLE:
            self._plan.leave(here, value.text, "is no map known here")

    def _file(self, named: str, place: SourcePlace) -> Iterator[_Key]:
        name = self._folder.inside(named, *HOMES)
        if name is None:
            self._plan.leave(place, named, "is not in the folder: copy it there")
            return
        for line in self._folder.lines(name, self._plan):
            yield _Key(line.text.split(maxsplit=1)[0], line.place)


def _scored(table: PerlValue) -> Iterator[tuple[PerlValue, str]]:
    """Yield who has how many points."""
    if table.text == "{":
        for sender, points in pairs_of(table):
            yield sender, points.text
        return
    for row in table.members:
        if len(row.members) == 2:
            yield row.members[0], row.members[1].text
        else:
            yield row, ""
