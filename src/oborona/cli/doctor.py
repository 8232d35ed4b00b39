"""`oborona doctor`: is mail filtered, which it proves; can the daemon bind, write, resolve."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import PIPED, Terminal
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.asks.doctor import DoctorFinding, DoctorQuestion, report_doctor
from oborona.desk.doctor.report import CheckState


@click.command()
@click.option("--json", "as_json", is_flag=True, help="A JSON list of the checks.")
@click.option(
    "--postfix",
    "folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder of main.cf, where Postfix has several instances.",
)
@pass_cli_context
def doctor(context: CliContext, as_json: bool, folder: Path | None) -> None:
    """Check everything the daemon needs, prove that mail is filtered, and say what is wrong and
    what to do.

    OK, WARN: works, or can't be told from here. FAIL: mail is not filtered, or something is lost.
    To the address that Postfix names goes a GTUBE, which is judged and not counted.

    Exit status 1 when anything is FAIL.
    """
    asked = DoctorQuestion(folder="" if folder is None else str(folder))
    told = report_doctor(context, terminal_caller(), asked)
    if as_json:
        echo_json(
            [
                {name: getattr(found, name) for name in ("what", "state", "finding", "hint")}
                for found in told.findings
            ]
        )
    else:
        _print(told.findings)
        echo(told.summary)
    if any(found.state is CheckState.FAIL for found in told.findings):
        click.get_current_context().exit(1)


def _print(findings: Sequence[DoctorFinding]) -> None:
    table = Table("", "what", "finding", show_edge=False)
    table.columns[2].overflow = "fold"  # the end of a path is what tells it from others
    colours = {CheckState.OK: "green", CheckState.WARN: "yellow", CheckState.FAIL: "red"}
    for found in findings:
        words = f"{found.finding}\n→ {found.hint}" if found.hint else found.finding
        table.add_row(Text(found.state, style=colours[found.state]), found.what, words)
    Terminal(soft_wrap=True, width=None if sys.stdout.isatty() else PIPED).print(table)
