"""`oborona signature`: what people have marked as spam or good mail, kept in the state folder."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import shown_time
from oborona.cli.invoking_user import invoking_user
from oborona.cli.output import echo
from oborona.cli.signature.proposals import accept, decline, proposals, propose
from oborona.cli.signature.store import as_object, open_signatures
from oborona.cli.signature.transfer import export, import_
from oborona.cli.signature.trial import found_in_good_mail, test
from oborona.cli.terminal import Terminal
from oborona.desk.owner import as_owner_of
from oborona.policy.signatures import (
    BrokenSignature,
    Signature,
    SignatureFlag,
    SignatureKind,
    SignatureScope,
    check_signature,
)
from oborona.policy.signatures.check import LAST_TIME
from oborona.stores.signatures.rows import SignatureHits, SignatureState
from oborona.types import RuleMode

_KINDS: Final = click.Choice([kind.value for kind in SignatureKind])


@click.group()
def signature() -> None:
    """Show, add, remove, test and propose signatures; running workers follow within half a
    second.
    """


for command in (test, import_, export, propose, proposals, accept, decline):
    signature.add_command(command)


@signature.command()
@click.argument("value")
@click.option(
    "--spam",
    "flag",
    flag_value=SignatureFlag.SPAM.value,
    default=SignatureFlag.SPAM.value,
    help="It marks spam (default).",
)
@click.option("--good", "flag", flag_value=SignatureFlag.HAM.value, help="It marks good mail.")
@click.option(
    "--kind",
    type=_KINDS,
    default=SignatureKind.PHRASE.value,
    show_default=True,
    help="Kind of VALUE.",
)
@click.option(
    "--where",
    type=click.Choice([where.value for where in SignatureScope]),
    default=SignatureScope.ANY.value,
    show_default=True,
)
@click.option("--inside", is_flag=True, help="A phrase that is found inside longer words, too.")
@click.option("--owner", default="", help="Who answers for it; default: who adds it.")
@click.option("--reason", required=True, help="Why: stands in the header of mail that it decides.")
@click.option(
    "--expires",
    metavar="DAYS|DATE",
    default="",
    help="Days from now, or the last day; default: never.",
)
@click.option("--score", type=float, help="Its own, instead of that of the rule for all.")
@click.option("--shadow", is_flag=True, help="Shadow mode: counted and explained, without a score.")
@click.option(
    "--ham",
    type=click.Path(path_type=Path, exists=True),
    help="Good mail: refuse it if it is found there.",
)
@click.option(
    "--most",
    type=float,
    default=0.001,
    show_default=True,
    help="Share of --ham that it may be found in.",
)
@click.option("--json", "as_json", is_flag=True)
@pass_cli_context
def add(
    context: CliContext, /, value: str, ham: Path | None, most: float, as_json: bool, **given: Any
) -> None:
    """Add a signature; VALUE is a phrase, or what --kind says.

    Exit status 1 when good mail has it.
    """
    now = time.time()
    try:
        checked = check_signature(
            Signature(
                id="s1",
                flag=SignatureFlag(given["flag"]),
                kind=SignatureKind(given["kind"]),
                value=value,
                where=SignatureScope(given["where"]),
                inside=given["inside"],
                owner=given["owner"] or invoking_user(),
                reason=given["reason"],
                author=invoking_user(),
                created=now,
                expires=when(given["expires"], now),
                score=given["score"],
                mode=RuleMode.SHADOW if given["shadow"] else RuleMode.LIVE,
            )
        )
    except BrokenSignature as fault:
        raise click.BadParameter(str(fault)) from None
    if ham is not None and checked.flag is SignatureFlag.SPAM:
        hits, total = found_in_good_mail(context, checked, ham)
        if hits > most * total:
            click.echo(f"oborona: not added: {hits} of {total} good messages have it", err=True)
            click.get_current_context().exit(1)
    with as_owner_of(context.state), open_signatures(context) as store:
        ((name, new),) = store.add([checked], now=now)
    if as_json:
        echo(msgspec.json.encode({"id": name, "new": new}))
    else:
        echo(f"{name} {'added' if new else 'is the same, and is there already'}")


@signature.command(name="list")
@click.option("--all", "every", is_flag=True, help="Also what was removed or declined.")
@click.option("--owner", help="Of this owner alone.")
@click.option(
    "--marks",
    is_flag=True,
    help=(
        "Also the entries of lists with the flag `mark`, whose words rules count: thousands "
        "of them."
    ),
)
@click.option(
    "--hits", "by_hits", is_flag=True, help="The most found today first; default: the newest last."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def list_(
    context: CliContext, every: bool, owner: str | None, marks: bool, by_hits: bool, as_json: bool
) -> None:
    """List signatures of policy files and of the store, with how often each was found."""
    now = time.time()
    rows: list[tuple[Signature, str, dict[str, Any]]] = [
        (signature, "file", {}) for signature in context.policy().signatures.values()
    ]
    with open_signatures(context) as store:
        hits = store.hits(now)
        states = tuple(SignatureState) if every else (SignatureState.ACTIVE,)
        rows += [
            (
                signature.signature,
                signature.state.value,
                {"decided": signature.decided, "decided_by": signature.decided_by},
            )
            for signature in store.all(*states)
        ]
    rows = [
        row
        for row in rows
        if (owner is None or row[0].owner == owner)
        and (marks or row[0].flag is not SignatureFlag.MARK)
    ]
    if by_hits:
        rows.sort(key=lambda row: (-_hits(hits, row[0]).today, -_hits(hits, row[0]).total))
    if as_json:
        for one_, state, more in rows:
            echo(msgspec.json.encode(as_object(one_, state, _hits(hits, one_), now) | more))
        return
    table = Table(
        "id", "flag", "kind", "what", "owner", "why", "until", "today", "total", "last found"
    )
    for one_, state, _ in rows:
        hit_counts = _hits(hits, one_)
        table.add_row(
            one_.id,
            _flagged(one_, state),
            one_.kind.value if one_.where is SignatureScope.ANY else f"{one_.kind} in {one_.where}",
            ascii(one_.value)[1:-1] if not one_.value.isprintable() else one_.value,
            one_.owner,
            one_.reason,
            ""
            if not one_.expires
            else shown_time(one_.expires) + (" (expired)" if one_.expired(now) else ""),
            str(hit_counts.today),
            str(hit_counts.total),
            shown_time(hit_counts.last),
        )
    Terminal().print(table)


@signature.command()
@click.argument("name", metavar="ID")
@pass_cli_context
def show(context: CliContext, name: str) -> None:
    """Show everything about a signature, as one JSON object."""
    now = time.time()
    with open_signatures(context) as store:
        hits = store.hits(now)
        filed = context.policy().signatures.get(name)
        if filed is not None:
            echo(msgspec.json.encode(as_object(filed, "file", _hits(hits, filed), now)))
            return
        record = store.get(name)
        more = {
            "decided": record.decided,
            "decided_by": record.decided_by,
            "evidence": record.evidence,
        }
        echo(
            msgspec.json.encode(
                as_object(record.signature, record.state.value, _hits(hits, record.signature), now)
                | more
            )
        )


@signature.command()
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@pass_cli_context
def remove(context: CliContext, names: Iterable[str]) -> None:
    """Take signatures out of use; who did it is kept."""
    with as_owner_of(context.state), open_signatures(context) as store:
        for record in [
            store.get(name) for name in names
        ]:  # all of them are there, or nothing is done
            name = record.signature.id
            store.decide(name, SignatureState.REMOVED, by=invoking_user(), now=time.time())
            echo(f"{name} removed")


@signature.command()
@click.argument("name", metavar="ID")
@click.argument("until", metavar="DAYS|DATE|now|never")
@pass_cli_context
def expire(context: CliContext, name: str, until: str) -> None:
    """Set when a signature expires: in a number of days, after a date, at once, or never."""
    now = time.time()
    at = now if until == "now" else 0.0 if until == "never" else when(until, now)
    with as_owner_of(context.state), open_signatures(context) as store:
        store.expire(name, at, now=now)
    echo(f"{name} {'never expires' if not at else 'expires ' + shown_time(at)}")


def when(text: str, now: float) -> float:
    """Return Unix seconds of an end: days from now, or the end of a day, UTC; 0 for none.

    Raises:
        click.BadParameter: it is neither.
    """
    if not text:
        return 0.0
    try:
        if text.isascii() and text.isdigit():
            at = now + int(text) * 86_400 if len(text) <= 5 else 0.0
        else:
            at = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp() + 86_400
    except ValueError:
        at = 0.0
    if now < at <= LAST_TIME:
        return at
    raise click.BadParameter(
        f"{text!r} is neither a number of days, at most 99999, nor a day to come such as 2026-12-31"
    )


def _hits(hits: dict[str, SignatureHits], counted: Signature) -> SignatureHits:
    return hits.get(counted.id, SignatureHits())


def _flagged(listed: Signature, state: str) -> str:
    words = [listed.flag.value]
    if listed.mode is RuleMode.SHADOW:
        words.append("shadow")
    if listed.score is not None:
        words.append(f"{listed.score:g}")
    if state not in ("file", SignatureState.ACTIVE.value):
        words.append(state)
    return " ".join(words)
