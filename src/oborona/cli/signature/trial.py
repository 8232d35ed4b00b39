"""`oborona signature test`."""

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
from oborona.desk.asks.signatures import SignatureTrialQuestion, tried_signatures
from oborona.desk.signatures.trial import found_signatures
from oborona.policy.signatures import SignatureFinder, SignatureKind, SignatureScope


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
    question = SignatureTrialQuestion(
        messages=[],
        value=value,
        kind=SignatureKind(kind),
        where=SignatureScope(where),
        inside=inside,
    )
    _run_trial(context, paths, tried_signatures(context, question), as_json=as_json)


def _run_trial(
    context: CliContext, paths: tuple[Path, ...], signatures: SignatureFinder, *, as_json: bool
) -> None:
    now, total, hit = time.time(), 0, 0
    counts: Counter[str] = Counter()
    for path in paths:
        for source in messages(path):
            [names] = found_signatures(context, signatures, [source.raw], now)
            total += 1
            hit += bool(names)
            counts.update(names)
            if as_json:
                echo(msgspec.json.encode({"file": source.name, "signatures": names}))
    if as_json:
        return
    table = Table("id", "messages", "share", title=f"{hit} of {total} messages have a signature")
    for name, times in counts.most_common():
        table.add_row(name, str(times), f"{times / total:.2%}")
    Terminal().print(table)
