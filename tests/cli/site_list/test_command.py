"""`oborona list`: entries put on, taken off, imported and taken back.

Files stay what they were where something is wrong.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from oborona.cli import main
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.reputation.locallists.foreign_formats import ForeignFormat, foreign_lines, form_of
from oborona.reputation.subject import ListSubject
from tests.cli.journaled import LINKS, policy, run

KEPT = (
    '[[local_list]]\nname = "KEPT_OUT"\naction = "deny"\nof = ["client"]\nfile = "kept-out.list"\n'
)
INLINE = (
    '[[local_list]]\nname = "INLINE"\naction = "deny"\nof = ["client"]\nentries = ["192.0.2.1"]\n'
)


@pytest.fixture
def site(tmp_path: Path) -> tuple[Path, Path]:
    folder = policy(tmp_path / "policy", LINKS, KEPT, INLINE)
    (folder / "kept-out.list").write_text(
        "# ours\n9.5.0.0/16      # all of it\r\n2001:470:5::/48\n"
    )
    return tmp_path / "state", folder


def decides(folder: Path, of: ListSubject, value: str) -> str:
    found = load_policy(folder, SCHEMA).local_lists.look(of, value)
    return "" if found is None else f"{found.list} {found.action}"


def test_the_lists_allow_and_deny_begin_with_their_first_entry(site: tuple[Path, Path]) -> None:
    _, folder = site
    told = run(*site, "list", "show").stdout
    assert "KEPT_OUT" in told
    assert "SITE_ALLOW: no entry yet; oborona list add allow ENTRY begins it" in told
    told_added = run(
        *site, "list", "add", "deny", ".Evil.Example", "203.0.113.0/24", "--reason", "spammed us"
    )
    assert "SITE_DENY: .evil.example added" in told_added.stdout
    assert "oborona list undo deny takes it back" in told_added.stdout
    assert decides(folder, ListSubject.FROM, "x@mail.evil.example") == "SITE_DENY deny"
    assert decides(folder, ListSubject.CLIENT, "203.0.113.9") == "SITE_DENY deny"
    assert decides(folder, ListSubject.RDNS, "mx.evil.example") == "SITE_DENY deny"
    added = run(*site, "list", "add", "allow", "maria@client.example")
    assert "oborona explain ID says so" in added.stderr, "what is written by anybody must be proved"
    assert decides(folder, ListSubject.FROM, "maria@client.example") == "SITE_ALLOW allow"
    shown = run(*site, "list", "show", "deny").stdout
    assert ".evil.example  # spammed us (" in shown
    assert [json.loads(line)["entry"] for line in run(*site, "list", "show", "SITE_DENY", "--json").stdout.splitlines()] == [
        ".evil.example", "203.0.113.0/24",
    ]  # fmt: skip
    assert "is there already" in run(*site, "list", "add", "deny", "203.0.113.0/24").stdout


def test_a_list_of_the_policy_is_changed_in_its_file_and_its_comments_stay(
    site: tuple[Path, Path],
) -> None:
    _, folder = site
    path = folder / "kept-out.list"
    before = path.read_bytes()
    path.chmod(0o640)
    run(*site, "list", "add", "KEPT_OUT", "198.51.100.7")
    assert path.read_bytes().startswith(before + b"198.51.100.7  # ")
    assert path.stat().st_mode & 0o777 == 0o640
    run(*site, "list", "remove", "KEPT_OUT", "9.5.0.0/16", "198.51.100.7")
    assert path.read_bytes() == b"# ours\n2001:470:5::/48\n"
    told = run(*site, "list", "undo", "KEPT_OUT").stdout
    assert told.startswith("KEPT_OUT: as before its last change: 2 back, 0 gone, 3 entries")
    assert decides(folder, ListSubject.CLIENT, "198.51.100.7") == "KEPT_OUT deny"
    assert "0 back, 2 gone, 1 entries" in run(*site, "list", "undo", "KEPT_OUT").stdout
    assert path.read_bytes() == b"# ours\n2001:470:5::/48\n", "twice is as before"
    run(*site, "list", "remove", "KEPT_OUT", "2001:470:5::/48")
    assert decides(folder, ListSubject.CLIENT, "2001:470:5::1") == ""
    assert "is not on it" in run(*site, "list", "remove", "KEPT_OUT", "9.9.9.9", status=1).stderr


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["add", "NOPE", "a.example"], os.EX_DATAERR, "there is no list 'NOPE'; there are allow, deny, KEPT_OUT, INLINE"),
        (["add", "INLINE", "192.0.2.2"], os.EX_DATAERR, "has its entries in"),
        (["add", "KEPT_OUT", "a.example"], os.EX_DATAERR, "a name matches only where the list is of"),
        (["add", "deny", "two words"], 2, "more than one entry"),
        (["add", "deny", "192.0.2.300"], 2, "192.0.2.300"),
        (["add", "deny", "a.example\nb.example"], 2, "is no address"),
        (["add", "deny", "# comment"], 2, "is no address"),
        (["add", "deny", "x" * 5000], 2, "longer than"),
        (["add", "deny", ""], 2, "is no address"),
        (["undo", "deny"], os.EX_DATAERR, "no change to take back"),
    ],
)  # fmt: skip
def test_what_can_be_no_entry_changes_nothing(
    site: tuple[Path, Path], words: list[str], status: int, says: str
) -> None:
    _, folder = site
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert says in run(*site, "list", *words, status=status).stderr.replace("\n       ", " ")
    after = {
        path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith(".lock")
    }
    assert after == before


def test_a_broken_policy_is_said_before_a_list_is_touched(site: tuple[Path, Path]) -> None:
    _, folder = site
    (folder / "20.toml").write_text("[[rule]]\nname = 5\n")
    assert "20.toml:2" in run(*site, "list", "add", "deny", "a.example", status=os.EX_CONFIG).stderr


def test_an_entry_that_another_list_outweighs_is_told(site: tuple[Path, Path]) -> None:
    run(*site, "list", "add", "deny", "client.example")
    told = run(*site, "list", "add", "allow", "client.example").stderr
    assert (
        "SITE_DENY has client.example and would deny: the narrower decides, of equals the denial"
    ) in told


HOSTS = (
    "# of somebody\n127.0.0.1 localhost\n::1 ip6-localhost\n0.0.0.0 Bad.Example "
    "www.bad.example # both\n0.0.0.0\tworse.example\n"
)
RSPAMD = (
    "; a map\n192.0.2.0/24 5.0\n*.bad.example\nspammer@bad.example  10 # with a "
    "score\n@worse.example\n"
)
LINES = "# ours\n192.0.2.7\n.bad.example # comment\n"


@pytest.mark.parametrize(
    ("text", "form", "wanted"),
    [
        (HOSTS, ForeignFormat.HOSTS, ["bad.example", "www.bad.example", "worse.example"]),
        (
            RSPAMD,
            ForeignFormat.RSPAMD,
            ["192.0.2.0/24", ".bad.example", "spammer@bad.example", "@worse.example"],
        ),
        (LINES, ForeignFormat.LINES, ["192.0.2.7", ".bad.example"]),
        ("\ufeff192.0.2.7\r\n", ForeignFormat.LINES, ["192.0.2.7"]),
        ("", ForeignFormat.LINES, []),
    ],
)
def test_lists_of_others_are_read_as_what_they_look_like(
    text: str, form: ForeignFormat, wanted: list[str]
) -> None:
    assert form_of(text) is form
    found = list(foreign_lines(text, form))
    assert [one.entry for one in found] == wanted
    assert not [one.problem for one in found if one.problem]


@pytest.mark.parametrize("form", list(ForeignFormat))
def test_hostile_lists_end_in_words(form: ForeignFormat) -> None:
    for text in (
        "/regex/i\n",
        "a" * 100_000,
        "\0\x1b[2J\n",
        "1.2.3.4.5\n",
        "{" * 1000,
        "a@b@c@d\n",
        "\n" * 100_000,
        '"\n',
    ):
        for one in foreign_lines(text, form):
            assert one.entry or one.problem
            assert one.problem.isprintable()
        assert form_of(text) in ForeignFormat


def test_an_import_is_whole_or_not_at_all(site: tuple[Path, Path], tmp_path: Path) -> None:
    _, folder = site
    file = tmp_path / "their.map"
    file.write_text(RSPAMD + "/regex/i 5.0\n")
    told = run(*site, "list", "import", "deny", str(file), status=os.EX_DATAERR)
    assert f'{file}:6: "/regex/i"' in told.stderr
    assert not (folder / "site-deny.list").exists()
    dry = run(*site, "list", "import", "deny", str(file), "--skip-broken", "--dry-run")
    assert "SITE_DENY: 4 would be added" in dry.stdout
    assert not (folder / "site-deny.list").exists()
    run(*site, "list", "import", "deny", str(file), "--skip-broken", "--reason", "as before")
    assert (folder / "site-deny.list").read_text().startswith("# from their.map: as before (")
    assert decides(folder, ListSubject.FROM, "spammer@bad.example") == "SITE_DENY deny"
    assert (
        "0 added, 4 were there already"
        in run(*site, "list", "import", "deny", str(file), "--skip-broken").stdout
    )
    run(*site, "list", "undo", "deny")
    assert decides(folder, ListSubject.FROM, "spammer@bad.example") == ""


def test_an_import_reads_standard_input_and_names_what_is_no_text(
    site: tuple[Path, Path], tmp_path: Path
) -> None:
    state, folder = site
    words = [
        "--state",
        str(state),
        "--set",
        f"paths.policy={folder}",
        "list",
        "import",
        "deny",
        "-",
    ]
    assert "3 added" in CliRunner().invoke(main, words, input=HOSTS.encode()).stdout
    told = CliRunner().invoke(main, words, input=b"a.example\n\xff\n")
    assert (told.exit_code, "-:2: is not UTF-8" in told.stderr) == (os.EX_NOINPUT, True)


def test_a_folder_that_a_list_begins_is_for_the_daemons_user_to_read(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        words = [
            "--state",
            str(tmp_path / "state"),
            "--set",
            f"paths.policy={tmp_path / 'policy.d'}",
        ]
        done = CliRunner().invoke(main, [*words, "list", "add", "deny", "evil.example"])
        assert done.exit_code == 0, done.output
    finally:
        os.umask(before)
    assert (tmp_path / "policy.d").stat().st_mode & 0o777 == 0o755
    modes = {
        path.name: path.stat().st_mode & 0o777
        for path in (tmp_path / "policy.d").iterdir()
        if path.name[0] != "."
    }
    assert modes == {"site-deny.list": 0o644, "80-lists.toml": 0o644}


def test_a_reason_is_a_comment_and_no_entry(site: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "more").write_text("one.example\n")
    told = run(*site, "list", "import", "deny", str(tmp_path / "more"), "--reason", "ours\n.com")
    assert told.exit_code == 0, told.output
    assert [
        json.loads(line)["entry"]
        for line in run(*site, "list", "show", "deny", "--json").stdout.splitlines()
    ] == ["one.example"]
