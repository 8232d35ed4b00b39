"""`oborona policy limits`: what limits on outgoing mail would have done."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import click
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.output import echo_json
from oborona.cli.progress import progress
from oborona.cli.terminal import Terminal, plain
from oborona.counters.window import DAY_S
from oborona.desk.asks.limits import LimitsQuestion, TriedLimit, TriedLimits, tried_limits

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
    with ExitStack() as shown:

        def begun(number: int) -> Callable[[], None]:
            return shown.enter_context(progress("messages", number))

        site = context if folder is None else context.under(folder)
        tried = tried_limits(site, LimitsQuestion(since_s=since or 7 * DAY_S), begun)
    if not tried.limits:
        raise click.ClickException("the policy has no limits that are switched on")
    if as_json:
        limits = [_as_object(one) for one in tried.limits]
        echo_json({"outgoing": tried.outgoing, "limits": limits})
    else:
        _show(tried)


def _as_object(one: TriedLimit) -> dict[str, Any]:
    found: dict[str, Any] = {
        "limit": one.limit,
        "then": one.then,
        "mode": one.mode,
        "tried": one.effect is not None,
    }
    if one.effect is not None:
        found |= {
            "messages": one.effect.messages,
            "senders": one.effect.senders,
            "highest": one.effect.highest,
            "first": one.effect.first or None,
        }
    return found


def _show(tried: TriedLimits) -> None:
    console = Terminal()
    console.print(f"{tried.outgoing:,} outgoing messages", highlight=False)
    table = Table("limit", "mode", "then")
    for column in ("messages", "senders", "most was"):
        table.add_column(column, justify="right")
    table.add_column("of whom", overflow="fold")
    for one in tried.limits:
        effect = one.effect
        if effect is None:
            table.add_row(plain(one.limit), one.mode, one.then, "not tried", "", "", "")
            continue
        named = list(effect.senders.items())[:SENDERS]
        table.add_row(
            plain(one.limit),
            one.mode,
            one.then,
            f"{effect.messages:,}",
            f"{len(effect.senders):,}",
            "" if effect.highest is None else f"{effect.highest:,} of {effect.line:,.0f}",
            plain(", ".join(f"{who} ({number:,})" for who, number in named)),
        )
    console.print(table, highlight=False)
