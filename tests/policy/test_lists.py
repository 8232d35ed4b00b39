"""DNS lists and local lists in policy files: fields, overrides, origins, list files and their
reload.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from oborona.errors import PolicyError
from oborona.policy import list_files
from oborona.policy.load import Policy, load_policy
from oborona.policy.watch import LivePolicy, folder_state
from oborona.reputation.dnsbl import DnsList, EmailHash
from oborona.reputation.locallists import ListTable, LocalListMatch, read
from oborona.reputation.subject import ListSubject
from oborona.types import RuleMode
from tests.policy.small_schema import SCHEMA

ROOT = Path(__file__).parents[2]

DNS = """\
[[dns_list]]
name = "ZEN"
zone = "Zen.List.Example."
of = ["client"]
scores = { "127.0.0.2" = 100, "127.0.0.4-7" = 60 }
say = "{subject} ({code})"
enabled = false
terms = "https://list.example/terms"
"""
LOCAL = """\
[[local_list]]
name = "KEPT_OUT"
action = "deny"
of = ["client", "sender"]
entries = ["192.0.2.0/24"]
file = "deny.list"
"""


def policy(folder: Path, **files: str) -> Policy:
    for name, text in files.items():
        (folder / f"{name}.toml").write_text(text)
    return load_policy(folder, SCHEMA)


def client(of: Policy, address: str) -> LocalListMatch | None:
    return of.local_lists.look(ListSubject.CLIENT, address)


def test_a_dns_list_is_what_its_fields_say(tmp_path: Path) -> None:
    (one,) = policy(tmp_path, a=DNS).dns_lists
    assert (one.name, one.zone, one.of, one.enabled) == (
        "ZEN",
        "zen.list.example",
        (ListSubject.CLIENT,),
        False,
    )
    assert one.codes.scores == (100.0, 60.0)
    assert (one.mode, one.hash, one.ipv4, one.ipv6, one.probe) == (
        RuleMode.LIVE,
        EmailHash.NONE,
        True,
        False,
        None,
    )
    assert one.terms == "https://list.example/terms"


@pytest.mark.parametrize("of", ['"client"', '"rdns"', '"client", "rdns"'])
def test_only_what_is_proved_of_the_client_can_speak_for_a_message(tmp_path: Path, of: str) -> None:
    good = DNS.replace('"client"', of).replace("100", "-100")
    (one,) = policy(tmp_path, a=good).dns_lists
    assert min(one.codes.scores) == -100
    with pytest.raises(
        PolicyError, match=r'anybody may write into it, as helo, from; .* "client" or "rdns" alone'
    ):
        policy(tmp_path, b='[[dns_list]]\nname = "ZEN"\nof = ["client", "helo", "from"]\n')


def test_later_files_change_only_the_fields_they_give(tmp_path: Path) -> None:
    local = (
        '[[dns_list]]\nname = "ZEN"\nenabled = true\nmode = "shadow"\nscore = 5\nzone = '
        '"key.list.example"\n'
    )
    changed = policy(tmp_path, a=DNS, b=local)
    (one,) = changed.dns_lists
    assert (one.enabled, one.mode, one.zone, one.codes.scores) == (
        True,
        RuleMode.SHADOW,
        "key.list.example",
        (100.0, 60.0, 5.0),
    )
    assert one.say == "{subject} ({code})"
    assert changed.origins["dns_list.ZEN.zone"] == f"{tmp_path / 'b.toml'}:6"
    assert changed.origins["dns_list.ZEN.scores"] == f"{tmp_path / 'a.toml'}:5"
    assert changed.lists["dns_list.ZEN.scores"] == {"127.0.0.2": 100.0, "127.0.0.4-7": 60.0}
    assert "dns_list.ZEN.name" not in changed.lists


@pytest.mark.parametrize(
    ("changed", "probe", "good"),
    [
        ("", "9.9.9.7", True),
        ("", "listed.example", False),
        ('hash = "sha1"\nof = ["from"]', "listed@list.example", True),
        ('hash = "sha1"\nof = ["from"]', "listed.example", False),
        ('of = ["links"]', "listed.example", True),
        ('of = ["links"]', "9.9.9.7", False),
        ('of = ["links"]\nips = true', "9.9.9.7", True),
        ('of = ["links"]', "listed..example", False),
        ('of = ["links"]', "listed example", False),
    ],
)
def test_a_test_point_is_something_that_the_list_could_hold(
    tmp_path: Path, changed: str, probe: str, good: bool
) -> None:
    local = f'[[dns_list]]\nname = "ZEN"\n{changed}\nprobe = "{probe}"\n'
    if good:
        assert policy(tmp_path, a=DNS, b=local).dns_lists[0].probe == probe
        return
    with pytest.raises(PolicyError, match="is nothing that it could list") as refused:
        policy(tmp_path, a=DNS, b=local)
    assert refused.value.line == local.count("\n")


def test_entries_stand_in_the_policy_file_and_in_a_list_file(tmp_path: Path) -> None:
    (tmp_path / "deny.list").write_text("198.51.100.7\nspammer@spam.example\n")
    loaded = policy(tmp_path, a=LOCAL)
    assert len(loaded.local_lists) == 3
    for address, entry in (("192.0.2.7", "192.0.2.0/24"), ("198.51.100.7", "198.51.100.7")):
        match = client(loaded, address)
        assert match is not None
        assert (match.list, match.entry) == ("KEPT_OUT", entry)
    assert loaded.local_lists.look(ListSubject.SENDER, "Spammer@Spam.Example") is not None
    assert client(loaded, "203.0.113.1") is None


def test_a_list_that_is_switched_off_needs_no_file(tmp_path: Path) -> None:
    loaded = policy(tmp_path, a=LOCAL, b='[[local_list]]\nname = "KEPT_OUT"\nenabled = false\n')
    assert loaded.local_lists.subjects == frozenset()
    assert client(loaded, "192.0.2.7") is None


def test_lists_may_share_a_file(tmp_path: Path) -> None:
    (tmp_path / "deny.list").write_text("198.51.100.7\n")
    second = (
        '[[local_list]]\nname = "SECOND"\naction = "allow"\nof = ["client"]\nfile = "deny.list"\n'
    )
    first, other = policy(tmp_path, a=LOCAL, b=second).local_lists.lists
    assert first.tables[-1] is other.tables[-1]


def test_the_version_follows_the_contents_of_list_files_that_are_used(tmp_path: Path) -> None:
    deny = tmp_path / "deny.list"
    deny.write_text("198.51.100.7\n")
    first = policy(tmp_path, a=LOCAL).version
    (tmp_path / "unused.list").write_text("198.51.100.9\n")
    assert policy(tmp_path).version == first
    deny.write_text("198.51.100.8\n")
    second = policy(tmp_path).version
    deny.write_text("198.51.100.7\n")
    assert policy(tmp_path).version == first != second


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "broken link", "too large"])
def test_a_list_file_that_is_no_file_is_refused(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "deny.list"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "broken link":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "too large":
        monkeypatch.setattr(list_files, "MAX_BYTES", 10)
        path.write_text("# " + "x" * 20 + "\n")
    with pytest.raises(PolicyError) as refused:
        policy(tmp_path, a=LOCAL)
    assert refused.value.file == str(path)
    assert kind == "too large" or f"local list KEPT_OUT names it ({tmp_path / 'a.toml'}:6)" in str(
        refused.value
    )


def test_too_many_entries_of_all_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_files, "MAX_TOTAL", 3)
    (tmp_path / "deny.list").write_text("a.example\nb.example\n")
    (tmp_path / "more.list").write_text("a.example\nb.example\n")
    more = '[[local_list]]\nname = "MORE"\naction = "deny"\nof = ["helo"]\nfile = "more.list"\n'
    with pytest.raises(PolicyError, match="more than 3 entries in all list files") as refused:
        policy(tmp_path, a=LOCAL, b=more)
    assert (refused.value.file, refused.value.line) == (str(tmp_path / "b.toml"), 5)


class Counted:
    """Stands for `read`, and counts."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, raw: bytes) -> ListTable:
        self.times += 1
        return read(raw)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counting = Counted()
    monkeypatch.setattr(list_files, "read", counting)
    return counting


