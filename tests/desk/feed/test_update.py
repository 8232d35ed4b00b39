"""What a feed offers: taken, tried, rolled back; whatever is wrong with it changes nothing."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oborona import __version__, state_files
from oborona.desk.call import CallError
from oborona.desk.doctor.feed import feed
from oborona.desk.doctor.report import CheckState
from oborona.desk.feed.feed_site import feed_versions
from oborona.desk.feed.manifest import CONTENTS, MANIFEST, SIGNATURE, is_in_program
from oborona.desk.feed.record import read_record, write_record
from oborona.desk.feed.roll_back import roll_back_feed
from oborona.errors import OboronaError, StoreError
from oborona.policy.shipped_files import FileVersion
from oborona.stores.policy_versions.store import VersionState
from tests.cli.journaled import LINKS, WORDS
from tests.desk.feed.fed import MAKER, MILDER, NEW, OTHER, FedSite
from tests.desk.policy.drafted import person

HARD = b'[[rule]]\nname = "HARD"\nwhen = "links > 0"\nscore = 1\n'
TEN = {"10.toml": MILDER}


@pytest.fixture
def fed(tmp_path: Path) -> FedSite:
    return FedSite(tmp_path)


def test_a_version_stands_over_what_ships_and_under_what_is_the_sites(fed: FedSite) -> None:
    (fed.folder / "policy.d/50-own.toml").write_text('[[rule]]\nname = "WORDS"\nscore = 1\n')
    made = fed.offer({**TEN, "20.toml": NEW}, notes="milder")
    tried = fed.update(dry=True)
    assert (tried.step, tried.version) == ("live", made.version)
    assert [
        line for file in tried.files for line in file.lines if line[1:].startswith("score")
    ] == [
        "-score = 60",
        "+score = 30",
        "+score = 5",
    ]
    assert (fed.held(), read_record(fed.state).highest) == ({}, 0)
    done = fed.update()
    assert done.published is not None
    assert [change.text for change in done.published.changes] == [
        "score 60 → 30",
        "rule NEW added",
    ]
    assert fed.scores() == {"LINKS": 30, "WORDS": 1, "NEW": 5}
    assert fed.update().step == "nothing"
    (fed.folder / "policy.d/20.toml").write_text("# mine\n")
    assert fed.scores() == {"LINKS": 30, "WORDS": 1}, "a file of the site's own replaces one"


def test_a_version_is_on_trial_for_its_time_and_then_judges(tmp_path: Path) -> None:
    fed = FedSite(tmp_path, shadow_days="2")
    lists = '[[dns_list]]\nname = "L"\nzone = "z.example"\nof = ["client"]\nscore = 1\n'
    first = fed.offer({**TEN, "20.toml": NEW + lists}, version=5)
    done = fed.update()
    assert done.published is not None
    assert (done.step, done.published.tried) == ("trial", ("LINKS_TRIAL", "NEW"))
    assert "dns_list L added" in done.untried[0]
    assert fed.scores() == {"LINKS": 60, "WORDS": 50}
    assert abs(done.until - time.time() - 2 * 86_400) < 60
    fed.offer(TEN, version=6)
    assert (fed.update().step, fed.update().version) == ("waits", first.version)
    record = read_record(fed.state)
    assert record.waiting is not None
    due = msgspec.structs.replace(record.waiting, until=time.time() - 1)
    write_record(fed.state, msgspec.structs.replace(record, waiting=due))
    assert (fed.update().step, fed.scores()["LINKS"]) == ("waited", 30)
    assert sorted(fed.held()) == ["10.toml", "20.toml"]
    assert fed.update().step == "trial", "then it is the next one's turn"
    fed.offer(TEN, version=7, withdrawn=(6,))
    assert fed.update().version == 7, "what waits and was withdrawn gives way"
    fed.offer({"10.toml": MILDER.replace("30", "20")}, version=8, withdrawn=(5,))
    assert fed.update(now=True).step == "live"
    assert fed.scores() == {"LINKS": 20, "WORDS": 50}


def test_a_new_list_is_tried_with_its_file_and_read_from_the_feed(tmp_path: Path) -> None:
    fed = FedSite(tmp_path, shadow_days="1")
    table = '[[local_list]]\nname = "THEIRS"\naction = "deny"\nof = ["sender"]\nfile = "x.list"\n'
    fed.offer({"20.toml": table, "x.list": "a.example\n"}, version=1)
    done = fed.update().published
    assert done is not None
    assert (done.tried, sorted(fed.held())) == (("THEIRS",), ["99-feed-trial.toml", "x.list"])
    fed.update(now=True)
    folders = fed.site.policy_folders
    assert (sorted(fed.held()), folders.find("x.list").parent) == (
        ["20.toml", "x.list"],
        folders.feed,
    )
    (tmp_path / "policy.d/x.list").write_text("b.example\n")
    assert folders.find("x.list").parent == folders.own
    fed.offer({"20.toml": "[greylist]\nenabled = true\n"}, version=2)
    assert "mode: local_list THEIRS removed" in fed.update().untried[0]
    assert sorted(fed.held()) == ["20.toml", "x.list"], "nothing of it can be tried: it waits"


def test_doctor_says_whether_a_feed_is_fetched_and_kept(fed: FedSite) -> None:
    assert [(report.state, report.words) for report in feed(fed.site)] == [
        (CheckState.WARN, "nothing was taken of it yet: `oborona policy update`")
    ]
    fed.offer(TEN, version=4)
    fed.update()
    assert [report.state for report in feed(fed.site)] == [CheckState.OK]
    write_record(fed.state, msgspec.structs.replace(read_record(fed.state), expires=1))
    (report,) = feed(fed.site)
    assert report.state is CheckState.WARN
    assert "version 4 is the newest seen, good until 1970-01-01: no newer one" in report.words
    (fed.state / state_files.FEED).write_text("{")
    assert [report.state for report in feed(fed.site)] == [CheckState.FAIL]
    assert list(feed(fed.sited(url=""))) == []


def test_what_ships_anyhow_is_left_to_what_ships(fed: FedSite) -> None:
    fed.offer({"10.toml": (fed.folder / "shipped/10.toml").read_text(), "20.toml": NEW})
    fed.update()
    assert (list(fed.held()), fed.update().step) == (["20.toml"], "nothing")


def test_a_withdrawn_version_that_judges_is_replaced_at_once(tmp_path: Path) -> None:
    fed = FedSite(tmp_path, shadow_days="2")
    fed.offer(TEN, version=1)
    fed.update(now=True)
    fed.offer({"10.toml": MILDER.replace("30", "20")}, version=2, withdrawn=(1,))
    assert (fed.update().step, fed.scores()["LINKS"]) == ("live", 20)


def test_one_command_rolls_back_and_nothing_of_it_comes_again(fed: FedSite) -> None:
    fed.offer(TEN, version=1)
    done = fed.update().published
    assert done is not None
    dry = roll_back_feed(fed.site, person(), done.undo, "bad", sure=False, dry=True)
    assert [change.text for change in dry.changes] == ["score 30 → 60"]
    assert fed.held()
    roll_back_feed(fed.site, person(), done.undo, "bad", sure=False, dry=False)
    assert (fed.held(), fed.scores()["LINKS"], fed.update().step) == ({}, 60, "held")
    assert fed.update(now=True).step == "live", "but when it is asked for"
    roll_back_feed(fed.site, person(), done.undo, "bad", sure=False, dry=False)
    fed.offer(TEN, version=2)
    assert fed.update().step == "live"
    with feed_versions(fed.site) as store:
        sorts = [version.sort for version in store.list(9)]
    assert sorts == ["live", "back", "live", "back", "live", "first"]


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


def test_keys_are_rotated_by_who_is_trusted_in_the_settings_alone(fed: FedSite) -> None:
    fed.offer(TEN, version=1)
    fed.update()
    fed.offer(TEN, OTHER, version=2)
    with pytest.raises(CallError, match="signed by another key"):
        fed.update()
    fed.offer(TEN, version=3, next_key=OTHER.key.text)
    fed.update()
    fed.offer({**TEN, "20.toml": NEW}, OTHER, version=4, next_key=MAKER.key.text)
    assert fed.update().step == "live"
    assert read_record(fed.state).next_key == OTHER.key.text, "who was vouched for does not vouch"
    fed.site = fed.sited(key="RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3")
    with pytest.raises(CallError, match="signed by another key"):
        fed.update()
    fed.site = fed.sited(key="")
    with pytest.raises(CallError, match=r"feed\.key is empty"):
        fed.update()
    fed.site = fed.sited(url="")
    with pytest.raises(CallError, match="there is no feed"):
        fed.update()


def test_files_that_wait_and_a_record_that_was_changed_are_not_used(tmp_path: Path) -> None:
    fed = FedSite(tmp_path, shadow_days="2")
    fed.offer(TEN, version=1)
    fed.update()
    (fed.state / "feed-waiting/10.toml").write_bytes(HARD)
    with pytest.raises(CallError, match="changed on the disk"):
        fed.update(now=True)
    assert fed.scores()["LINKS"] == 60
    assert fed.update(now=True).step == "live", "fetched anew"
    (fed.state / state_files.FEED).write_text("{")
    with pytest.raises(StoreError, match="damaged"):
        fed.update()
    assert fed.scores()["LINKS"] == 30


def test_killed_at_any_point_the_old_or_the_new_is_in_force_whole(tmp_path: Path) -> None:
    """And the next run ends what the killed one began."""
    fed = FedSite(tmp_path)
    fed.offer({"10.toml": MILDER, "20.toml": NEW}, version=1)
    fed.update()
    old = fed.held()
    undo = 2
    fed.offer({"10.toml": MILDER.replace("30", "20"), "30.toml": NEW}, version=2)
    steps = _killed(fed, 1 << 30)
    new = fed.held()
    assert new != old
    assert steps > 20
    seen = set[bool]()
    for at in range(1, steps, max(1, steps // 8)):
        roll_back_feed(fed.site, person(), undo, "again", sure=False, dry=False)
        write_record(fed.state, msgspec.structs.replace(read_record(fed.state), held=0))
        assert fed.held() == old
        _killed(fed, at)
        found = fed.held()
        assert found in (old, new), at
        seen.add(found == new)
        assert fed.scores()["LINKS"] in (30, 20)
        fed.update()
        assert (fed.held(), read_record(fed.state).live) == (new, 2), at
        with feed_versions(fed.site) as store:
            assert all(version.state is not VersionState.BEGUN for version in store.list(50))
    assert seen == {True, False}


def _killed(fed: FedSite, at: int) -> int:
    """Update in a process of its own that is killed at its so many-th touch of the state folder;
    return how many there were.
    """
    counted, told = os.pipe()
    child = os.fork()
    if child == 0:
        count = 0

        def touch(event: str, details: tuple[Any, ...]) -> None:
            nonlocal count
            if event in {"open", "os.rename", "os.remove", "os.mkdir", "os.link", "os.rmdir"}:
                count += str(details[0]).startswith(str(fed.state))
                if count >= at:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(touch)
        try:
            fed.update()
        finally:
            os.write(told, b"%d" % count)
            os._exit(0)
    os.close(told)
    with os.fdopen(counted, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == (0 if said else -signal.SIGKILL)
    return int(said or 0)


def test_what_a_newer_program_ships_is_not_put_back(fed: FedSite) -> None:
    made = fed.offer(TEN, version=1)
    known = [FileVersion("10.toml", False, made.files["10.toml"].sha256[:16])]
    assert not is_in_program(made, known), f"it was made by {__version__}, too"
    older = msgspec.structs.replace(made, made_by="0.0.1")
    assert is_in_program(older, known)
    assert not is_in_program(older, [])
    table = "\t".join(("10.toml", "was", made.files["10.toml"].sha256[:16], "-"))
    fed.update()
    (fed.folder / "shipped/00-shipped.tsv").write_text(f"10.toml\tships\t0\t-\n{table}\n")
    raw = msgspec.json.encode(msgspec.structs.replace(older, version=2))
    fed.sign(raw)
    assert (fed.update().step, fed.held(), fed.update().step) == ("shipped", {}, "nothing")
    assert fed.scores() == {"LINKS": 60, "WORDS": 50}
    assert LINKS + WORDS in (fed.folder / "shipped/10.toml").read_text()
