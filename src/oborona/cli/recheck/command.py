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

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.output import echo, echo_json
from oborona.cli.recheck.look import look
from oborona.cli.terminal import plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.recheck import (
    MovesOrder,
    MoveUndoOrder,
    discard_moves,
    resume_moves,
    undo_moves,
)
from oborona.desk.asks.recheck import MovesQuestion, RecheckQuestion, list_moves, show_recheck
from oborona.desk.call import CallError
from oborona.ident import from_text, to_text
from oborona.recheck.moves import Move

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
    figures = show_recheck(context, terminal_caller(), RecheckQuestion())
    if as_json:
        echo_json(figures)
        return
    echo(
        "runs"
        if figures.runs
        else (
            "does not run: the keeper (journal and recheck) does not run, or recheck.enabled "
            "= false"
        )
    )
    if figures.runs:
        if figures.trouble:
            echo(f"trouble: {plain(figures.trouble)}")
        echo(f"changes that wait for a recheck: {figures.waiting}")
        echo(
            "since its start: "
            + ", ".join(
                f"{number} {_OUTCOMES.get(name, name)}"
                for name, number in sorted(figures.looked.items())
            )
        )
    echo(
        "moves of the last day: "
        + ", ".join(f"{number} {state}" for state, number in figures.moves.items())
    )
    if figures.paused is not None and figures.paused_since is not None:
        echo(f"MOVES HAVE STOPPED since {_moment(figures.paused_since)}: {plain(figures.paused)}")
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
    question = MovesQuestion(message=ident, most=last)
    try:
        listed = list_moves(context, terminal_caller(), question).moves
    except CallError:
        raise _no_id(ident) from None
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
    order = MoveUndoOrder(messages=idents, since=None if span is None else time.time() - span)
    for ident in idents:
        if from_text(ident.partition(".")[0]) is None:
            raise _no_id(ident)
    undone = undo_moves(context, terminal_caller(), order)
    _end(len(undone.moves), "taken back", runs=undone.runs, as_json=as_json)


@recheck.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def resume(context: CliContext, as_json: bool) -> None:
    """Let moves go on that have stopped by themselves: what is decided is moved, and for an hour
    nothing stops the recheck.
    """
    outcome = resume_moves(context, terminal_caller(), MovesOrder())
    _end(outcome.moves, "to be moved", runs=outcome.runs, as_json=as_json)


@recheck.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def discard(context: CliContext, as_json: bool) -> None:
    """Give up all moves that are decided and not made, and let the recheck go on."""
    outcome = discard_moves(context, terminal_caller(), MovesOrder())
    _end(outcome.moves, "given up", runs=outcome.runs, as_json=as_json)


def shown(listed: Sequence[Move]) -> None:
    """Print moves, each in two lines, however narrow the terminal: its ID is what `undo` takes."""
    for move in listed:
        state = f"{move.state}{' (back)' if move.undoes is not None else ''}"
        if move.note:
            state += f": {move.note}"
        echo(
            plain(
                f"{_moment(move.time)}  {to_text(move.message)}  {move.source} → {move.target}  "
                f"{move.recipient}  {state}"
            )
        )
        why = f"{move.why}, because: {move.because}" if move.because else move.why
        echo(plain(f"{' ' * 21}{move.score:.1f} / {move.line:g}, by {move.event}: {why}"))
    states = Counter(move.state.value for move in listed)
    echo(", ".join(f"{number} {state}" for state, number in sorted(states.items())) or "no moves")


def _no_id(text: str) -> click.BadParameter:
    return click.BadParameter(f"{text!r} is no id of a message", param_hint="ID")


def _end(number: int, outcome: str, *, runs: bool, as_json: bool) -> None:
    if as_json:
        echo_json({"moves": number, "runs": runs})
    else:
        echo(
            f"{number} {outcome}"
            + ("" if runs or not number else "; the keeper does not run, it does that when it does")
        )


def _moment(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d %H:%M:%S")
