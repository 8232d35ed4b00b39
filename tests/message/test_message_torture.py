"""The malformed mails that the standard library keeps for its own parser (the running interpreter ships them, or not)."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from oborona.message.parse import parse


def folder() -> Path | None:
    found = find_spec("test.test_email") if find_spec("test") else None
    return Path(found.origin).parent / "data" if found is not None and found.origin else None


@pytest.mark.skipif(folder() is None, reason="this interpreter comes without its own tests")
def test_torture_mails_of_the_standard_library() -> None:
    where = folder()
    assert where is not None
    files = sorted(where.glob("msg_*.txt"))
    assert len(files) >= 45
    for path in files:
        message = parse(path.read_bytes())
        assert message.parts
        assert message == parse(path.read_bytes())


@pytest.mark.skipif(folder() is None, reason="this interpreter comes without its own tests")
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
    where = folder()
    assert where is not None
    assert parse((where / name).read_bytes()).mime_tree == tree
