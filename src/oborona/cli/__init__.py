"""The command line: `oborona COMMAND`.

What its exit status tells stands in `exit_status.MEANINGS`.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import click

from oborona import __version__
from oborona.cli.act_context import with_act_rows
from oborona.cli.command_index import lazy_command, load_index
from oborona.cli.completed_values import complete_setting
from oborona.cli.exit_status import line_of, status_of
from oborona.cli.output import OutputError
from oborona.errors import ConfigError, OboronaError

_COMMANDS: Final = {
    "serve": "processes",
    "worker": "processes",
    "writer": "processes",
    "keeper": "processes",
    "reader": "processes",
    "trainer": "processes",
    "intake": "processes",
    "check": "check",
    "find": "find",
    "explain": "explain.command",
    "dissect": "dissect",
    "chart": "chart",
    "policy": "policy.command",
    "list": "site_list.command",
    "signature": "signature.command",
    "learn": "learn",
    "feedback": "feedback.command",
    "model": "model.command",
    "personal": "personal.command",
    "counters": "counters.command",
    "reputation": "reputation.command",
    "recheck": "recheck.command",
    "account": "account.command",
    "incident": "incident.command",
    "flows": "flows.command",
    "eventlog": "eventlog.command",
    "address": "address.command",
    "outgoing": "outgoing.command",
    "export": "export",
    "set-apart": "set_apart",
    "alarm": "alarm",
    "move-in": "move_in.command",
    "attach": "attach",
    "detach": "attach",
    "backup": "backup",
    "restore": "backup",
    "site": "site",
    "audit": "audit",
    "people": "people.command",
    "desk": "desk",
    "desk-certificate": "desk_certificate",
    "console": "console",
    "doctor": "doctor",
    "auth": "auth",
    "unit": "unit",
    "metrics": "metrics",
    "completion": "completion",
    "opensmtpd-filter": "opensmtpd",
}
"""Command → module of this package, imported when it is run: a daemon carries no terminal tables in
its memory.
"""


def _attribute(command: str) -> str:
    """Return what a command is called in its module."""
    return "list_" if command == "list" else command.replace("-", "_")


class _CommandGroup(click.Group):
    """Commands, each from its module.

    Their errors end in one line and an exit status of their own.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        description = load_index().get(cmd_name) if cmd_name in _COMMANDS else None
        return (
            self.imported(cmd_name) if description is None else lazy_command(cmd_name, description)
        )

    def imported(self, cmd_name: str) -> click.Command | None:
        """Return a command itself, with all that it uses."""
        module = _COMMANDS.get(cmd_name)
        if module is None:
            return None
        command: click.Command = getattr(
            import_module(f"oborona.cli.{module}"), _attribute(cmd_name)
        )
        return with_act_rows(command)

    def main(self, *args: Any, **extra: Any) -> Any:
        if sys.stdout is None:  # closed: else the next file that is opened would be standard output
            sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
        return super().main(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # `oborona ... | head`
            sys.stdout = None
            ctx.exit(0)
        except (OboronaError, OSError) as error:
            click.echo(f"oborona: {line_of(error, _state_of(ctx))}", err=True)
            for another in error.more if isinstance(error, ConfigError) else ():
                click.echo(f"oborona: {another}", err=True)
            if isinstance(error, OutputError):
                sys.stdout = None  # or what is left would be tried again, and told as a traceback
            ctx.exit(status_of(error))


def _state_of(ctx: click.Context) -> Path | None:
    try:
        return None if ctx.obj is None else ctx.obj.state
    except (OboronaError, OSError):
        return None


@click.group(
    cls=_CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="oborona")
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="OBORONA_CONFIG",
    help=(
        "Settings file; default: $OBORONA_CONFIG, /etc/oborona/oborona.toml, else the one "
        "that ships."
    ),
)
@click.option(
    "--state",
    type=click.Path(path_type=Path, readable=False),
    help="State folder: the same as --set paths.state=DIR.",
)
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="SECTION.KEY=VALUE",
    shell_complete=complete_setting,
    help="One setting; may be repeated.",
)
@click.pass_context
def main(
    ctx: click.Context, config: Path | None, state: Path | None, assignments: tuple[str, ...]
) -> None:
    """Oborona: an anti-spam policy daemon for Postfix and Exim."""
    from oborona.cli.context import CliContext  # noqa: PLC0415 - `--help` and `--version` need none of it

    ctx.obj = CliContext(config, state, assignments)
