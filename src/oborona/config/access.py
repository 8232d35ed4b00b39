"""Who may reach what listens: this machine alone, or networks that the settings name.

A listener that others can reach answers whoever finds it: it tells strangers how mail is judged,
and some of them take what strangers say for a mailbox user's word or put mail into any mailbox.  So
a port that is not this machine's alone says from where it is asked, or is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from oborona.config.address import Address, parse_address
from oborona.config.doors import DoorSettings, ListenSettings
from oborona.config.settings import Settings
from oborona.errors import ConfigError
from oborona.toml import TomlPlace

_KEYS: Final = {
    "doors.http.listen": "keys_file",
    "intake.http_listen": "http_token_file",
    "metrics.listen": "token_file",
}  # settings that name who may ask in another way


class OpenListener(NamedTuple):
    """One that is open."""

    setting: str  # that opens it, such as doors.milter.listen
    address: Address
    section: ListenSettings  # where it stands
    keys: str  # file of what clients must show; empty = nothing

    @property
    def allowed(self) -> str:
        """Networks that may connect; empty = whoever can."""
        return self.section.allowed

    @property
    def open(self) -> bool:
        """Whether anybody on the network may speak."""
        return not (self.address.local or self.allowed or self.keys)


def open_listeners(settings: Settings) -> Iterator[OpenListener]:
    """Yield all listeners that are open: of workers, intake, console and metrics."""
    for name in settings.doors.__struct_fields__:
        door: DoorSettings = getattr(settings.doors, name)
        if door.listen:
            yield _listener(f"doors.{name}.listen", door.listen, door)
    for key in ("listen", "http_listen", "mail_listen"):
        if address := getattr(settings.intake, key):
            yield _listener(f"intake.{key}", address, settings.intake)
    if settings.console.enabled and settings.console.listen:
        yield _listener("console.listen", settings.console.listen, settings.console)
    if settings.metrics.listen:
        yield _listener("metrics.listen", settings.metrics.listen, settings.metrics)


def check_reach(
    settings: Settings, origins: Mapping[str, str], places: Mapping[str, TomlPlace]
) -> None:
    """Refuse a listener that anybody may reach, and one that can't tell who does.

    Args:
        settings: all of them.
        origins: of every setting.
        places: of those that the file gives.

    Raises:
        ConfigError: which one, and what to write.
    """
    for listener in open_listeners(settings):
        section, _, _ = listener.setting.rpartition(".")
        reach = f"{listener.setting} = {listener.address} ({origins[listener.setting]})"
        if listener.open:
            alternative = (
                f", or {section}.{_KEYS[listener.setting]}" if listener.setting in _KEYS else ""
            )
            problem = (
                f"{reach} can be reached by others; name who may connect with "
                f"{section}.allowed{alternative}, such as"
                ' allowed = "192.0.2.0/24", or listen on 127.0.0.1 or a socket file'
            )
        elif (
            section == "doors.milter"
            and settings.doors.milter.transport == "libmilter"
            and not listener.address.local
        ):
            problem = (
                f'{reach} can be reached by others, and transport = "libmilter" does not see '
                f'who connects; take "native"'
            )
        else:
            continue
        place = places.get(listener.setting, TomlPlace())
        raise ConfigError(problem, file=place.file, line=place.line, column=place.column)


def _listener(setting: str, address: str, section: ListenSettings) -> OpenListener:
    keys = getattr(section, _KEYS[setting]) if setting in _KEYS else ""
    return OpenListener(setting, parse_address(address), section, keys)
