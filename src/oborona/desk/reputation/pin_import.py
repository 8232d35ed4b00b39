"""What another machine has learned, or a plain list, read as pins with an end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from oborona.desk.refusals import MisusedCallError, UnusableValueError
from oborona.desk.reputation.entity import EntityName, entity_named
from oborona.desk.reputation.formats import FORMAT, ExportedEntity, ReputationExport
from oborona.message.shingles import Hasher
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.pins import MAX_PINS, Pin
from oborona.stores.pins.store import MAX_TEXT

MAX_FILE: Final = 64 << 20  # bytes: far more than there may be pins
WEEK_S: Final = 7 * 86_400.0  # how long what others say holds, unless it is said again


class PinFile(NamedTuple):
    """A file that says what entities are.

    Args:
        origin: who says it.
        statements: each with its place.
    """

    origin: str
    statements: Iterator[tuple[int, ExportedEntity]]


class ReadPins(NamedTuple):
    """What a file said.

    Args:
        pins: by entity.
        passed_over: what can't be used, with its place and why.
    """

    pins: dict[EntityName, Pin]
    passed_over: list[str]


def is_export(raw: bytes) -> bool:
    """Tell whether a file is what `export --json` writes, or means to be."""
    return raw.lstrip()[:1] == b"{"


def opened_file(raw: bytes, called: str, flag: ReputationFlag | None, reason: str) -> PinFile:
    """Return what a file says.

    Args:
        raw: the file.
        called: its name.
        flag: of a plain list, what all of them are.
        reason: of a plain list.

    Raises:
        MisusedCallError: it can't be read, or flag and reason are not what it needs.
    """
    if len(raw) > MAX_FILE:
        raise MisusedCallError(f"{called}: is larger than {MAX_FILE >> 20} MiB")
    if is_export(raw):
        if flag is not None:
            raise MisusedCallError("a flag is of plain lists; this file says itself what is what")
        return _export(raw, called)
    if flag is None or not reason:
        raise MisusedCallError("a plain list needs a flag and a reason")
    return PinFile(called, _plain(raw, called, flag, reason))


def read_pins(
    file: PinFile, called: str, hasher: Hasher, *, by: str, now: float, until: float, skip: bool
) -> ReadPins:
    """Return the pins of a file.

    Args:
        file: what it says.
        called: its name.
        hasher: of the site.
        by: who imports it.
        now: Unix seconds.
        until: when they end at the latest.
        skip: pass over what can't be used; else nothing is read.

    Raises:
        MisusedCallError: something can't be used, or there is too much.
    """
    pins, passed_over = dict[EntityName, Pin](), list[str]()
    for place, statement in file.statements:
        try:
            named = _parse_entity(statement.entity, hasher)
        except UnusableValueError as fault:
            if not skip:
                raise MisusedCallError(f"{called}:{place}: {fault}; nothing was imported") from None
            passed_over.append(f"{called}:{place}: {fault}")
            continue
        ends = min(until, statement.until) if statement.until > 0 else until
        if ends > now:
            pins[named] = Pin(
                type=named.type, hash=named.shingle.hash, name=named.name, flag=statement.flag,
                reason=_printable(f"{file.origin}: {statement.say}"), by=by, since=now, until=ends,
            )  # fmt: skip
    if len(pins) > MAX_PINS:
        raise MisusedCallError(f"{called}: holds more than {MAX_PINS:,} entities")
    return ReadPins(pins, passed_over)


def _export(raw: bytes, called: str) -> PinFile:
    """Return where an export comes from, and what it says, each with its place."""
    try:
        exported = msgspec.json.decode(raw, type=ReputationExport)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise MisusedCallError(f"{called}: is no export of Oborona: {fault}") from None
    if exported.oborona_reputation != FORMAT:
        raise MisusedCallError(
            f"{called}: is of format {exported.oborona_reputation}, this Oborona reads {FORMAT}"
        )
    return PinFile(_printable(exported.site) or called, enumerate(exported.entities, 1))


def _plain(
    raw: bytes, called: str, flag: ReputationFlag, reason: str
) -> Iterator[tuple[int, ExportedEntity]]:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise MisusedCallError(f"{called}: is no text: {fault}") from None
    for number, line in enumerate(text.split("\n"), 1):
        entity = line.partition("#")[0].strip()
        if entity:
            yield number, ExportedEntity(entity=entity, flag=flag, say=reason)


def _parse_entity(text: str, hasher: Hasher) -> EntityName:
    named = entity_named(text, hasher)
    if not named.piece:
        raise UnusableValueError(f"{text!r}: the hash of another machine means nothing here")
    if not named.judged:
        raise UnusableValueError(f"{text!r}: nothing is decided by a {named.kind}")
    return named


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)[:MAX_TEXT]
