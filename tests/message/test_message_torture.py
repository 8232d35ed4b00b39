"""The malformed mails that Python's standard library keeps for its own parser: each is read, and
read the same twice.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from oborona.message.parse import parse

FILES = sorted((Path(__file__).parents[1] / "golden/torture").glob("*.txt"))


def test_all_are_there() -> None:
    assert len(FILES) == 48


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_torture_mail_is_read(file: Path) -> None:
    raw = file.read_bytes()
    message = parse(raw)
    assert message.parts
    assert message == parse(raw)


@pytest.mark.parametrize(
    ("name", "tree"),
    [
        ("msg_01.txt", "text/plain"),
        ("msg_04.txt", "multipart/mixed(text/plain,text/plain)"),
        ("msg_10.txt", "multipart/mixed(text/plain,text/html,text/plain,text/plain,text/plain)"),
        ("msg_43.txt", "multipart/report(text/plain,message/delivery-status,text/rfc822-headers)"),
        ("msg_28.txt", "multipart/digest(message/rfc822(text/plain),message/rfc822(text/plain))"),
    ],
)
def test_trees_of_some(name: str, tree: str) -> None:
    (file,) = (file for file in FILES if file.name == name)
    assert parse(file.read_bytes()).mime_tree == tree
