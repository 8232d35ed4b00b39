"""The ways by which somebody shows who they are."""

from __future__ import annotations

from enum import StrEnum


class LoginWay(StrEnum):
    """By which way somebody is logged in; what is written down of it stays as it is."""

    PASSWORD = "password"  # noqa: S105 - a password of ours, and a code of a second step
    PASSKEY = "passkey"  # a passkey whose authenticator has checked who holds it
    PROVIDER = "provider"  # the site's OpenID provider
    PROXY = "proxy"  # a proxy before the console
    MAIL = "mail"  # a link that was sent to a mailbox
    MAILBOX = "mailbox"  # the password of a mailbox
