"""`oborona signature import` and `export`: many at once, as lines of text or of JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.signatures import SignatureImportOrder, import_signatures
from oborona.desk.asks.signature_export import SignatureExportQuestion, export_signatures
from oborona.desk.signatures.text_lines import MAX_FILE
from oborona.policy.signatures import SignatureFlag, SignatureKind


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
    order = SignatureImportOrder(
        content=file.read(MAX_FILE + 1),
        called=getattr(file, "name", "-"),
        flag=SignatureFlag(given["flag"]),
        kind=SignatureKind(given["kind"]),
        owner=given["owner"],
        reason=given["reason"],
        author=given["author"],
        skip_broken=skip_broken,
    )
    done = import_signatures(context, terminal_caller(), order)
    for problem in done.passed_over:
        click.echo(f"oborona: {problem}", err=True)
    echo(f"{done.added} added, {done.same} were there already")


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), default="-")
@pass_cli_context
def export(context: CliContext, file: Path) -> None:
    """Write all active signatures of the store, one JSON object a line, as `import` takes them."""
    found = export_signatures(context, terminal_caller(), SignatureExportQuestion())
    if str(file) == "-":
        for line in found.content.splitlines():
            echo(line)
        return
    try:
        file.write_bytes(found.content)
    except OSError as error:
        raise click.FileError(str(file), error.strerror) from error
    echo(f"{found.signatures} signatures in {file}")
