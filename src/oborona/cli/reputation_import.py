"""`oborona reputation import`: what another machine has learned, or a plain list, as pins with an
end.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from oborona.cli.asked import Asked, pass_asked
from oborona.cli.output import echo
from oborona.cli.person import person
from oborona.cli.reputation_change import dry_run, one_line
from oborona.cli.reputation_entity import Entity, entity_named
from oborona.cli.reputation_formats import FORMAT, Export, Said
from oborona.cli.reputation_stored import keyed, read, written
from oborona.cli.span import Span
from oborona.message.shingles import Hasher
from oborona.reputation.flag import Flag
from oborona.reputation.pins import MAX_PINS, Pin
from oborona.stores.pins.store import LAST_TIME, MAX_TEXT

MAX_FILE: Final = 64 << 20  # bytes: far more than there may be pins
WEEK_S: Final = 7 * 86_400.0  # how long what others say holds, unless it is said again


@click.command(name="import")
@click.argument("file", type=click.File("rb"))
@click.option(
    "--flag",
    type=click.Choice([flag.value for flag in Flag]),
    help="Of a plain list: what all of them are.",
)
@click.option("--reason", callback=one_line, help="Of a plain list: why; needed there.")
@click.option(
    "--for",
    "span",
    type=Span(),
    default=WEEK_S,
    show_default="7d",
    help="How long they hold at most.",
)
@click.option(
    "--over", is_flag=True, help="Also replace manual overrides that somebody here has set."
)
@click.option("--skip-broken", is_flag=True, help="Pass over what can't be used, and name it.")
@dry_run
@pass_asked
def import_(
    asked: Asked,
    file: Any,
    flag: str | None,
    reason: str | None,
    span: float,
    over: bool,
    skip_broken: bool,
    dry_run: bool,
) -> None:
    """Override the reputation of all entities of FILE (- is standard input) in one step: all, or
    none if one can't be used.

    FILE is what `export --json` wrote, or a plain list with an entity a line, where # begins a
    comment. An entity with a manual override keeps it, unless --over.
    """
    raw, called = file.read(MAX_FILE + 1), Path(getattr(file, "name", "-")).name
    if len(raw) > MAX_FILE:
        raise click.UsageError(f"{called}: is larger than {MAX_FILE >> 20} MiB")
    now, by = time.time(), person()
    until = now + span
    if not now < until < LAST_TIME:
        raise click.BadParameter("--for must end in the time to come, before the year 10000")
    if raw.lstrip()[:1] == b"{":
        if flag is not None or reason is not None:
            raise click.UsageError(
                "--flag and --reason are of plain lists; this file says both itself"
            )
        origin, said = _export(raw, called)
    else:
        if flag is None or reason is None:
            raise click.UsageError("a plain list needs --flag and --reason")
        origin, said = called, _plain(raw, called, Flag(flag), reason)
    pins: dict[Entity, Pin] = {}
    hasher = keyed(asked)
    for place, one in said:
        try:
            named = _judged(one.entity, hasher)
        except click.BadParameter as fault:
            if not skip_broken:
                raise click.UsageError(
                    f"{called}:{place}: {fault.message}; nothing was imported"
                ) from None
            click.echo(f"oborona: {called}:{place}: {fault.message}", err=True)
            continue
        ends = min(until, one.until) if one.until > 0 else until
        if ends > now:
            pins[named] = Pin(
                type=named.type, hash=named.shingle.hash, name=named.name, flag=one.flag,
                reason=_printable(f"{origin}: {one.say}"), by=by, since=now, until=ends,
            )  # fmt: skip
    if len(pins) > MAX_PINS:
        raise click.UsageError(f"{called}: holds more than {MAX_PINS:,} entities")
    kept = [] if over else _kept(asked, pins, now)
    for named in kept:
        del pins[named]
    if pins and not dry_run:
        with written(asked) as store:
            store.put(
                list(pins.values()),
                origin=origin,
                told=f"{len(pins)} manual overrides from {called}",
            )
    echo(
        f"{len(pins)} {'would be' if dry_run else 'are'} set as {origin} says;"
        f" {len(kept)} keep the manual override that somebody here has set"
    )


def _export(raw: bytes, called: str) -> tuple[str, Iterator[tuple[int, Said]]]:
    """Return where an export comes from, and what it says, each with its place."""
    try:
        found = msgspec.json.decode(raw, type=Export)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise click.UsageError(f"{called}: is no export of Oborona: {fault}") from None
    if found.oborona_reputation != FORMAT:
        raise click.UsageError(
            f"{called}: is of format {found.oborona_reputation}, this Oborona reads {FORMAT}"
        )
    return _printable(found.site) or called, enumerate(found.entities, 1)


def _plain(raw: bytes, called: str, flag: Flag, reason: str) -> Iterator[tuple[int, Said]]:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise click.UsageError(f"{called}: is no text: {fault}") from None
    for number, line in enumerate(text.split("\n"), 1):
        entity = line.partition("#")[0].strip()
        if entity:
            yield number, Said(entity=entity, flag=flag, say=reason)


def _judged(text: str, hasher: Hasher) -> Entity:
    named = entity_named(text, hasher)
    if not named.piece:
        raise click.BadParameter(f"{text!r}: the hash of another machine means nothing here")
    if not named.judged:
        raise click.BadParameter(f"{text!r}: nothing is decided by a {named.kind}")
    return named


def _kept(asked: Asked, pins: dict[Entity, Pin], now: float) -> list[Entity]:
    """Return the entities that somebody here has pinned."""
    with read(asked) as store:
        origins = {} if store is None else store.origins(now)
    return [named for named in pins if origins.get(named.shingle) == ""]


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)[:MAX_TEXT]
