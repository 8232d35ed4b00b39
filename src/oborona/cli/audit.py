"""`oborona audit`: who did what to this site, and whether that is all that was written down."""

from __future__ import annotations

import time
from typing import Final

import click
import msgspec

from oborona.audit.reader import AuditedAct
from oborona.audit.row import ActOutcome, RowKind
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.asks.audit import (
    MOST,
    AuditQuestion,
    ChainQuestion,
    find_acts,
    parse_anchor,
    verify_chain,
)
from oborona.desk.call import CallError
from oborona.desk.owner import as_owner_of
from oborona.desk.state_folder import require_state

LIMIT: Final = 50
_INDENT: Final = " " * 21
_COLOURS: Final = {
    ActOutcome.DONE: "green",
    ActOutcome.PARTLY: "yellow",
    ActOutcome.OPEN: "yellow",
}


class _AuditGroup(click.Group):
    """Commands; without one, the acts are shown."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["show", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_AuditGroup, no_args_is_help=False)
def audit() -> None:
    """Show who did what to this site, when, why, and what came of it: `audit`,
    `audit --since 7d --who anna`, or a command.

    Every command that changes something is there, once before it begins and once when it has
    ended. `audit` alone is short for `audit show`.
    """


class _AnchorParam(click.ParamType[str]):
    """NUMBER:HASH, as `verify` prints it."""

    name = "anchor"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text of a row."""
        try:
            parse_anchor(value)
        except CallError as error:
            self.fail(str(error), param, ctx)
        return value


@audit.command()
@click.option(
    "--since", default="", metavar="TIME", help="From then on: 30m, 2h, 7d, 2026-11-22, or a time."
)
@click.option("--until", default="", metavar="TIME", help="Before that; of a day its end.")
@click.option("--who", default="", metavar="NAME", help="Of this person, also under su or sudo.")
@click.option("--act", default="", metavar="ACT", help="This act, or all of: signatures.")
@click.option("--about", default="", metavar="TEXT", help="What it was about has this in it.")
@click.option("--open", "open_only", is_flag=True, help="Without an end: running, or killed.")
@click.option("--looks", is_flag=True, help="Also who looked at whose mail.")
@click.option(
    "--limit", type=click.IntRange(1, MOST), default=LIMIT, show_default=True, help="Acts."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def show(
    context: CliContext,
    since: str,
    until: str,
    who: str,
    act: str,
    about: str,
    open_only: bool,
    looks: bool,
    limit: int,
    as_json: bool,
) -> None:
    """Show acts, the newest first.

    By the order in which they were begun, whatever the clock said. Exit status 1 where none is
    found.
    """
    asked = AuditQuestion(
        since=since,
        until=until,
        person=who,
        act=act,
        about=about,
        open=open_only,
        looks=looks,
        most=limit,
    )
    require_state(context)
    try:
        with as_owner_of(context.state):
            acts = find_acts(context, terminal_caller(), asked).acts
    except CallError as error:
        raise click.UsageError(str(error)) from None
    for one in acts:
        if as_json:
            echo_json(_object(one))
        else:
            _print(one)
    if not acts:
        click.get_current_context().exit(1)


@audit.command()
@click.option(
    "--anchor",
    type=_AnchorParam(),
    metavar="NUMBER:HASH",
    help="A row that was noted: it has to be there as it was.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def verify(context: CliContext, anchor: str | None, as_json: bool) -> None:
    """Look at every row of the audit log: was one changed, removed, or put in between?

    It prints the last row as NUMBER:HASH; noted elsewhere, it tells later by --anchor whether
    somebody wrote the whole log anew. Exit status 1 where something is wrong.
    """
    require_state(context)
    with as_owner_of(context.state):
        report = verify_chain(context, terminal_caller(), ChainQuestion(anchor=anchor or ""))
    if as_json:
        echo_json(msgspec.structs.asdict(report))
    else:
        for fault in report.faults:
            echo(plain(fault))
        if report.more:
            echo(f"and {report.more} more")
        if report.dropped:
            echo(f"{report.dropped} rows before row {report.first} were dropped by log.audit_days")
        if report.unkeyed:
            echo(
                f"{report.unkeyed} rows are from before the site had a secret: who can write the "
                f"file could have made them"
            )
        echo(
            f"{report.rows} rows, {'not whole' if report.faults else 'whole'}; the last: {report.end}"
        )
    if report.faults:
        click.get_current_context().exit(1)


def _print(act: AuditedAct) -> None:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(act.at))
    outcome = click.style(
        RowKind.LOOKED if act.looked else act.outcome.value, fg=_COLOURS.get(act.outcome, "red")
    )
    dry = " (dry run)" if act.dry else ""
    about = f" {act.about}" if act.about else ""
    echo(f"{when}  {plain(f'{act.person} {act.act}{about}')}{dry}: {outcome}")
    told = {
        "why": act.reason,
        "message": act.message,
        "arguments": "" if act.arguments == "{}" else act.arguments,
        "by": ", ".join(filter(None, (f"{act.way} {act.place}", act.source, act.roles))),
        "undo": act.undo,
        "took": "" if act.took is None else f"{act.took:.3f} s",
    }
    for name, text in told.items():
        if text:
            echo(f"{_INDENT}{name}: {plain(text)}")


def _object(act: AuditedAct) -> dict[str, object]:
    """Return an act as `--json` shows it. Names and meaning of its fields stay."""
    try:
        arguments = msgspec.json.decode(act.arguments)
    except (msgspec.DecodeError, UnicodeError):  # somebody changed it
        arguments = act.arguments
    return msgspec.structs.asdict(act) | {"arguments": arguments}
