"""What `oborona doctor` says of outgoing mail: are logins told to us, what waits for a person, and
does whoever is to act on accounts act.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.accounts import excess_spool
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.doctor.traffic import ago
from oborona.desk.outgoing.hold_queue import hold_queue
from oborona.desk.outgoing.queue_entry import queue_entries
from oborona.desk.postfix.instance import TOLD_AT_MAIL, PostfixError, PostfixInstance
from oborona.desk.programs import ProgramError
from oborona.desk.site import Site
from oborona.journal.queries import JournalReader

HOUR_S: Final = 3600.0
DAY_S: Final = 24 * HOUR_S
UNTAKEN_S: Final = 60.0  # a mark or an excess; both are taken within seconds
LOGIN_MACRO: Final = "{auth_authen}"


def outgoing(context: Site, folder: Path | None = None) -> Iterator[CheckReport]:
    """Look at what our own people send.

    Args:
        context: the settings.
        folder: of main.cf; None: the one that Postfix's tools take by themselves.
    """
    yield from _logins(context, folder)
    yield from _held(context, folder)
    now = time.time()
    waiting = excess_spool.oldest(context.state / state_files.EXCESSES)
    marked = written(context.state / state_files.QUEUE_DUE)
    if waiting is not None and now - waiting > UNTAKEN_S:
        words = f"excesses of limits wait for the keeper since {ago(now - waiting)}"
        yield CheckReport("inspector", CheckState.FAIL, words, "its log says why")
    if marked is not None and now - marked > UNTAKEN_S:
        yield CheckReport(
            "mail server's queue",
            CheckState.WARN,
            f"nobody has looked to it for {ago(now - marked)}: what banned accounts have in it goes"
            " on, and nobody is told of held mail",
            "oborona outgoing hold-banned does it; systemctl enable --now oborona-queue.path has it"
            " done from now on",
        )


def written(path: Path) -> float | None:
    """Return when a file was written, Unix seconds; None: it is not there, or no more."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return None


def _logins(context: Site, folder: Path | None) -> Iterator[CheckReport]:
    """Is there a service with logins, does Postfix tell them, and have we heard any?"""
    subject, journal = "logins", context.state / state_files.JOURNAL
    if not context.loaded.settings.doors.milter.listen or not journal.exists():
        return
    try:
        postfix = PostfixInstance(folder)
        names = [smtpd.name for smtpd in postfix.smtpds if smtpd.logins]
        told = LOGIN_MACRO in postfix.value(TOLD_AT_MAIL).replace(",", " ").split()
    except PostfixError:
        return  # another report says so
    if not names:
        return
    where = ", ".join(names)
    if not told:
        yield CheckReport(
            subject,
            CheckState.FAIL,
            f"people log in at {where}, and Postfix does not tell us who: mail of no account",
            f"add {LOGIN_MACRO} to {TOLD_AT_MAIL} in main.cf",
        )
        return
    number = asyncio.run(_number_of_logins(journal))
    if number:
        yield CheckReport(subject, CheckState.OK, f"{number} sent mail within a day, at {where}")
    else:
        words = f"people may log in at {where}; we heard of no login within a day"
        yield CheckReport(subject, CheckState.WARN, words, "send a message there, then look again")


async def _number_of_logins(path: Path) -> int:
    async with await JournalReader.open(path) as journal:
        return await journal.number_of_logins(time.time() - DAY_S)


def _held(context: Site, folder: Path | None) -> Iterator[CheckReport]:
    """What Oborona had held, and how long nobody has looked at it."""
    subject, now = "held mail", time.time()
    try:
        queue = hold_queue(folder)
    except PostfixError:
        return  # there is none here
    try:
        listing, kept = queue.listing().held, queue.cancels_after()
    except (PostfixError, ProgramError) as error:
        yield CheckReport(subject, CheckState.WARN, f"the queue can't be listed: {error}")
        return
    if kept:
        yield CheckReport(
            subject,
            CheckState.WARN,
            f"Exim cancels what is frozen for {kept}, and bounces it: nobody may have looked at it",
            "timeout_frozen_after = 0s in its configuration, on Debian by"
            " MAIN_TIMEOUT_FROZEN_AFTER (docs/mail-servers/exim.md)",
        )
    ours = [one.queued.since for one in queue_entries(context, listing) if one.ours]
    if not ours:
        yield CheckReport(subject, CheckState.OK, "none waits")
        return
    old = now - min(ours)
    words = f"{len(ours)} messages wait for a person to decide, the oldest for {ago(old)}"
    hours = context.loaded.settings.alarm.held_hours
    state = CheckState.WARN if hours and old > hours * HOUR_S else CheckState.OK
    yield CheckReport(subject, state, words, "oborona outgoing held")
