"""The site's lists by calls: shown, changed, tried first, and taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.desk.call import NotFoundError
from oborona.desk.lists.files import UnknownListError
from oborona.desk.refusals import UnusableValueError
from oborona.desk.site import Site
from tests.cli.journaled import LINKS, policy
from tests.desk.calling import call, octets_below, site_of, take_back

KEPT = (
    '[[local_list]]\nname = "KEPT_OUT"\naction = "deny"\nof = ["client"]\nfile = "kept-out.list"\n'
)
INLINE = (
    '[[local_list]]\nname = "INLINE"\naction = "deny"\nof = ["client"]\nentries = ["192.0.2.1"]\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made(tmp_path / "policy")


def made(folder: Path) -> Path:
    policy(folder, LINKS, KEPT, INLINE)
    (folder / "kept-out.list").write_text("# ours\n9.5.0.0/16      # all of it\n")
    return folder


def opened(folder: Path) -> Site:
    """A site anew: a call knows the policy as it is then."""
    return site_of(folder.parent / "state", paths__policy=str(folder))


def entries(folder: Path, name: str) -> list[str]:
    shown = call(opened(folder), "lists.show", name=name)["entries"]
    return [f"{row['list']} {row['entry']} {row['comment']}".strip() for row in shown]


def test_each_call_once(folder: Path) -> None:
    shown = call(opened(folder), "lists.show")
    assert [row["list"] for row in shown["lists"]] == ["KEPT_OUT", "INLINE"]
    assert shown["to_begin"] == {"SITE_ALLOW": "allow", "SITE_DENY": "deny"}
    done = call(opened(folder), "lists.add", name="deny", entries=[".Evil.Example"], reason="bad")
    assert (done["name"], done["changed"]) == ("SITE_DENY", [".evil.example"])
    assert done["undo"] == {"call": "lists.undo", "asked": {"name": "deny"}}
    (line,) = entries(folder, "deny")
    assert line.startswith("SITE_DENY .evil.example bad (anna, ")
    warned = call(opened(folder), "lists.add", name="allow", entries=["a@evil.example"])
    assert any("narrower decides" in warning for warning in warned["warnings"])
    imported = call(
        opened(folder), "lists.import", name="KEPT_OUT", content="203.0.113.9\n\x00\n",
        called="x\n198.51.100.1", skip_broken=True, reason="theirs",
    )  # fmt: skip
    assert imported["changed"] == ["203.0.113.9"]
    assert entries(folder, "KEPT_OUT") == ["KEPT_OUT 9.5.0.0/16 all of it", "KEPT_OUT 203.0.113.9"]
    removed = call(opened(folder), "lists.remove", name="KEPT_OUT", entries=["9.5.0.0/16", "::1"])
    assert (removed["changed"], removed["same"]) == (["9.5.0.0/16"], ["::1"])
    undone = take_back(opened(folder), removed)
    assert undone["entries"] == 2
    take_back(opened(folder), undone)
    assert entries(folder, "KEPT_OUT") == ["KEPT_OUT 203.0.113.9"]


def test_an_import_tells_each_line_first_and_is_taken_back_as_one(folder: Path) -> None:
    theirs = "*.BAD.example 5\n9.5.0.0/16 1\n/<b>/i\n192.0.2.77 x\n192.0.2.77 y\n"
    before = octets_below(folder)
    asked = {"name": "KEPT_OUT", "content": theirs.replace("*.BAD.example 5\n", "")}
    dry = call(opened(folder), "lists.import", skip_broken=True, dry=True, **asked)
    assert octets_below(folder) == before
    assert (dry["form"], dry["changed"]) == ("rspamd", ["192.0.2.77"])
    assert dry["same"] == ["9.5.0.0/16", "192.0.2.77"]
    assert [line for line, _ in dry["passed_over"]] == [2]
    done = call(opened(folder), "lists.import", skip_broken=True, reason="r", **asked)
    take_back(opened(folder), done)
    assert entries(folder, "KEPT_OUT") == ["KEPT_OUT 9.5.0.0/16 all of it"]
    allowed = call(
        opened(folder), "lists.import", name="allow", content=theirs, skip_broken=True, dry=True
    )
    assert allowed["rewritten"] == [
        {"line": 1, "written": "*.BAD.example", "entry": ".bad.example"}
    ]
    assert any("proves it" in warning for warning in allowed["warnings"])


@pytest.mark.parametrize(
    ("act", "asked"),
    [
        ("lists.add", {"entries": ["192.0.2.9"]}),
        ("lists.remove", {"entries": ["192.0.2.7"]}),
        ("lists.import", {"content": "192.0.2.9\n"}),
        ("lists.undo", {}),
    ],
)
def test_what_is_tried_changes_nothing(folder: Path, act: str, asked: dict[str, Any]) -> None:
    call(opened(folder), "lists.add", name="KEPT_OUT", entries=["192.0.2.7"])
    before = octets_below(folder)
    assert call(opened(folder), act, name="KEPT_OUT", dry=True, **asked)["dry"] is True
    assert octets_below(folder) == before


def test_what_is_tried_begins_no_list(folder: Path) -> None:
    before = octets_below(folder)
    call(opened(folder), "lists.add", name="deny", entries=["192.0.2.7"], dry=True)
    assert octets_below(folder) == before


_ENTRIES = st.lists(
    st.sampled_from(["192.0.2.1", "198.51.100.0/24", "2001:db8::/32", "9.5.0.0/16"]),
    min_size=1,
    max_size=3,
)


def test_what_is_taken_back_is_as_it_was(folder: Path) -> None:
    site = opened(folder)  # once: whoever asks for a list loads the policy

    def rows() -> Any:
        return call(site, "lists.show", name="KEPT_OUT")

    @settings(max_examples=40, deadline=None)
    @given(_ENTRIES, st.sampled_from(["lists.add", "lists.remove"]), _ENTRIES)
    def check(before: list[str], act: str, some: list[str]) -> None:
        (folder / "kept-out.list").write_text("# ours\n")
        call(site, "lists.add", name="KEPT_OUT", entries=before, reason="r")
        was = rows()
        done = call(site, act, name="KEPT_OUT", entries=some)
        if done["undo"] is not None:
            take_back(site, done)
        assert rows() == was

    check()


@pytest.mark.parametrize(
    ("name", "asked", "error"),
    [
        ("lists.show", {"name": "../../etc/passwd"}, NotFoundError),
        ("lists.show", {"name": "x" * 10**6}, NotFoundError),
        ("lists.add", {"name": "odd", "entries": ["192.0.2.1"]}, NotFoundError),
        ("lists.add", {"name": "INLINE", "entries": ["192.0.2.1"]}, UnknownListError),
        ("lists.add", {"name": "KEPT_OUT", "entries": ["x.example"]}, UnknownListError),
        ("lists.add", {"name": "deny", "entries": ["192.0.2.1\n0.0.0.0/0"]}, UnusableValueError),
        ("lists.add", {"name": "deny", "entries": ["x" * 10**6]}, UnusableValueError),
        ("lists.add", {"name": "deny", "entries": []}, msgspec.ValidationError),
        ("lists.add", {"name": "deny", "entries": ["192.0.2.1"] * 10_001}, msgspec.ValidationError),
        ("lists.import", {"name": "deny", "content": "\x00\n"}, UnknownListError),
        ("lists.import", {"name": "deny", "content": "x", "form": "odd"}, msgspec.ValidationError),
        ("lists.undo", {"name": "KEPT_OUT"}, UnknownListError),
        ("lists.undo", {"name": "deny", "dry": "yes"}, msgspec.ValidationError),
    ],
)
def test_what_cannot_be_used_is_told(
    folder: Path, name: str, asked: dict[str, Any], error: type[Exception]
) -> None:
    before = octets_below(folder)
    with pytest.raises(error) as raised:
        call(opened(folder), name, **asked)
    assert len(str(raised.value)) < 600
    assert octets_below(folder) == before


def test_a_reason_is_one_line_of_the_file(folder: Path) -> None:
    reason = "x\n0.0.0.0/0\u2028::/0 # \x1b[2J"
    call(opened(folder), "lists.add", name="KEPT_OUT", entries=["192.0.2.7"], reason=reason)
    call(opened(folder), "lists.import", name="KEPT_OUT", content="192.0.2.8\n", reason=reason)
    assert [line.split()[1] for line in entries(folder, "KEPT_OUT")] == [
        "9.5.0.0/16", "192.0.2.7", "192.0.2.8",
    ]  # fmt: skip
