"""Log lines of a daemon: one event a line on standard error, for people (logfmt) or programs
(JSON).

    event(log, logging.INFO, "verdict", id=..., client=...) → level=info logger=milter pid=7
    msg=verdict id=...

A value may come from a peer: bytes and lone surrogates are shown escaped, whatever does not print
(line breaks, terminal controls, bidirectional marks) too, and it is cut, so that a peer can neither
forge a line nor flood the log. Levels: debug; info = normal; warning = look when there is time;
error = something was lost; critical = we stop. Under journald (JOURNAL_STREAM names our standard
error) lines carry a priority and no time: it adds its own. Bodies and secrets are never given to
`event`; that is the caller's part. Limits: lines over 4,096 bytes may mix with another process's
where standard error is a pipe (PIPE_BUF).
"""

from __future__ import annotations

import json
import logging
import math
import os
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import Enum, StrEnum
from itertools import islice
from typing import Final, TextIO

# Enough for every address, path and reason; a line of ten values stays within PIPE_BUF.
VALUE_CHARS: Final = 1024  # a reason of some ten rules with their words
ITEMS: Final = 32  # of a list
TRACEBACK_CHARS: Final = 16_384  # the end is kept: it names the error

_PRIORITY: Final = {  # of syslog(3), as sd-daemon(3) wants them
    logging.DEBUG: 7,
    logging.INFO: 6,
    logging.WARNING: 4,
    logging.ERROR: 3,
    logging.CRITICAL: 2,
}
_BARE_NOT: Final = frozenset(' "=\\')  # what a value in logfmt cannot hold without quotes

Scalar = str | int | float | bool | None


class LogFormat(StrEnum):
    """How log lines look."""

    TEXT = "text"  # logfmt: key=value
    JSON = "json"  # one object a line


def event(logger: logging.Logger, level: int, message: str, /, **fields: object) -> None:
    """Log one event.

    Args:
        logger: whose it is.
        level: of `logging`.
        message: a constant; whatever varies is a field.
        fields: by name; text and bytes may come from a peer. Own names (level, logger, pid, msg,
            time) give way.
    """
    if logger.isEnabledFor(level):
        # Past Logger.log, which walks the stack for a file and line that no line of ours shows.
        logger.handle(
            logger.makeRecord(
                logger.name, level, "", 0, "%s", (message,), None, extra={"fields": fields}
            )
        )


def crash(
    logger: logging.Logger, level: int, message: str, /, stacks: str, **fields: object
) -> None:
    """Log an event with the stacks of a process that is not this one, as a traceback of this one is
    logged.
    """
    if logger.isEnabledFor(level):
        record = logger.makeRecord(
            logger.name, level, "", 0, "%s", (message,), None, extra={"fields": fields}
        )
        record.exc_text = stacks
        logger.handle(record)


def plain(value: object) -> Scalar:
    """Return a value as a log line may hold it: a number, a truth, None, or text.

    Guaranteed of the text: made of the first `VALUE_CHARS` characters or bytes, the number left out
    stands behind; no lone surrogates. It may hold what does not print, which `logfmt` and
    `json_line` escape.
    """
    if type(value) is str and len(value) <= VALUE_CHARS and value.isascii():  # most of them
        return value
    match value:
        case None | bool():
            return value
        case Enum():
            return plain(value.value)
        case int():  # beyond 64 bits readers of JSON lose digits
            return value if -(2**63) <= value < 2**64 else _cut(hex(value))
        case float():
            return round(value, 6) if math.isfinite(value) else str(value)
        case str():
            return _cut(value)
        case bytes() | bytearray():
            return value[:VALUE_CHARS].decode("utf-8", "backslashreplace") + _more(len(value))
        case BaseException():
            return _cut(f"{type(value).__name__}: {value}")
        case Mapping():
            return _cut(_join(f"{key}:{plain(item)}" for key, item in value.items()))
        case list() | tuple() | set() | frozenset():
            return _cut(_join(str(plain(item)) for item in value))
        case _:
            return _cut(str(value))


def logfmt(fields: Mapping[str, object]) -> str:
    """Return fields as key=value pairs on one line; a value in quotes is a JSON string.

    Guaranteed: every character prints, and the line reads back to the same keys and `plain` values.
    """
    return " ".join(f"{key}={_logfmt_value(plain(value))}" for key, value in fields.items())


