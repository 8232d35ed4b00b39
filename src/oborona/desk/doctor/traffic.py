"""What `oborona doctor` says of the last minutes: does mail come to us, as much as the mail server
takes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.postfix.instance import PostfixError, PostfixInstance
from oborona.desk.postfix.maillog import MailLog, read_log
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.journal.queries import JournalReader

LATELY_S: Final = 900.0
SETTLED_S: Final = 10.0  # a message that was taken this moment may not be journaled yet
# messages that may have had their reasons: a client that is not shown to us, a door that was shut
# for a moment
FEW: Final = 3


def traffic(context: Site, folder: Path | None = None) -> Iterator[CheckReport]:
    """Hold what the journal has of the last minutes against what Postfix's log says.

    Args:
        context: the settings.
        folder: of main.cf; None: the one that Postfix's tools take by themselves.
    """
    path, now = context.state / state_files.JOURNAL, time.time()
    if not path.exists():
        return
    try:
        last, lately = asyncio.run(_journal(path, now - LATELY_S))
    except StoreError as error:
        yield CheckReport("verdicts", CheckState.WARN, str(error))
        return
    log = None
    if context.loaded.settings.doors.milter.listen:
        try:
            log = read_log(PostfixInstance(folder), now - LATELY_S)
        except PostfixError:
            log = None  # another report says so
    yield _compare_with_log(last, lately, log, now)


async def _journal(path: Path, since: float) -> tuple[float | None, int]:
    """Return when the last verdict was given, and how many were since a time."""
    async with await JournalReader.open(path) as journal:
        recent = await journal.recent(1)
        return (recent[0].time if recent else None), await journal.count_since(since)


def _compare_with_log(
    last: float | None, lately: int, log: MailLog | None, now: float
) -> CheckReport:
    subject, minutes = "verdicts", f"{LATELY_S / 60:.0f} min"
    ours = (
        "none yet" if last is None else f"the last {ago(now - last)} ago, {lately} within {minutes}"
    )
    if log is None:
        state = CheckState.OK if last is not None else CheckState.WARN
        hint = "" if last is not None else "send a message through the mail server, then look again"
        return CheckReport(subject, state, ours, hint)
    before = last or 0.0
    if log.away and log.away_at > before:
        words = f"{ours}; {ago(now - log.away_at)} ago Postfix could not ask a milter: {log.away}"
        return CheckReport(
            subject,
            CheckState.FAIL,
            words,
            f"{log.where} has it; `oborona attach` says what is in the way",
        )
    missed = sum(before < at < now - SETTLED_S for at in log.messages.values())
    words = f"{ours}; Postfix took {len(log.messages)} messages within {minutes}"
    if missed:
        state = CheckState.FAIL if missed >= FEW else CheckState.WARN
        return CheckReport(
            subject,
            state,
            f"{words}, {missed} of them since our last verdict",
            f"what became of them is in {log.where}",
        )
    state = CheckState.WARN if last is None and not log.messages else CheckState.OK
    return CheckReport(subject, state, words)


def ago(seconds: float) -> str:
    """Return how long something is past, in one unit."""
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
