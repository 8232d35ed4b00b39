"""`oborona move-in`: lists, rules, signatures and people's own lists of another filter."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.move_in.compare import compare
from oborona.cli.move_in.shown_plan import plan_object, show_outcome, show_plan
from oborona.cli.output import echo, echo_json
from oborona.cli.policy.versions import write_as_asker
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.move_in.outcome import carry_out, check_plan, names_taken
from oborona.desk.move_in.plan_parts import OldProgram
from oborona.desk.move_in.programs import read_plan
from oborona.desk.move_in.rspamd import DUMPS
from oborona.desk.owner import as_owner_of
from oborona.desk.policy.proposal import check_alone
from oborona.errors import ConfigError

NOT_DONE: Final = 1
RSPAMD: Final = Path("/etc/rspamd")
DUMP_S: Final = 60.0  # rspamadm takes two seconds, and more where maps can't be fetched
_Callback = Callable[..., None]


@click.group(name="move-in")
def move_in() -> None:
    """Take over what another filter was told, and compare both while they run side by side.

    Each command prints what becomes what, and what can't be carried over and why; with --dry-run
    that is all. Expressions become rules and signatures on trial: none of them is ever live.
    docs/moving-in.md has what to copy, and what to do after it.
    """


def _options(command: _Callback) -> _Callback:
    """Give a command what all of them have."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="What becomes what, as one JSON object."),
        click.option("--all", "everything", is_flag=True, help="Show each line, not the first few."),
        click.option("--alone", is_flag=True, help="Without the second person whom console.two_persons wants."),
        click.option("--reason", default="", help="Stands in the history of the policy and beside signatures."),
        click.option("--yes", is_flag=True, help="Do it without asking."),
        click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing."),
        click.argument("folder", metavar="DIR", type=click.Path(path_type=Path)),
    ):  # fmt: skip
        command = option(command)
    return command


@move_in.command()
@_options
@pass_cli_context
def rspamd(context: CliContext, /, folder: Path, **given: Any) -> None:
    """Take over multimap, whitelists, settings and actions of rspamd.

    DIR is /etc/rspamd of this machine, or a copy of another's with a dump beside it:
    `rspamadm configdump -j > DIR/configdump.json` on the old machine. Exit status 1 when it was not
    confirmed, 78 when a file can't be used: it and its line are named.
    """
    dump = None
    if folder.resolve() == RSPAMD and not any((folder / name).exists() for name in DUMPS):
        dump = _rspamd_dump()
    _move(context, OldProgram.RSPAMD, folder, dump=dump, **given)


@move_in.command()
@_options
@click.option(
    "--domain", default="", help="Of people who are known by a login alone: ann is ann@DOMAIN."
)
@pass_cli_context
def spamassassin(context: CliContext, /, folder: Path, domain: str, **given: Any) -> None:
    """Take over lists, rules with one expression, and people's user_prefs of SpamAssassin.

    DIR is a copy of /etc/spamassassin, and in it, where people have some, their files:
    DIR/ann@example.org/user_prefs. `whitelist_from` believes whatever From says; here it becomes an
    allow that counts when the sender is proved. Exit status as of `move-in rspamd`.
    """
    _move(context, OldProgram.SPAMASSASSIN, folder, domain=domain, **given)


@move_in.command()
@_options
@pass_cli_context
def mailcow(context: CliContext, /, folder: Path, **given: Any) -> None:
    """Take over what people and domains set in mailcow's pages, and the maps of its rspamd.

    DIR holds filterconf as SQL (`mysqldump mailcow filterconf`) or JSON, and perhaps the files of
    data/conf/rspamd/custom. Exit status as of `move-in rspamd`.
    """
    _move(context, OldProgram.MAILCOW, folder, **given)


@move_in.command()
@_options
@pass_cli_context
def amavis(context: CliContext, /, folder: Path, **given: Any) -> None:
    """Take over senders, recipients and levels of amavisd-new.

    DIR is a copy of /etc/amavis. Plain assignments are read; what would have to be computed is
    told, and no Perl is run. Exit status as of `move-in rspamd`.
    """
    _move(context, OldProgram.AMAVIS, folder, **given)


def _move(
    context: CliContext,
    program: OldProgram,
    folder: Path,
    *,
    dry_run: bool,
    yes: bool,
    reason: str,
    alone: bool,
    everything: bool,
    as_json: bool,
    domain: str = "",
    dump: tuple[str, bytes] | None = None,
) -> None:
    taken = names_taken(context, program)
    plan = read_plan(program, folder, now=time.time(), taken=taken, domain=domain, dump=dump)
    if context.state.is_dir():
        with as_owner_of(context.state):
            check_plan(context, plan)
    if as_json:
        echo_json(plan_object(plan))
    else:
        show_plan(plan, everything=everything)
    if dry_run:
        if not as_json:
            echo("nothing was done: --dry-run")
        return
    if not yes and not (sys.stdin.isatty() and click.confirm("Do this?", err=True)):
        click.echo("oborona: nothing was done; --yes does it", err=True)
        click.get_current_context().exit(NOT_DONE)
    caller = terminal_caller()
    check_alone(context, caller, alone=alone)
    with as_owner_of(context.state):
        done = carry_out(
            context,
            caller,
            plan,
            reason=reason or f"moving in from {program}",
            write=write_as_asker,
        )
    if not as_json:
        show_outcome(done)


def _rspamd_dump() -> tuple[str, bytes] | None:
    """Return what this machine's own rspamd is configured to do; None without its program."""
    program = shutil.which("rspamadm")
    if program is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603 - the machine's own program, without arguments of others
            [program, "configdump", "-j"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=DUMP_S,
            check=False,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"rspamadm configdump -j: {error}", file=str(RSPAMD)) from None
    if done.returncode or not done.stdout:
        raise ConfigError(f"rspamadm configdump -j ended with {done.returncode}", file=str(RSPAMD))
    return "configdump", done.stdout


move_in.add_command(compare)
