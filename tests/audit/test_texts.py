"""Texts of strangers in the audit log."""

from __future__ import annotations

import json

import pytest

from oborona.audit.texts import (
    ARGUMENTS,
    HIDDEN,
    TEXT,
    VALUES,
    arguments_json,
    cut_text,
    is_secret,
)

MEGABYTES = "ж" * 3_000_000


@pytest.mark.parametrize(
    "text", ["\x00\x1b[2J\x07", "\ud800half", "\udcff", "a\u202eb", "\U0010ffff", '"]},{']
)
def test_any_text_is_kept_as_unicode(text: str) -> None:
    kept = json.loads(arguments_json({"value": text, "values": [text, text]}))
    assert kept["value"] == text.encode("utf-8", "backslashreplace").decode()
    assert len(kept["values"]) == 2


def test_megabytes_are_cut() -> None:
    assert len(cut_text(MEGABYTES)) == TEXT
    assert cut_text(MEGABYTES).endswith("…")
    assert len(cut_text("\ud800" * 1000)) == TEXT
    kept = json.loads(arguments_json({"entries": [MEGABYTES] * 100_000}))
    assert kept["entries"][VALUES:] == [f"and {100_000 - VALUES} more"]


def test_all_arguments_have_bounded_room() -> None:
    text = arguments_json({f"--{number}": "ж" * 500 for number in range(100)})
    assert len(text.encode()) < ARGUMENTS + 100 * 20
    assert json.loads(text)["--99"] == "…"


@pytest.mark.parametrize("name", ["--password", "smtp_password", "--api-key", "token", "Secrets"])
def test_secrets_are_not_kept(name: str) -> None:
    assert is_secret(name)
    assert json.loads(arguments_json({name: "hunter2"})) == {name: HIDDEN}


@pytest.mark.parametrize("name", ["--spam", "passage", "tokenizer", "--reason"])
def test_other_names_are_no_secrets(name: str) -> None:
    assert not is_secret(name)


def test_a_login_in_a_url_is_left_out() -> None:
    assert cut_text("at https://anna:hunter2@x.example/a:b@c") == (
        f"at https://{HIDDEN}@x.example/a:b@c"
    )
    assert cut_text("https://x.example:80/@") == "https://x.example:80/@"


@pytest.mark.parametrize("before", range(150, 210))
@pytest.mark.parametrize("password", ["hunter2", "hunter2" * 500])
def test_a_login_is_left_out_wherever_the_text_is_cut(before: int, password: str) -> None:
    text = f"{'a' * before} https://anna:{password}@x.example/"
    assert "hunt" not in cut_text(text)
    assert len(cut_text(text)) <= TEXT
