"""Signatures in policy files and list files: fields, overrides, ids, errors with their line,
reload.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from oborona.errors import PolicyError
from oborona.policy import list_files, signature_files
from oborona.policy.load import Policy, load_policy
from oborona.policy.signatures import LiveSignatures, SignatureFlag, SignatureKind, SignatureScope
from oborona.policy.watch import LivePolicy
from oborona.toml import TomlPlace
from oborona.types import RuleMode
from tests.policy.small_schema import SCHEMA

ONE = """\
[[signature]]
name = "PILLS"
flag = "spam"
value = "cheap pills"
owner = "anna"
reason = "pharma"
expires = "2026-12-31"
"""
LIST = """\
[[signature_list]]
name = "SHOPS"
flag = "spam"
kind = "domain"
file = "shops.list"
owner = "bob"
"""


def policy(folder: Path, **files: str) -> Policy:
    for name, text in files.items():
        (folder / f"{name}.toml").write_text(text)
    return load_policy(folder, SCHEMA)


def test_a_signature_is_what_its_fields_say_and_later_files_change_it(tmp_path: Path) -> None:
    (one,) = policy(tmp_path, a=ONE).signatures.values()
    assert (one.id, one.flag, one.kind, one.value, one.where) == (
        "PILLS", SignatureFlag.SPAM, SignatureKind.PHRASE, "cheap pills", SignatureScope.ANY,
    )  # fmt: skip
    assert (one.owner, one.reason, one.score, one.mode) == ("anna", "pharma", None, RuleMode.LIVE)
    assert one.expires == 1798761600.0, "the day is the last: it ends with it"
    changed = policy(
        tmp_path,
        b='[[signature]]\nname = "PILLS"\nscore = 40\nmode = "shadow"\nwhere = "subject"\n',
    )
    (one,) = changed.signatures.values()
    assert (one.score, one.mode, one.where, one.value) == (
        40.0,
        RuleMode.SHADOW,
        SignatureScope.SUBJECT,
        "cheap pills",
    )
    assert changed.origins["signature.PILLS.score"].endswith("b.toml:3")
    assert policy(tmp_path, c='[[signature]]\nname = "PILLS"\nenabled = false\n').signatures == {}


def test_a_list_gives_each_line_an_id_that_stays_wherever_the_line_stands(tmp_path: Path) -> None:
    (tmp_path / "shops.list").write_text("# shops\nbad.example\n\nworse.example.com\n")
    before = policy(tmp_path, a=LIST)
    assert {one.value for one in before.signatures.values()} == {"bad.example", "worse.example.com"}
    assert all(name.startswith("SHOPS:") and len(name) == 18 for name in before.signatures)
    assert all(
        (one.kind, one.owner) == (SignatureKind.DOMAIN, "bob") for one in before.signatures.values()
    )
    (tmp_path / "shops.list").write_text("worse.example.com\nbad.example\nbad.example\n")
    after = policy(tmp_path)
    assert after.signatures == before.signatures
    assert after.version == before.version


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", ":1: is empty: half-written?"),
        (b"bad.example", ":1: its last line does not end: half-written?"),
        (b"bad.example\n\xff.example\n", ":2:1: is not UTF-8: byte 0xff"),
        (b"bad.example\nno domain\n", ":2: this is no domain: write a domain"),
        (b"bad.example\nb\0d.example\n", ":2: the domain holds a control character"),
        (b"bad.example\n" + b"x" * 2000 + b"\n", ":2: the domain is longer than 1000 characters"),
    ],
)
def test_a_list_file_that_cannot_be_used_is_refused_with_its_line(
    tmp_path: Path, raw: bytes, problem: str
) -> None:
    (tmp_path / "shops.list").write_bytes(raw)
    with pytest.raises(PolicyError) as refused:
        policy(tmp_path, a=LIST)
    assert f"shops.list{problem}" in str(refused.value)


def test_a_list_file_that_is_missing_or_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        PolicyError, match=r"cannot be read: No such file.*signature list SHOPS names it"
    ):
        policy(tmp_path, a=LIST)
    (tmp_path / "shops.list").write_text("bad.example\nworse.example\n")
    monkeypatch.setattr(signature_files, "MAX_SIGNATURES", 1)
    with pytest.raises(PolicyError, match="holds more than 1 signatures"):
        policy(tmp_path)
    monkeypatch.setattr(signature_files, "MAX_LIST_BYTES", 1 << 3)
    with pytest.raises(PolicyError, match="is larger than"):
        policy(tmp_path)


def test_a_broken_list_never_replaces_a_good_one_and_one_that_did_not_change_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.toml").write_text(LIST)
    shops = tmp_path / "shops.list"
    shops.write_text("bad.example\n")
    live = LivePolicy(tmp_path, SCHEMA)
    book = LiveSignatures(live.current.signatures)
    good = live.current.signatures
    shops.write_text("bad.example\nworse exam")
    assert not live.reload()
    assert "half-written" in str(live.error)
    assert live.current.signatures is good
    shops.write_text("bad.example\nworse.example\n")
    assert live.reload()
    better = live.current.signatures
    assert book.hold(better, good)
    assert len(book.book) == 2
    opened: list[Path] = []

    def watched(path: Path, of: str, place: TomlPlace, most: int) -> bytes:
        opened.append(path)
        return list_files.contents(path, of, place, most)

    monkeypatch.setattr(signature_files, "contents", watched)
    (tmp_path / "b.toml").write_text("[verdict]\nspam_score = 90\n")
    assert live.reload()
    assert opened == []
    assert not book.hold(live.current.signatures, better)
    os.utime(shops)
    assert not live.reload(), "looked at again, and the same"
    assert opened == [shops]
