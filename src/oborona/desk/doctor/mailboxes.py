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

from oborona.config import Settings
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site
from oborona.errors import ConfigError, PeerError
from oborona.recheck.mailboxes.doveadm_api import DoveadmApi
from oborona.recheck.mailboxes.imap_session import ImapSession
from oborona.stores.mailboxes import imap_server, open_api

WAIT_S: Final = 5.0  # for the mail server
NEEDED: Final = frozenset({"batch", "mailboxCreate"})  # commands of doveadm

_WHAT: Final = "mailboxes"


def mailboxes(context: Site) -> Iterator[CheckReport]:
    """Look at the way into the mailboxes."""
    settings = context.loaded.settings
    mine = settings.mailboxes
    if mine.kind == "none":
        if settings.recheck.enabled:
            yield CheckReport(
                _WHAT,
                CheckState.WARN,
                "none are set: what turns out to be spam later stays where it is",
            )
        return
    if missing := mine.missing():
        yield CheckReport(_WHAT, CheckState.FAIL, missing)
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
        yield CheckReport(_WHAT, CheckState.FAIL, str(error))
        return
    for path in filter(None, (mine.key_file, mine.master_password_file)):
        yield from _secret(Path(path))


async def _doveadm(api: DoveadmApi, url: str) -> CheckReport:
    try:
        async with asyncio.timeout(WAIT_S):
            names = await api.names()
    except TimeoutError:
        return CheckReport(_WHAT, CheckState.FAIL, f"{url} does not answer within {WAIT_S:g} s")
    except PeerError as error:
        return CheckReport(_WHAT, CheckState.FAIL, f"{error}; messages stay where they are")
    finally:
        await api.close()
    if lacking := NEEDED - names:
        words = f"{url} does not know {' and '.join(sorted(lacking))}: it takes Dovecot 2.3"
        return CheckReport(_WHAT, CheckState.FAIL, words)
    return CheckReport(_WHAT, CheckState.OK, f"the API of Dovecot answers on {url}")


def _imap(settings: Settings) -> CheckReport:
    server = imap_server(settings)
    where = f"{server.host} port {server.port}"
    try:
        session = ImapSession(server, wait_s=WAIT_S)
        try:
            session.secure()
        finally:
            session.shutdown()
    except ssl.SSLError as error:
        return CheckReport(_WHAT, CheckState.FAIL, f"{where}: TLS: {error.reason or error}")
    except (OSError, IMAPClientError) as error:
        return CheckReport(
            _WHAT, CheckState.FAIL, f"{where}: {error}; messages stay where they are"
        )
    return CheckReport(
        _WHAT,
        CheckState.OK,
        f"an IMAP server answers on {where}; a login is tried with the first mailbox",
    )


def _maildir(template: str) -> CheckReport:
    fixed = Path(template.partition("{")[0])
    folder = fixed if template[: len(str(fixed)) + 1].endswith("/") else fixed.parent
    if not folder.is_dir():
        return CheckReport(_WHAT, CheckState.FAIL, f"{folder}: there is no such folder")
    if not os.access(folder, os.R_OK | os.X_OK):
        return CheckReport(
            _WHAT,
            CheckState.WARN,
            f"{folder}: not to be entered by who asks now; run this as the daemon's user",
        )
    return CheckReport(_WHAT, CheckState.OK, f"Maildirs lie in {folder}")


def _exposed(host: str, *, plain: bool) -> Iterator[CheckReport]:
    if plain and not _near(host):
        yield CheckReport(
            _WHAT,
            CheckState.WARN,
            f"{host} is another machine, and what opens all mailboxes goes there without TLS",
        )


def _near(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _secret(path: Path) -> Iterator[CheckReport]:
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if mode & 0o007:
        yield CheckReport(
            _WHAT,
            CheckState.WARN,
            f"{path} opens all mailboxes and everybody may read it: chmod o= {path}",
        )
