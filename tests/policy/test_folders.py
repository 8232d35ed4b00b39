"""The folder of policy files that ships, and the admin's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from oborona.errors import PolicyError
from oborona.policy.folders import PACKAGED, FileOwner, PolicyFolders
from oborona.policy.list_files import MAX_BYTES
from oborona.policy.load import Policy, load_policy
from oborona.policy.load_cache import PolicyCache
from oborona.policy.shipped_files import MANIFEST, FileVersion, shipped_table
from oborona.policy.watch import LivePolicy, folder_state
from tests.policy.small_schema import SCHEMA

NOBODY = 65534

SHIPPED = {
    "10-verdict.toml": "[verdict]\nspam_score = 100\nreject_score = 200\n",
    "20-lists.toml": '[[local_list]]\nname = "OUT"\naction = "deny"\nof = ["client"]\nfile = "out.list"\n',
    "30-rules.toml": '[[rule]]\nname = "SHORT"\nwhen = "text.words < 5"\nscore = 10\n'
    '[[rule]]\nname = "LONG"\nwhen = "text.words > 500"\nscore = 5\n',
    "out.list": "192.0.2.1\n",
}


class Two:
    """Two folders, what ships and what is the admin's."""

    def __init__(self, root: Path) -> None:
        self.folders = PolicyFolders(own=root / "own", shipped=root / "shipped")
        self.own, self.shipped = root / "own", root / "shipped"
        self.shipped.mkdir()
        self.ship(**SHIPPED)

    def ship(self, **files: str) -> None:
        for name, text in files.items():
            (self.shipped / name).write_text(text)
        there = sorted(path.name for path in self.shipped.iterdir() if path.name != MANIFEST)
        (self.shipped / MANIFEST).write_text(
            shipped_table(FileVersion(name, True, "0") for name in there)
        )

    def write(self, **files: str) -> None:
        self.own.mkdir(exist_ok=True)
        for name, text in files.items():
            (self.own / name).write_text(text)

    def load(self, before: PolicyCache | None = None) -> Policy:
        return load_policy(self.folders, SCHEMA, before)

    def refused(self) -> PolicyError:
        with pytest.raises(PolicyError) as refused:
            self.load()
        return refused.value


@pytest.fixture
def two(tmp_path: Path) -> Two:
    return Two(tmp_path)


@pytest.mark.parametrize("kind", ["missing", "empty", "of other files"])
def test_what_ships_is_in_force_where_the_admin_has_nothing(two: Two, kind: str) -> None:
    if kind != "missing":
        two.write(
            **({} if kind == "empty" else {"README": "x", ".90.toml.swp": "x", "90.toml~": "x"})
        )
    found = two.load()
    assert [rule.name for rule in found.rules] == ["SHORT", "LONG"]
    assert found.version == load_policy(two.shipped, SCHEMA).version
    assert found.files == tuple(
        str(two.shipped / name) for name in SHIPPED if name.endswith(".toml")
    )


@pytest.mark.parametrize("name", ["90-local.toml", "05-first.toml", "mine.toml"])
def test_what_is_the_admins_wins_whatever_its_name(two: Two, name: str) -> None:
    two.write(**{name: '[verdict]\nspam_score = 80\n[[rule]]\nname = "SHORT"\nscore = 11\n'})
    found = two.load()
    assert found.verdict.spam_score == 80
    assert (found.verdict.reject_score, [rule.score for rule in found.rules]) == (200, [11, 5])
    assert found.origins["rule.SHORT.score"] == f"{two.own / name}:5"
    assert found.origins["rule.SHORT.when"] == f"{two.shipped}/30-rules.toml:3"


def test_a_file_of_the_same_name_replaces_one_that_ships_whole(two: Two) -> None:
    two.write(**{"30-rules.toml": '[[rule]]\nname = "SHORT"\nwhen = "text.words < 3"\nscore = 1\n'})
    found = two.load()
    assert [(rule.name, rule.score) for rule in found.rules] == [("SHORT", 1)]
    assert found.files[-1] == str(two.own / "30-rules.toml")
    two.write(**{"30-rules.toml": "# none of these\n"})
    assert two.load().rules == ()