def live(folder: Path, text: str = LOCAL) -> LivePolicy:
    (folder / "deny.list").write_text("198.51.100.7\n")
    (folder / "a.toml").write_text(text)
    return LivePolicy(folder, SCHEMA)


def test_a_live_policy_follows_its_list_files(tmp_path: Path) -> None:
    following = live(tmp_path)
    assert client(following.current, "198.51.100.7") is not None
    (tmp_path / "deny.list").write_text("198.51.100.7\n198.51.100.8\n")
    assert following.reload() is True
    assert client(following.current, "198.51.100.8") is not None
    assert following.reload() is False


def test_a_broken_list_file_never_replaces_a_good_policy(tmp_path: Path, counted: Counted) -> None:
    following = live(tmp_path)
    good = following.current
    (tmp_path / "deny.list").write_text("198.51.100.7\n198.51.100.8/24\n")
    assert following.reload() is False
    assert following.current is good
    assert following.error is not None
    assert (following.error.file, following.error.line) == (str(tmp_path / "deny.list"), 2)
    (tmp_path / "deny.list").write_text("198.51.100.9\n")
    assert following.reload() is True
    assert following.error is None
    assert counted.times == 3


def test_a_list_file_that_did_not_change_is_not_read_again(
    tmp_path: Path, counted: Counted
) -> None:
    following = live(tmp_path)
    table = following.current.local_lists.lists[0].tables[-1]
    (tmp_path / "b.toml").write_text('[[local_list]]\nname = "KEPT_OUT"\nmode = "shadow"\n')
    assert following.reload() is True
    os.utime(tmp_path / "deny.list")  # looks new and is not
    (tmp_path / "c.toml").write_text("[verdict]\nspam_score = 90\n")
    assert following.reload() is True
    assert following.current.local_lists.lists[0].tables[-1] is table
    assert counted.times == 1


