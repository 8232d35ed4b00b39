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
from oborona.cli.recheck.look import look
from oborona.cli.terminal import Terminal, plain
from oborona.desk.owner import as_owner_of
from oborona.ident import from_text, to_text
from oborona.recheck.engine.loop import ALLOWED, MESSAGES, RESUMED_S, WAITING
from oborona.recheck.moves import Move, MoveState, MoveStore
from oborona.telemetry import status as process_status

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
    recheck_status = process_status.read_process(context.state, process_status.RecheckStatus, now)
    waiting = 0 if recheck_status is None else WAITING.of(recheck_status.metrics)
    looked = (
        {}
        if recheck_status is None
        else {name: number for (name,), number in MESSAGES.samples(recheck_status.metrics).items()}
    )
    report = {
        "runs": recheck_status is not None,
        "trouble": "" if recheck_status is None else recheck_status.trouble,
        "paused": None if paused is None else paused.why,
        "paused_since": None if paused is None else paused.since,
        "waiting": waiting,
        "looked": looked,
        "moves": {state.value: states.get(state, 0) for state in MoveState},
    }
    if as_json:
        echo_json(report)
        return
    echo(
        "runs"
        if recheck_status is not None
        else (
            "does not run: the keeper (journal and recheck) does not run, or recheck.enabled "
            "= false"
        )
    )
    if recheck_status is not None:
        if recheck_status.trouble:
            echo(f"trouble: {plain(recheck_status.trouble)}")
        echo(f"changes that wait for a recheck: {waiting}")
        echo(
            "since its start: "
            + ", ".join(
                f"{number} {_OUTCOMES.get(name, name)}" for name, number in sorted(looked.items())
            )
        )
    echo(
        "moves of the last day: "
        + ", ".join(f"{states.get(state, 0)} {state.value}" for state in MoveState)
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
        listed = store.of(_number(ident)) if ident else store.last(last)
    if as_json:
        for move in listed:
            echo_json(
                {"message": to_text(move.message)}
                | {k: v for k, v in msgspec.structs.asdict(move).items() if k != "message"}
            )
        return
    shown(listed)


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
            recent = store.since(now - span)
        else:
            recent = [move for ident in idents for move in store.of(_number(ident))]
        undone = store.undo([move.id for move in recent], now=now, event="undo")
    _end(context, len(undone), "taken back", as_json=as_json)


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


def shown(listed: Sequence[Move]) -> None:
    """Print moves as a table."""
    table = Table(
        "time", "message", "recipient", "from → to", "state", "why", "score", "event", "note"
    )
    for move in listed:
        table.add_row(
            _moment(move.time),
            to_text(move.message),
            plain(move.recipient),
            plain(f"{move.source} → {move.target}"),
            f"{move.state}{' (back)' if move.undoes is not None else ''}",
            plain(f"{move.why}, because: {move.because}" if move.because else move.why),
            f"{move.score:.1f} / {move.line:g}",
            move.event,
            plain(move.note),
        )
    Terminal().print(table)
    states = Counter(move.state.value for move in listed)
    echo(", ".join(f"{number} {state}" for state, number in sorted(states.items())) or "no moves")


def _moves(context: CliContext) -> MoveStore:
    return MoveStore(context.state / state_files.MOVES, make=False)


def _number(text: str) -> int:
    number = from_text(text.partition(".")[0])
    if number is None:
        raise click.BadParameter(f"{text!r} is no id of a message", param_hint="ID")
    return number


def _end(context: CliContext, number: int, outcome: str, *, as_json: bool) -> None:
    running = (
        process_status.read_process(context.state, process_status.RecheckStatus, time.time())
        is not None
    )
    if as_json:
        echo_json({"moves": number, "runs": running})
    else:
        echo(
            f"{number} {outcome}"
            + (
                ""
                if running or not number
                else "; the keeper does not run, it does that when it does"
            )
        )


def _moment(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d %H:%M:%S")
