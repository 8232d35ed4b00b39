"""`oborona desk`: what answers pages and programs; by itself, or beside the other processes of
`oborona serve`.
"""

from __future__ import annotations

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.daemon.beside import BesideProcess, run_beside
from oborona.daemon.state import prepare_state
from oborona.errors import ConfigError
from oborona.replication.link import read_link


@click.command()
@pass_cli_context
def desk(context: CliContext) -> None:
    """Run the desk alone: it reads and changes stores for pages and programs that may.

    On one machine of several it also brings the site's policy into the policy folder.
    """
    beside = site_policy_beside(context)
    if not beside:
        require_console(context)
    prepare_state(context.state)
    if context.loaded.settings.console.enabled:
        beside.append(desk_beside(context))
    click.get_current_context().exit(run_beside(context.loaded, beside, tell_nobody))


def site_policy_beside(context: CliContext) -> list[BesideProcess]:
    """Return what follows the policy of a site of several machines; nothing where this one is
    alone.
    """
    link = read_link(context.state)
    if link is None:
        return []
    from oborona.desk.policy.site_policy_follower import (  # noqa: PLC0415 - of those alone
        site_policy_process,
    )

    return [site_policy_process(context, link)]


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
