"""`oborona unit`: what the units have done for the daemon by root, since they leave it no right to
do it.
"""

from __future__ import annotations

import pwd
from pathlib import Path

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.config import parse_servers
from oborona.config.access import open_listeners
from oborona.config.address import UnixAddress
from oborona.daemon import sockets
from oborona.daemon.confinement.egress import egress_networks
from oborona.desk.programs import run
from oborona.replication.link import read_link
from oborona.resolver import system_servers


@click.group()
def unit() -> None:
    """What the units have done for the daemon, as root, before and after it starts
    (docs/operate/confinement.md).
    """


@unit.command()
@click.option("--allow", metavar="UNIT", help="Let this unit reach them, until it is stopped.")
@pass_cli_context
def addresses(context: CliContext, allow: str | None) -> None:
    """Show which addresses the settings lead to beyond this machine and private networks.

    "any" where that can't be told: a host that is named, nodes of a cluster, clients that show
    keys. Without any, nothing is shown.
    """
    settings = context.loaded.settings
    link = read_link(context.state)
    networks = egress_networks(
        settings,
        parse_servers(settings.dns.servers) or system_servers(),
        () if link is None else link.hosts,
    )
    for network in networks:
        echo(network)
    if allow and networks:
        run(
            [
                "systemctl",
                "set-property",
                "--runtime",
                allow,
                f"IPAddressAllow={' '.join(networks)}",
            ]
        )


@unit.command()
@click.option(
    "--console", "of_console", is_flag=True, help="Those of the console, which has its own user."
)
@pass_cli_context
def give(context: CliContext, of_console: bool) -> None:
    """Give the socket files of a daemon that runs the owner and group that the settings want."""
    user = "oborona-console" if of_console else ""
    daemon = pwd.getpwnam(user).pw_uid if user else context.state.stat().st_uid
    for listener in open_listeners(context.loaded.settings):
        address, section = listener.address, listener.section
        if of_console and section is not context.loaded.settings.console:
            continue
        if isinstance(address, UnixAddress) and Path(address.path).exists():
            sockets.give_socket_file(
                Path(address.path),
                owner=section.socket_owner,
                group=section.socket_group,
                of=daemon,
            )
