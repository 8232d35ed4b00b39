"""`oborona recheck look`: one message, or all of one recipient, judged again now.

What would be done, or done.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from typing import Final

import click
import msgspec
from rich.table import Table

from oborona import state_files
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import Terminal, plain
from oborona.daemon.keeper.limits import limits_of
from oborona.daemon.keeper.person_actions import PersonActions
from oborona.desk.owner import as_owner_of
from oborona.errors import ConfigError
from oborona.ident import from_text, time_of_id, to_text
from oborona.recheck.engine.delivered_messages import DeliveredMessages
from oborona.recheck.engine.model import DecidedMoves, NoActionsOrMoves, RecheckCause, RecheckResult
from oborona.recheck.engine.rescorer import AT_ONCE, Rescorer
from oborona.recheck.mailboxes.model import MailboxItem, MoveOutcome, MoveResult
from oborona.recheck.moves import MoveDecision, MoveStore
from oborona.stores.mailboxes import open_mailboxes

MOST: Final = 2000  # messages of a recipient, the newest


class RecheckLookResult(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of one message, and of one copy of it."""

    id: str
    time: float  # Unix seconds
    recipient: str
    sender: str
    subject: str
    then: str  # verdict
    then_score: float
    now: str
    now_score: float
    possible: tuple[str, ...]  # verdicts of now, whatever rules that can't be judged say
    line: float
    why: str
    source: str = ""
    target: str = ""  # empty = it stays where it is
    because: str = ""  # to the inbox: what was learned
    stays: str = ""  # why, where the verdict is another
    mailbox: str = ""  # what its mailbox says of the move


