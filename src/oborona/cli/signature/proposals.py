"""`oborona signature propose`, `proposals`, `accept`, `decline`: signatures from spam, for a person
to decide about.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.invoking_user import invoking_user
from oborona.cli.mailboxes import messages
from oborona.cli.output import echo
from oborona.cli.signature.store import open_signatures
from oborona.cli.terminal import Terminal
from oborona.desk.owner import as_owner_of
from oborona.errors import StoreError
from oborona.message.model import Message
from oborona.message.parse import parse
from oborona.message.shingles import Hasher
from oborona.policy.signatures import Signature, SignatureBook
from oborona.policy.signatures.check import entity
from oborona.policy.signatures.mining import (
    MAX_MESSAGES,
    MAX_PROPOSED,
    SignatureProposal,
    propose_signatures,
)
from oborona.policy.signatures.rarity import COUNTED, Rarity
from oborona.stores.counters import open_readonly
from oborona.stores.signatures.rows import SignatureState
from oborona.types import Metric, Window


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
    regions = tuple(context.loaded.settings.site.regions.split())
    spam = list(_parsed(spams, regions, MAX_MESSAGES + 1))
    if len(spam) > MAX_MESSAGES:
        click.echo(
            f"oborona: more than {MAX_MESSAGES} messages of spam; the first are looked at", err=True
        )
    rarities: dict[str, Rarity] = {}

    def allowed(candidates: Sequence[SignatureProposal]) -> Iterable[SignatureProposal]:
        rarities.update(_rarities(context, candidates, _parsed(hams, regions)))
        return [candidate for candidate in candidates if rarities[candidate.signature.id].rare]

    mined_proposals = propose_signatures(
        spam[:MAX_MESSAGES], checked_by_ham=bool(hams), allowed=allowed, most=most
    )
    user, now = invoking_user(), time.time()
    rows = [
        (
            msgspec.structs.replace(
                proposal.signature,
                owner=owner or user,
                author=user,
                reason=reason or f"in {proposal.support} of {proposal.of} spam messages",
                created=now,
            ),
            _evidence(proposal, rarities[proposal.signature.id]),
        )
        for proposal in mined_proposals
    ]
    names = [("-", True)] * len(rows)
    if not dry_run:
        with as_owner_of(context.state), open_signatures(context) as store:
            names = store.add(
                [candidate for candidate, _ in rows],
                now=now,
                state=SignatureState.PROPOSED,
                evidence=[evidence for _, evidence in rows],
            )
    _show(
        [
            (name, candidate, evidence)
            for (name, new), (candidate, evidence) in zip(names, rows, strict=True)
            if new
        ],
        as_json=as_json,
    )


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def proposals(context: CliContext, as_json: bool) -> None:
    """List the signatures that wait for a decision."""
    with open_signatures(context) as store:
        rows = [
            (record.signature.id, record.signature, record.evidence)
            for record in store.all(SignatureState.PROPOSED)
        ]
    _show(rows, as_json=as_json)


@click.command()
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@pass_cli_context
def accept(context: CliContext, names: tuple[str, ...]) -> None:
    """Put proposed signatures in force."""
    _decide(context, names, SignatureState.ACTIVE)


@click.command()
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@pass_cli_context
def decline(context: CliContext, names: tuple[str, ...]) -> None:
    """Decline proposed signatures; they are not proposed again."""
    _decide(context, names, SignatureState.DECLINED)


def _decide(context: CliContext, names: tuple[str, ...], state: SignatureState) -> None:
    with as_owner_of(context.state), open_signatures(context) as store:
        for record in [store.get(name) for name in names]:
            if record.state is not SignatureState.PROPOSED:
                raise click.BadParameter(
                    f"{record.signature.id} is no proposal, it is {record.state}"
                )
        for name in names:
            store.decide(name, state, by=invoking_user(), now=time.time())
            echo(f"{name} {state}")


def _parsed(
    paths: tuple[Path, ...], regions: tuple[str, ...], most: int | None = None
) -> Iterator[Message]:
    count = 0
    for path in paths:
        for source in messages(path):
            if count == most:
                return
            count += 1
            yield parse(source.raw, regions=regions)


def _rarities(
    context: CliContext, candidates: Sequence[SignatureProposal], ham: Iterable[Message]
) -> dict[str, Rarity]:
    """Return what good mail and the counters say of each candidate, by its id."""
    book, having, total = (
        SignatureBook.of([candidate.signature for candidate in candidates]),
        Counter[str](),
        0,
    )
    for message in ham:
        total += 1
        having.update(signature.id for signature in book.find(message, 0.0).signatures)
    counted = _counts_of(context, [candidate.signature for candidate in candidates])
    return {
        candidate.signature.id: Rarity(
            support=candidate.support,
            ham=having[candidate.signature.id],
            ham_of=total,
            **counted.get(candidate.signature.id, {}),
        )
        for candidate in candidates
    }


def _counts_of(context: CliContext, signatures: Sequence[Signature]) -> dict[str, dict[str, int]]:
    """Return what the counters remember of entities, by the signature's id.

    Nothing without a store.
    """
    entities = [signature for signature in signatures if signature.kind in COUNTED]
    hasher = Hasher(context.keys().shingles)
    shingles = []
    for signature in entities:
        kind, value = entity(signature)
        piece = bytes.fromhex(value) if len(value) == 64 and kind == "checksum" else value.encode()
        shingles.append(hasher.octets(COUNTED[kind], piece))
    try:
        with open_readonly(context.loaded.settings, context.state) as store:
            rows = asyncio.run(store.read(shingles, time.time())) if shingles else []
    except StoreError as error:
        click.echo(f"oborona: {error}; the counters are not asked", err=True)
        return {}
    return {
        entity.id: {
            "seen": row[Window.FORTNIGHT][Metric.SEEN],
            "spam": row[Window.FORTNIGHT][Metric.SPAM],
            "pardons": row[Window.FORTNIGHT][Metric.PARDONS],
        }
        for entity, row in zip(entities, rows, strict=True)
    }


def _evidence(proposal: SignatureProposal, rarity: Rarity) -> dict[str, Any]:
    return {
        "support": proposal.support,
        "of": proposal.of,
        "fresh": proposal.fresh,
        "good_mail": rarity.words(),
        "expected_share_of_good_mail": rarity.share,
    }


def _show(rows: Sequence[tuple[str, Signature, dict[str, Any]]], *, as_json: bool) -> None:
    if as_json:
        for name, proposal, evidence in rows:
            echo(
                msgspec.json.encode(
                    {
                        "id": name,
                        "kind": proposal.kind,
                        "where": proposal.where,
                        "value": proposal.value,
                        **evidence,
                    }
                )
            )
        return
    table = Table("id", "kind", "what", "spam", "not in others", "good mail")
    for name, proposal, evidence in rows:
        table.add_row(
            name,
            proposal.kind.value
            if proposal.where == "any"
            else f"{proposal.kind} in {proposal.where}",
            proposal.value,
            f"{evidence.get('support')} of {evidence.get('of')}",
            str(evidence.get("fresh")),
            str(evidence.get("good_mail")),
        )
    Terminal().print(table)