def json_line(fields: Mapping[str, object]) -> str:
    """Return fields as one JSON object in ASCII on one line."""
    return json.dumps({key: plain(value) for key, value in fields.items()}, separators=(",", ":"))


class LogFormatter(logging.Formatter):
    """Turns a record into its line, and into further lines that start with "  | " for a traceback
    in text.

    Args:
        format: text or JSON.
        journald: a priority in front of every line, and no time.
    """

    def __init__(self, format: LogFormat, *, journald: bool) -> None:  # noqa: A002 - the setting's name
        super().__init__()
        self._format = format
        self._journald = journald

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's lines, without the last line break."""
        text = self.formatException(record.exc_info) if record.exc_info else record.exc_text or ""
        traceback = text[-TRACEBACK_CHARS:]
        fields = self._fields(record)
        if self._format is LogFormat.JSON:
            lines = [self._json(fields, traceback)]
        else:
            lines = [
                logfmt(fields),
                *(f"  | {_escape(_whole(line))}" for line in traceback.splitlines()),
            ]
        priority = f"<{_PRIORITY.get(record.levelno, 6)}>" if self._journald else ""
        return "\n".join(priority + line for line in lines)

    def _fields(self, record: logging.LogRecord) -> dict[str, object]:
        fields: dict[str, object] = {}
        if not self._journald:
            when = datetime.fromtimestamp(record.created, UTC)
            fields["time"] = when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        fields["level"] = record.levelname.lower()
        fields["logger"] = record.name.removeprefix("oborona.")
        fields["pid"] = record.process
        fields["msg"] = _message(record)
        for key, value in getattr(record, "fields", {}).items():
            fields[key if key not in fields else f"{key}_"] = value
        if record.exc_info and record.exc_info[1]:
            fields.setdefault("error", record.exc_info[1])
        return fields

    @staticmethod
    def _json(fields: dict[str, object], traceback: str) -> str:
        line = json_line(fields)
        return f'{line[:-1]},"traceback":{json.dumps(_whole(traceback))}}}' if traceback else line


def set_up(
    format: LogFormat = LogFormat.TEXT,  # noqa: A002 - the setting's name
    level: int | str = logging.INFO,
    *,
    stream: TextIO | None = None,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Send every log record and warning of this process and its children to standard error, and
    nowhere else.

    Args:
        format: text or JSON.
        level: the least to show.
        stream: instead of standard error.
        environ: where JOURNAL_STREAM is looked up.
    """
    out = stream or sys.stderr
    handler = logging.StreamHandler(out)
    handler.setFormatter(LogFormatter(format, journald=goes_to_journald(out, environ)))
    logging.basicConfig(handlers=[handler], level=level, force=True)
    logging.captureWarnings(True)
    logging.raiseExceptions = False  # a broken standard error is no reason to write more to it


def goes_to_journald(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether JOURNAL_STREAM names this very stream. Source: systemd.exec(5)."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):  # no descriptor under it
        return False
    return environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception as error:  # noqa: BLE001 - another library's record with arguments that do not fit
        return f"{record.msg!s} [{error}]"


def _logfmt_value(value: Scalar) -> str:
    if type(value) is int or type(value) is float:
        return repr(value)
    if not isinstance(value, str):
        return json.dumps(value)
    if value and value.isprintable() and _BARE_NOT.isdisjoint(value):
        return value
    return f'"{_escape(json.dumps(value, ensure_ascii=False)[1:-1])}"'


def _escape(text: str) -> str:
    """Escape, as JSON does, whatever does not print."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)


def _whole(text: str) -> str:
    """Show lone surrogates as escapes, so that the text can be encoded."""
    return text.encode("utf-8", "backslashreplace").decode()


def _cut(text: str) -> str:
    return _whole(text[:VALUE_CHARS]) + _more(len(text))


def _more(length: int) -> str:
    return f"…(+{length - VALUE_CHARS})" if length > VALUE_CHARS else ""


def _join(items: Iterable[str]) -> str:
    first = list(islice(items, ITEMS + 1))
    return ",".join(first[:ITEMS]) + (",…" if len(first) > ITEMS else "")