@click.command()
@click.argument("what", metavar="ID|MAILBOX")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show what would be moved, and move nothing; mailboxes are asked, too.",
)
@click.option("--all", "every", is_flag=True, help="Also show messages that stay where they are.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def look(context: CliContext, what: str, dry_run: bool, every: bool, as_json: bool) -> None:
    """Recheck delivered mail now: one message by its ID, or all messages of a recipient in the
    window.
    """
    number = from_text(what.partition(".")[0])
    if number is None and "@" not in what:
        raise click.UsageError(f"{what!r} is no id of a message and no mail address")
    with as_owner_of(context.state):
        looks = asyncio.run(_look_again(context, number, what, dry_run=dry_run))
    if looks is None:
        click.echo("oborona: there is no such message in the journal", err=True)
        click.get_current_context().exit(os.EX_NOINPUT)
    shown = [
        result for result in looks if every or number is not None or result.target or result.stays
    ]
    if as_json:
        for result in shown:
            echo_json(result)
        return
    _show(shown)
    moving = sum(bool(result.target) for result in looks)
    words = "would be moved" if dry_run else "are decided, the keeper moves them"
    echo(f"{len(looks)} copies checked, {moving} {words}")


async def _look_again(
    context: CliContext, number: int | None, address: str, *, dry_run: bool
) -> list[RecheckLookResult] | None:
    """Return what was found; None where there is no such message."""
    settings, now = context.loaded.settings, time.time()
    limits = limits_of(settings)
    actions, path = PersonActions(context.state), context.state / state_files.MOVES
    moves = MoveStore(path) if path.exists() or not dry_run else None
    try:
        async with await DeliveredMessages.open(context.state / state_files.JOURNAL) as journal:
            if number is None:
                ids = await journal.of_recipient(address, now - limits.window_s, MOST)
            else:
                ids = [number]
            versions: Mapping[str, Mapping[str, str]] = await journal.policies()
            decided: DecidedMoves = NoActionsOrMoves() if moves is None else moves
            with context.site() as site:
                rescorer = Rescorer(
                    site,
                    context.policy(),
                    asked=versions,
                    people=actions,
                    made=decided,
                    folders=limits.folders,
                )
                results: list[RecheckResult] = []
                for start in range(0, len(ids), AT_ONCE):
                    entries = await journal.taken(ids[start : start + AT_ONCE])
                    results += await rescorer.again(entries, RecheckCause.ASKED, now)
        if number is not None and not results:
            return None
        only = None if number is not None else address.lower()
        decisions = [
            move
            for result in results
            for move in result.moves
            if only is None or move.recipient.lower() == only
        ]
        answers: dict[tuple[int, str], MoveResult] = {}
        if dry_run:
            answers = await _ask_mailboxes(context, results, decisions)
        elif moves is not None:
            moves.decide(decisions, now=now)
        return [line for second in results for line in _result_rows(second, only, answers)]
    finally:
        actions.close()
        if moves is not None:
            moves.close()


async def _ask_mailboxes(
    context: CliContext, results: Sequence[RecheckResult], decisions: Sequence[MoveDecision]
) -> dict[tuple[int, str], MoveResult]:
    """Return what mailboxes say of moves; nothing is changed in them."""
    settings = context.loaded.settings
    try:
        boxes = open_mailboxes(settings)
    except ConfigError as error:
        click.echo(f"oborona: {error}; mailboxes are not asked", err=True)
        return {}
    if boxes is None:
        return {}
    names = {result.entry.id: result.entry.message_id for result in results}
    answers: dict[tuple[int, str], MoveResult] = {}
    try:
        for source in {decision.source for decision in decisions}:
            some = [decision for decision in decisions if decision.source == source]
            letters = [
                MailboxItem(
                    user=settings.mailboxes.owner(decision.recipient),
                    ident=to_text(decision.message),
                    message_id=names[decision.message],
                    delivered=time_of_id(decision.message),
                )
                for decision in some
            ]
            for decision, done in zip(some, await boxes.look(letters, source), strict=True):
                answers[decision.message, decision.recipient] = done
    finally:
        await boxes.close()
    return answers


def _result_rows(
    result: RecheckResult, only: str | None, answers: Mapping[tuple[int, str], MoveResult]
) -> list[RecheckLookResult]:
    entry, rejudged = result.entry, result.again
    moving = {move.recipient: move for move in result.moves}
    staying = {stay.recipient: stay.why for stay in result.stays}
    lines = []
    for recipient in entry.recipients:
        if only is not None and recipient.lower() != only:
            continue
        move, done = moving.get(recipient), answers.get((entry.id, recipient))
        lines.append(
            RecheckLookResult(
                id=to_text(entry.id),
                time=entry.time,
                recipient=recipient,
                sender=entry.sender,
                subject=entry.subject,
                then=entry.verdict.value,
                then_score=entry.score,
                now="" if rejudged is None else rejudged.verdict.action.value,
                now_score=0.0 if rejudged is None else rejudged.verdict.score,
                possible=()
                if rejudged is None
                else tuple(dict.fromkeys((rejudged.mildest.value, rejudged.severest.value))),
                line=entry.line if rejudged is None else rejudged.verdict.line,
                why=result.why_not if rejudged is None else rejudged.verdict.decided_by,
                source="" if move is None else move.source,
                target="" if move is None else move.target,
                because="" if move is None else move.because,
                stays=staying.get(recipient, ""),
                mailbox=""
                if done is None
                else " ".join(
                    filter(
                        None,
                        ("moves" if done.outcome is MoveOutcome.MOVED else done.outcome, done.say),
                    )
                ),
            )
        )
    return lines


def _show(looks: Sequence[RecheckLookResult]) -> None:
    table = Table("message", "from", "subject", "then", "now", "why", "what")
    for look in looks:
        now = " or ".join(look.possible) if len(look.possible) > 1 else look.now
        outcome = f"{look.source} → {look.target}" if look.target else look.stays or "stays"
        outcome += f", because: {look.because}" if look.because else ""
        table.add_row(
            look.id,
            plain(look.sender),
            plain(look.subject),
            f"{look.then} {look.then_score:.1f}",
            f"{now} {look.now_score:.1f} / {look.line:g}" if look.now else "?",
            plain(look.why),
            plain(" ".join(filter(None, (outcome, f"({look.mailbox})" if look.mailbox else "")))),
        )
    Terminal().print(table)
