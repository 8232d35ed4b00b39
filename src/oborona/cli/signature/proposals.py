"""`oborona signature propose`, `proposals`, `accept`, `decline`: signatures from spam, for a person
to decide about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import msgspec
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.mailboxes import messages
from oborona.cli.output import echo
from oborona.cli.terminal import Terminal
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.signature_proposals import (
    ProposeOrder,
    SignatureAcceptance,
    accept_signatures,
    decline_signatures,
    propose_from,
)
from oborona.desk.acts.signatures import ChangedSignatures, SignatureNamesOrder
from oborona.desk.asks.signatures import ProposalQuestion, ShownProposal, list_proposals
from oborona.policy.signatures.mining import MAX_PROPOSED


@click.command()
@click.option(
    "--spam", "spams", multiple=True, required=True, type=click.Path(path_type=Path, exists=True), metavar="PATH",
    help="Messages that are spam: files, mboxes, Maildirs, folders. May be repeated.",
)  # fmt: skip
@click.option(
    "--ham", "hams", multiple=True, type=click.Path(path_type=Path, exists=True), metavar="PATH",
    help="Good mail to compare with, the more the better. May be repeated.",
)  # fmt: skip
@click.option("--owner", default="", help="Who will answer for them; default: you.")
@click.option("--reason", default="", help="Why; default: how many messages they are from.")
@click.option(
    "--most",
    type=click.IntRange(1, MAX_PROPOSED),
    default=20,
    show_default=True,
    help="Proposals at most.",
)
@click.option("--dry-run", is_flag=True, help="Only show them.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def propose(
    context: CliContext, spams: tuple[Path, ...], hams: tuple[Path, ...], owner: str, reason: str, most: int,
    dry_run: bool, as_json: bool,
) -> None:  # fmt: skip
    """Propose signatures: what spam has in common, and good mail and the counters of good mail have
    not.

    Nothing is in force until `signature accept`; what was declined is not proposed again.
    """
    order = ProposeOrder(spam=[], owner=owner, reason=reason, limit=most, dry=dry_run)
    proposed = propose_from(
        context, terminal_caller(), order, _raw(spams), _raw(hams) if hams else None
    )
    _show(proposed.proposals, as_json=as_json)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def proposals(context: CliContext, as_json: bool) -> None:
    """List the signatures that wait for a decision."""
    waiting = list_proposals(context, terminal_caller(), ProposalQuestion())
    _show(waiting.proposals, as_json=as_json)


@click.command()
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@pass_cli_context
def accept(context: CliContext, names: tuple[str, ...]) -> None:
    """Put proposed signatures in force."""
    order = SignatureAcceptance(names=list(names))
    _say(accept_signatures(context, terminal_caller(), order))


@click.command()
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@pass_cli_context
def decline(context: CliContext, names: tuple[str, ...]) -> None:
    """Decline proposed signatures; they are not proposed again."""
    order = SignatureNamesOrder(names=list(names))
    _say(decline_signatures(context, terminal_caller(), order))


def _say(changed: ChangedSignatures) -> None:
    for name in changed.names:
        echo(f"{name} {changed.state}")


def _raw(paths: tuple[Path, ...]) -> Iterator[bytes]:
    return (source.raw for path in paths for source in messages(path))


def _show(rows: Sequence[ShownProposal], *, as_json: bool) -> None:
    if as_json:
        for row in rows:
            echo(
                msgspec.json.encode(
                    {
                        "id": row.id,
                        "kind": row.signature.kind,
                        "where": row.signature.where,
                        "value": row.signature.value,
                        **row.evidence,
                    }
                )
            )
        return
    table = Table("id", "kind", "what", "spam", "not in others", "good mail")
    for row in rows:
        table.add_row(
            row.id,
            row.signature.kind.value
            if row.signature.where == "any"
            else f"{row.signature.kind} in {row.signature.where}",
            row.signature.value,
            f"{row.evidence.get('support')} of {row.evidence.get('of')}",
            str(row.evidence.get("fresh")),
            str(row.evidence.get("good_mail")),
        )
    Terminal().print(table)
