"""The queue of this machine's mail server, and what of it is on hold (Postfix) or frozen (Exim):
listed, put on hold, let go and thrown away.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from re import Pattern
from typing import Final, Protocol

from oborona.desk.outgoing.queue_listing import (
    EXIM_ID,
    POSTFIX_ID,
    QueueListing,
    exim_listing,
    postfix_listing,
)
from oborona.desk.postfix.instance import PostfixError, PostfixInstance
from oborona.desk.programs import (
    ProgramError,
    ProgramForbiddenError,
    begin,
    exim_program,
    program,
    run,
)

SENDMAIL: Final = "/usr/sbin/sendmail"
_HANDED_IN: Final = ("-i", "-f", "<>", "--")  # a line of one dot ends nothing; no sender
_NEVER: Final = "0s"
AT_ONCE: Final = 500  # ids on one command line of Exim's


class NoMailServerError(PostfixError):
    """There is none on this machine."""


class HoldDecision(StrEnum):
    """What is to be done with messages."""

    HOLD = "hold"  # of those that wait
    RELEASE = "release"  # of those on hold, and so on
    DROP = "drop"


class HoldQueue(Protocol):
    """The mail in a mail server's queue."""

    ident: Pattern[str]  # of a queue id

    def listing(self) -> QueueListing:
        """Return what is in it, held or not."""
        ...

    def carry_out(self, decision: HoldDecision, idents: Sequence[str]) -> None:
        """Do with messages what was decided; root alone may.

        Those that are gone, or not where the decision looks for them, are passed over.
        """
        ...

    def command(self, decision: HoldDecision, idents: Sequence[str]) -> str:
        """Return what root writes to do the same."""
        ...

    def cancels_after(self) -> str:
        """Return how long held mail is kept, in the mail server's words; empty: for ever."""
        ...

    def hand_in(self, raw: bytes, to: str) -> None:
        """Put a mail of ours into it, without a sender in its envelope.

        Args:
            raw: lines end as the machine's do.
            to: its recipient.
        """
        ...


def hold_queue(folder: Path | None, *, deliver: bool = True) -> HoldQueue:
    """Return the queue of this machine's mail server.

    Args:
        folder: of main.cf, where Postfix has several instances.
        deliver: Exim begins to deliver what is let go, or leaves it to its next queue run.

    Raises:
        NoMailServerError: there is none here.
        PostfixError: it can't be asked.
    """
    exim = exim_program()
    if program("postconf") is None:
        if folder is not None or exim is None:
            raise NoMailServerError("no mail server here (no postconf, no exim)")
        return EximHoldQueue([exim], deliver=deliver)
    return PostfixHoldQueue(PostfixInstance(folder))


class PostfixHoldQueue:
    """Postfix's queue.

    Args:
        postfix: the instance.

    Raises:
        PostfixError: a tool is not here or failed; methods raise it.
    """

    ident = POSTFIX_ID
    _OPTIONS: Final = {
        HoldDecision.HOLD: "-h",
        HoldDecision.RELEASE: "-H",
        HoldDecision.DROP: "-d",
    }

    def __init__(self, postfix: PostfixInstance) -> None:
        self._postfix = postfix

    def listing(self) -> QueueListing:
        """Return what is in it."""
        return postfix_listing(self._postfix.run("postqueue", "-j"))

    def carry_out(self, decision: HoldDecision, idents: Sequence[str]) -> None:
        """Put messages on hold, let them go, or throw them away."""
        said = "".join(f"{ident}\n" for ident in idents)
        self._postfix.run("postsuper", self._OPTIONS[decision], "-", *_where(decision), said=said)

    def command(self, decision: HoldDecision, idents: Sequence[str]) -> str:
        """Return the same for a shell of root's."""
        words = [word for ident in idents for word in (self._OPTIONS[decision], ident)]
        command = ["postsuper", "-c", str(self._postfix.folder), *words, *_where(decision)]
        return shlex.join(command)

    def cancels_after(self) -> str:
        """Return "": its hold queue is kept."""
        return ""

    def hand_in(self, raw: bytes, to: str) -> None:
        """Put a mail of ours into it."""
        command = [program("sendmail") or SENDMAIL, "-C", str(self._postfix.folder)]
        try:
            run([*command, *_HANDED_IN, to], said=raw.decode())
        except ProgramError as error:
            raise PostfixError(str(error)) from error


def _where(decision: HoldDecision) -> list[str]:
    """Return the queues that Postfix looks into: what waits lies in several, its default."""
    return [] if decision is HoldDecision.HOLD else ["hold"]


class EximHoldQueue:
    """Exim's queue.

    Args:
        exim: its command, and options.
        deliver: begin to deliver what is let go; a process that goes on after us does it.

    Raises:
        ProgramError: Exim is not here or failed; methods raise it.
    """

    ident = EXIM_ID
    _OPTIONS: Final = {
        HoldDecision.HOLD: "-Mf",
        HoldDecision.RELEASE: "-Mt",
        HoldDecision.DROP: "-Mrm",
    }

    def __init__(self, exim: list[str], *, deliver: bool = True) -> None:
        self._exim = exim
        self._deliver = deliver

    def listing(self) -> QueueListing:
        """Return what is in it.

        Raises:
            ProgramForbiddenError: Exim shows its queue to root and its administrators alone.
        """
        try:
            return exim_listing(run([*self._exim, "-bpr"]))
        except ProgramError as error:
            if os.geteuid():
                raise ProgramForbiddenError(f"{error}; run it as root") from error
            raise

    def carry_out(self, decision: HoldDecision, idents: Sequence[str]) -> None:
        """Freeze messages, thaw them, or throw them away.

        Nobody waits for a delivery: it may take minutes.
        """
        for start in range(0, len(idents), AT_ONCE):
            some = idents[start : start + AT_ONCE]
            # 1: one of them is gone, the others are done
            run([*self._exim, self._OPTIONS[decision], *some], also=1)
            if decision is HoldDecision.RELEASE and self._deliver:
                begin([*self._exim, "-M", *some])

    def command(self, decision: HoldDecision, idents: Sequence[str]) -> str:
        """Return the same for a shell of root's."""
        words = shlex.join([*self._exim, self._OPTIONS[decision], *idents])
        if decision is not HoldDecision.RELEASE:
            return words
        return f"{words} && {shlex.join([*self._exim, '-M', *idents])}"

    def cancels_after(self) -> str:
        """Return its timeout_frozen_after: then it bounces what is frozen."""
        kept = run([*self._exim, "-bP", "timeout_frozen_after"]).partition("=")[2].strip()
        return "" if kept == _NEVER else kept

    def hand_in(self, raw: bytes, to: str) -> None:
        """Put a mail of ours into it; its daemon delivers it, for the unit that we may be in has no
        network, and its end would kill a delivery.
        """
        run([*self._exim, "-odq", *_HANDED_IN, to], said=raw.decode())