def test_a_forced_reload_looks_into_list_files_whatever_the_signature_says(
    tmp_path: Path, counted: Counted
) -> None:
    following = live(tmp_path)
    deny = tmp_path / "deny.list"
    before = deny.stat()
    assert following.reload(force=True) is False
    assert counted.times == 1  # the same contents
    deny.write_text("198.51.100.8\n")
    os.utime(deny, ns=(before.st_atime_ns, before.st_mtime_ns))
    following._seen = folder_state(tmp_path)
    following._before.lists._known[deny.name] = following._before.lists._known[deny.name]._replace(
        look=list_files.file_state(deny)
    )
    assert following.reload() is False
    assert following.reload(force=True) is True
    assert client(following.current, "198.51.100.8") is not None


def test_the_signature_moves_with_list_files(tmp_path: Path) -> None:
    following = live(tmp_path)
    seen = [folder_state(tmp_path)]
    (tmp_path / "deny.list").write_text("198.51.100.7\n198.51.100.8\n")
    seen.append(folder_state(tmp_path))
    (tmp_path / "new.list").write_text("# x\n")
    seen.append(folder_state(tmp_path))
    (tmp_path / ".hidden.list").write_text("# x\n")
    (tmp_path / "deny.list~").write_text("# x\n")
    assert folder_state(tmp_path) == seen[-1]
    (tmp_path / "deny.list").unlink()
    seen.append(folder_state(tmp_path))
    assert len(set(seen)) == 4
    assert following.reload() is False
    assert following.error is not None


def shipped() -> tuple[DnsList, ...]:
    """The lists of the policy that ships, without rules, whose facts are not this test's."""
    from oborona.policy.merge import merge
    from oborona.toml import read as read_document

    files = sorted((ROOT / "etc/policy.d").glob("1[56]-*.toml"))
    return merge([read_document(path, PolicyError)[0] for path in files]).dns_lists


def test_lists_that_ship_are_off_and_name_their_terms() -> None:
    lists = shipped()
    assert len(lists) >= 10
    for one in lists:
        assert not one.enabled, one.name
        assert one.terms.count("https://") == 1, one.name
        assert one.say != DnsList.say, one.name
        assert all(abs(score) <= 200 for score in one.codes.scores), one.name


@pytest.mark.parametrize(
    ("name", "code", "score"),
    [
        ("SPAMHAUS_ZEN", "127.0.0.4", 150),
        ("SPAMHAUS_ZEN", "127.0.0.9", 200),
        ("SPAMHAUS_ZEN", "127.0.0.30", None),
        ("SPAMHAUS_DBL", "127.0.1.103", 30),
        ("SPAMHAUS_DBL", "127.0.1.255", None),
        ("DNSWL", "127.0.5.2", -60),
        ("DNSWL", "127.0.5.0", None),
        ("SURBL", "127.0.0.80", 100),
        ("URIBL", "127.0.0.14", 80),
        ("URIBL", "127.0.0.1", None),
    ],
)
def test_lists_that_ship_weigh_as_their_makers_say(
    name: str, code: str, score: float | None
) -> None:
    from ipaddress import IPv4Address

    (one,) = [one for one in shipped() if one.name == name]
    assert one.codes.score(IPv4Address(code)) == score
