"""`oborona signature`: what people have marked as spam or good mail, kept in the state folder."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import shown_time
from oborona.cli.mailboxes import messages
from oborona.cli.output import echo
from oborona.cli.signature.proposals import accept, decline, proposals, propose
from oborona.cli.signature.transfer import export, import_
from oborona.cli.signature.trial import test
from oborona.cli.terminal import Terminal
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.signature_terms import SignatureEndOrder, expire_signature
from oborona.desk.acts.signatures import (
    SignatureNamesOrder,
    SignatureOrder,
    add_unless_good,
    remove_signatures,
)
from oborona.desk.asks.signatures import (
    FILED,
    SignatureListQuestion,
    SignatureQuestion,
    list_signatures,
    show_signature,
)
from oborona.desk.refusals import NothingDoneError
from oborona.desk.signatures.store import ShownSignature
from oborona.policy.signatures import SignatureFlag, SignatureKind, SignatureScope
from oborona.policy.signatures.check import LAST_TIME
from oborona.stores.signatures.rows import SignatureState
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
    order = SignatureOrder(
        value=value,
        flag=SignatureFlag(given["flag"]),
        kind=SignatureKind(given["kind"]),
        where=SignatureScope(given["where"]),
        inside=given["inside"],
        owner=given["owner"],
        reason=given["reason"],
        expires=when(given["expires"], time.time()),
        score=given["score"],
        mode=RuleMode.SHADOW if given["shadow"] else RuleMode.LIVE,
        most=most,
    )
    good = (source.raw for source in messages(ham)) if ham is not None else ()
    try:
        added = add_unless_good(context, terminal_caller(), order, good)
    except NothingDoneError as error:
        click.echo(f"oborona: {error}", err=True)
        click.get_current_context().exit(1)
    if as_json:
        echo(msgspec.json.encode({"id": added.id, "new": added.new}))
    else:
        echo(f"{added.id} {'added' if added.new else 'is the same, and is there already'}")


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
    question = SignatureListQuestion(every=every, owner=owner, marks=marks, by_hits=by_hits)
    listed = list_signatures(context, terminal_caller(), question)
    if as_json:
        for shown in listed.signatures:
            decided = () if shown.state == FILED else ("decided", "decided_by")
            echo(msgspec.json.encode(_object(shown, decided)))
        return
    table = Table(
        "id", "flag", "kind", "what", "owner", "why", "until", "today", "total", "last found"
    )
    for shown in listed.signatures:
        one_, hits = shown.signature, shown.hits
        table.add_row(
            one_.id,
            _flagged(shown),
            one_.kind.value if one_.where is SignatureScope.ANY else f"{one_.kind} in {one_.where}",
            ascii(one_.value)[1:-1] if not one_.value.isprintable() else one_.value,
            one_.owner,
            one_.reason,
            ""
            if not one_.expires
            else shown_time(one_.expires) + (" (expired)" if shown.expired else ""),
            str(hits.today),
            str(hits.total),
            shown_time(hits.last),
        )
    Terminal().print(table)


@signature.command()
@click.argument("name", metavar="ID")
@pass_cli_context
def show(context: CliContext, name: str) -> None:
    """Show everything about a signature, as one JSON object."""
    shown = show_signature(context, terminal_caller(), SignatureQuestion(name=name))
    more = () if shown.state == FILED else ("decided", "decided_by", "evidence")
    echo(msgspec.json.encode(_object(shown, more)))


@signature.command()
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@pass_cli_context
def remove(context: CliContext, names: Sequence[str]) -> None:
    """Take signatures out of use; who did it is kept."""
    order = SignatureNamesOrder(names=list(names))
    for name in remove_signatures(context, terminal_caller(), order).names:
        echo(f"{name} removed")


@signature.command()
@click.argument("name", metavar="ID")
@click.argument("until", metavar="DAYS|DATE|now|never")
@pass_cli_context
def expire(context: CliContext, name: str, until: str) -> None:
    """Set when a signature expires: in a number of days, after a date, at once, or never."""
    now = time.time()
    at = now if until == "now" else 0.0 if until == "never" else when(until, now)
    expire_signature(context, terminal_caller(), SignatureEndOrder(name=name, until=at))
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


def _object(shown: ShownSignature, more: Sequence[str]) -> dict[str, Any]:
    """Return a signature as `--json` shows it."""
    fields = ("state", "expired", "hits", *more)
    return msgspec.structs.asdict(shown.signature) | {name: getattr(shown, name) for name in fields}


def _flagged(shown: ShownSignature) -> str:
    listed, words = shown.signature, [shown.signature.flag.value]
    if listed.mode is RuleMode.SHADOW:
        words.append("shadow")
    if listed.score is not None:
        words.append(f"{listed.score:g}")
    if shown.state not in (FILED, SignatureState.ACTIVE.value):
        words.append(shown.state)
    return " ".join(words)
