"""One page of what several machines list: in order, no row lost, none shown twice.

Each machine is asked for a whole page from where it was shown to.  Of their rows the first ones are
taken, each machine's in its own order; what is not taken is asked for again with the next page.  A
machine that has more to tell than it told, as its time was over, holds up what is older than that:
the page is shorter then, and in order.  A machine that was silent stays where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from oborona.console.machines.cursor import ENDED, read_cursor, write_cursor

Row = dict[str, Any]
Answer = dict[str, Any]
Place = tuple[Any, ...]

MACHINE: Final = "desk"  # field of a row: whose it is


class PageMerge(msgspec.Struct, frozen=True, kw_only=True):
    """How the pages of a call become one.

    Args:
        rows: field of its answer.
        cursor: field of the question: where a page begins.
        number: whether that is a number.
        most: field of the question: how many rows.
        usual: how many, where it does not say.
        place: of a row; the smaller comes first.
        behind: cursor behind a row; None = rows are counted.
        rest: cursor behind all rows of an answer, with how many were left out before; empty = it
            has no more.
        reached: place up to which an answer with more behind it is whole, of its cursor; None =
            that of its last row.
        told: field of the merged answer for the next page's cursor.
        same: mark of a row that machines of one site have in common: it is shown once; None = each
            machine's rows are its own.
        fold: the other fields, of all answers by machine, the home desk first; `desk` is in rows.
    """

    rows: str
    cursor: str
    number: bool
    most: str
    usual: int
    place: Callable[[Row], Place]
    behind: Callable[[Row], str] | None
    rest: Callable[[Answer, int], str]
    reached: Callable[[str], Place] | None = None
    told: str = "next"
    same: Callable[[Row], Place] | None = None
    fold: Callable[[Mapping[str, Answer]], Answer]

    def questions(self, asked: Answer, machines: Sequence[str]) -> dict[str, Answer]:
        """Return what each machine is to be asked; one that has no more is left out.

        Args:
            asked: by the page.
            machines: their names, the home desk's first.
        """
        shown = read_cursor(_text(asked.get(self.cursor)))
        plain = {name: value for name, value in asked.items() if name != self.cursor}
        found = {}
        for machine in machines:
            value = shown.get(machine)
            if value is None:
                found[machine] = plain
            elif value != ENDED and (cursor := self._cursor(value)) is not None:
                found[machine] = plain | {self.cursor: cursor}
        return found

    def merge(self, asked: Answer, answers: Mapping[str, Answer]) -> Answer:
        """Return one answer.

        Args:
            asked: by the page.
            answers: of the machines that gave one.
        """
        shown = dict(read_cursor(_text(asked.get(self.cursor))))
        most = asked.get(self.most) or self.usual
        rows = {machine: list(answer.get(self.rows) or ()) for machine, answer in answers.items()}
        left_out = {machine: self._left_out(shown.get(machine)) for machine in answers}
        rests = {machine: self.rest(answers[machine], left_out[machine]) for machine in answers}
        taken, at, marks = list[Row](), dict.fromkeys(answers, 0), set[Place]()
        while len(taken) < most:
            ready = [machine for machine in answers if at[machine] < len(rows[machine])]
            if not ready:
                break
            first = min(ready, key=lambda machine: self.place(rows[machine][at[machine]]))
            row = rows[first][at[first]]
            if self._held_up(row, [one for one in answers if one not in ready], rests):
                break
            at[first] += 1
            if self._is_new(row, marks):
                taken.append({**row, MACHINE: first})
        for machine in answers:
            while at[machine] < len(rows[machine]) and self._is_known(
                rows[machine][at[machine]], marks
            ):
                at[machine] += 1
            shown |= self._shown_to(machine, rows[machine], at[machine], left_out, rests)
        more = any(shown.get(machine) != ENDED for machine in answers)
        folded = self.fold(answers)
        return {**folded, self.rows: taken, self.told: write_cursor(shown) if more else ""}

    def _is_known(self, row: Row, marks: set[Place]) -> bool:
        """Whether another machine's row that is taken is the same."""
        return self.same is not None and self.same(row) in marks

    def _is_new(self, row: Row, marks: set[Place]) -> bool:
        """Note a row; return whether it is no other machine's as well."""
        if self._is_known(row, marks):
            return False
        if self.same is not None:
            marks.add(self.same(row))
        return True

    def _held_up(self, row: Row, done: list[str], rests: Mapping[str, str]) -> bool:
        """Whether a machine whose rows are all taken may have more before this one."""
        for machine in done:
            rest = rests[machine]
            if rest and (self.reached is None or self.place(row) > self.reached(rest)):
                return True
        return False

    def _shown_to(
        self,
        machine: str,
        rows: list[Row],
        at: int,
        left_out: Mapping[str, int],
        rests: Mapping[str, str],
    ) -> Mapping[str, str]:
        """Return how far a machine is shown now; nothing: as before."""
        if at == len(rows):
            return {machine: rests[machine]}
        if at == 0:
            return {}
        if self.behind is None:
            return {machine: str(left_out[machine] + at)}
        return {machine: self.behind(rows[at - 1])}

    def _left_out(self, value: str | None) -> int:
        number = self._cursor(value) if value and self.behind is None else None
        return number if isinstance(number, int) else 0

    def _cursor(self, value: str) -> str | int | None:
        """Return a machine's own cursor; None: somebody wrote what is none."""
        if not self.number:
            return value
        plain = value.isascii() and value.isdecimal() and len(value) < 19
        return int(value) if plain else None


def _text(cursor: Any) -> str:
    return "" if cursor is None else str(cursor)
