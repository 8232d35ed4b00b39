"""Settings of the console that say where pages are served, and where the desk is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from oborona import state_files
from oborona.config.address import EXAMPLES, InetAddress, UnixAddress, parse_address
from oborona.config.doors import ListenSettings, check_optional_address
from oborona.errors import ConfigError


class ConsoleDoorSettings(ListenSettings, frozen=True, kw_only=True):
    """Where pages are, and the desk of this machine."""

    enabled: Annotated[
        bool, Meta(description="Serve pages, and the desk that answers them and programs.")
    ] = False
    listen: Annotated[
        str,
        Meta(
            max_length=300,
            description="Where pages are served, without TLS: a port of this machine, or a socket "
            "file; a proxy with TLS stands before it. Empty: no pages, the desk alone.",
            extra={"allowed": f'{EXAMPLES}, or ""', "check": check_optional_address},
        ),
    ] = "inet:127.0.0.1:8891"
    desk: Annotated[
        str,
        Meta(
            max_length=300,
            description="The socket file of the desk, which reads and changes stores for pages and "
            "programs that show who they are for. Empty: desk.sock in the state folder.",
            extra={
                "allowed": 'a socket file, such as "unix:/run/oborona-desk/desk.sock", or ""',
                "check": check_optional_address,
            },
        ),
    ] = ""
    url: Annotated[
        str,
        Meta(
            pattern=r"\A(https?://[^\s/]+(/[^\s]*)?)?\Z",
            max_length=300,
            description="How people reach the pages, for links that are sent or printed. Empty: "
            "as they are listened on.",
            extra={"allowed": 'such as "https://mx.example.org", or ""'},
        ),
    ] = ""
    second_step: Annotated[
        Literal["optional", "required"],
        Meta(
            description="Who signs in by a code of a telephone beside the password: whoever wants "
            "to, or every admin; required, an admin without one may do nothing but begin one."
        ),
    ] = "optional"

    def desk_path(self, state: Path) -> Path:
        """Return the socket file of the desk.

        Args:
            state: the state folder.

        Raises:
            ConfigError: `desk` is a port: whoever reaches it may try tokens.
        """
        if not self.desk:
            return state / state_files.DESK_SOCKET
        address = parse_address(self.desk)
        if not isinstance(address, UnixAddress):
            raise ConfigError("console.desk: write a socket file: unix:PATH")
        return Path(address.path)

    @property
    def pages_url(self) -> str:
        """How people reach the pages, without a slash at its end; empty: it can't be told."""
        if self.url or not self.listen or not isinstance(self.address, InetAddress):
            return self.url.rstrip("/")
        host = f"[{self.address.host}]" if ":" in self.address.host else self.address.host
        return f"http://{host}:{self.address.port}"
