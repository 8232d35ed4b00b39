"""The mailboxes that the settings name, opened.

What each kind needs is imported where it is named: a client of HTTP takes 14 MB of memory.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from oborona.config import InetAddress, Settings, parse_address
from oborona.config.mailboxes import fill_template
from oborona.errors import ConfigError
from oborona.recheck.mailboxes.located_copy import MoveGuard
from oborona.recheck.mailboxes.model import SiteMailboxes

if TYPE_CHECKING:
    from oborona.recheck.mailboxes.doveadm_api import DoveadmApi
    from oborona.recheck.mailboxes.imap_session import ImapServer

MAX_SECRET: Final = 1000  # bytes of a key or password


def open_mailboxes(settings: Settings) -> SiteMailboxes | None:
    """Return the mailboxes of a site, None where none are set; nobody is asked anything yet.

    Args:
        settings: in force.

    Raises:
        ConfigError: a setting is missing, or a file that one names cannot be read.
    """
    mine = settings.mailboxes
    if missing := mine.missing():
        raise ConfigError(missing)
    guard = MoveGuard(move_listed=settings.recheck.move_listed, inbox=settings.recheck.inbox)
    match mine.kind:
        case "doveadm":
            from oborona.recheck.mailboxes.doveadm import DoveadmMailboxes  # noqa: PLC0415

            return DoveadmMailboxes(
                open_api(settings), guard, connections=mine.connections, deadline_s=mine.deadline_s
            )
        case "imap":
            from oborona.recheck.mailboxes.imap import ImapMailboxes  # noqa: PLC0415

            return ImapMailboxes(
                imap_server(settings),
                guard,
                connections=mine.connections,
                deadline_s=mine.deadline_s,
            )
        case "maildir":
            from oborona.recheck.mailboxes.maildir import MaildirMailboxes  # noqa: PLC0415

            place = partial(maildir_of, mine.maildir)
            return MaildirMailboxes(
                place, guard, connections=mine.connections, deadline_s=mine.deadline_s
            )
        case _:
            return None


def open_api(settings: Settings) -> DoveadmApi:
    """Return the doveadm API that the settings name.

    Raises:
        ConfigError: the file of its key cannot be read.
    """
    from oborona.recheck.mailboxes.doveadm_api import DoveadmApi  # noqa: PLC0415

    mine = settings.mailboxes
    return DoveadmApi(mine.url, read_secret("key_file", mine.key_file))


def imap_server(settings: Settings) -> ImapServer:
    """Return the IMAP server that the settings name.

    Raises:
        ConfigError: the file of its password cannot be read.
    """
    from oborona.recheck.mailboxes.imap_session import ImapServer  # noqa: PLC0415

    mine = settings.mailboxes
    address = parse_address(mine.imap)
    assert isinstance(address, InetAddress)
    password = read_secret("master_password_file", mine.master_password_file)
    return ImapServer(
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
    return fill_template(template, user, local, domain)


def read_secret(setting: str, path: str) -> bytes:
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
