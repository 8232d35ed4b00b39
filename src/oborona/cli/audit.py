"""`oborona audit`: who did what to this site, and whether that is all that was written down."""

from __future__ import annotations

import time
from typing import Final

import click
import msgspec

from oborona import state_files
from oborona.audit.reader import AuditedAct, AuditQuery, AuditReader
from oborona.audit.row import HASH_BYTES, ActOutcome, RowKind
from oborona.audit.site_key import audit_key
from oborona.audit.store import ChainEnd
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import plain
from oborona.desk.owner import as_owner_of
from oborona.desk.state_folder import require_state
from oborona.journal.query import BadQuery, parse_moment

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


class _AnchorParam(click.ParamType[ChainEnd]):
    """NUMBER:HASH, as `verify` prints it."""

    name = "anchor"

    def convert(
        self, value: str | ChainEnd, param: click.Parameter | None, ctx: click.Context | None
    ) -> ChainEnd:
        """Return the row."""
        if isinstance(value, ChainEnd):
            return value
        number, _, digits = value.partition(":")
        try:
            anchor = ChainEnd(int(number), bytes.fromhex(digits))
        except ValueError:
            anchor = ChainEnd(0, b"")
        if anchor.number < 1 or len(anchor.hash) != HASH_BYTES:
            self.fail("write NUMBER:HASH as `oborona audit verify` prints it", param, ctx)
        return anchor


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
    "--limit", type=click.IntRange(1, 100_000), default=LIMIT, show_default=True, help="Acts."
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
    now = time.time()
    try:
        query = AuditQuery(
            since=parse_moment(since, now) if since else None,
            until=parse_moment(until, now, end=True) if until else None,
            person=_words(who),
            act=_words(act),
            about=_words(about),
            open_only=open_only,
            looks=looks,
        )
    except BadQuery as error:
        raise click.UsageError(str(error)) from None
    require_state(context)
    path = context.state / state_files.AUDIT
    acts = list[AuditedAct]()
    if path.exists():
        with as_owner_of(context.state), AuditReader(path) as reader:
            acts = reader.acts(query, limit)
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
def verify(context: CliContext, anchor: ChainEnd | None, as_json: bool) -> None:
    """Look at every row of the audit log: was one changed, removed, or put in between?

    It prints the last row as NUMBER:HASH; noted elsewhere, it tells later by --anchor whether
    somebody wrote the whole log anew. Exit status 1 where something is wrong.
    """
    require_state(context)
    with as_owner_of(context.state), AuditReader(context.state / state_files.AUDIT) as reader:
        report = reader.verify(audit_key(context.state), anchor)
    end = f"{report.end.number}:{report.end.hash.hex()}" if report.rows else ""
    if as_json:
        echo_json(msgspec.structs.asdict(report) | {"end": end})
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
        echo(f"{report.rows} rows, {'not whole' if report.faults else 'whole'}; the last: {end}")
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


def _words(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
