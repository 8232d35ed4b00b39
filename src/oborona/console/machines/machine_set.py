"""The machines of a site: who is asked what, at once and each with a deadline, and who was silent.

What all have a part of is asked of all, what one has of that one, anything else of the home desk
(`oborona.call_places`).  A machine that does not answer hides nothing of the others: it is named,
with since when and why.  One that was just silent is not waited for again for some seconds, but by
whoever asks that one alone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from oborona.call_places import SOUGHT, CallPlace, place_of
from oborona.console.desk_client import CallerPlace, DeskClient, DeskError
from oborona.console.machines.cursor import HOME
from oborona.console.machines.merges import MERGES

DEADLINE_S: Final = 2.0  # of other machines, for what all are asked
PATIENCE_S: Final = 5.0  # that a silent one is not waited for again
NOT_HERE: Final = 404
LACKS: Final = 501
REFUSED: Final = 500  # below it a desk has answered, and what it says is about what was asked


class SilentMachine(NamedTuple):
    """A machine that gave no answer.

    Args:
        name: of it; empty: the home desk's.
        since: since when, Unix seconds; 0: it did answer, that it can't.
        why: in words.
    """

    name: str
    since: float
    why: str


class _Silence(msgspec.Struct):
    told: SilentMachine
    tried: float  # time.monotonic


class MachineHearing:
    """What one visit asks of whom, and who was silent.

    Args:
        chosen: the machine that it is about; None: all, or where it is found.
    """

    def __init__(self, chosen: str | None = None) -> None:
        self.chosen = chosen
        self.silent: dict[str, SilentMachine] = {}


class MachineSet:
    """Asks them.

    Args:
        desk: of the home machine.
        others: names of the other ones.
        deadline_s: of these.
        patience_s: that a silent one is not waited for again.
    """

    def __init__(
        self,
        desk: DeskClient,
        others: Sequence[str],
        *,
        deadline_s: float = DEADLINE_S,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._desk = desk
        self._others = tuple(others)
        self._deadline_s = deadline_s
        self._patience_s = patience_s
        self._silent: dict[str, _Silence] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, the home machine's first, which is empty."""
        return (HOME, *self._others)

    def knows(self, name: str) -> bool:
        """Return whether another machine has this name."""
        return name in self._others

    async def ask(
        self,
        heard: MachineHearing,
        call: str,
        asked: object,
        place: CallerPlace,
        answer: Any,
        within_s: float,
    ) -> Any:
        """Make a call where it belongs.

        Args:
            heard: of the visit; is told who was silent, and where what was sought is.
            call: its name.
            asked: a struct, or a dictionary.
            place: whose browser asks.
            answer: type of the answer.
            within_s: seconds that it may take.

        Raises:
            DeskError: it has no answer.
        """
        where = place_of(call)
        if where is CallPlace.HOME:
            return await self._desk.call(call, asked, place, answer, within_s)
        if where is CallPlace.ALL:
            told = msgspec.to_builtins(asked)
            merged = await self._ask_all(heard, call, told, place, within_s)
            return _typed(call, merged, answer)
        if heard.chosen is not None:
            return await self._ask_one(heard, heard.chosen, call, asked, place, answer, within_s)
        try:
            return await self._desk.call(call, asked, place, answer, within_s)
        except DeskError as error:
            if error.status != NOT_HERE or call not in SOUGHT:
                raise
            # one of them has much to tell: it has the time that the page has for it
            questions = dict.fromkeys(self._others, asked)
            found = await self._answers(heard, call, questions, place, within_s, within_s)
            for name, words in found.items():
                if not isinstance(words, DeskError):
                    heard.chosen = name
                    return _typed(call, words, answer)
            raise

    async def _ask_one(
        self,
        heard: MachineHearing,
        name: str,
        call: str,
        asked: object,
        place: CallerPlace,
        answer: Any,
        within_s: float,
    ) -> Any:
        try:
            found = await self._desk.call(call, asked, place._replace(desk=name), answer, within_s)
        except DeskError as error:
            if name != HOME and error.status >= REFUSED:
                self._note(heard, name, error)
                text = f"{name}: {error.text}"
                raise DeskError(
                    error.status, text, error.wait_s, error.needs, why=error.why, store=error.store
                ) from error
            raise
        self._silent.pop(name, None)
        return found

    async def _ask_all(
        self,
        heard: MachineHearing,
        call: str,
        asked: dict[str, Any],
        place: CallerPlace,
        within_s: float,
    ) -> Any:
        merge = MERGES[call]
        names = self.names if heard.chosen is None else (heard.chosen,)
        others_s = min(within_s, self._deadline_s)
        questions = merge.questions(asked, names)
        found = await self._answers(heard, call, questions, place, within_s, others_s)
        answers = {name: one for name, one in found.items() if not isinstance(one, DeskError)}
        errors = {name: one for name, one in found.items() if isinstance(one, DeskError)}
        home = errors.get(HOME)
        if home is not None and home.status < REFUSED and home.status != NOT_HERE:
            raise home  # the session ended, or what is asked can't be
        if not answers and errors:
            raise home or next(iter(errors.values()))
        try:
            return merge.merge(asked, answers)
        except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
            raise DeskError(502, f"{call}: a machine answers what is not expected") from error

    async def _answers(
        self,
        heard: MachineHearing,
        call: str,
        questions: Mapping[str, object],
        place: CallerPlace,
        within_s: float,
        others_s: float,
    ) -> Mapping[str, Any]:
        """Return what machines say at once, in their order, or why one does not.

        Not there is an answer.  Who is silent is in `heard`.
        """

        async def one(name: str, asked: object) -> Any:
            silence = self._just_silent(name)
            if silence is not None and name != HOME and heard.chosen is None:
                heard.silent[name] = silence
                return DeskError(503, silence.why)
            seconds = within_s if name == HOME else others_s
            try:
                found = await self._desk.call(call, asked, place._replace(desk=name), Any, seconds)
            except DeskError as error:
                home_says = name == HOME and error.status < REFUSED
                if not home_says and error.status != NOT_HERE:
                    self._note(heard, name, error)
                return error
            self._silent.pop(name, None)
            return found

        found = await asyncio.gather(*(one(name, asked) for name, asked in questions.items()))
        return dict(zip(questions, found, strict=True))

    def _just_silent(self, name: str) -> SilentMachine | None:
        silence = self._silent.get(name)
        if silence is None or time.monotonic() - silence.tried > self._patience_s:
            return None
        return silence.told

    def _note(self, heard: MachineHearing, name: str, error: DeskError) -> None:
        if error.status < REFUSED or error.status == LACKS:
            heard.silent[name] = SilentMachine(name, 0.0, error.text)
            return
        before = self._silent.get(name)
        since = time.time() if before is None else before.told.since
        told = heard.silent[name] = SilentMachine(name, since, error.text)
        self._silent[name] = _Silence(told, time.monotonic())


def _typed(call: str, words: Any, answer: Any) -> Any:
    try:
        return msgspec.convert(words, answer)
    except msgspec.ValidationError as error:
        raise DeskError(502, f"{call}: a machine answers what is not expected: {error}") from error
