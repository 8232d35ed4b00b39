"""Mail that people have sorted: folders of ham and spam, or an index with `label path` in each
line, and the order in which it came.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from email.utils import mktime_tz, parsedate_tz
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final, NamedTuple, Self

from oborona.cli.mailboxes import MailSource, UnreadableMail, messages
from oborona.feedback.final.backtest import SortedMessage
from oborona.feedback.label_extraction import is_mail
from oborona.message.model import Message
from oborona.message.parse import parse

HAM: Final = "ham"
SPAM: Final = "spam"
SEED: Final = 1  # of a shuffle
_WORDS: Final = re.compile(r"[^a-z]+")


class _SortedMessage(NamedTuple):
    name: str
    spam: bool
    time: float
    place: int  # in the file that holds all of them
    size: int


class SortedMail:
    """Sorted mail in an order.

    Its octets wait in a file of no name, so that any amount can be put in order.

    Use it as a context.

    Attributes:
        no_mail: names of what was found and passed over: there is no message in it.
    """

    def __init__(self, sources: Iterator[tuple[MailSource, bool]], *, shuffled: bool) -> None:
        self._octets = TemporaryFile()  # noqa: SIM115 - closed by `__exit__`
        self.no_mail: list[str] = []
        entries = []
        try:
            for source, spam in sources:
                message = parse(source.raw)
                if not is_mail(message):
                    self.no_mail.append(source.name)
                    continue
                time = 0.0 if shuffled else arrival_time(message)
                entries.append(
                    _SortedMessage(source.name, spam, time, self._octets.tell(), len(source.raw))
                )
                self._octets.write(source.raw)
        except BaseException:
            self._octets.close()
            raise
        if shuffled:
            random.Random(SEED).shuffle(entries)  # noqa: S311 - the same for the same mail: no secret hangs on it
        self._kept = entries

    def by_arrival(self) -> None:
        """Put it in the order in which it came; what nobody knows of comes first."""
        self._kept.sort(key=lambda entry: (entry.time, entry.name))

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[SortedMessage]:
        for entry in self._kept:
            self._octets.seek(entry.place)
            yield SortedMessage(entry.name, self._octets.read(entry.size), entry.spam, entry.time)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._octets.close()


def folder_mail(folder: Path) -> Iterator[tuple[MailSource, bool]]:
    """Yield the messages of all folders and mailboxes in a folder in whose name stands the word ham
    or spam.

    Raises:
        Unread: it can't be read, or there is none of one kind.
    """
    try:
        entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise UnreadableMail(f"{folder}: {error.strerror}") from error
    sorts = [(entry, kind) for entry in entries if (kind := _kind(entry.name)) is not None]
    if {kind for _, kind in sorts} != {False, True}:
        raise UnreadableMail(f"{folder}: wanted are folders or mailboxes ham and spam in it")
    for entry, spam in sorts:
        for source in messages(entry):
            yield source, spam


def index_mail(file: Path) -> Iterator[tuple[MailSource, bool]]:
    """Yield the messages of an index in its order; paths are relative to the index.

    Raises:
        Unread: it or a message can't be read, or a line is no `label path`.
    """
    try:
        lines = file.read_text("utf-8", "surrogateescape").splitlines()
    except OSError as error:
        raise UnreadableMail(f"{file}: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        label, _, path = line.strip().partition(" ")
        if not line.strip():
            continue
        if label.lower() not in (HAM, SPAM) or not path.strip():
            raise UnreadableMail(f"{file}:{number}: neither `ham PATH` nor `spam PATH`")
        for source in messages(file.parent / path.strip()):
            yield source, label.lower() == SPAM


def arrival_time(message: Message) -> float:
    """Return when a message came, by its newest Received field with a time, else by its Date.

    Unix seconds, 0 = nobody knows.
    """
    for header in message.headers:
        if header.name == "received" and (time := seconds(header.value.rpartition(";")[2])):
            return time
    return message.date or 0.0


def seconds(text: str) -> float:
    """Return the Unix seconds of a date as mail has it, 0 where it is none."""
    try:
        parsed = parsedate_tz(text[:100])
        return float(mktime_tz(parsed)) if parsed else 0.0
    # what a hostile field makes of that parser
    except (ValueError, OverflowError, IndexError, TypeError):
        return 0.0


def _kind(name: str) -> bool | None:
    """Tell whether a name is one of spam or of ham; None: of neither, or both."""
    words = set(_WORDS.split(name.lower()))
    return None if (SPAM in words) == (HAM in words) else SPAM in words
