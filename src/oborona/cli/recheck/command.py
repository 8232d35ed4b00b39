"""`oborona recheck` of delivered mail: what it would do, what it did, taken back, stopped and let
go on.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import click
import msgspec
from rich.table import Table

from oborona import state_files
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.output import echo, echo_json
from oborona.cli.owner import as_owner_of
from oborona.cli.recheck.look import look
from oborona.cli.terminal import Terminal, plain
from oborona.ident import from_text, to_text
from oborona.recheck.engine.loop import ALLOWED, MESSAGES, RESUMED_S, WAITING
from oborona.recheck.moves import Move, MoveState, MoveStore
from oborona.telemetry import status as statuses

_OUTCOMES: Final = {"glanced": "quick checks", "unjudged": "could not be judged"}


class _RecheckGroup(click.Group):
    """Commands; what is none is a message or a mailbox to look at."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["look", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_RecheckGroup)
def recheck() -> None:
    """Recheck delivered mail, and show, undo or stop its moves: `recheck ID`,
    `recheck --dry-run MAILBOX`, or a command.

    ID is what X-Mras-Id or the log names, signed or bare; MAILBOX a recipient's address, all of
    whose messages of the window are looked at. Both are short for `recheck look`.
    """


recheck.add_command(look)


@recheck.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def status(context: CliContext, as_json: bool) -> None:
    """Show the state of the recheck: what waits, what was moved in the last day, whether moves have
    stopped.
    """
    now = time.time()
    with _moves(context) as moves:
        paused, states = moves.paused(), moves.counted(now - 86_400)
    said = statuses.read_process(context.state, statuses.RecheckStatus, now)
    waiting = 0 if said is None else WAITING.of(said.metrics)
    looked = (
        {}
        if said is None
        else {name: number for (name,), number in MESSAGES.samples(said.metrics).items()}
    )
    told = {
        "runs": said is not None,
        "trouble": "" if said is None else said.trouble,
        "paused": None if paused is None else paused.why,
        "paused_since": None if paused is None else paused.since,
        "waiting": waiting,
        "looked": looked,
        "moves": {state.value: states.get(state, 0) for state in MoveState},
    }
    if as_json:
        echo_json(told)
        return
    echo(
        "runs"
        if said is not None
        else (
            "does not run: the keeper (journal and recheck) does not run, or recheck.enabled "
            "= false"
        )
    )
    if said is not None:
        if said.trouble:
            echo(f"trouble: {plain(said.trouble)}")
        echo(f"changes that wait for a recheck: {waiting}")
        echo(
            "since its start: "
            + ", ".join(
                f"{number} {_OUTCOMES.get(name, name)}" for name, number in sorted(looked.items())
            )
        )
    echo(
        "moves of the last day: "
        + ", ".join(f"{states.get(one, 0)} {one.value}" for one in MoveState)
    )
    if paused is not None:
        echo(f"MOVES HAVE STOPPED since {_moment(paused.since)}: {plain(paused.why)}")
        echo(
            "look at `oborona recheck moves`, then `oborona recheck resume` or `oborona "
            "recheck discard`"
        )


@recheck.command()
@click.argument("ident", metavar="[ID]", default="")
@click.option(
    "--last",
    type=click.IntRange(1, 100_000),
    default=20,
    show_default=True,
    help="The newest, at most this many.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def moves(context: CliContext, ident: str, last: int, as_json: bool) -> None:
    """Show moves, those of one message where ID is given."""
    with _moves(context) as store:
        found = store.of(_number(ident)) if ident else store.last(last)
    if as_json:
        for one in found:
            echo_json(
                {"message": to_text(one.message)}
                | {k: v for k, v in msgspec.structs.asdict(one).items() if k != "message"}
            )
        return
    shown(found)


@recheck.command()
@click.argument("idents", metavar="[ID]...", nargs=-1)
@click.option(
    "--since",
    "span",
    type=DurationParam(),
    help="All moves decided within this time, such as 30m or 2h.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def undo(context: CliContext, idents: tuple[str, ...], span: float | None, as_json: bool) -> None:
    """Take moves back: messages of these ids, or all moves of a time.

    What is on its way or done is moved back by the running keeper, unless its recipient has touched
    it meanwhile; what waits is not moved. None of these messages is moved again by the recheck.
    """
    if bool(idents) == (span is not None):
        raise click.UsageError("ids of messages, or --since, one of both")
    now = time.time()
    with as_owner_of(context.state), _moves(context) as store:
        if span is not None:
            found = store.since(now - span)
        else:
            found = [move for one in idents for move in store.of(_number(one))]
        taken = store.undo([one.id for one in found], now=now, event="undo")
    _end(context, len(taken), "taken back", as_json=as_json)


@recheck.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def resume(context: CliContext, as_json: bool) -> None:
    """Let moves go on that have stopped by themselves: what is decided is moved, and for an hour
    nothing stops the recheck.
    """
    with as_owner_of(context.state), _moves(context) as store:
        waiting = store.counted().get(MoveState.DECIDED, 0)
        # else the next keeper would be allowed everything for nothing
        if store.paused() is not None:
            store.set_cursor(ALLOWED, int(time.time() + RESUMED_S))
        went = store.resume()
    _end(context, waiting if went else 0, "to be moved", as_json=as_json)


@recheck.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def discard(context: CliContext, as_json: bool) -> None:
    """Give up all moves that are decided and not made, and let the recheck go on."""
    with as_owner_of(context.state), _moves(context) as store:
        number = store.discard("discarded by an admin", now=time.time())
        store.resume()
    _end(context, number, "given up", as_json=as_json)


def shown(found: Sequence[Move]) -> None:
    """Print moves as a table."""
    table = Table(
        "time", "message", "recipient", "from → to", "state", "why", "score", "event", "note"
    )
    for one in found:
        table.add_row(
            _moment(one.time),
            to_text(one.message),
            plain(one.recipient),
            plain(f"{one.source} → {one.target}"),
            f"{one.state}{' (back)' if one.undoes is not None else ''}",
            plain(f"{one.why}, because: {one.because}" if one.because else one.why),
            f"{one.score:.1f} / {one.line:g}",
            one.event,
            plain(one.note),
        )
    Terminal().print(table)
    states = Counter(one.state.value for one in found)
    echo(", ".join(f"{number} {state}" for state, number in sorted(states.items())) or "no moves")


def _moves(context: CliContext) -> MoveStore:
    return MoveStore(context.state / state_files.MOVES, make=False)


def _number(text: str) -> int:
    number = from_text(text.partition(".")[0])
    if number is None:
        raise click.BadParameter(f"{text!r} is no id of a message", param_hint="ID")
    return number


def _end(context: CliContext, number: int, what: str, *, as_json: bool) -> None:
    running = statuses.read_process(context.state, statuses.RecheckStatus, time.time()) is not None
    if as_json:
        echo_json({"moves": number, "runs": running})
    else:
        echo(
            f"{number} {what}"
            + (
                ""
                if running or not number
                else "; the keeper does not run, it does that when it does"
            )
        )


def _moment(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d %H:%M:%S")
