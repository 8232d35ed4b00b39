"""`oborona reputation show`: one entity, with its past and all that is said of it."""

from __future__ import annotations

import sys
from typing import Final

import click
from rich.table import Table
from rich.text import Text

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo_json
from oborona.cli.reputation.history_chart import picture
from oborona.cli.reputation.pin_words import change_line, note_line, pin_line
from oborona.cli.terminal import PIPED, Terminal, plain
from oborona.desk.reputation.portrait import EntityPortrait, portray_entity, show_portrait
from oborona.desk.reputation.statement import shown_change
from oborona.message.shingle_name import name_of
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.judgement.model import EntityJudgement

COLOURS: Final = {
    ReputationFlag.GOOD: "green",
    ReputationFlag.UNKNOWN: "",
    ReputationFlag.POOR: "yellow",
    ReputationFlag.BAD: "red",
}


@click.command()
@click.argument("entity")
@click.option("--json", "as_json", is_flag=True, help="The same as one JSON object.")
@pass_cli_context
def show(context: CliContext, entity: str, as_json: bool) -> None:
    """Draw the counts of ENTITY over time, and show its reputation.

    ENTITY is an address 192.0.2.1, network 192.0.2.0/24, AS64496, author ann@example.org, his
    domain example.org, or KIND:VALUE: sender, account, link, host, url, phone, wallet, handle,
    contact, list, file, picture.
    """
    portrait = portray_entity(context, entity)
    if as_json:
        echo_json(show_portrait(portrait))
    else:
        _print(portrait)


def _print(portrait: EntityPortrait) -> None:
    record, history, reports, size, now = portrait
    terminal = Terminal(soft_wrap=True, width=None if sys.stdout.isatty() else PIPED)
    entity, judgement = record.entity, record.judgement
    head = Text(f"{plain(entity.name)}  {entity.kind}  ", "bold")
    pin = reports.pin or reports.network
    head.append(_flagged(pin.flag if pin else judgement.flag))
    terminal.print(head)
    if reports.pin is not None:
        terminal.print(Text(plain(pin_line(reports.pin))))
    if reports.network is not None:
        terminal.print(
            Text(
                plain(
                    f"its network {reports.network.name or name_of(reports.network.shingle)} is "
                    f"{pin_line(reports.network)}"
                )
            )
        )
    if history is not None:
        counted = "at connect, without the manual override: " if pin else "at connect: "
        terminal.print(Text.assemble(counted, _flagged(history.flag), _words(history.say)))
    terminal.print()
    for line in picture(record.past, now):
        terminal.print(line)
    terminal.print()
    _print_judgement(terminal, judgement)
    for title, lines in (
        ("notes", [note_line(note) for note in reports.notes]),
        ("last changes", [change_line(shown_change(change)) for change in reports.changes]),
    ):
        if lines:
            terminal.print(Text(f"\n{title}", "bold"))
            for text in lines:
                terminal.print(Text(f"  {plain(text)}"))
    if size is not None:
        terminal.print(
            Text(f"\n{size:,} octets in the counters, as {name_of(entity.shingle)}", "dim")
        )


def _print_judgement(terminal: Terminal, judgement: EntityJudgement) -> None:
    line = Text.assemble(
        ("judgement: ", "bold"), _flagged(judgement.flag), f", trust {judgement.trust:+.0f}"
    )
    terminal.print(line.append(_words(judgement.say)))
    table = Table("measure", show_edge=False)
    for column in ("value", "confidence", "points"):
        table.add_column(column, justify="right")
    table.add_column("evidence", overflow="fold")
    for measure in judgement.measures:
        table.add_row(
            measure.name,
            f"{measure.value:.3g}",
            f"{measure.confidence:.0%}",
            f"{measure.points:+.0f}",
            measure.say,
        )
    terminal.print(table)


def _flagged(flag: ReputationFlag) -> Text:
    return Text(flag.value, COLOURS[flag])


def _words(say: str) -> str:
    return f": {plain(say)}" if say else ""
