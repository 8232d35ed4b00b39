"""`oborona policy limits`: what limits on outgoing mail would have done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import click
from rich.table import Table

from oborona.accounts.limits.replay import LimitReplay, LimitTrial
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.output import echo_json
from oborona.cli.progress import progress
from oborona.cli.terminal import Terminal, plain
from oborona.counters.window import DAY_S
from oborona.desk.policy.limit_trials import replayed_limits
from oborona.policy.limits import Limit
from oborona.policy.load import Policy

SENDERS: Final = 5  # of each limit that are named


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
    start = time.time() - (since or 7 * DAY_S)
    with ExitStack() as shown:

        def begun(number: int) -> Callable[[], None]:
            return shown.enter_context(progress("messages", number))

        replay = asyncio.run(replayed_limits(policy, context.state, start, begun))
    if as_json:
        echo_json(
            {
                "outgoing": replay.outgoing,
                "limits": [_as_object(one, replay.trials.get(one.name)) for one in policy.limits],
            }
        )
    else:
        _show(policy, replay)


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
