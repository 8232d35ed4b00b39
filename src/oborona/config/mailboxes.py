"""Settings of the way into the mailboxes."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from oborona.config.address import EXAMPLES, parse_address
from oborona.errors import ConfigError

_FILE: Final = r"\A(/[^\x00-\x1f\x7f]+)?\Z"
_WORD: Final = re.compile(r"\{([^{}]*)\}")
_WORDS: Final = frozenset({"address", "local", "domain"})


def _template(value: str) -> None:
    unknown = set(_WORD.findall(value)) - _WORDS
    if unknown or "{" in _WORD.sub("", value) or "}" in _WORD.sub("", value):
        raise ValueError(f"{value!r}: between braces stands address, local or domain")
    if "{address}" not in value and "{local}" not in value:
        raise ValueError(
            f"{value!r} is the same for everybody; write {{address}} or {{local}} into it"
        )


def _may_be_template(value: str) -> None:
    if value:
        _template(value)


def _url(value: str) -> None:
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise ValueError(f"{value!r} is no URL") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ValueError(f"{value!r}: a URL begins with http://HOST or https://HOST")
    if parts.username is not None or parts.password is not None:
        raise ValueError("the key stands in a file of its own, not in the URL")


def _imap(value: str) -> None:
    try:
        address = parse_address(value)
    except ConfigError as fault:
        raise ValueError(fault.problem) from None
    if not hasattr(address, "port"):
        raise ValueError("IMAP needs a host and a port")


class MailboxSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How delivered messages are reached, to move them as long as nobody has opened them
    (docs/people/mailboxes.md).
    """

    kind: Annotated[
        Literal["none", "doveadm", "imap", "maildir"],
        Meta(
            description="The way into the mailboxes: the HTTP API of Dovecot, IMAP with a master "
            "user, or the files themselves. none:"
            " nothing is moved."
        ),
    ] = "none"
    user: Annotated[
        str,
        Meta(
            max_length=200,
            description="What the mail server calls the owner of a mailbox, made of the address "
            "that the mail came to, in lower case"
            " and without a plus and what follows it: {address} is all of it, {local} what is "
            "before the @, {domain} what is behind it.",
            extra={"allowed": 'such as "{address}" or "{local}"', "check": _template},
        ),
    ] = "{address}"
    connections: Annotated[
        int,
        Meta(ge=1, le=64, description="Mailboxes that are looked into at the same time."),
    ] = 4
    deadline_s: Annotated[
        float,
        Meta(
            ge=0.5,
            le=300,
            description="A mailbox that has not answered within this is asked again later.",
        ),
    ] = 20.0
    url: Annotated[
        str,
        Meta(
            max_length=1000,
            description="doveadm: where Dovecot's API listens.",
            extra={"allowed": "a URL", "check": _url},
        ),
    ] = "http://127.0.0.1:8088/doveadm/v1"
    key_file: Annotated[
        str,
        Meta(
            max_length=4096,
            pattern=_FILE,
            description=(
                "doveadm: file that holds the key of the API (doveadm_api_key) and nothing else."
            ),
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    imap: Annotated[
        str,
        Meta(
            max_length=300,
            description="imap: where the server listens.",
            extra={"allowed": EXAMPLES.partition(", ")[2], "check": _imap},
        ),
    ] = "inet:993@127.0.0.1"
    imap_tls: Annotated[
        Literal["tls", "starttls", "none"],
        Meta(
            description=(
                "imap: TLS from the start, after STARTTLS, or none, which only this machine "
                "should see."
            )
        ),
    ] = "tls"
    imap_certificates: Annotated[
        str,
        Meta(
            max_length=4096,
            pattern=_FILE,
            description=(
                "imap: file of the certificates that vouch for the server. Empty: those that "
                "the system trusts."
            ),
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    master_user: Annotated[
        str,
        Meta(
            max_length=200,
            pattern=r"\A[^\x00-\x20\x7f]*\Z",
            description="imap: who may log in as everybody.",
            extra={"allowed": 'a user name without spaces, or ""'},
        ),
    ] = ""
    master_password_file: Annotated[
        str,
        Meta(
            max_length=4096,
            pattern=_FILE,
            description="imap: file that holds the password of the master user and nothing else.",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    master_separator: Annotated[
        str,
        Meta(
            max_length=1,
            pattern=r"\A[^\x00-\x20\x7f\"\\]?\Z",
            description="imap: the master user logs in as USER, this, MASTER "
            "(auth_master_user_separator of Dovecot). Empty: by SASL PLAIN"
            " with both names, as Cyrus has it.",
            extra={"allowed": 'one character, or ""'},
        ),
    ] = "*"
    maildir: Annotated[
        str,
        Meta(
            max_length=4096,
            pattern=_FILE,
            description="maildir: folder of a mailbox, made of its owner as `user` has it: "
            "{address} is all of it, {local} what is"
            " before the @, {domain} what is behind it.",
            extra={
                "allowed": 'such as "/var/mail/{domain}/{local}/Maildir", or ""',
                "check": _may_be_template,
            },
        ),
    ] = ""

    def missing(self) -> str:
        """Return which setting this kind needs and has not; empty where all are there."""
        needs = {
            "doveadm": ("key_file",),
            "imap": ("master_user", "master_password_file"),
            "maildir": ("maildir",),
        }.get(self.kind, ())
        without = [name for name in needs if not getattr(self, name)]
        return (
            (
                f"mailboxes.kind = {self.kind!r} needs "
                f"{' and '.join(f'mailboxes.{name}' for name in without)}"
            )
            if without
            else ""
        )

    def owner(self, recipient: str) -> str:
        """Return what the mail server calls the owner of a recipient's mailbox.

        Args:
            recipient: a mail address.
        """
        local, at, domain = recipient.lower().rpartition("@")
        if not at:
            local, domain = domain, ""
        local = local.partition("+")[0] or local
        return fill_template(self.user, f"{local}{at}{domain}", local, domain)


def fill_template(template: str, address: str, local: str, domain: str) -> str:
    """Return a template with an owner's names in the places of its braces."""
    words = {"address": address, "local": local, "domain": domain}
    return _WORD.sub(lambda match: words[match[1]], template)
