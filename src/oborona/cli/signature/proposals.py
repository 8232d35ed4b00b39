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
from oborona.cli.owner import as_owner_of
from oborona.cli.signature.store import open_signatures
from oborona.cli.terminal import Terminal
from oborona.errors import StoreError
from oborona.message.model import Message
from oborona.message.parse import parse
from oborona.message.shingles import Hasher
from oborona.policy.signatures import Signature, SignatureBook
from oborona.policy.signatures.check import entity
from oborona.policy.signatures.mining import MAX_MESSAGES, MAX_PROPOSED, SignatureProposal
from oborona.policy.signatures.mining import propose_signatures as mined
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
    known: dict[str, Rarity] = {}

    def allowed(candidates: Sequence[SignatureProposal]) -> Iterable[SignatureProposal]:
        known.update(_rarities(context, candidates, _parsed(hams, regions)))
        return [one for one in candidates if known[one.signature.id].rare]

    found = mined(spam[:MAX_MESSAGES], checked_by_ham=bool(hams), allowed=allowed, most=most)
    who, now = invoking_user(), time.time()
    rows = [
        (
            msgspec.structs.replace(
                one.signature,
                owner=owner or who,
                author=who,
                reason=reason or f"in {one.support} of {one.of} spam messages",
                created=now,
            ),
            _evidence(one, known[one.signature.id]),
        )
        for one in found
    ]
    names = [("-", True)] * len(rows)
    if not dry_run:
        with as_owner_of(context.state), open_signatures(context) as store:
            names = store.add(
                [one for one, _ in rows],
                now=now,
                state=SignatureState.PROPOSED,
                evidence=[told for _, told in rows],
            )
    _show(
        [(name, one, told) for (name, new), (one, told) in zip(names, rows, strict=True) if new],
        as_json=as_json,
    )


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def proposals(context: CliContext, as_json: bool) -> None:
    """List the signatures that wait for a decision."""
    with open_signatures(context) as store:
        rows = [
            (one.signature.id, one.signature, one.evidence)
            for one in store.all(SignatureState.PROPOSED)
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
        for one in [store.get(name) for name in names]:
            if one.state is not SignatureState.PROPOSED:
                raise click.BadParameter(f"{one.signature.id} is no proposal, it is {one.state}")
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
    book, having, total = SignatureBook.of([one.signature for one in candidates]), Counter[str](), 0
    for message in ham:
        total += 1
        having.update(one.id for one in book.find(message, 0.0).signatures)
    counted = _counted(context, [one.signature for one in candidates])
    return {
        one.signature.id: Rarity(
            support=one.support,
            ham=having[one.signature.id],
            ham_of=total,
            **counted.get(one.signature.id, {}),
        )
        for one in candidates
    }


def _counted(context: CliContext, signatures: Sequence[Signature]) -> dict[str, dict[str, int]]:
    """Return what the counters remember of entities, by the signature's id.

    Nothing without a store.
    """
    entities = [one for one in signatures if one.kind in COUNTED]
    hasher = Hasher(context.keys().shingles)
    shingles = []
    for one in entities:
        kind, value = entity(one)
        piece = bytes.fromhex(value) if len(value) == 64 and kind == "checksum" else value.encode()
        shingles.append(hasher.octets(COUNTED[kind], piece))
    try:
        with open_readonly(context.loaded.settings, context.state) as store:
            rows = asyncio.run(store.read(shingles, time.time())) if shingles else []
    except StoreError as error:
        click.echo(f"oborona: {error}; the counters are not asked", err=True)
        return {}
    return {
        one.id: {
            "seen": row[Window.FORTNIGHT][Metric.SEEN],
            "spam": row[Window.FORTNIGHT][Metric.SPAM],
            "pardons": row[Window.FORTNIGHT][Metric.PARDONS],
        }
        for one, row in zip(entities, rows, strict=True)
    }


def _evidence(one: SignatureProposal, rarity: Rarity) -> dict[str, Any]:
    return {
        "support": one.support,
        "of": one.of,
        "fresh": one.fresh,
        "good_mail": rarity.words(),
        "expected_share_of_good_mail": rarity.share,
    }


def _show(rows: Sequence[tuple[str, Signature, dict[str, Any]]], *, as_json: bool) -> None:
    if as_json:
        for name, one, told in rows:
            echo(
                msgspec.json.encode(
                    {"id": name, "kind": one.kind, "where": one.where, "value": one.value, **told}
                )
            )
        return
    table = Table("id", "kind", "what", "spam", "not in others", "good mail")
    for name, one, told in rows:
        table.add_row(
            name,
            one.kind.value if one.where == "any" else f"{one.kind} in {one.where}",
            one.value,
            f"{told.get('support')} of {told.get('of')}",
            str(told.get("fresh")),
            str(told.get("good_mail")),
        )
    Terminal().print(table)
