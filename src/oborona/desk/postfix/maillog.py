"""What Postfix's log says of the last minutes: which messages smtpd took, and which milter it could
not ask.

The log is where main.cf says (`maillog_file`), in /var/log, or in the journal of systemd.  No more
than its end is read.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from oborona.desk.postfix.instance import PostfixInstance
from oborona.desk.programs import ProgramError, program, run

END_BYTES: Final = 4 << 20  # of the log: some ten thousand messages
PLACES: Final = (Path("/var/log/mail.log"), Path("/var/log/maillog"))

_LINE: Final = re.compile(
    r"(?P<iso>\d{4}-\d\d-\d\dT\S+)?(?P<old>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d)? \S+ "
    r"[\w-]+/(?P<service>[\w/-]+)\[\d+\]: (?P<text>.*)"
)
_TAKEN: Final = re.compile(r"(\w+): client=")
_WHOLE: Final = re.compile(r"(\w+): message-id=")
_AWAY: Final = re.compile(r"warning: connect to Milter service (.*)")


class MailLog(NamedTuple):
    """What was read of it."""

    where: str
    messages: dict[str, float]  # queue id → when smtpd took it, Unix seconds
    away: str  # what smtpd said last of a milter that it could not ask; empty = nothing
    away_at: float  # Unix seconds


def read_log(postfix: PostfixInstance, since: float) -> MailLog | None:
    """Return what the log says since a time; None where there is none, or who asks may not read it.

    Args:
        postfix: whose log.
        since: Unix seconds.
    """
    where, text = _text(postfix, since)
    return None if text is None else parse_log(text, since, where)


def parse_log(text: str, since: float, where: str = "") -> MailLog:
    """Return what lines of a log say since a time; lines of others mean nothing."""
    connected: dict[str, float] = {}
    whole: set[str] = set()
    away, away_at = "", 0.0
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None or (at := _time(match["iso"], match["old"])) < since:
            continue
        words = match["text"]
        if match["service"].endswith("smtpd"):
            if connection := _TAKEN.match(words):
                connected[connection[1]] = at
            elif connection := _AWAY.match(words):
                away, away_at = connection[1], at
        elif match["service"].endswith("cleanup") and (connection := _WHOLE.match(words)):
            whole.add(connection[1])
    return MailLog(
        where, {ident: at for ident, at in connected.items() if ident in whole}, away, away_at
    )


def _text(postfix: PostfixInstance, since: float) -> tuple[str, str | None]:
    log_file = postfix.value("maillog_file")
    for path in [Path(log_file)] if log_file.startswith("/") else PLACES:
        try:
            with path.open("rb") as log:
                log.seek(max(0, path.stat().st_size - END_BYTES))
                return str(path), log.read().decode("utf-8", "replace")
        except OSError:
            continue
    journalctl = program("journalctl")
    if journalctl is None or log_file:
        return "", None
    age_s = int(time.time() - since)
    try:
        text = run(
            [journalctl, "--quiet", "--unit=postfix*", f"--since=-{age_s}s", "--output=short-iso"]
        )
    except ProgramError:
        return "", None
    return "the journal", text or None


def _time(iso: str | None, old: str | None) -> float:
    """Return the time of a line; 0 where it can't be read.

    A year is not told by the old form: it is the one that puts it into the past.
    """
    try:
        if iso:
            return datetime.fromisoformat(iso).timestamp()
        now = datetime.now(UTC).astimezone()
        when = datetime.strptime(f"{now.year} {old}", "%Y %b %d %H:%M:%S").astimezone()
        if when > now + timedelta(days=1):
            when = when.replace(year=now.year - 1)
        return when.timestamp()
    except ValueError:
        return 0.0
