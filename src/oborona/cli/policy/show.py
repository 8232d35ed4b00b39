"""`oborona policy show`: what is in force, and from where."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.desk.policy.origins import policy_rows, setting_rows
from oborona.desk.policy_files import place, short


@click.command()
@click.option(
    "--origin",
    is_flag=True,
    help="Also show the file that each setting and each field of a rule or list comes from.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as one JSON object.")
@pass_cli_context
def show(context: CliContext, origin: bool, as_json: bool) -> None:
    """Show every setting, rule and list in force.

    --origin says of each whose file it is from: one that ships, one of yours, one of yours in the
    place of one that ships.
    """
    settings, rows = setting_rows(context.loaded), policy_rows(context.policy())
    folders = context.policy().folders
    if as_json:
        by_name: dict[str, Any] = {
            row.name: {"value": row.value, "origin": row.origin} for row in settings
        }
        by_name |= {
            row.name: {"value": row.value, "origin": row.origin, "whose": row.whose} for row in rows
        }
        echo(msgspec.json.encode(by_name))
        return
    shown = [(row, _short(row.origin)) for row in settings]
    shown += [(row, place(folders, row.origin)) for row in rows]
    for row, where in shown:
        value = msgspec.json.encode(row.value).decode()
        echo(f"{row.name} = {value}{f'    # {where}' if origin else ''}")


def _short(where: str) -> str:
    """A place as seen from the current folder, where that is shorter."""
    path, colon, line = where.rpartition(":")
    return f"{short(path)}:{line}" if colon and line.isdigit() else where
