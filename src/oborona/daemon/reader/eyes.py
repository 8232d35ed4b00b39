"""What scans have for eyes: pictures handed to whoever looks and reads, and their results put back
where they belong.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

import msgspec

from oborona.daemon.reader.desk import Desk
from oborona.daemon.reader.frames import Outcome, Result, Task
from oborona.message.findings import quoted
from oborona.message.model import Picture
from oborona.policy.pictures import STOPPED
from oborona.policy.ports import View
from oborona.types import Finding


class Reading(Protocol):
    """Who looks and reads."""

    async def ask(self, task: Task, picture: Picture, *, urgent: bool, within_s: float) -> Result:
        """Return what is in a picture, or why that is not known.

        Raises nothing, and answers in time.
        """
        ...


class Nearby:
    """A desk in this very process, for tools that work without the daemon.

    Args:
        desk: to be closed by who made it.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def ask(self, task: Task, picture: Picture, *, urgent: bool, within_s: float) -> Result:
        """Return what is in a picture, or why that is not known."""
        try:
            async with asyncio.timeout(within_s):
                return await self._desk.ask(task, picture.sha256, picture.octets, urgent=urgent)
        except TimeoutError:
            return Result(Outcome.LATE)


class Eyes:
    """Satisfies `oborona.policy.ports.Pictures`.

    Args:
        reading: looks and reads.
        look_s: seconds that looking at all pictures of a message may take.
        read_s: the same for reading them.
        urgent: a mail server waits for the answer.
    """

    def __init__(
        self, reading: Reading, *, look_s: float, read_s: float, urgent: bool = True
    ) -> None:
        self._reading = reading
        self._within_s = {Task.LOOK: look_s, Task.READ: read_s}
        self._urgent = urgent

    async def look(self, pictures: Sequence[Picture]) -> View:
        """Return the pictures with what is in them, as far as that is known in time."""
        view, _ = await self.tried(Task.LOOK, pictures)
        return view

    async def read(self, pictures: Sequence[Picture]) -> View:
        """Return the pictures with their text, as far as that is known in time."""
        view, _ = await self.tried(Task.READ, pictures)
        return view

    async def tried(self, task: Task, pictures: Sequence[Picture]) -> tuple[View, bool]:
        """Do a task on those pictures that it was not done on.

        Return also whether asking again may give more.
        """
        wanted = [
            place
            for place, picture in enumerate(pictures)
            if not (picture.looked if task is Task.LOOK else picture.read)
        ]
        within_s = self._within_s[task]
        results = await asyncio.gather(
            *(
                self._reading.ask(task, pictures[place], urgent=self._urgent, within_s=within_s)
                for place in wanted
            )
        )
        found, findings = list(pictures), dict[str, Finding]()
        for place, result in zip(wanted, results, strict=True):
            picture = pictures[place]
            names: tuple[str, ...] = result.found.findings
            if result.outcome is Outcome.STOPPED:
                names = (STOPPED,)
            for name in names:
                findings.setdefault(name, Finding(name, quoted(picture.name or picture.kind)))
            if result.outcome is Outcome.DONE:
                found[place] = _filled(task, picture, result)
        again = any(result.outcome.passing for result in results)
        return View(pictures=tuple(found), findings=tuple(findings.values())), again


def _filled(task: Task, picture: Picture, result: Result) -> Picture:
    found = result.found
    if task is Task.READ:
        return msgspec.structs.replace(picture, read=True, text=found.text)
    return msgspec.structs.replace(
        picture,
        looked=True,
        kind=found.kind or picture.kind,
        width=found.width,
        height=found.height,
        frames=found.frames,
        hashes=found.hashes,
        codes=found.codes,
        read=picture.read or not found.legible,
        text=picture.text or found.text,
    )
