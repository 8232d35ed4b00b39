"""The hold queue of this machine's mail server: Postfix's, or Exim's frozen messages; listed, and
emptied as a person decides.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from re import Pattern
from typing import Final, Protocol

from oborona.cli.outgoing.queue_listing import (
    EXIM_ID,
    POSTFIX_ID,
    QueueListing,
    exim_listing,
    postfix_listing,
)
from oborona.cli.postfix.instance import PostfixInstance
from oborona.cli.programs import begin, program, run

AT_ONCE: Final = 500  # ids on one command line of Exim's


class HoldDecision(StrEnum):
    """What a person wants done with a held message."""

    RELEASE = "release"
    DROP = "drop"


class HoldQueue(Protocol):
    """The mail that a mail server holds."""

    ident: Pattern[str]  # of a queue id

    def listing(self) -> QueueListing:
        """Return what is held."""
        ...

    def carry_out(self, decision: HoldDecision, idents: Sequence[str]) -> None:
        """Do with held messages what was decided; root alone may."""
        ...

    def command(self, decision: HoldDecision, idents: Sequence[str]) -> str:
        """Return what root writes to do the same."""
        ...


def hold_queue(folder: Path | None) -> HoldQueue:
    """Return the hold queue of this machine.

    Args:
        folder: of main.cf, where Postfix has several instances.

    Raises:
        PostfixError: there is no mail server here, or it can't be asked.
    """
    exim = program("exim4") or program("exim")
    if folder is None and exim is not None and program("postconf") is None:
        return EximHoldQueue([exim])
    return PostfixHoldQueue(PostfixInstance(folder))


class PostfixHoldQueue:
    """Postfix's hold queue.

    Args:
        postfix: the instance.

    Raises:
        PostfixError: a tool is not here or failed; methods raise it.
    """

    ident = POSTFIX_ID
    _OPTIONS: Final = {HoldDecision.RELEASE: "-H", HoldDecision.DROP: "-d"}

    def __init__(self, postfix: PostfixInstance) -> None:
        self._postfix = postfix

    def listing(self) -> QueueListing:
        """Return what is on hold."""
        return postfix_listing(self._postfix.run("postqueue", "-j"))

    def carry_out(self, decision: HoldDecision, idents: Sequence[str]) -> None:
        """Let messages go, or throw them away."""
        said = "".join(f"{ident}\n" for ident in idents)
        self._postfix.run("postsuper", self._OPTIONS[decision], "-", "hold", said=said)

    def command(self, decision: HoldDecision, idents: Sequence[str]) -> str:
        """Return the same for a shell of root's."""
        words = [word for ident in idents for word in (self._OPTIONS[decision], ident)]
        return shlex.join(["postsuper", "-c", str(self._postfix.folder), *words, "hold"])


class EximHoldQueue:
    """Exim's frozen messages.

    Args:
        exim: its command, and options.

    Raises:
        ProgramError: Exim is not here or failed; methods raise it.
    """

    ident = EXIM_ID
    _OPTIONS: Final = {HoldDecision.RELEASE: "-Mt", HoldDecision.DROP: "-Mrm"}

    def __init__(self, exim: list[str]) -> None:
        self._exim = exim

    def listing(self) -> QueueListing:
        """Return what is frozen."""
        return exim_listing(run([*self._exim, "-bpr"]))

    def carry_out(self, decision: HoldDecision, idents: Sequence[str]) -> None:
        """Thaw messages and have them delivered, or throw them away.

        Nobody waits for a delivery: it may take minutes.
        """
        for start in range(0, len(idents), AT_ONCE):
            some = idents[start : start + AT_ONCE]
            run([*self._exim, self._OPTIONS[decision], *some])
            if decision is HoldDecision.RELEASE:
                begin([*self._exim, "-M", *some])

    def command(self, decision: HoldDecision, idents: Sequence[str]) -> str:
        """Return the same for a shell of root's."""
        words = shlex.join([*self._exim, self._OPTIONS[decision], *idents])
        if decision is HoldDecision.DROP:
            return words
        return f"{words} && {shlex.join([*self._exim, '-M', *idents])}"
