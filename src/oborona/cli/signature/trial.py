"""`oborona signature test`, and what good mail says of a new signature."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import click
import msgspec
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.mailboxes import messages
from oborona.cli.output import echo
from oborona.cli.terminal import Terminal
from oborona.message.parse import parse
from oborona.policy.signatures import (
    BrokenSignature,
    Signature,
    SignatureBook,
    SignatureFinder,
    SignatureFlag,
    SignatureKind,
    SignatureScope,
    check_signature,
)


@click.command()
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="PATH...",
    type=click.Path(path_type=Path, allow_dash=True),
)
@click.option(
    "--value", help="Try this one alone, as `add` would take it; else all that are in force."
)
@click.option(
    "--kind",
    type=click.Choice([kind.value for kind in SignatureKind]),
    default=SignatureKind.PHRASE.value,
)
@click.option(
    "--where",
    type=click.Choice([where.value for where in SignatureScope]),
    default=SignatureScope.ANY.value,
)
@click.option("--inside", is_flag=True, help="A phrase that is found inside longer words, too.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a message.")
@pass_cli_context
def test(
    context: CliContext,
    paths: tuple[Path, ...],
    value: str | None,
    kind: str,
    where: str,
    inside: bool,
    as_json: bool,
) -> None:
    """Say which signatures are found in messages, mboxes, Maildirs or folders; nothing is counted,
    and pictures are not read.
    """
    if value is None:
        _run_trial(context, paths, context.signatures(), as_json=as_json)
        return
    try:
        signature = check_signature(
            Signature(
                id="s1",
                flag=SignatureFlag.SPAM,
                kind=SignatureKind(kind),
                value=value,
                where=SignatureScope(where),
                inside=inside,
            )
        )
    except BrokenSignature as fault:
        raise click.BadParameter(str(fault)) from None
    _run_trial(context, paths, SignatureBook.of([signature]), as_json=as_json)


def _run_trial(
    context: CliContext, paths: tuple[Path, ...], signatures: SignatureFinder, *, as_json: bool
) -> None:
    now, total, hit = time.time(), 0, 0
    counts: Counter[str] = Counter()
    regions = tuple(context.loaded.settings.site.regions.split())
    for path in paths:
        for source in messages(path):
            some = signatures.find(parse(source.raw, regions=regions), now).signatures
            total += 1
            hit += bool(some)
            counts.update(signature.id for signature in some)
            if as_json:
                echo(
                    msgspec.json.encode(
                        {"file": source.name, "signatures": [signature.id for signature in some]}
                    )
                )
    if as_json:
        return
    table = Table("id", "messages", "share", title=f"{hit} of {total} messages have a signature")
    for name, times in counts.most_common():
        table.add_row(name, str(times), f"{times / total:.2%}")
    Terminal().print(table)


def found_in_good_mail(context: CliContext, signature: Signature, ham: Path) -> tuple[int, int]:
    """Return how many of some good messages have a signature, and how many there are.

    Raises:
        Unread: they can't be read.
    """
    book, hits, total = SignatureBook.of([signature]), 0, 0
    regions = tuple(context.loaded.settings.site.regions.split())
    for source in messages(ham):
        total += 1
        hits += bool(book.find(parse(source.raw, regions=regions), 0.0).signatures)
    return hits, total
