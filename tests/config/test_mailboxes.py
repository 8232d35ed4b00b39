"""The section [mailboxes]: owners of mailboxes, what a kind needs, and what is opened."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.config import MailboxSettings, Settings
from oborona.errors import ConfigError
from oborona.recheck.mailboxes.doveadm import DoveadmMailboxes
from oborona.stores.mailboxes import maildir_of, open_mailboxes


@pytest.mark.parametrize(
    ("template", "recipient", "owner"),
    [
        ("{address}", "Joe@Example.org", "joe@example.org"),
        ("{address}", "joe+list@example.org", "joe@example.org"),
        ("{local}", "joe+list@example.org", "joe"),
        ("{local}", "+list@example.org", "+list"),
        ("{local}", "joe", "joe"),
        ("{address}", "joe", "joe"),
        ("{domain}!{local}", "joe@example.org", "example.org!joe"),
        ("{local}", '"a@b"@example.org', '"a@b"'),
    ],
)
def test_the_owner_of_a_recipients_mailbox(template: str, recipient: str, owner: str) -> None:
    assert MailboxSettings(user=template).owner(recipient) == owner


@given(st.text(max_size=40))
def test_an_owner_is_named_whatever_the_recipient_is(recipient: str) -> None:
    assert isinstance(MailboxSettings(user="{local}").owner(recipient), str)


@pytest.mark.parametrize(
    ("kind", "missing"),
    [
        ("none", ""),
        ("doveadm", "mailboxes.key_file"),
        ("imap", "mailboxes.master_user and mailboxes.master_password_file"),
        ("maildir", "mailboxes.maildir"),
    ],
)
def test_what_a_kind_needs(kind: str, missing: str) -> None:
    settings = Settings(mailboxes=msgspec.structs.replace(MailboxSettings(), kind=kind))
    if not missing:
        assert open_mailboxes(settings) is None
        return
    assert settings.mailboxes.missing().endswith(f"needs {missing}")
    with pytest.raises(ConfigError, match="needs"):
        open_mailboxes(settings)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "No such file"),
        (b"", "does not hold one line"),
        (b"\n", "does not hold one line"),
        (b"one\ntwo\n", "does not hold one line"),
        (b"a\0b", "does not hold one line"),
        (b"x" * 1001, "does not hold one line"),
    ],
)
def test_a_secret_that_is_none(tmp_path: Path, content: bytes | None, problem: str) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=problem):
        open_mailboxes(Settings(mailboxes=MailboxSettings(kind="doveadm", key_file=str(file))))
    file.write_bytes(b"key\r\n")
    assert isinstance(
        open_mailboxes(Settings(mailboxes=MailboxSettings(kind="doveadm", key_file=str(file)))),
        DoveadmMailboxes,
    )


@pytest.mark.parametrize(
    ("template", "user", "path"),
    [
        ("/m/{domain}/{local}/Maildir", "joe@example.org", "/m/example.org/joe/Maildir"),
        ("/m/{local}", "joe", "/m/joe"),
        ("/m/{address}", "joe@example.org", "/m/joe@example.org"),
        ("/m/{domain}/{local}", "joe", None),
        ("/m/{local}", "..", None),
        ("/m/{domain}/{local}", "joe@..", None),
        ("/m/{local}", ".hidden@example.org", None),
    ],
)
def test_the_maildir_of_a_user(template: str, user: str, path: str | None) -> None:
    if path is None:
        with pytest.raises(FileNotFoundError):
            maildir_of(template, user)
    else:
        assert maildir_of(template, user) == path
