"""The command line: `oborona COMMAND`.

Exit status: 0 done; 1 a check of the command found something; 2 wrong usage; from sysexits.h: 66 a file can't be read,
70 a fault of ours, 71 a socket can't be had, 74 a store can't be used, 78 what an admin must mend before another start can do better: settings
or policy are wrong, another process holds the store, or a newer Oborona wrote it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final

import click

from oborona import __version__
from oborona.cli.asked import Asked
from oborona.cli.check import check
from oborona.cli.counters import counters
from oborona.cli.doctor import doctor
from oborona.cli.explain import explain
from oborona.cli.policy import policy
from oborona.cli.processes import keeper, serve, worker, writer
from oborona.errors import ConfigError, OboronaError, SocketError, StoreBusy, StoreError, StoreVersion

_STATUS: Final = (
    (ConfigError, os.EX_CONFIG),
    (SocketError, os.EX_OSERR),
    (StoreBusy, os.EX_CONFIG),
    (StoreVersion, os.EX_CONFIG),
    (StoreError, os.EX_IOERR),
)


class _Commands(click.Group):
    """Commands whose errors end in one line and an exit status of their own."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except OboronaError as error:
            click.echo(f"oborona: {error}", err=True)
            status = next((status for kind, status in _STATUS if isinstance(error, kind)), os.EX_SOFTWARE)
            ctx.exit(status)
        except BrokenPipeError:  # `oborona ... | head`
            sys.stdout = None
            ctx.exit(0)


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(__version__, prog_name="oborona")
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="OBORONA_CONFIG",
    help="Settings file; default: $OBORONA_CONFIG, /etc/oborona/oborona.toml, else the one that ships.",
)
@click.option(
    "--state", type=click.Path(path_type=Path), help="State folder: the same as --set paths.state=DIR."
)
@click.option(
    "--set", "assignments", multiple=True, metavar="SECTION.KEY=VALUE", help="One setting; may be repeated."
)
@click.pass_context
def main(ctx: click.Context, config: Path | None, state: Path | None, assignments: tuple[str, ...]) -> None:
    """Oborona: an anti-spam policy daemon for Postfix and Exim."""
    ctx.obj = Asked(config, state, assignments)


for command in (serve, worker, writer, keeper, check, explain, policy, counters, doctor):
    main.add_command(command)
