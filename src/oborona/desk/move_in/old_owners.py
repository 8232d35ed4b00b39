"""Whose a file of a person is, by the folders that it lies in; pure."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from oborona.reputation.personal import mail_address

_BETWEEN: Final = frozenset({"users", "home", "vmail", "spamassassin", ".spamassassin", "mail"})


def owner_of(name: str, domain: str) -> str:
    """Return the mail address of who owns a file; empty where it can't be told.

    `ann@example.org/user_prefs`, `example.org/ann/spamassassin/user_prefs`, and with a domain
    `ann/.spamassassin/user_prefs`; also `ann@example.org.user_prefs`.

    Args:
        name: path of the file below the folder of the configuration.
        domain: of who is named by a login alone.
    """
    path = PurePosixPath(name)
    before = path.name.removesuffix("user_prefs").rstrip("._-")
    parts = [part for part in path.parts[:-1] if part not in _BETWEEN]
    if before:
        parts.append(before)
    for part in reversed(parts):
        if address := mail_address(part):
            return address
    if len(parts) > 1 and "." in parts[-2] and (address := mail_address("@".join(parts[:-3:-1]))):
        return address
    return mail_address(f"{parts[-1]}@{domain}") if parts and domain else ""