def test_an_old_layout_behaves_as_it_did(two: Two) -> None:
    """All that ships was copied; the order of names was the whole story."""
    own = {
        "05-early.toml": "[verdict]\nspam_score = 70\n",
        "25-between.toml": '[[rule]]\nname = "LONG"\nwhen = "links > 1"\nscore = 1\nmode = "shadow"\n',
        "90-local.toml": '[[rule]]\nname = "SHORT"\nscore = 12\n',
    }
    two.write(**SHIPPED, **own)
    both, alone = two.load(), load_policy(two.own, SCHEMA)
    assert both.version == alone.version
    assert both.verdict.spam_score == 100, "what sorted before was changed by what ships"
    assert both.origins == alone.origins


def test_list_files_are_looked_for_with_the_admin_then_in_what_ships(two: Two) -> None:
    mine = '[[local_list]]\nname = "MINE"\naction = "allow"\nof = ["client"]\nfile = "{}"\n'
    two.write(**{"90.toml": mine.format("out.list")})
    first = two.load()
    assert len(first.local_lists) == 2, "a list that ships, named by the admin"
    two.write(**{"out.list": "198.51.100.1\n198.51.100.2\n"})
    second = two.load()
    assert len(second.local_lists) == 4, "a list of the admin's in the place of one that ships"
    assert second.version != first.version
    two.write(**{"90.toml": mine.format("nowhere.list")})
    refused = two.refused()
    assert refused.file == str(two.own / "nowhere.list"), "where it would have to be put"


def test_an_admins_list_that_is_no_file_is_not_passed_over(two: Two) -> None:
    two.write()
    (two.own / "out.list").symlink_to(two.own / "gone")
    assert two.refused().file == str(two.own / "out.list")


def test_whose_a_file_is(two: Two) -> None:
    two.write(**{"10-verdict.toml": "# none\n", "90.toml": "# none\n"})
    whose = {Path(name).name: two.folders.whose(Path(name)) for name in two.load().files}
    assert whose == {
        "20-lists.toml": FileOwner.SHIPPED,
        "30-rules.toml": FileOwner.SHIPPED,
        "10-verdict.toml": FileOwner.INSTEAD,
        "90.toml": FileOwner.OWN,
    }


def test_an_error_in_a_file_that_ships_says_that_it_ships(two: Two) -> None:
    two.ship(**{"30-rules.toml": '[[rule]]\nname = "SHORT"\nwhen = "text.wrds < 5"\nscore = 10\n'})
    assert "this file ships with the program" in two.refused().problem
    two.write(**{"30-rules.toml": "[verdict]\nspam = 1\n"})
    assert "ships" not in two.refused().problem


@pytest.mark.parametrize("name", ["30-rules.toml", "out.list"])
def test_what_ships_and_is_not_whole_is_refused(two: Two, name: str) -> None:
    (two.shipped / name).unlink()
    refused = two.refused()
    assert refused.problem.startswith(f"the policy that ships is not whole, {name} is missing")


def test_what_ships_and_is_not_there_is_refused(two: Two) -> None:
    two.write(**SHIPPED)
    two.shipped.rename(two.shipped.with_name("gone"))
    refused = two.refused()
    assert (refused.file, refused.problem) == (
        str(two.shipped),
        "the policy folder cannot be read: No such file or directory",
    )


@pytest.mark.parametrize(
    "damage", [b"\xff\n", b"name\n", b"a\tships\t0\t!\n", b"a\tships\t0\tAAA=\n", b"\0" * 9 + b"\n"]
)
def test_a_broken_table_of_what_ships_is_refused(two: Two, damage: bytes) -> None:
    (two.shipped / MANIFEST).write_bytes(damage)
    assert two.refused().file == str(two.shipped / MANIFEST)


@pytest.mark.parametrize("kind", ["file", "pipe", "loop", "broken link", "unreadable"])
def test_a_folder_of_the_admins_that_is_none_is_refused(two: Two, kind: str) -> None:
    if kind == "file":
        two.own.write_text("x")
    elif kind == "pipe":
        os.mkfifo(two.own)
    elif kind == "loop":
        two.own.symlink_to(two.own)
    elif kind == "broken link":
        two.own.symlink_to(two.own.with_name("nowhere"))
    else:
        two.own.mkdir(mode=0)
    with nobody(two.own.parent):
        assert two.refused().file == str(two.own)


