"""SpamAssassin's `*.cf` and `user_prefs`: lists, strictness, and rules with one regular expression.

Conditions (`ifplugin`, `if`) are not evaluated: what stands within is read as if they held.
"""

from __future__ import annotations

import re
from typing import Final

from oborona.desk.move_in.old_owners import owner_of
from oborona.desk.move_in.plan import MovePlan
from oborona.desk.move_in.plan_parts import OldProgram, PlannedList, SourcePlace
from oborona.desk.move_in.sources import SourceFolder, SourceLine
from oborona.desk.move_in.spamassassin_rules import SpamAssassinRules
from oborona.desk.move_in.spamassassin_words import CONDITIONS, LISTS, RULES, TheirList, reason_for
from oborona.desk.move_in.their_addresses import entry_of, personal_entry
from oborona.reputation.locallists import ListAction
from oborona.reputation.personal import EntryAction
from oborona.reputation.subject import ListSubject

REQUIRED: Final = 5.0  # the score from which SpamAssassin calls a message spam, as it ships
SPAM_SCORE: Final = 100.0  # ours, as it ships
PREFS: Final = "user_prefs"
_RENAMED: Final = (("welcomelist", "whitelist"), ("blocklist", "blacklist"))
_COMMENT: Final = re.compile(r"(?<!\\)#.*")
_UNPROVED: Final = (
    "whitelist_from believes whatever From says: here an allow counts when SPF or DKIM proves it "
    "(docs/policy/lists.md)"
)
_REFUSES: Final = (
    "blacklist_from marks a message as spam; a deny list here refuses it, and a reader's own files "
    "it"
)


def read_spamassassin(folder: SourceFolder, plan: MovePlan, *, domain: str, now: float) -> None:
    """Take what stands in the files of a folder.

    Args:
        folder: `/etc/spamassassin`, people's `user_prefs` in it where there are any.
        plan: takes it.
        domain: of people who are named by a login alone; empty = they can't be told.
        now: Unix seconds.

    Raises:
        ConfigError: a file can't be read.
    """
    reader = _SpamAssassinReader(plan, now)
    for name in folder.names:
        if name.endswith(".cf"):
            for line in folder.lines(name, plan):
                reader.take(line, "")
    reader.end()
    for name in folder.names:
        if not name.endswith(PREFS):
            continue
        owner = owner_of(name, domain)
        personal = _SpamAssassinReader(plan, now)
        for line in folder.lines(name, plan):
            if owner:
                personal.take(line, owner)
            else:
                plan.leave(
                    line.place,
                    line.text,
                    "whose it is is not known: put it into a folder named ann@example.org, or "
                    "give --domain",
                )
        personal.end()


class _SpamAssassinReader:
    """Lines of the site, or of one person, as they come."""

    def __init__(self, plan: MovePlan, now: float) -> None:
        self._plan = plan
        self._now = now
        self._lists: dict[str, PlannedList] = {}
        self._rules = SpamAssassinRules(plan)
        self._taken_back: list[tuple[SourceLine, str, str, str]] = []

    def take(self, line: SourceLine, owner: str) -> None:
        """Take one line; an owner's is theirs alone."""
        text = _COMMENT.sub("", line.text).strip()
        word, _, rest = text.partition(" ") if "\t" not in text else _split(text)
        word, rest = word.lower(), rest.strip()
        for new, old in _RENAMED:
            word = word.replace(new, old)
        if not word or word in CONDITIONS:
            self._plan.carried.add(line.place)
        elif word in LISTS:
            self._list(line, LISTS[word], word, rest, owner)
        elif word.startswith("un") and word[2:] in LISTS:
            self._taken_back.append((line, word[2:], rest, owner))
        elif word in ("required_score", "required_hits"):
            self._required(line, rest, owner)
        elif word in RULES and not owner:
            self._rules.take(line, word, rest)
        else:
            self._plan.leave(line.place, line.text, reason_for(word, personal=bool(owner)))

    def end(self) -> None:
        """Take what is known at the end alone: rules with their scores, and what is taken back."""
        self._rules.end()
        for line, word, rest, owner in self._taken_back:
            for text in rest.split():
                place = self._taken_from(line, word, text, owner)
                if place is None:
                    why = "takes back what nothing here says"
                    self._plan.leave(line.place, text, why)
                else:
                    self._plan.leave(place, text, f"{line.place} takes it back")
            self._plan.carried.add(line.place)

    def _taken_from(self, line: SourceLine, word: str, text: str, owner: str) -> SourcePlace | None:
        """Take an entry off the plan; return which line that is told of, None where none was."""
        try:
            if owner:
                key = personal_entry(EntryAction.DENY, text, "", self._now)
                person = self._plan.persons.get(owner)
                gone = None if person is None else person.entries.pop((key.kind, key.value), None)
                return None if gone is None else line.place
            planned = self._lists.get(word)
            return None if planned is None else planned.entries.pop(entry_of(text).entry, None)
        except ValueError:
            return None

    def _list(self, line: SourceLine, theirs: TheirList, word: str, rest: str, owner: str) -> None:
        if theirs.why:
            self._plan.leave(line.place, line.text, theirs.why)
            return
        # those with two words have the host or the signing domain behind the address
        texts = rest.split()[:1] if theirs.pairs else rest.split()
        if not texts:
            self._plan.leave(line.place, line.text, "names nobody")
        for text in texts:
            try:
                if owner:
                    self._own(line.place, theirs, text, owner)
                    continue
                found = entry_of(text)
            except ValueError as fault:
                self._plan.leave(line.place, text, str(fault))
                continue
            if found.note:
                self._plan.tell(found.note)
            self._plan.enter(self._of(theirs, word), found.entry, line.place)
            self._tell(theirs)

    def _own(self, place: SourcePlace, theirs: TheirList, text: str, owner: str) -> None:
        if ListSubject.RECIPIENT in theirs.of:
            raise ValueError("is about recipients, and a person's list about senders")
        allows = theirs.action is ListAction.ALLOW
        side = EntryAction.ALLOW if allows else EntryAction.DENY
        note = f"from {OldProgram.SPAMASSASSIN}, {place}"
        self._plan.put(owner, personal_entry(side, text, note, self._now), place)
        self._tell(theirs)

    def _tell(self, theirs: TheirList) -> None:
        if theirs.unproved:
            self._plan.tell(_UNPROVED)
        if theirs.action is ListAction.DENY:
            self._plan.tell(_REFUSES)
        if theirs.note:
            self._plan.tell(theirs.note)

    def _of(self, theirs: TheirList, word: str) -> PlannedList:
        if word not in self._lists:
            self._lists[word] = self._plan.begin_list(
                word, theirs.action, theirs.of, why=f"{word} of SpamAssassin"
            )
        return self._lists[word]

    def _required(self, line: SourceLine, rest: str, owner: str) -> None:
        try:
            score = float(rest)
        except ValueError:
            score = 0.0
        if not 0 < score < 1000:
            self._plan.leave(line.place, line.text, "is no number from 0 to 1,000")
        elif owner:
            self._plan.set_strictness(owner, score / REQUIRED, line.place)
        else:
            self._plan.carried.add(line.place)
            if score != REQUIRED:
                self._plan.lines["shadow_spam_score"] = round(SPAM_SCORE * score / REQUIRED, 1)


def _split(text: str) -> tuple[str, str, str]:
    word, *rest = text.split(None, 1)
    return word, " ", rest[0] if rest else ""
