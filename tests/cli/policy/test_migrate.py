"""From copies of all that ships to a folder of what is the site's."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oborona.cli import main
from oborona.cli.policy.history import table, version
from oborona.cli.policy.migration import execution
from oborona.policy.fact_table import SCHEMA
from oborona.policy.folders import PACKAGED, PolicyFolders
from oborona.policy.load import Policy, load_policy
from oborona.policy.shipped_files import MANIFEST
from oborona.toml import parse

VERDICT = "# the lines\n[verdict]\nspam_score = 100\nreject_score = 200\n"
RULES = """\
[[group]]
name = "STYLE"
cap = 50

[[rule]]
name = "MANY_LINKS"
when = "links > 5"
score = 10
say = "{links} links"
group = "STYLE"
test = [{ facts = { links = 6 }, hit = true }]

[[rule]]
name = "FEW_WORDS"
when = "text.words < 5"
score = 20
mode = "shadow"
"""
LISTS = """\
[[signature_list]]
name = "PILLS"
flag = "spam"
kind = "phrase"
file = "pills.list"
"""
SCRIPT = "-- nothing yet\n"
OLD = {
    "10-verdict.toml": VERDICT,
    "20-rules.toml": RULES,
    "30-lists.toml": LISTS,
    "40-example.lua": SCRIPT,
    "pills.list": "cheap pills\ndear pills\n",
}
NEW = OLD | {
    "20-rules.toml": RULES.replace("score = 20", "score = 25")
    + '\n[[rule]]\nname = "ADDED"\nwhen = "links > 50"\nscore = 5\n',
    "pills.list": "cheap pills\ndear pills\nnew pills\n",
    "50-new.toml": '[[rule]]\nname = "BRAND_NEW"\nwhen = "links > 500"\nscore = 5\n',
}


class Site:
    """A site with its settings, what ships to it, and its policy folder."""

    def __init__(self, root: Path) -> None:
        self.root, self.shipped, self.own = root, root / "shipped", root / "policy.d"
        self.shipped.mkdir()
        (root / "oborona.toml").write_text('[paths]\nshipped_policy = "shipped"\nstate = "state"\n')
        self.ship(OLD)

    def ship(self, files: dict[str, str]) -> None:
        older = [
            version(path.name, path.read_bytes())
            for path in self.shipped.iterdir()
            if path.name != MANIFEST
        ]
        for path in self.shipped.iterdir():
            if path.name != MANIFEST:
                path.unlink()
        for name, text in files.items():
            (self.shipped / name).write_text(text)
        (self.shipped / MANIFEST).write_text(table(self.shipped, older))

    def copy(self, **changed: str) -> None:
        """Copy all that ships, as it was done once, and write further files."""
        self.own.mkdir(exist_ok=True)
        for path in self.shipped.iterdir():
            if path.name != MANIFEST:
                (self.own / path.name).write_bytes(path.read_bytes())
        for name, text in changed.items():
            (self.own / name).write_text(text)

    @property
    def policy(self) -> Policy:
        return load_policy(PolicyFolders(own=self.own, shipped=self.shipped), SCHEMA)

    def run(self, *words: str, status: int = 0) -> Result:
        result = CliRunner().invoke(
            main, ["--config", str(self.root / "oborona.toml"), "policy", "migrate", *words]
        )
        assert result.exit_code == status, (result.output, result.exception)
        return result

    def names(self) -> list[str]:
        return sorted(path.name for path in self.own.iterdir())

    def backups(self) -> list[Path]:
        return sorted(self.root.glob("policy.d.before-*"))

    def everything(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in self.root.rglob("*") if path.is_file()}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_unchanged_copies_go_and_what_is_the_sites_stays(site: Site) -> None:
    site.copy(
        **{
            "90-local.toml": '[[rule]]\nname = "MANY_LINKS"\nscore = 11\n',
            "mine.list": "192.0.2.1\n",
        }
    )
    before = site.policy
    said = site.run().stdout
    assert "the policy means what it meant" in said
    assert site.names() == ["90-local.toml", "mine.list"]
    assert site.policy.version == before.version
    (backup,) = site.backups()
    assert sorted(path.name for path in backup.iterdir()) == sorted(
        [*OLD, "90-local.toml", "mine.list"]
    )
    assert (backup / "20-rules.toml").read_text() == RULES


def test_a_dry_run_says_the_same_and_does_nothing(site: Site) -> None:
    site.copy(**{"20-rules.toml": RULES.replace("score = 10", "score = 12")})
    before = site.everything()
    dry = site.run("--dry-run").stdout
    assert site.everything() == before
    wet = site.run().stdout
    assert dry.splitlines()[:-1] == wet.splitlines()[:-1]
    assert dry.endswith("nothing was done: --dry-run\n")


def test_what_was_changed_by_hand_is_told_and_kept_in_a_file_of_its_own(site: Site) -> None:
    changed = (
        RULES.replace("score = 10", "score = 12   # ours")
        .replace("cap = 50", "cap = 60")
        .replace('mode = "shadow"\n', "")
        .replace('say = "{links} links"', "say = 'it\\'s \"{links}\"'".replace("\\'", ""))
        + '\n[[rule]]\nname = "OURS"\nwhen = "matches(subject, r\'(?i)\\\\bpills\\\\b\')"\nscore '
        "= 1\n"
        '[[rule.test]]\nfacts = { subject = "pills" }\nhit = true\n'
    )
    site.copy(**{"20-rules.toml": changed, "10-verdict.toml": VERDICT.replace("100", "80")})
    before = site.policy
    said = site.run().stdout
    for line in (
        "verdict: spam_score = 80 (ships: 100)",
        "group.STYLE: cap = 60 (ships: 50)",
        "rule.MANY_LINKS: score = 12 (ships: 10)",
        'rule.FEW_WORDS: mode was taken out; mode = "live" says the same',
        "rule.OURS: yours; the whole table is kept",
    ):
        assert f"    {line}\n" in said
    assert site.names() == ["10-verdict_own.toml", "20-rules_own.toml"]
    assert site.policy.version == before.version
    assert len(next(rule for rule in site.policy.rules if rule.name == "OURS").test) == 1
    assert "links > 5" not in (site.own / "20-rules_own.toml").read_text(), "what was not changed"


def test_newer_files_that_ship_come_in_and_are_named(site: Site) -> None:
    site.copy(**{"20-rules.toml": RULES.replace("score = 10", "score = 12")})
    site.ship(NEW)
    assert {rule.name for rule in site.policy.rules} == {"MANY_LINKS", "FEW_WORDS", "BRAND_NEW"}, (
        "as before"
    )
    said = site.run().stdout
    assert said.count(
        "unchanged copies that go: 10-verdict.toml, 30-lists.toml, 40-example.lua, pills.list\n"
    )
    for line in (
        "rule ADDED: new",
        "rule FEW_WORDS: score 20.0 → 25.0",
        "signature list PILLS: other entries in its file",
    ):
        assert f"    {line}\n" in said
    assert {rule.name: rule.score for rule in site.policy.rules} == {
        "MANY_LINKS": 12, "FEW_WORDS": 25, "ADDED": 5, "BRAND_NEW": 5,
    }  # fmt: skip
    assert (site.own / "20-rules_own.toml").read_text().count("\n[[") == 1


def test_a_rule_that_was_taken_out_stays_out(site: Site) -> None:
    site.copy(**{"20-rules.toml": RULES[: RULES.index('[[rule]]\nname = "FEW')]})
    before = site.policy
    site.ship(NEW | {"50-new.toml": "# none\n"})
    said = site.run().stdout
    assert "rule.FEW_WORDS: taken out of the file; switched off" in said
    assert "rule ADDED: new" in said
    enabled = [rule.name for rule in site.policy.rules if rule.enabled]
    assert enabled == ["MANY_LINKS", "ADDED"]
    assert [rule.name for rule in before.rules] == ["MANY_LINKS"]


def test_a_rule_that_moved_to_another_file_of_the_site_is_not_switched_off(site: Site) -> None:
    at = RULES.index('[[rule]]\nname = "FEW')
    site.copy(**{"20-rules.toml": RULES[:at], "90-local.toml": RULES[at:].replace("20", "21")})
    before = site.policy
    site.run()
    assert site.policy.version == before.version


def test_a_list_and_a_script_that_were_changed_stay_in_the_place_of_those_that_ship(
    site: Site,
) -> None:
    site.copy(
        **{"pills.list": "cheap pills\nother pills\n", "40-example.lua": "-- ours\n" + SCRIPT}
    )
    before = site.policy
    said = site.run().stdout
    assert (
        "stays, in the place of the one that ships: pills.list: changed by hand: 1 lines "
        "that don't ship, 1 of those that ship are missing"
    ) in said
    assert site.names() == ["40-example.lua", "pills.list"]
    assert site.policy.version == before.version


def test_what_no_table_can_say_stays(site: Site) -> None:
    other = RULES.replace('mode = "shadow"\n', 'mode = "shadow"\nstage = "content"\nsay = "few"\n')
    site.ship(OLD | {"20-rules.toml": other})
    site.copy(**{"20-rules.toml": other.replace('stage = "content"\n', "")})
    site.ship(OLD | {"20-rules.toml": other.replace("score = 10", "score = 13")})
    before = site.policy
    said = site.run().stdout
    assert "rule.FEW_WORDS: stage was taken out, and no value says that" in said
    assert site.names() == ["20-rules.toml"]
    assert site.policy.version == before.version


def test_a_file_of_the_site_that_only_has_the_name_stays(site: Site) -> None:
    site.copy(**{"20-rules.toml": '[[rule]]\nname = "OURS"\nwhen = "links > 7"\nscore = 1\n'})
    site.run()
    assert site.names() == ["20-rules.toml"]


def test_a_rule_that_ships_no_more_is_kept_only_where_it_was_changed(site: Site) -> None:
    site.copy(**{"20-rules.toml": RULES.replace("score = 10", "score = 12")})
    site.ship(OLD | {"20-rules.toml": "# none\n"})
    said = site.run().stdout
    assert "rule.MANY_LINKS: shipped once and no more; the whole table is kept" in said
    assert "rule FEW_WORDS: no more" in said


def test_it_may_be_run_again(site: Site) -> None:
    site.copy(**{"20-rules.toml": RULES.replace("score = 10", "score = 12")})
    site.run()
    before = site.everything()
    assert site.run().stdout == f"nothing to move: {site.own} holds no copies of files that ship\n"
    assert site.everything() == before
    site.copy()
    site.run()
    assert len(site.backups()) == 2, "one of a day is not written over by the next"


@pytest.mark.parametrize("unlinked", [0, 1, 3])
def test_broken_off_it_means_what_it_meant_and_goes_on(
    site: Site, unlinked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.copy(**{"20-rules.toml": RULES.replace("score = 10", "score = 12")})
    before, left, unlink = site.policy.version, [unlinked], Path.unlink

    def failing(path: Path, missing_ok: bool = False) -> None:
        if path.parent == site.own and not path.name.startswith("."):
            if not left[0]:
                raise OSError(30, "Read-only file system", str(path))
            left[0] -= 1
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", failing)
    assert "Read-only file system" in site.run(status=os.EX_IOERR).stderr
    assert site.policy.version == before
    monkeypatch.undo()
    site.run()
    assert (site.names(), site.policy.version) == (["20-rules_own.toml"], before)


def test_a_backup_that_cannot_be_made_stops_everything(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.copy()
    before = site.everything()

    def full(*_arguments: object, **_named: object) -> None:
        raise OSError(28, "No space left on device", "x")

    monkeypatch.setattr(shutil, "copytree", full)
    assert "No space left" in site.run(status=os.EX_IOERR).stderr
    assert site.everything() == before


def test_a_file_in_the_way_is_not_written_over(site: Site) -> None:
    site.copy(
        **{
            "20-rules.toml": RULES.replace("score = 10", "score = 12"),
            "20-rules_own.toml": "# mine\n",
        }
    )
    before = site.everything()
    assert "20-rules_own.toml: is in the way" in site.run(status=os.EX_CONFIG).stderr
    assert site.everything() == before


@pytest.mark.parametrize("name", ["20-rules.toml", "90-local.toml", "pills.list"])
def test_a_policy_that_is_broken_is_not_moved(site: Site, name: str) -> None:
    site.copy(**{name: "[[rule]]\nname = \n" if name != "pills.list" else ""})
    before = site.everything()
    site.run(status=os.EX_CONFIG)
    assert site.everything() == before


def test_files_that_change_meanwhile_are_not_touched(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.copy()
    states = iter([{"a": "1"}])
    monkeypatch.setattr(execution, "state", lambda _folder: next(states))
    assert "has changed meanwhile" in site.run(status=os.EX_CONFIG).stderr
    assert not site.backups()


def test_there_is_nothing_to_move_where_nothing_is(site: Site) -> None:
    assert "nothing to move" in site.run().stdout
    site.own.mkdir()
    assert "nothing to move" in site.run().stdout
    (site.root / "oborona.toml").write_text('[paths]\nshipped_policy = "none"\n')
    assert "paths.shipped_policy says so" in site.run(status=os.EX_CONFIG).stderr
    (site.root / "oborona.toml").write_text('[paths]\nshipped_policy = "policy.d"\n')
    assert "is the folder that ships" in site.run().stdout


def test_links_are_kept_in_the_backup_and_their_targets_stay(site: Site) -> None:
    site.copy()
    elsewhere = site.root / "kept.toml"
    (site.own / "10-verdict.toml").rename(elsewhere)
    (site.own / "10-verdict.toml").symlink_to("../kept.toml")
    site.run()
    (backup,) = site.backups()
    assert (backup / "10-verdict.toml").readlink() == Path("../kept.toml")
    assert elsewhere.exists()
    assert site.names() == []


def test_modes_are_kept(site: Site) -> None:
    site.copy(**{"20-rules.toml": RULES.replace("score = 10", "score = 12")})
    site.own.chmod(0o750)
    (site.own / "10-verdict.toml").chmod(0o600)
    site.run()
    (backup,) = site.backups()
    assert (site.own / "20-rules_own.toml").stat().st_mode & 0o777 == 0o640
    assert backup.stat().st_mode & 0o777 == 0o750
    assert (backup / "10-verdict.toml").stat().st_mode & 0o777 == 0o600


def test_every_version_that_ever_shipped_is_known_and_can_be_moved(tmp_path: Path) -> None:
    """A site that copied the policy of any commit, and never touched it, is moved without a file of
    its own.
    """
    root = PACKAGED.parents[1]
    commits = subprocess.run(
        ["git", "-C", root, "log", "--format=%H", "--", "etc/policy.d"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    if len(commits) < 2:
        pytest.skip("no history here")
    for number, commit in enumerate(commits[:: max(1, len(commits) // 4)]):
        home = tmp_path / str(number)
        own = home / "policy.d"
        own.mkdir(parents=True)
        (home / "oborona.toml").write_text("")
        listed = subprocess.run(
            ["git", "-C", root, "ls-tree", "--name-only", commit, "etc/policy.d/"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for name in listed:
            raw = subprocess.run(
                ["git", "-C", root, "cat-file", "blob", f"{commit}:{name}"],
                capture_output=True,
                check=True,
            ).stdout
            (own / Path(name).name).write_bytes(raw)
        result = CliRunner().invoke(
            main, ["--config", str(home / "oborona.toml"), "policy", "migrate"]
        )
        if result.exit_code == os.EX_CONFIG:
            assert "nothing was done" not in result.output, (
                "what is broken by a later program is no fault of the move"
            )
            continue
        assert result.exit_code == 0, result.output
        assert list(own.iterdir()) == [], result.output


@pytest.mark.parametrize(
    "text",
    [
        "x = 'a'",
        'x = "a\\"b\\\\c\\n\\u007f"',
        "x = [1, 2.5, true, 'é', {a = 1, 'b c' = []}]",
        "x = -1e300",
    ],
)
def test_values_are_written_as_they_were_read(text: str) -> None:
    from oborona.cli.policy.migration.changes import _toml

    value = parse(text.encode()).data["x"]
    assert parse(f"x = {_toml(value)}".encode()).data["x"] == value
