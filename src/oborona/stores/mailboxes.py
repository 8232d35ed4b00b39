"""The mailboxes that the settings name, opened.

What each kind needs is imported where it is named: a client of HTTP takes 14 MB of memory.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from oborona.config import InetAddress, Settings, parse_address
from oborona.config.mailboxes import filled
from oborona.errors import ConfigError
from oborona.recheck.mailboxes.found import Guard
from oborona.recheck.mailboxes.model import Mailboxes

if TYPE_CHECKING:
    from oborona.recheck.mailboxes.doveadm_api import Api
    from oborona.recheck.mailboxes.imap_session import Server

MAX_SECRET: Final = 1000  # bytes of a key or password


def open_mailboxes(settings: Settings) -> Mailboxes | None:
    """Return the mailboxes of a site, None where none are set; nobody is asked anything yet.

    Args:
        settings: in force.

    Raises:
        ConfigError: a setting is missing, or a file that one names cannot be read.
    """
    mine = settings.mailboxes
    if missing := mine.missing():
        raise ConfigError(missing)
    guard = Guard(move_listed=settings.recheck.move_listed, inbox=settings.recheck.inbox)
    match mine.kind:
        case "doveadm":
            from oborona.recheck.mailboxes.doveadm import Doveadm  # noqa: PLC0415

            return Doveadm(
                open_api(settings), guard, connections=mine.connections, deadline_s=mine.deadline_s
            )
        case "imap":
            from oborona.recheck.mailboxes.imap import Imap  # noqa: PLC0415

            return Imap(
                imap_server(settings),
                guard,
                connections=mine.connections,
                deadline_s=mine.deadline_s,
            )
        case "maildir":
            from oborona.recheck.mailboxes.maildir import Maildirs  # noqa: PLC0415

            place = partial(maildir_of, mine.maildir)
            return Maildirs(place, guard, connections=mine.connections, deadline_s=mine.deadline_s)
        case _:
            return None


def open_api(settings: Settings) -> Api:
    """Return the doveadm API that the settings name.

    Raises:
        ConfigError: the file of its key cannot be read.
    """
    from oborona.recheck.mailboxes.doveadm_api import Api  # noqa: PLC0415

    mine = settings.mailboxes
    return Api(mine.url, secret_of("key_file", mine.key_file))


def imap_server(settings: Settings) -> Server:
    """Return the IMAP server that the settings name.

    Raises:
        ConfigError: the file of its password cannot be read.
    """
    from oborona.recheck.mailboxes.imap_session import Server  # noqa: PLC0415

    mine = settings.mailboxes
    address = parse_address(mine.imap)
    assert isinstance(address, InetAddress)
    password = secret_of("master_password_file", mine.master_password_file)
    return Server(
        host=address.host,
        port=address.port,
        tls=mine.imap_tls,
        certificates=mine.imap_certificates,
        master=mine.master_user,
        password=password.decode("utf-8", "replace"),
        separator=mine.master_separator,
    )


def maildir_of(template: str, user: str) -> str:
    """Return the Maildir of a user.

    Args:
        template: as the setting has it.
        user: owner of the mailbox.

    Raises:
        FileNotFoundError: a user of such a name has none: it would lead elsewhere.
    """
    local, at, domain = user.rpartition("@")
    if not at:
        local, domain = domain, ""
    if local.startswith(".") or domain.startswith(".") or ("{domain}" in template and not domain):
        raise FileNotFoundError(f"{user!r} has no Maildir")
    return filled(template, user, local, domain)


def secret_of(setting: str, path: str) -> bytes:
    """Return what stands in a file that holds a secret and nothing else.

    Args:
        setting: of [mailboxes] that names the file.
        path: of the file.

    Raises:
        ConfigError: it cannot be read, or holds something else.
    """
    try:
        with Path(path).open("rb") as file:
            secret = file.read(MAX_SECRET + 1).strip(b"\r\n")
    except OSError as error:
        raise ConfigError(f"mailboxes.{setting}: {path}: {error.strerror or error}") from None
    if not secret or len(secret) > MAX_SECRET or b"\n" in secret or b"\0" in secret:
        raise ConfigError(f"mailboxes.{setting}: {path} does not hold one line")
    return secret
