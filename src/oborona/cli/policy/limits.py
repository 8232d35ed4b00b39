"""`oborona policy limits`: what limits on outgoing mail would have done."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any, Final

import click
from rich.table import Table

from oborona import state_files
from oborona.accounts.directory import AccountDirectory
from oborona.accounts.limits.replay import LimitReplay, LimitTrial
from oborona.accounts.store.accounts import AccountStore
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.output import echo_json
from oborona.cli.progress import progress
from oborona.cli.terminal import Terminal, plain
from oborona.counters.window import DAY_S, DAYS
from oborona.ident import to_text
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader
from oborona.message.shingles import NOWHERE
from oborona.policy.limit_table import LimitAction
from oborona.policy.limits import Limit
from oborona.policy.load import Policy
from oborona.policy.outgoing_table import OutgoingOutcome
from oborona.session.judged_message import HELD
from oborona.session.limit_report import PASSED
from oborona.stores.followed_store import READ_WHOLE
from oborona.types import Client, Envelope, Location

SENDERS: Final = 5  # of each limit that are named
_NOT_TAKEN: Final = (f", {LimitAction.REFUSE}", f", {LimitAction.TEMPFAIL}")
_NOT_HELD: Final = (f", {LimitAction.HOLD}",)


@click.command()
@click.option(
    "--since",
    type=DurationParam(),
    help="The journal's messages of the last 30m, 2h, 7d; by default 7d.",
)
@click.option(
    "--policy",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Another policy folder; by default the one in force, as its files are now.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as one JSON object.")
@pass_cli_context
def limits(context: CliContext, since: float | None, folder: Path | None, as_json: bool) -> None:
    """Show which outgoing messages of the journal each limit would have stopped or told of, were it
    live.

    Two weeks before --since are read, too, for what was usual then. What people said of mail, and
    whom a sender had written to before, is not in the journal: such limits are not tried.
    """
    policy = (context if folder is None else context.under(folder)).policy()
    if not policy.limits:
        raise click.ClickException("the policy has no limits that are switched on")
    replay = asyncio.run(_replayed(context, policy, time.time() - (since or 7 * DAY_S)))
    if as_json:
        echo_json(
            {
                "outgoing": replay.outgoing,
                "limits": [_as_object(one, replay.trials.get(one.name)) for one in policy.limits],
            }
        )
    else:
        _show(policy, replay)


async def _replayed(context: CliContext, policy: Policy, start: float) -> LimitReplay:
    replay = LimitReplay(policy, start, _accounts(context.state / state_files.ACCOUNTS, start))
    async with await JournalReader.open(context.state / state_files.JOURNAL) as journal:
        before = start - DAYS * DAY_S
        with progress("messages", await journal.count_since(before)) as one_more:
            async for entry in journal.since(before):
                one_more()
                if isinstance(entry, int):  # damaged in the journal
                    continue
                await replay.take(
                    envelope := _envelope(entry),
                    entry.size,
                    entry.verdict,
                    entry.time,
                    to_text(entry.id),
                    taken=_taken(entry, envelope, policy),
                    location=_location(entry),
                )
    return replay


def _accounts(path: Path, now: float) -> AccountDirectory:
    """Return the accounts of the site as they are now; none where there is no file of them."""
    directory = AccountDirectory()
    if path.exists():
        with AccountStore(path, make=False) as store:
            directory.learn(store.followed(READ_WHOLE, now).accounts, anew=True)
    return directory


def _envelope(entry: JournalEntry) -> Envelope:
    """Return what the journal has of an envelope."""
    return Envelope(
        client=Client(ip=entry.client_ip, unknown=not entry.client_ip),
        helo=entry.helo,
        sender=entry.sender,
        recipients=entry.recipients,
        login=entry.login,
        own=bool(entry.facts.get("outgoing")),
    )


def _location(entry: JournalEntry) -> Location:
    """Return where the client was, as it was known when the message came."""
    country = entry.facts.get("client.country")
    return Location(country=country) if isinstance(country, str) else NOWHERE


def _taken(entry: JournalEntry, envelope: Envelope, policy: Policy) -> bool:
    """Tell whether an outgoing message was taken, by its verdict and the limits of that time."""
    if not policy.outgoing.leaves(envelope):
        return False
    if HELD in entry.findings:
        return True
    outcome = policy.outgoing.outcome(entry.verdict, refuse=policy.verdict.refuse)
    # what was to be held and was not, its mail server refused
    not_taken = (*_NOT_TAKEN, *_NOT_HELD) if policy.verdict.refuse else _NOT_TAKEN
    stopped = any(
        finding.name == PASSED and finding.evidence.endswith(not_taken)
        for finding in entry.findings
    )
    return outcome is OutgoingOutcome.ACCEPT and not stopped


def _as_object(limit: Limit, trial: LimitTrial | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "limit": limit.name,
        "then": limit.then,
        "mode": limit.mode,
        "tried": trial is not None,
    }
    if trial is not None:
        found |= {
            "messages": trial.messages,
            "senders": dict(trial.senders.most_common()),
            "highest": None if trial.highest is None else trial.highest.value,
            "first": trial.first or None,
        }
    return found


def _show(policy: Policy, replay: LimitReplay) -> None:
    console = Terminal()
    console.print(f"{replay.outgoing:,} outgoing messages", highlight=False)
    table = Table("limit", "mode", "then")
    for column in ("messages", "senders", "most was"):
        table.add_column(column, justify="right")
    table.add_column("of whom", overflow="fold")
    for limit in policy.limits:
        trial = replay.trials.get(limit.name)
        if trial is None:
            table.add_row(plain(limit.name), limit.mode, limit.then, "not tried", "", "", "")
            continue
        highest = trial.highest
        table.add_row(
            plain(limit.name),
            limit.mode,
            limit.then,
            f"{trial.messages:,}",
            f"{len(trial.senders):,}",
            "" if highest is None else f"{highest.value:,} of {highest.most:,.0f}",
            plain(
                ", ".join(
                    f"{who} ({number:,})" for who, number in trial.senders.most_common(SENDERS)
                )
            ),
        )
    console.print(table, highlight=False)
