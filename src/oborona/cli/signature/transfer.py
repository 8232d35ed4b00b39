"""`oborona signature import` and `export`: many at once, as lines of text or of JSON."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.invoking_user import invoking_user
from oborona.cli.output import echo
from oborona.cli.signature.store import open_signatures
from oborona.desk.owner import as_owner_of
from oborona.policy.signatures import (
    BrokenSignature,
    Signature,
    SignatureFlag,
    SignatureKind,
    check_signature,
)
from oborona.policy.signatures.model import MAX_SIGNATURES
from oborona.stores.signatures.rows import SignatureState

MAX_FILE: Final = 128 << 20  # bytes: 200,000 signatures as JSON


@click.command(name="import")
@click.argument("file", type=click.File("rb"))
@click.option(
    "--spam",
    "flag",
    flag_value=SignatureFlag.SPAM.value,
    default=SignatureFlag.SPAM.value,
    help="They mark spam (default).",
)
@click.option("--good", "flag", flag_value=SignatureFlag.HAM.value, help="They mark good mail.")
@click.option(
    "--kind",
    type=click.Choice([kind.value for kind in SignatureKind]),
    default=SignatureKind.PHRASE.value,
    show_default=True,
)
@click.option("--owner", default="", help="Who answers for them; default: who adds them.")
@click.option("--reason", default="", help="Why they are signatures.")
@click.option("--author", default="", help="Who adds them; default: you.")
@click.option(
    "--skip-broken", is_flag=True, help="Pass over lines that can't be used, and name them."
)
@pass_cli_context
def import_(context: CliContext, /, file: Any, skip_broken: bool, **given: str) -> None:
    """Add all lines of FILE (- is standard input) in one step: all or, if one can't be used, none.

    A line is a phrase, or what --kind says; lines that `export` wrote are signatures whole. A line
    that begins with # is a comment.
    """
    raw, called = file.read(MAX_FILE + 1), getattr(file, "name", "-")
    if len(raw) > MAX_FILE:
        raise click.UsageError(f"{called}: is larger than {MAX_FILE >> 20} MiB")
    pattern = Signature(
        id="s1",
        flag=SignatureFlag(given["flag"]),
        kind=SignatureKind(given["kind"]),
        value="",
        owner=given["owner"] or given["author"] or invoking_user(),
        reason=given["reason"],
        author=given["author"] or invoking_user(),
        created=time.time(),
    )
    signatures: list[Signature] = []
    for number, line in enumerate(raw.split(b"\n"), 1):
        try:
            signature = _signature(line, pattern)
        except (BrokenSignature, msgspec.DecodeError, UnicodeDecodeError) as fault:
            place = f"{called}:{number}: {fault}"
            if not skip_broken:
                raise click.UsageError(f"{place}; nothing was added") from None
            click.echo(f"oborona: {place}", err=True)
            continue
        if signature is not None:
            signatures.append(signature)
    if len(signatures) > MAX_SIGNATURES:
        raise click.UsageError(f"{called}: holds more than {MAX_SIGNATURES} signatures")
    with as_owner_of(context.state), open_signatures(context) as store:
        added = sum(new for _, new in store.add(signatures, now=pattern.created))
    echo(f"{added} added, {len(signatures) - added} were there already")


def _signature(line: bytes, pattern: Signature) -> Signature | None:
    """Return the signature of a line, None for an empty one or a comment."""
    text = line.decode("utf-8").strip()
    if not text or text.startswith("#"):
        return None
    if text.startswith('{"'):
        return check_signature(
            msgspec.structs.replace(msgspec.json.decode(text, type=Signature), id="s1")
        )
    return check_signature(msgspec.structs.replace(pattern, value=text))


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), default="-")
@pass_cli_context
def export(context: CliContext, file: Path) -> None:
    """Write all active signatures of the store, one JSON object a line, as `import` takes them."""
    with open_signatures(context) as store:
        lines = [
            msgspec.json.encode(record.signature) for record in store.all(SignatureState.ACTIVE)
        ]
    if str(file) == "-":
        for line in lines:
            echo(line)
        return
    try:
        file.write_bytes(b"".join(line + b"\n" for line in lines))
    except OSError as error:
        raise click.FileError(str(file), error.strerror) from error
    echo(f"{len(lines)} signatures in {file}")
