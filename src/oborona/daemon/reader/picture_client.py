"""The pictures of a scan: each is sent to the reader, and its result put back into the message."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

import msgspec

from oborona.daemon.reader.picture_queue import PictureQueue
from oborona.daemon.reader.wire import PictureOutcome, PictureResult, ReaderTask
from oborona.message.findings import quoted
from oborona.message.model import Picture
from oborona.policy.pictures import STOPPED
from oborona.policy.ports import PictureView
from oborona.types import Finding


class PictureReader(Protocol):
    """What looks at pictures and reads them."""

    async def ask(
        self, task: ReaderTask, picture: Picture, *, urgent: bool, within_s: float
    ) -> PictureResult:
        """Return what is in a picture, or why that is not known.

        Raises nothing, and answers in time.
        """
        ...


class LocalPictureReader:
    """A picture queue in this process, for tools that work without the daemon.

    Args:
        queue: its maker closes it.
    """

    def __init__(self, queue: PictureQueue) -> None:
        self._desk = queue

    async def ask(
        self, task: ReaderTask, picture: Picture, *, urgent: bool, within_s: float
    ) -> PictureResult:
        """Return what is in a picture, or why that is not known."""
        try:
            async with asyncio.timeout(within_s):
                return await self._desk.ask(task, picture.sha256, picture.octets, urgent=urgent)
        except TimeoutError:
            return PictureResult(PictureOutcome.LATE)


class PictureClient:
    """Satisfies `oborona.policy.ports.Pictures`.

    Args:
        reading: looks and reads.
        look_s: seconds that looking at all pictures of a message may take.
        read_s: the same for reading them.
        urgent: a mail server waits for the answer.
    """

    def __init__(
        self, reading: PictureReader, *, look_s: float, read_s: float, urgent: bool = True
    ) -> None:
        self._reading = reading
        self._within_s = {ReaderTask.LOOK: look_s, ReaderTask.READ: read_s}
        self._urgent = urgent

    async def look(self, pictures: Sequence[Picture]) -> PictureView:
        """Return the pictures with what is in them, as far as that is known in time."""
        view, _ = await self.tried(ReaderTask.LOOK, pictures)
        return view

    async def read(self, pictures: Sequence[Picture]) -> PictureView:
        """Return the pictures with their text, as far as that is known in time."""
        view, _ = await self.tried(ReaderTask.READ, pictures)
        return view

    async def tried(
        self, task: ReaderTask, pictures: Sequence[Picture]
    ) -> tuple[PictureView, bool]:
        """Do a task on those pictures that it was not done on.

        Return also whether asking again may give more.
        """
        places = [
            place
            for place, picture in enumerate(pictures)
            if not (picture.looked if task is ReaderTask.LOOK else picture.read)
        ]
        within_s = self._within_s[task]
        results = await asyncio.gather(
            *(
                self._reading.ask(task, pictures[place], urgent=self._urgent, within_s=within_s)
                for place in places
            )
        )
        filled, findings = list(pictures), dict[str, Finding]()
        for place, result in zip(places, results, strict=True):
            picture = pictures[place]
            names: tuple[str, ...] = result.found.findings
            if result.outcome is PictureOutcome.STOPPED:
                names = (STOPPED,)
            for name in names:
                findings.setdefault(name, Finding(name, quoted(picture.name or picture.kind)))
            if result.outcome is PictureOutcome.DONE:
                filled[place] = _filled(task, picture, result)
        retry = any(result.outcome.passing for result in results)
        return PictureView(pictures=tuple(filled), findings=tuple(findings.values())), retry


def _filled(task: ReaderTask, picture: Picture, result: PictureResult) -> Picture:
    content = result.found
    if task is ReaderTask.READ:
        return msgspec.structs.replace(picture, read=True, text=content.text)
    return msgspec.structs.replace(
        picture,
        looked=True,
        kind=content.kind or picture.kind,
        width=content.width,
        height=content.height,
        frames=content.frames,
        hashes=content.hashes,
        codes=content.codes,
        read=picture.read or not content.legible,
        text=picture.text or content.text,
    )
