"""Messages out of what an admin has at hand: a message file, an mbox, a Maildir, a folder of message files, standard input."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

# A line that parts two messages of an mbox: "From ann@a.example Fri Nov 20 10:00:00 2026", after an empty line.  The date is asked for,
# so that a sentence that begins with "From" parts nothing.
_SEPARATOR: Final = re.compile(
    rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From [^\n]{1,200}\d{1,2}:\d\d(?::\d\d)?[^\n]{0,40}\d{4}[^\n]{0,20}\r?\n"
)


class Source(NamedTuple):
    """One message and where it came from."""

    name: str  # path; with #N for the N-th message of an mbox; - for standard input
    raw: bytes


def messages(path: Path) -> Iterator[Source]:
    """Yield each message of a file or folder, in order.

    A Maildir gives what is in cur and new; any other folder the files in it and below. A file that begins with an mbox separator and
    holds a second one is an mbox; with one it is a message that somebody saved with its envelope line.

    Raises:
        OSError: it can't be read.
    """
    if str(path) == "-":
        yield Source("-", sys.stdin.buffer.read())
    elif path.is_dir():
        roots = [path / name for name in ("cur", "new")] if (path / "cur").is_dir() else [path]
        for root in roots:
            for file in sorted(root.rglob("*")):
                if file.is_file() and not file.name.startswith("."):
                    yield from messages(file)
    else:
        yield from _split(str(path), path.read_bytes())


def _split(name: str, raw: bytes) -> Iterator[Source]:
    starts = list(_SEPARATOR.finditer(raw)) if raw.startswith(b"From ") else []
    if len(starts) < 2:
        yield Source(name, raw)
        return
    ends = [start.start() for start in starts[1:]] + [len(raw)]
    for number, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        # the empty line before the next separator belongs to it; ">From " was "From "
        body = re.sub(rb"(?m)^>(>*From )", rb"\1", raw[start.end() : end])
        yield Source(
            f"{name}#{number}",
            body[:-2] if body.endswith(b"\r\n\r\n") else body[:-1] if body.endswith(b"\n\n") else body,
        )
