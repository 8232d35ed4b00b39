"""`oborona desk`: what answers pages and programs; by itself, or beside the other processes of
`oborona serve`.
"""

from __future__ import annotations

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.daemon.beside import BesideProcess, run_beside
from oborona.daemon.state import prepare_state
from oborona.errors import ConfigError


@click.command()
@pass_cli_context
def desk(context: CliContext) -> None:
    """Run the desk alone: it reads and changes stores for pages and programs that may."""
    require_console(context)
    prepare_state(context.state)
    click.get_current_context().exit(
        run_beside(context.loaded, [desk_beside(context)], tell_nobody)
    )


def desk_beside(context: CliContext) -> BesideProcess:
    """Return the desk as a process among the daemon's."""
    from oborona.desk.process import desk_process  # noqa: PLC0415 - all asks and acts

    return desk_process(context.source, context.loaded.settings, context.state)


def require_console(context: CliContext) -> None:
    """Refuse to run without the setting.

    Raises:
        ConfigError: it is off.
    """
    if not context.loaded.settings.console.enabled:
        raise ConfigError("console.enabled is false: there is nothing to run")


def tell_nobody() -> None:
    """Nobody waits for a word that it serves."""
