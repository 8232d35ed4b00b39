"""A plan: what becomes of another filter's configuration, and what can't be carried over."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from oborona.desk.move_in.plan_parts import (
    LeftLine,
    OldProgram,
    PlannedList,
    PlannedPerson,
    PlannedRule,
    PlannedSignature,
    SourcePlace,
    shown,
)
from oborona.errors import ConfigError
from oborona.policy.expression.fault import ExpressionFault
from oborona.policy.expression.schema import PieceKind
from oborona.policy.expression.single_expression import compile_single
from oborona.policy.fact_table import SCHEMA
from oborona.policy.signatures import (
    BrokenSignature,
    Signature,
    SignatureFlag,
    SignatureKind,
    check_signature,
)
from oborona.policy.signatures.model import SignatureScope
from oborona.reputation.locallists import ListAction
from oborona.reputation.personal import LAXEST, STRICTEST, PersonalEntry
from oborona.reputation.subject import MAILBOXES, ListSubject
from oborona.types import RuleMode

MOST_LEFT: Final = 100_000  # lines that can't be carried over; more of them is another file
MOST_ENTRIES: Final = 500_000  # of all lists
MOST_LISTS: Final = 25  # a policy may have 50, and has some of its own
MOST_RULES: Final = 1_000  # each is asked of every message, on trial, too
MOST_SIGNATURES: Final = 20_000
MOST_OF_PERSON: Final = 1_000  # entries: a store keeps 2,000 of what a person said
MOST_CONDITION: Final = 2_000  # characters, as the policy has it
_MOST_SCORE: Final = 1_000.0
_NO_NAME: Final = re.compile(r"[^A-Z0-9]+")
_LONGEST_NAME: Final = 56  # letters: a number may follow

_MATCHED_BY: Final = {
    "network": {ListSubject.CLIENT, ListSubject.HELO},
    "name": set(ListSubject) - {ListSubject.CLIENT},
    "mail address": MAILBOXES,
}
"""Sort of an entry → the subjects that it can be; the policy refuses others."""


class MovePlan:
    """What becomes of a configuration; gathered line by line.

    Args:
        program: whose it is.
        taken: names that rules and lists of the site have already.
    """

    def __init__(self, program: OldProgram, taken: Iterable[str] = ()) -> None:
        self.program = program
        self.lists: list[PlannedList] = []
        self.rules: list[PlannedRule] = []
        self.signatures: list[PlannedSignature] = []
        self.persons: dict[str, PlannedPerson] = {}
        self.lines: dict[str, float] = {}  # of `[verdict]`, on trial
        self.left: list[LeftLine] = []
        self.told: list[str] = []  # what is carried over and means something else here
        self.carried: set[SourcePlace] = set()
        self._names = set(taken)
        self._entries = 0

    def leave(self, place: SourcePlace, what: str, why: str) -> None:
        """Tell of something that is not carried over.

        Raises:
            ConfigError: it is too much to be a configuration.
        """
        if len(self.left) >= MOST_LEFT:
            raise ConfigError(
                f"more than {MOST_LEFT:,} lines can't be carried over: is it what it is taken for?",
                file=place.file,
                line=place.line,
            )
        self.left.append(LeftLine(place, shown(what), why))

    def tell(self, words: str) -> None:
        """Tell once that something means something else here."""
        if words not in self.told:
            self.told.append(words)

    def name(self, theirs: str) -> str:
        """Return a name of ours for a list or rule of theirs, which none of ours has."""
        prefix = self.program.name
        bare = _NO_NAME.sub("_", theirs.upper())[: _LONGEST_NAME - len(prefix)].strip("_")
        base = f"{prefix}_{bare or 'UNNAMED'}"
        name, number = base, 1
        while name in self._names:
            number += 1
            name = f"{base}_{number}"
        self._names.add(name)
        return name

    def begin_list(
        self,
        theirs: str,
        action: ListAction,
        of: Iterable[ListSubject],
        *,
        why: str,
        mode: RuleMode = RuleMode.LIVE,
    ) -> PlannedList:
        """Return a list of the plan that is still empty; one without entries is not made."""
        planned = PlannedList(
            name=self.name(theirs), action=action, of=tuple(of), mode=mode, why=shown(why, 400)
        )
        self.lists.append(planned)
        return planned

    def enter(self, planned: PlannedList, entry: str, place: SourcePlace) -> None:
        """Put an entry of ours on a list.

        Args:
            planned: the list.
            entry: in its normal form.
            place: where it comes from.
        """
        if not planned.entries and sum(bool(one.entries) for one in self.lists) >= MOST_LISTS:
            self.leave(place, entry, f"more than {MOST_LISTS} lists: put it on one by list import")
            return
        if not _MATCHED_BY[_sort_of(entry)] & set(planned.of):
            self.leave(place, entry, f"a {_sort_of(entry)} is never what the list is asked about")
            return
        if not {".", ":"} & set(entry) and MAILBOXES.issuperset(planned.of):
            self.leave(place, entry, "is neither a mail address nor a domain")
            return
        if entry not in planned.entries:
            if self._entries >= MOST_ENTRIES:
                self.leave(
                    place, entry, f"more than {MOST_ENTRIES:,} entries: import it by list import"
                )
                return
            self._entries += 1
            planned.entries[entry] = place
        self.carried.add(place)

    def rule(self, theirs: str, when: str, score: float, say: str, place: SourcePlace) -> bool:
        """Add a rule on trial; tell whether it is one."""
        why = _trouble_of(when)
        if not why and len(self.rules) >= MOST_RULES:
            why = f"more than {MOST_RULES:,} rules"
        if why:
            self.leave(place, theirs, why)
            return False
        self.rules.append(
            PlannedRule(
                name=self.name(theirs),
                when=when,
                score=round(max(-_MOST_SCORE, min(_MOST_SCORE, score)), 2),
                say=shown(say).replace("{", "(").replace("}", ")"),
                place=place,
            )
        )
        self.carried.add(place)
        return True

    def sign(
        self,
        value: str,
        place: SourcePlace,
        *,
        kind: SignatureKind,
        where: SignatureScope = SignatureScope.ANY,
        reason: str = "",
    ) -> bool:
        """Add a signature of spam on trial; tell whether it is one."""
        signature = Signature(
            id="s1", flag=SignatureFlag.SPAM, kind=kind, value=value, where=where,
            reason=f"from {self.program}: {shown(reason)}", mode=RuleMode.SHADOW,
        )  # fmt: skip
        try:
            checked = check_signature(signature)
        except BrokenSignature as fault:
            self.leave(place, value, str(fault))
            return False
        if len(self.signatures) >= MOST_SIGNATURES:
            self.leave(place, value, f"more than {MOST_SIGNATURES:,} signatures")
            return False
        self.signatures.append(PlannedSignature(checked, place))
        self.carried.add(place)
        return True

    def put(self, person: str, entry: PersonalEntry, place: SourcePlace) -> None:
        """Put an entry on a person's own list."""
        entries = self.persons.setdefault(person, PlannedPerson()).entries
        if len(entries) >= MOST_OF_PERSON:
            why = f"more than {MOST_OF_PERSON:,} entries of one person"
            self.leave(place, f"{person}: {entry.value}", why)
            return
        known = entries.setdefault((entry.kind, entry.value), entry)
        if known.side is not entry.side:
            self.leave(place, f"{person}: {entry.value}", f"{known.note} says the opposite")
            return
        self.carried.add(place)

    def set_strictness(self, person: str, factor: float, place: SourcePlace) -> None:
        """Say how strict a person is, as far as that goes here."""
        held = round(max(STRICTEST, min(LAXEST, factor)), 3)
        if abs(held - factor) > 0.001:
            self.tell(
                f"{place}: {person} is {factor:.2g} times as strict as others there, and "
                f"{held:g} here: from {STRICTEST:g} to {LAXEST:g}"
            )
        self.persons.setdefault(person, PlannedPerson()).strictness = held
        self.carried.add(place)


def _sort_of(entry: str) -> str:
    """Return what an entry in its normal form is; no name ends in a digit."""
    if "@" in entry:
        return "mail address"
    return "network" if ":" in entry or entry[-1:].isdigit() else "name"


def _trouble_of(when: str) -> str:
    """Return why a condition is none of ours; empty where it is one."""
    if len(when) > MOST_CONDITION:
        return f"is no rule here: longer than {MOST_CONDITION:,} characters"
    try:
        compile_single(when, SCHEMA, PieceKind.CONDITION)
    except ExpressionFault as fault:
        return f"is no rule here: {fault}"
    return ""