@contextmanager
def nobody(folder: Path) -> Iterator[None]:
    """Go on as somebody who may not read everything, within."""
    if os.geteuid():
        yield
        return
    for path in (folder, *folder.parents):
        if path.owner() == "root" and path != Path("/tmp"):
            path.chmod(path.stat().st_mode | 0o055)
        if path == Path("/tmp"):
            break
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("name", ["90.toml", "30-rules.toml", "90.lua", "out.list"])
@pytest.mark.parametrize(
    "kind", ["folder", "pipe", "loop", "broken link", "half-written", "empty", "huge"]
)
def test_a_file_of_the_admins_that_is_none_is_refused(two: Two, name: str, kind: str) -> None:
    two.write()
    path = two.own / name
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "broken link":
        path.symlink_to(two.own / "nowhere")
    elif kind == "half-written":
        path.write_text("# score = 10")
    elif kind == "empty":
        path.write_text("")
    else:
        with path.open("wb") as handle:
            handle.truncate(MAX_BYTES + 1)
    assert two.refused().file == str(path)


def test_files_of_both_folders_count(two: Two) -> None:
    two.write(**{f"{number}.toml": "# x\n" for number in range(300, 498)})
    assert "holds 201 files; at most 200" in two.refused().problem


def test_a_site_may_have_its_own_policy_alone(two: Two) -> None:
    two.write(**{"90.toml": "[verdict]\nspam_score = 80\n"})
    found = load_policy(PolicyFolders(own=two.own), SCHEMA)
    assert (found.rules, found.verdict.spam_score) == ((), 80)
    with pytest.raises(PolicyError, match="cannot be read"):
        load_policy(PolicyFolders(own=two.own / "missing"), SCHEMA)


def test_a_running_program_sees_both_folders_change_come_and_go(two: Two) -> None:
    live = LivePolicy(two.folders, SCHEMA)
    assert live.reload() is False
    two.write(**{"90.toml": "[verdict]\nspam_score = 80\n"})
    assert (live.reload(), live.current.verdict.spam_score) == (True, 80)
    two.ship(**{"31-new.toml": '[[rule]]\nname = "NEW"\nwhen = "text.words > 900"\nscore = 1\n'})
    assert (live.reload(), len(live.current.rules)) == (True, 3)
    two.own.rename(two.own.with_name("away"))
    assert (live.reload(), live.current.verdict.spam_score) == (True, 100)
    two.shipped.rename(two.shipped.with_name("upgrade"))
    assert live.reload() is False
    assert live.error is not None
    assert len(live.current.rules) == 3, "it stays as it was"
    two.shipped.with_name("upgrade").rename(two.shipped)
    assert live.reload() is False
    now: object = live.error  # not what it was when it was asked last
    assert now is None


def test_the_state_of_an_empty_folder_is_not_that_of_a_missing_one(two: Two) -> None:
    missing = folder_state(two.folders)
    two.write()
    assert folder_state(two.folders) != missing


def test_a_copy_is_read_as_what_it_is_a_copy_of(two: Two, tmp_path: Path) -> None:
    two.write(**{"90.toml": "[verdict]\nspam_score = 80\n", "30-rules.toml": "# none\n"})
    copy = two.folders.copied(tmp_path / "copy")
    assert copy.own is not None
    assert copy.shipped is not None
    copy.shipped.mkdir(parents=True)
    for path in two.folders.files(".toml", ".list"):
        to = copy.shipped if path.parent == two.shipped else copy.own
        (to / path.name).write_bytes(path.read_bytes())
    before = PolicyCache()
    first = two.load(before)
    again = load_policy(copy, SCHEMA, before, named=two.folders)
    assert (again.version, again.origins, again.files) == (
        first.version,
        first.origins,
        first.files,
    )


def test_the_policy_of_the_program_is_whole() -> None:
    files = PolicyFolders(shipped=PACKAGED).files(".toml", ".list", ".lua")
    assert len(files) > 40
