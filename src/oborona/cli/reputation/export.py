"""`oborona reputation export`: what this site has learned, for a DNS list of its own, tables of
Postfix and Exim, and other machines.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Final

import click

from oborona.atomic_file import write_atomically
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, stdout_errors
from oborona.daemon.site_name import site_name
from oborona.desk.reputation.entity import KINDS
from oborona.desk.reputation.flagged_entities import (
    FlaggedEntity,
    flagged_entities,
    selected,
)
from oborona.desk.reputation.formats import as_cdb, as_cidr, as_json, as_rbldnsd
from oborona.message.shingles import ShingleType
from oborona.reputation.flag import ReputationFlag

BY_DEFAULT: Final = ("address",)
_ACTIONS: Final = {
    ReputationFlag.BAD: "REJECT",
    ReputationFlag.POOR: "DEFER_IF_PERMIT",
    ReputationFlag.GOOD: "OK",
}
FORMS: Final = ("rbldnsd", "cdb", "postfix-cidr", "json")


@click.command()
@click.option("--rbldnsd", "form", flag_value="rbldnsd", help="A zone of the type `combined`.")
@click.option("--cdb", "form", flag_value="cdb", help="A constant database, for Postfix and Exim.")
@click.option("--postfix-cidr", "form", flag_value="postfix-cidr", help="A CIDR table of Postfix.")
@click.option("--json", "form", flag_value="json", help="JSON, as `import` takes it.")
@click.option(
    "--flag",
    type=click.Choice([flag.value for flag in _ACTIONS]),
    default=ReputationFlag.BAD.value,
    show_default=True,
    help="Which; poor: the bad ones, too.",
)
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(["address", "network", "domain", "link"]),
    multiple=True,
    default=BY_DEFAULT,
    show_default=True,
    help="Of what; may be repeated.",
)
@click.option(
    "--action", help="What stands at each key of a table; default: REJECT, DEFER_IF_PERMIT or OK."
)
@click.option("--dry-run", is_flag=True, help="Say how many there are, and write nothing.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), default="-")
@pass_cli_context
def export(
    context: CliContext,
    form: str | None,
    flag: str,
    kinds: tuple[str, ...],
    action: str | None,
    dry_run: bool,
    file: Path,
) -> None:
    """Write the entities with a flag to FILE, which is replaced as a whole; - is standard output.

    An address has the flag that it has at connect, anything else that of the judgement on its past;
    a manual override goes before both. Named are those that the journal or an override names;
    others have a hash alone, and are left out.
    """
    if form is None:
        raise click.UsageError(f"which form? one of {', '.join(f'--{one}' for one in FORMS)}")
    now, least_flag = time.time(), ReputationFlag(flag)
    policy_action = _ACTIONS[least_flag] if action is None else action
    if not policy_action.strip() or not policy_action.isprintable():
        raise click.BadParameter("--action is one line of printable text")
    listed = selected(
        flagged_entities(context, [ShingleType(KINDS[kind]) for kind in kinds], now), least_flag
    )
    if form == "json":
        # what came from elsewhere is theirs to tell
        listed = [flagged for flagged in listed if not flagged.origin]
    if not dry_run:
        _write(
            file,
            _octets(form, listed, policy_action, site_name(context.loaded), now),
            binary=form == "cdb",
        )
    if dry_run or str(file) != "-":
        outcome = "would be written to" if dry_run else "written to"
        echo(f"{len(listed)} {flag} entities {outcome} {file}")


def _octets(form: str, entities: list[FlaggedEntity], action: str, site: str, now: float) -> bytes:
    match form:
        case "rbldnsd":
            return as_rbldnsd(entities, site, now)
        case "cdb":
            return as_cdb(entities, action)
        case "postfix-cidr":
            return as_cidr(entities, action)
        case _:
            return as_json(entities, site, now)


def _write(file: Path, octets: bytes, *, binary: bool) -> None:
    if str(file) != "-":
        write_atomically(file, octets)
        return
    if binary and sys.stdout.isatty():
        raise click.UsageError("a constant database is nothing for a terminal: name a file")
    with stdout_errors():
        sys.stdout.buffer.write(octets)
        sys.stdout.flush()
