"""Settings of the console: its pages, and the desk that answers them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from oborona import state_files
from oborona.config.address import EXAMPLES, UnixAddress, parse_address
from oborona.config.doors import ListenSettings, check_optional_address
from oborona.errors import ConfigError


class ConsoleSettings(ListenSettings, frozen=True, kw_only=True):
    """Pages for people, and the API behind them (docs/operate/console.md)."""

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

    policy: Annotated[
        Literal["overlay", "read", "write"],
        Meta(
            description="What drafts of the policy may be published to: the file 90-console.toml "
            "of the policy folder alone, nothing, or all files of that folder."
        ),
    ] = "overlay"

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
