"""What a visit asks of the desk, or of those of several machines, and what it hears of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final, TypeVar, overload
from urllib.parse import urlencode

from oborona.call_places import CallPlace, place_of
from oborona.console.console_parts import ConsoleParts
from oborona.console.console_person import ConsolePerson
from oborona.console.desk_client import ASK_S, AWAY, SLOW, CallerPlace, DeskError
from oborona.console.form_body import Form
from oborona.console.machines.cursor import HOME
from oborona.console.machines.machine_set import MachineHearing, SilentMachine
from oborona.console.store_state import empty_words

MACHINE: Final = "desk"  # of an address or form: whose the thing is
PART_AWAY: Final = frozenset({403, 404, 500, 502, AWAY, SLOW})

T = TypeVar("T")


class DeskVisit(ABC):
    """The part of a visit that asks.

    Args:
        console: what all share.
        place: whose browser asks.
    """

    def __init__(self, console: ConsoleParts, place: CallerPlace) -> None:
        self.console = console
        self.place = place
        self.form = Form()
        self.person: ConsolePerson | None = None
        self._heard = MachineHearing()
        self._not_yet: dict[str, str] = {}

    @abstractmethod
    def query(self, name: str) -> str:
        """Return a word behind the question mark; empty: none."""

    @overload
    async def ask(self, call: str, asked: object = ..., *, within_s: float = ...) -> Any: ...

    @overload
    async def ask(self, call: str, asked: object, answer: type[T], within_s: float = ...) -> T: ...

    async def ask(
        self, call: str, asked: object = None, answer: Any = Any, within_s: float = ASK_S
    ) -> Any:
        """Make a call of the desk as this person, and return its answer.

        Args:
            call: its name.
            asked: a struct, or a dictionary.
            answer: type of the answer.
            within_s: seconds that it may take.

        Raises:
            DeskError: it has no answer; who does not catch it gets the page that says so.
        """
        told = {} if asked is None else asked
        machines = self.console.machines
        if machines is None or place_of(call) is CallPlace.HOME:
            return await self.console.desk.call(call, told, self.place, answer, within_s)
        if self._heard.chosen is None and (name := self._named):
            if not machines.knows(name):
                raise DeskError(404, f"there is no machine {name[:80]!a}")
            self._heard.chosen = name
        return await machines.ask(self._heard, call, told, self.place, answer, within_s)

    async def part(
        self, call: str, asked: object, answer: type[T], within_s: float = ASK_S
    ) -> T | None:
        """Return the answer for one part of a page; None: its store is away or slow, or this person
        may not see it, and the other parts are shown.

        Args:
            call: its name.
            asked: a struct, or a dictionary.
            answer: type of the answer.
            within_s: seconds that it may take.

        Raises:
            DeskError: the session ended, or what is asked can't be.
        """
        try:
            return await self.ask(call, asked, answer, within_s)
        except DeskError as error:
            if error.status not in PART_AWAY:
                raise
            if error.not_yet:
                self._not_yet[call] = error.store
            return None

    def empty(self, call: str) -> str:
        """Return how the store of a part gets filled that was not begun yet; empty: it was, and the
        part is away for another reason.
        """
        return empty_words(self._not_yet[call]) if call in self._not_yet else ""

    # several machines

    @property
    def several(self) -> bool:
        """Whether these pages are of several machines."""
        return self.console.machines is not None

    @property
    def _named(self) -> str:
        return self.query(MACHINE) or self.form.one(MACHINE)

    @property
    def desk(self) -> str:
        """The other machine that this page is about; empty: the home machine, or all."""
        return (self._heard.chosen or self._named) if self.several else ""

    def choose_home(self) -> None:
        """Ask the home machine alone for what follows, where no other one is named."""
        if not self._named:
            self._heard.chosen = HOME

    def machine(self, desk: str = HOME) -> str:
        """Return the name of a machine, as it is shown."""
        node = self.person.node if self.person is not None else ""
        return desk or node or self.console.node

    def at(self, url: str, desk: str | None = None) -> str:
        """Return the address of a page that is about what a machine has.

        Args:
            url: of the page.
            desk: of the machine; None: that of this page.
        """
        desk = self.desk if desk is None else desk
        if not desk:
            return url
        return f"{url}{'&' if '?' in url else '?'}{urlencode({MACHINE: desk}, errors='replace')}"

    def place_of_act(self, call: str) -> str:
        """Return on which machine an act is done, as it is shown; empty: there is one alone."""
        if not self.several:
            return ""
        return self.machine(HOME if place_of(call) is CallPlace.HOME else self.desk)

    @property
    def machines(self) -> Sequence[str]:
        """All machines, the home machine first, which is empty; none where there is one alone."""
        return () if self.console.machines is None else self.console.machines.names

    @property
    def silent(self) -> list[SilentMachine]:
        """The machines that have not answered."""
        return list(self._heard.silent.values())
