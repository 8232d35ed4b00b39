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

from oborona.cli.postfix.instance import PostfixInstance
from oborona.cli.programs import ProgramError, program, run

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
    taken: dict[str, float] = {}
    whole: set[str] = set()
    away, away_at = "", 0.0
    for line in text.splitlines():
        found = _LINE.match(line)
        if found is None or (at := _time(found["iso"], found["old"])) < since:
            continue
        words = found["text"]
        if found["service"].endswith("smtpd"):
            if one := _TAKEN.match(words):
                taken[one[1]] = at
            elif one := _AWAY.match(words):
                away, away_at = one[1], at
        elif found["service"].endswith("cleanup") and (one := _WHOLE.match(words)):
            whole.add(one[1])
    return MailLog(
        where, {ident: at for ident, at in taken.items() if ident in whole}, away, away_at
    )


def _text(postfix: PostfixInstance, since: float) -> tuple[str, str | None]:
    said = postfix.value("maillog_file")
    for path in [Path(said)] if said.startswith("/") else PLACES:
        try:
            with path.open("rb") as log:
                log.seek(max(0, path.stat().st_size - END_BYTES))
                return str(path), log.read().decode("utf-8", "replace")
        except OSError:
            continue
    journalctl = program("journalctl")
    if journalctl is None or said:
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
