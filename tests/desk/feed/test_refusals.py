"""Feeds that are unsigned, old, cut, huge, hostile or wrong: nothing changes, and one line says
why.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oborona.desk.call import CallError
from oborona.desk.feed.manifest import CONTENTS, MANIFEST, SIGNATURE
from oborona.errors import OboronaError
from tests.desk.feed.fed import MILDER, NEW, FedSite

HARD = b'[[rule]]\nname = "HARD"\nwhen = "links > 0"\nscore = 1\n'
TEN = {"10.toml": MILDER}


@pytest.fixture
def fed(tmp_path: Path) -> FedSite:
    return FedSite(tmp_path)


def _unsigned(fed: FedSite) -> None:
    (fed.feed / SIGNATURE).unlink()


def _changed(fed: FedSite) -> None:
    path = fed.feed / MANIFEST
    path.write_bytes(path.read_bytes().replace(b'"version": 7', b'"version": 9'))


def _cut(fed: FedSite) -> None:
    path = fed.feed / MANIFEST
    path.write_bytes(path.read_bytes()[:-20])


def _huge_manifest(fed: FedSite) -> None:
    fed.sign(b" " * (1 << 20))


def _bad_content(fed: FedSite) -> None:
    for path in (fed.feed / CONTENTS).iterdir():
        path.write_bytes(path.read_bytes().replace(b"HARD", b"HARM"))


def _cut_content(fed: FedSite) -> None:
    for path in (fed.feed / CONTENTS).iterdir():
        path.write_bytes(path.read_bytes()[:-1])


def _bomb(fed: FedSite) -> None:
    for path in (fed.feed / CONTENTS).iterdir():
        with path.open("r+b") as file:
            file.truncate(1 << 36)  # sparse: whoever read all of it would be out of memory


def _link(fed: FedSite) -> None:
    for path in (fed.feed / CONTENTS).iterdir():
        path.rename(fed.folder / "elsewhere")
        path.symlink_to(fed.folder / "elsewhere")


def _pipe(fed: FedSite) -> None:
    (fed.feed / SIGNATURE).unlink()
    os.mkfifo(fed.feed / SIGNATURE)


BIG = {"sha256": "0" * 64, "size": 1 << 40}


@pytest.mark.parametrize(
    ("said", "spoil", "why"),
    [
        ({}, _unsigned, "feed.json.minisig: No such file"),
        ({}, _changed, "the signature does not fit"),
        ({}, _cut, "the signature does not fit"),
        ({}, _huge_manifest, "larger than 262,144 octets"),
        ({}, _bad_content, "10.toml is not what the feed's manifest says"),
        ({}, _cut_content, "10.toml is not what the feed's manifest says"),
        ({}, _bomb, "larger than"),
        ({}, _link, "symbolic links"),
        ({}, _pipe, "is not a plain file"),
        ({"version": 3}, None, "version 3, and 5 was seen before"),
        ({"version": 5}, None, "another version 5 than before"),
        ({"version": 0}, None, "no positive number"),
        ({"version": 1 << 60}, None, "no positive number"),
        ({"expires": 1}, None, "expired on 1970-01-01"),
        ({"expires": -(1 << 62)}, None, "expired on a day beyond"),
        ({"made": 1 << 40, "expires": 1 << 41}, None, "is the clock right"),
        ({"expires": 1 << 41}, None, "for more than 400 days"),
        ({"oborona": "99.1"}, None, "needs a newer Oborona than this .*: 99.1"),
        ({"format": 2, "what": "else"}, None, "needs a newer Oborona"),
        ({"what": "else"}, None, "unknown field `what`"),
        ({"files": {"../../x.toml": BIG}}, None, "no name of a policy file"),
        ({"files": {"/etc/x.toml": BIG}}, None, "no name of a policy file"),
        ({"files": {".x.toml": BIG}}, None, "no name of a policy file"),
        ({"files": {"x.so": BIG}}, None, "no name of a policy file"),
        ({"files": {"90-console.toml": BIG}}, None, "a file of the site's own"),
        ({"files": {"x.toml": BIG}}, None, "larger than 4 MiB"),
        ({"files": {"x.toml": {"sha256": "../../x", "size": 1}}}, None, "no SHA-256"),
        ({"files": {"x.toml": {"sha256": "0" * 64, "size": -1}}}, None, "larger than"),
        (
            {"files": {f"{n}.toml": {"sha256": "0" * 64, "size": 4 << 20} for n in range(9)}},
            None,
            "more than 32 MiB",
        ),
        (
            {"files": {f"{n}.toml": {"sha256": "0" * 64, "size": 0} for n in range(301)}},
            None,
            "at most 300",
        ),
    ],
)
def test_a_bad_feed_changes_nothing_and_says_why(
    fed: FedSite, said: dict[str, Any], spoil: Callable[[FedSite], None] | None, why: str
) -> None:
    fed.offer(TEN, version=5)
    fed.update()
    before = fed.everything()
    for path in (fed.feed / CONTENTS).iterdir():
        path.unlink()
    fed.offer_raw({"10.toml": HARD}, **said)
    if spoil is not None:
        spoil(fed)
    with pytest.raises(OboronaError, match=why) as told:
        fed.update(now=True)
    assert "\n" not in str(told.value)
    assert fed.everything() == before
    assert fed.scores()["LINKS"] == 30


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"20.toml": b"[[rule]]\nname ="}, "can't be used: .*feed-policy/20.toml:2"),
        ({"20.toml": b"score = 1"}, "can't be used"),
        ({"20.toml": b"[nobody]\nknows = 1\n"}, "can't be used: .*nobody"),
        ({"20.toml": b"\xff\xfe\n"}, "can't be used"),
        ({"20.lua": b"while true do end\n"}, "can't be used"),
        ({"20.lua": b"os.execute('true')\n"}, "can't be used"),
        (
            {"20.toml": b'[[local_list]]\nname = "A"\naction = "deny"\nof = ["sender"]\n'
             b'file = "../../../etc/passwd"\n'},
            "can't be used",
        ),
        (
            {"20.toml": NEW.encode() + b"[[rule.test]]\nfacts = { links = 1 }\nhit = true\n"},
            "20.toml",
        ),
    ],
)  # fmt: skip
def test_rules_that_are_wrong_change_nothing(
    fed: FedSite, files: dict[str, bytes], why: str
) -> None:
    fed.feed.mkdir()
    fed.offer_raw(files)
    with pytest.raises(CallError, match=why):
        fed.update()
    assert fed.held() == {}
    fed.offer_raw({"20.toml": NEW.encode()}, version=8)
    assert fed.update().step == "live", "a later one that is right is taken"
