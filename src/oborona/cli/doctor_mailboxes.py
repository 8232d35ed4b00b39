"""What `oborona doctor` says of the way into the mailboxes: does the server answer, does it know
us, does it have what moves need.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from imapclient.exceptions import IMAPClientError

from oborona.cli.asked import Asked
from oborona.cli.report import Report, State
from oborona.config import Settings
from oborona.errors import ConfigError, PeerError
from oborona.recheck.mailboxes.doveadm_api import Api
from oborona.recheck.mailboxes.imap_session import Session
from oborona.stores.mailboxes import imap_server, open_api

WAIT_S: Final = 5.0  # for the mail server
NEEDED: Final = frozenset({"batch", "mailboxCreate"})  # commands of doveadm

_WHAT: Final = "mailboxes"


def mailboxes(asked: Asked) -> Iterator[Report]:
    """Look at the way into the mailboxes."""
    settings = asked.loaded.settings
    mine = settings.mailboxes
    if mine.kind == "none":
        if settings.recheck.enabled:
            yield Report(
                _WHAT, State.WARN, "none are set: what turns out to be spam later stays where it is"
            )
        return
    if missing := mine.missing():
        yield Report(_WHAT, State.FAIL, missing)
        return
    try:
        match mine.kind:
            case "doveadm":
                yield asyncio.run(_doveadm(open_api(settings), mine.url))
                yield from _exposed(
                    urlsplit(mine.url).hostname or "", plain=mine.url.startswith("http:")
                )
            case "imap":
                yield _imap(settings)
                yield from _exposed(imap_server(settings).host, plain=mine.imap_tls == "none")
            case _:
                yield _maildir(mine.maildir)
    except ConfigError as error:
        yield Report(_WHAT, State.FAIL, str(error))
        return
    for path in filter(None, (mine.key_file, mine.master_password_file)):
        yield from _secret(Path(path))


async def _doveadm(api: Api, url: str) -> Report:
    try:
        async with asyncio.timeout(WAIT_S):
            names = await api.names()
    except TimeoutError:
        return Report(_WHAT, State.FAIL, f"{url} does not answer within {WAIT_S:g} s")
    except PeerError as error:
        return Report(_WHAT, State.FAIL, f"{error}; messages stay where they are")
    finally:
        await api.close()
    if lacking := NEEDED - names:
        words = f"{url} does not know {' and '.join(sorted(lacking))}: it takes Dovecot 2.3"
        return Report(_WHAT, State.FAIL, words)
    return Report(_WHAT, State.OK, f"the API of Dovecot answers on {url}")


def _imap(settings: Settings) -> Report:
    server = imap_server(settings)
    where = f"{server.host} port {server.port}"
    try:
        session = Session(server, wait_s=WAIT_S)
        try:
            session.secure()
        finally:
            session.shutdown()
    except ssl.SSLError as error:
        return Report(_WHAT, State.FAIL, f"{where}: TLS: {error.reason or error}")
    except (OSError, IMAPClientError) as error:
        return Report(_WHAT, State.FAIL, f"{where}: {error}; messages stay where they are")
    return Report(
        _WHAT,
        State.OK,
        f"an IMAP server answers on {where}; a login is tried with the first mailbox",
    )


def _maildir(template: str) -> Report:
    fixed = Path(template.partition("{")[0])
    folder = fixed if template[: len(str(fixed)) + 1].endswith("/") else fixed.parent
    if not folder.is_dir():
        return Report(_WHAT, State.FAIL, f"{folder}: there is no such folder")
    if not os.access(folder, os.R_OK | os.X_OK):
        return Report(
            _WHAT,
            State.WARN,
            f"{folder}: not to be entered by who asks now; run this as the daemon's user",
        )
    return Report(_WHAT, State.OK, f"Maildirs lie in {folder}")


def _exposed(host: str, *, plain: bool) -> Iterator[Report]:
    if plain and not _near(host):
        yield Report(
            _WHAT,
            State.WARN,
            f"{host} is another machine, and what opens all mailboxes goes there without TLS",
        )


def _near(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _secret(path: Path) -> Iterator[Report]:
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if mode & 0o007:
        yield Report(
            _WHAT,
            State.WARN,
            f"{path} opens all mailboxes and everybody may read it: chmod o= {path}",
        )
