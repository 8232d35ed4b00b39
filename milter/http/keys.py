"""Who may use the HTTP door: the keys of a file, or whoever reaches a socket that only this machine can reach."""

from __future__ import annotations

import ipaddress
from pathlib import Path

from oborona.config import Address, Http, UnixAddress
from oborona.errors import ConfigError
from oborona.milter.tokens import Tokens


def keys(asked: Http) -> Tokens | None:
    """Return the keys of the door, None where reaching it is enough.

    Raises:
        ConfigError: the file can't be used; or anyone on the network might ask.
    """
    if asked.keys_file:
        return Tokens(Path(asked.keys_file))
    if _of_this_machine(asked.address):
        return None
    raise ConfigError(
        f"doors.http.listen is {asked.address}, which others may reach, and has no keys; set doors.http.keys_file"
    )


def _of_this_machine(address: Address) -> bool:
    if isinstance(address, UnixAddress):
        return True
    try:
        return ipaddress.ip_address(address.host).is_loopback
    except ValueError:
        return address.host == "localhost"
