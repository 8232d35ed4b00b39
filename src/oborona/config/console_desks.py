"""Settings of a console for several machines (docs/operate/several-machines.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final
from urllib.parse import urlsplit

from msgspec import Meta

from oborona.config.address import EXAMPLES, InetAddress, parse_address
from oborona.config.console_door import ConsoleDoorSettings
from oborona.config.doors import check_networks, check_optional_address
from oborona.errors import ConfigError

MOST_DESKS: Final = 32
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")


def check_desk_listen(value: str) -> None:
    """Check that a desk for other machines would listen on a port."""
    check_optional_address(value)
    if value and not isinstance(parse_address(value), InetAddress):
        raise ValueError(f"{value!r} is no port; other machines reach no socket file")


def read_desks(value: str) -> Mapping[str, InetAddress]:
    """Return where desks of other machines are, by their names, in the order of the text.

    Raises:
        ValueError: it is no list of NAME=https://HOST:PORT.
    """
    desks: dict[str, InetAddress] = {}
    for pair in value.split():
        name, _, url = pair.partition("=")
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            host, port = "", None
        bare = url.lower().startswith("https://") and not re.search(r"[/?#@]", url[8:])
        if not (_NAME.fullmatch(name) and bare and host and port):
            raise ValueError(f"{pair!r}: write NAME=https://HOST:PORT, the name in lower case")
        if name in desks:
            raise ValueError(f"{name} stands there twice")
        desks[name] = InetAddress(host, port)
    if len(desks) > MOST_DESKS:
        raise ValueError(f"at most {MOST_DESKS} desks")
    return desks


def check_desks(value: str) -> None:
    """Check the list of desks."""
    read_desks(value)


class ConsoleDeskSettings(ConsoleDoorSettings, frozen=True, kw_only=True):
    """The desks of other machines, and this machine's for them."""

    desks: Annotated[
        str,
        Meta(
            max_length=8000,
            description="Desks of other machines that these pages ask, too, as NAME=https://HOST:"
            "PORT with spaces between (docs/operate/several-machines.md). Empty: this machine"
            " alone.",
            extra={
                "allowed": 'such as "mx2=https://mx2.example.org:8892", or ""',
                "check": check_desks,
            },
        ),
    ] = ""
    desk_certificates: Annotated[
        str,
        Meta(
            pattern=r"\A(/[^\x00-\x1f\x7f]+)?\Z",
            max_length=4096,
            description="Folder with the certificate of each of these desks, NAME.pem, as `oborona"
            " desk-certificate` shows it there.",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    desk_listen: Annotated[
        str,
        Meta(
            max_length=300,
            description="The port on which this desk answers consoles of other machines, by TLS to"
            " those alone whose certificate is in `home_certificate`. Empty: none.",
            extra={"allowed": f'{EXAMPLES}, or ""', "check": check_desk_listen},
        ),
    ] = ""
    desk_allowed: Annotated[
        str,
        Meta(
            max_length=4096,
            description="Networks that may connect to that port, with spaces between. Empty: any"
            " that show such a certificate.",
            extra={"allowed": 'such as "192.0.2.7/32", or ""', "check": check_networks},
        ),
    ] = ""
    home_certificate: Annotated[
        str,
        Meta(
            pattern=r"\A(/[^\x00-\x1f\x7f]+)?\Z",
            max_length=4096,
            description="File with the certificate of the desk whose word counts there for who"
            " asks and what they may, as `oborona desk-certificate` shows it on that machine.",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""

    @property
    def other_desks(self) -> Mapping[str, InetAddress]:
        """`desks`, parsed."""
        return read_desks(self.desks)

    @property
    def far_address(self) -> InetAddress | None:
        """`desk_listen`, parsed; None: consoles of other machines are not answered.

        Raises:
            ConfigError: whose word counts is not said.
        """
        if not self.desk_listen:
            return None
        if not self.home_certificate:
            raise ConfigError(
                "console.desk_listen needs console.home_certificate: whose word counts there"
            )
        address = parse_address(self.desk_listen)
        assert isinstance(address, InetAddress)
        return address
