"""`oborona signature import` and `export`: many at once, as lines of text or of JSON."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from oborona.cli.asked import Asked, pass_asked
from oborona.cli.output import echo
from oborona.cli.owner import as_owner_of
from oborona.cli.person import person
from oborona.cli.signature_shown import stored
from oborona.policy.signatures import BrokenSignature, Flag, Kind, Signature, checked
from oborona.policy.signatures.model import MAX_SIGNATURES
from oborona.stores.signatures.rows import State

MAX_FILE: Final = 128 << 20  # bytes: 200,000 signatures as JSON


@click.command(name="import")
@click.argument("file", type=click.File("rb"))
@click.option(
    "--spam",
    "flag",
    flag_value=Flag.SPAM.value,
    default=Flag.SPAM.value,
    help="They mark spam (default).",
)
@click.option("--good", "flag", flag_value=Flag.HAM.value, help="They mark good mail.")
@click.option(
    "--kind",
    type=click.Choice([kind.value for kind in Kind]),
    default=Kind.PHRASE.value,
    show_default=True,
)
@click.option("--owner", default="", help="Who answers for them; default: who adds them.")
@click.option("--reason", default="", help="Why they are signatures.")
@click.option("--author", default="", help="Who adds them; default: you.")
@click.option(
    "--skip-broken", is_flag=True, help="Pass over lines that can't be used, and name them."
)
@pass_asked
def import_(asked: Asked, /, file: Any, skip_broken: bool, **given: str) -> None:
    """Add all lines of FILE (- is standard input) in one step: all or, if one can't be used, none.

    A line is a phrase, or what --kind says; lines that `export` wrote are signatures whole. A line
    that begins with # is a comment.
    """
    raw, called = file.read(MAX_FILE + 1), getattr(file, "name", "-")
    if len(raw) > MAX_FILE:
        raise click.UsageError(f"{called}: is larger than {MAX_FILE >> 20} MiB")
    pattern = Signature(
        id="s1",
        flag=Flag(given["flag"]),
        kind=Kind(given["kind"]),
        value="",
        owner=given["owner"] or given["author"] or person(),
        reason=given["reason"],
        author=given["author"] or person(),
        created=time.time(),
    )
    found: list[Signature] = []
    for number, line in enumerate(raw.split(b"\n"), 1):
        try:
            one = _signature(line, pattern)
        except (BrokenSignature, msgspec.DecodeError, UnicodeDecodeError) as fault:
            place = f"{called}:{number}: {fault}"
            if not skip_broken:
                raise click.UsageError(f"{place}; nothing was added") from None
            click.echo(f"oborona: {place}", err=True)
            continue
        if one is not None:
            found.append(one)
    if len(found) > MAX_SIGNATURES:
        raise click.UsageError(f"{called}: holds more than {MAX_SIGNATURES} signatures")
    with as_owner_of(asked.state), stored(asked) as store:
        added = sum(new for _, new in store.add(found, now=pattern.created))
    echo(f"{added} added, {len(found) - added} were there already")


def _signature(line: bytes, pattern: Signature) -> Signature | None:
    """Return the signature of a line, None for an empty one or a comment."""
    text = line.decode("utf-8").strip()
    if not text or text.startswith("#"):
        return None
    if text.startswith('{"'):
        return checked(msgspec.structs.replace(msgspec.json.decode(text, type=Signature), id="s1"))
    return checked(msgspec.structs.replace(pattern, value=text))


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), default="-")
@pass_asked
def export(asked: Asked, file: Path) -> None:
    """Write all active signatures of the store, one JSON object a line, as `import` takes them."""
    with stored(asked) as store:
        lines = [msgspec.json.encode(one.signature) for one in store.all(State.ACTIVE)]
    if str(file) == "-":
        for line in lines:
            echo(line)
        return
    try:
        file.write_bytes(b"".join(line + b"\n" for line in lines))
    except OSError as error:
        raise click.FileError(str(file), error.strerror) from error
    echo(f"{len(lines)} signatures in {file}")
