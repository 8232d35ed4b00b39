"""People are told of outgoing mail that is held and that nobody has looked at, once a day; its
senders some minutes after it was.

The keeper may not look into the mail server's queue: a mark starts the unit that may
(`oborona-queue.path`), which writes down what is held, and tells the senders.
"""

from __future__ import annotations

import asyncio
import logging
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.accounts.held_mail import HOUR_S, HeldMail, HeldMailStep, HeldMailTimes, next_step
from oborona.accounts.time_mark import TimeMark
from oborona.daemon.alarm.alarm import AlertDispatcher
from oborona.errors import StoreError
from oborona.telemetry.alert import Alert, AlertKind
from oborona.telemetry.trouble import TroubleNotice

LOOK_S: Final = 60.0  # between looks: four calls of the system
SETTLED_S: Final = 60.0  # after the last hold: a burst is told of at once
SENDERS_S: Final = 600.0  # between two looks into the queue for senders' sake
LARGEST: Final = 1 << 20  # octets of what is written down; ten accounts take 2 kB
DAY_HOURS: Final = 48.0  # from so many hours on days are told

log = logging.getLogger("oborona.accounts")
_MAIL: Final = msgspec.json.Decoder(HeldMail)


class HeldMailWatch:
    """The watch of one keeper.

    Args:
        state: state folder.
        hours: that held mail may wait before people are told; 0: they are not.
        alarm: tells them.
        clock: Unix seconds.
        senders: whoever looks into the queue tells senders, too.
    """

    def __init__(
        self,
        state: Path,
        hours: float,
        alarm: AlertDispatcher,
        clock: Callable[[], float],
        *,
        senders: bool,
    ) -> None:
        self._senders = senders
        self._state = state
        self._hours = hours
        self._alarm = alarm
        self._clock = clock
        self._held = TimeMark(state / state_files.HELD_LAST)
        self._told = TimeMark(state / state_files.HELD_TOLD)
        self._asked = 0.0
        self._trouble = TroubleNotice(
            "nobody is told of held mail", "people are told of held mail again"
        )

    async def run(self) -> None:
        """Ask and tell, for ever."""
        while True:
            await self.step()
            await asyncio.sleep(LOOK_S)

    async def step(self) -> None:
        """Do what is due now; trouble is said once."""
        with self._trouble.noted():
            await self._do()

    async def _do(self) -> None:
        now, mail = self._clock(), self._mail()
        held = self._held.time()
        times = HeldMailTimes(held=held, told=self._told.time(), asked=self._asked)
        step = next_step(now, self._hours, mail, times) if self._hours else HeldMailStep.WAIT
        seen = 0.0 if mail is None or mail.at > now else mail.at
        unknown = self._senders and held > seen and now - held >= SETTLED_S
        if step is HeldMailStep.ASK or (unknown and not 0 <= now - self._asked < SENDERS_S):
            (self._state / state_files.QUEUE_DUE).touch(0o600)
            self._asked = now
        elif step is not HeldMailStep.WAIT:
            await self._alarm.raise_(
                alert_of(mail, now)
                if mail is not None and step is HeldMailStep.TELL
                else unseen_alert(mail, held, now)
            )
            self._told.set(now)

    def _mail(self) -> HeldMail | None:
        """Return what was written down.

        Raises:
            StoreError: it is no such thing.
            OSError: it can't be read.
        """
        path = self._state / state_files.QUEUE_HELD
        try:
            with path.open("rb") as file:
                return _MAIL.decode(file.read(LARGEST))
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            path.unlink()  # it is asked for again
            raise StoreError(f"{path}: damaged") from None


def alert_of(mail: HeldMail, now: float) -> Alert:
    """Return what people are told of held mail, with the commands that settle it."""
    number = f"{mail.number} messages are" if mail.number != 1 else "1 message is"
    lines = [f"{login}: {count}" for login, count in mail.accounts]
    login = shlex.quote(mail.accounts[0][0]) if mail.accounts else "LOGIN"
    return Alert(
        kind=AlertKind.HELD,
        title=f"{number} held, and the oldest has waited for {_span(now - mail.oldest)}",
        text="\n".join(
            [
                "Their senders are not told, and they wait in the queue until somebody decides.",
                *lines,
                "",
                "oborona outgoing held",
                f"oborona outgoing release --login {login}    (or by queue ids)",
                f"oborona outgoing drop --login {login}    (or by queue ids)",
                "",
            ]
        ),
        time=now,
        evidence={
            "number": mail.number,
            "oldest": mail.oldest,
            "accounts": [{"account": login, "number": count} for login, count in mail.accounts],
        },
    )


def unseen_alert(mail: HeldMail | None, held: float, now: float) -> Alert:
    """Return what people are told where nobody could say what is held.

    Args:
        mail: what was written down when somebody could; None = never.
        held: Unix seconds, when a message was held last.
        now: Unix seconds.
    """
    known = "" if mail is None else f"{_span(now - mail.at)} ago it was {mail.number}. "
    last = f"The last message was held {_span(now - held)} ago. " if held else ""
    return Alert(
        kind=AlertKind.HELD,
        title="mail is held, and nobody can say how much",
        text=(
            f"{last}{known}Nobody has looked into the mail server's queue since"
            " the daemon asked for it. On the machine of the mail server, as root:\n\n"
            "oborona outgoing held\n"
            "systemctl enable --now oborona-queue.path; systemctl status oborona-queue\n"
        ),
        time=now,
        evidence={"held": held, "number": None if mail is None else mail.number},
    )


def _span(seconds: float) -> str:
    hours = seconds / HOUR_S
    return f"{hours:.0f} hours" if hours < DAY_HOURS else f"{hours / 24:.0f} days"
