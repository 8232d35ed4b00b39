"""`oborona policy show`: what is in force, and from where."""

from __future__ import annotations

from operator import attrgetter

import click
import msgspec

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.config import SECTIONS
from oborona.desk.policy_files import place, short, whose
from oborona.policy.file_tables import SINGLE


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
    loaded, current = context.loaded, context.policy()
    settings = [
        (
            f"{section}.{key}",
            getattr(attrgetter(section)(loaded.settings), key),
            loaded.origins[f"{section}.{key}"],
        )
        for section, schema in SECTIONS.items()
        for key in schema.__struct_fields__
    ]
    rows = [
        (
            f"{name}.{key}",
            getattr(getattr(current, name), key),
            current.origins.get(f"{name}.{key}", "default"),
        )
        for name, schema in SINGLE.items()
        for key in schema.__struct_fields__
    ]
    for rule in current.rules:
        for key in ("when", "score", "say", "mode", "stage", "group", "enabled", "why"):
            where = current.origins.get(f"rule.{rule.name}.{key}")
            if where is not None or key == "score":
                rows.append((f"rule.{rule.name}.{key}", getattr(rule, key), where or "default"))
    for name, turned in current.compiled.turned.items():
        sort = "rule" if f"rule.{name}.when" in current.origins else "condition"
        rows.append((f"{sort}.{name}.looked_for", turned, current.origins[f"{sort}.{name}.when"]))
    for function in current.scripts.functions if current.scripts is not None else ():
        if function.rule is None:
            lines = f"function in lines {function.place.line} to {function.last}"
            rows.append(
                (
                    f"check.{function.name}.run",
                    lines,
                    f"{function.place.file}:{function.place.line}",
                )
            )
    rows += [(name, value, current.origins[name]) for name, value in current.lists.items()]
    if as_json:
        by_name = {name: {"value": value, "origin": where} for name, value, where in settings}
        for name, value, where in rows:
            by_name[name] = {
                "value": value,
                "origin": where,
                "whose": whose(current.folders, where),
            }
        echo(msgspec.json.encode(by_name))
        return
    shown = [(name, value, _short(where)) for name, value, where in settings]
    shown += [(name, value, place(current.folders, where)) for name, value, where in rows]
    for name, value, where in shown:
        echo(f"{name} = {msgspec.json.encode(value).decode()}{f'    # {where}' if origin else ''}")


def _short(where: str) -> str:
    """A place as seen from the current folder, where that is shorter."""
    path, colon, line = where.rpartition(":")
    return f"{short(path)}:{line}" if colon and line.isdigit() else where
