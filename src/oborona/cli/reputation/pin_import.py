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

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.invoking_user import invoking_user
from oborona.cli.output import echo
from oborona.cli.reputation.entity import EntityName, entity_named
from oborona.cli.reputation.formats import FORMAT, ExportedEntity, ReputationExport
from oborona.cli.reputation.overrides import dry_run, one_line
from oborona.cli.reputation.pin_store import pins_for_reading, pins_for_writing, require_hasher
from oborona.message.shingles import Hasher
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.pins import MAX_PINS, Pin
from oborona.stores.pins.store import LAST_TIME, MAX_TEXT

MAX_FILE: Final = 64 << 20  # bytes: far more than there may be pins
WEEK_S: Final = 7 * 86_400.0  # how long what others say holds, unless it is said again


@click.command(name="import")
@click.argument("file", type=click.File("rb"))
@click.option(
    "--flag",
    type=click.Choice([flag.value for flag in ReputationFlag]),
    help="Of a plain list: what all of them are.",
)
@click.option("--reason", callback=one_line, help="Of a plain list: why; needed there.")
@click.option(
    "--for",
    "span",
    type=DurationParam(),
    default=WEEK_S,
    show_default="7d",
    help="How long they hold at most.",
)
@click.option(
    "--over", is_flag=True, help="Also replace manual overrides that somebody here has set."
)
@click.option("--skip-broken", is_flag=True, help="Pass over what can't be used, and name it.")
@dry_run
@pass_cli_context
def import_(
    context: CliContext,
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
    now, by = time.time(), invoking_user()
    until = now + span
    if not now < until < LAST_TIME:
        raise click.BadParameter("--for must end in the time to come, before the year 10000")
    if raw.lstrip()[:1] == b"{":
        if flag is not None or reason is not None:
            raise click.UsageError(
                "--flag and --reason are of plain lists; this file says both itself"
            )
        origin, statements = _export(raw, called)
    else:
        if flag is None or reason is None:
            raise click.UsageError("a plain list needs --flag and --reason")
        origin, statements = called, _plain(raw, called, ReputationFlag(flag), reason)
    pins: dict[EntityName, Pin] = {}
    hasher = require_hasher(context)
    for place, statement in statements:
        try:
            named = _parse_entity(statement.entity, hasher)
        except click.BadParameter as fault:
            if not skip_broken:
                raise click.UsageError(
                    f"{called}:{place}: {fault.message}; nothing was imported"
                ) from None
            click.echo(f"oborona: {called}:{place}: {fault.message}", err=True)
            continue
        ends = min(until, statement.until) if statement.until > 0 else until
        if ends > now:
            pins[named] = Pin(
                type=named.type, hash=named.shingle.hash, name=named.name, flag=statement.flag,
                reason=_printable(f"{origin}: {statement.say}"), by=by, since=now, until=ends,
            )  # fmt: skip
    if len(pins) > MAX_PINS:
        raise click.UsageError(f"{called}: holds more than {MAX_PINS:,} entities")
    retained = [] if over else _overrides_kept(context, pins, now)
    for named in retained:
        del pins[named]
    if pins and not dry_run:
        with pins_for_writing(context) as store:
            store.put(
                list(pins.values()),
                origin=origin,
                told=f"{len(pins)} manual overrides from {called}",
            )
    echo(
        f"{len(pins)} {'would be' if dry_run else 'are'} set as {origin} says;"
        f" {len(retained)} keep the manual override that somebody here has set"
    )


def _export(raw: bytes, called: str) -> tuple[str, Iterator[tuple[int, ExportedEntity]]]:
    """Return where an export comes from, and what it says, each with its place."""
    try:
        exported = msgspec.json.decode(raw, type=ReputationExport)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise click.UsageError(f"{called}: is no export of Oborona: {fault}") from None
    if exported.oborona_reputation != FORMAT:
        raise click.UsageError(
            f"{called}: is of format {exported.oborona_reputation}, this Oborona reads {FORMAT}"
        )
    return _printable(exported.site) or called, enumerate(exported.entities, 1)


def _plain(
    raw: bytes, called: str, flag: ReputationFlag, reason: str
) -> Iterator[tuple[int, ExportedEntity]]:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise click.UsageError(f"{called}: is no text: {fault}") from None
    for number, line in enumerate(text.split("\n"), 1):
        entity = line.partition("#")[0].strip()
        if entity:
            yield number, ExportedEntity(entity=entity, flag=flag, say=reason)


def _parse_entity(text: str, hasher: Hasher) -> EntityName:
    named = entity_named(text, hasher)
    if not named.piece:
        raise click.BadParameter(f"{text!r}: the hash of another machine means nothing here")
    if not named.judged:
        raise click.BadParameter(f"{text!r}: nothing is decided by a {named.kind}")
    return named


def _overrides_kept(
    context: CliContext, pins: dict[EntityName, Pin], now: float
) -> list[EntityName]:
    """Return the entities that somebody here has pinned."""
    with pins_for_reading(context) as store:
        origins = {} if store is None else store.origins(now)
    return [named for named in pins if origins.get(named.shingle) == ""]


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)[:MAX_TEXT]
