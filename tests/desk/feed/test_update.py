"""What a feed offers: taken, tried, judging, rolled back."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from oborona import __version__, state_files
from oborona.desk.call import CallError
from oborona.desk.doctor.feed import feed
from oborona.desk.doctor.report import CheckState
from oborona.desk.feed.feed_site import feed_versions
from oborona.desk.feed.manifest import is_in_program
from oborona.desk.feed.record import read_record, write_record
from oborona.desk.feed.roll_back import roll_back_feed
from oborona.errors import StoreError
from oborona.policy.shipped_files import FileVersion
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


def test_doctor_says_at_once_why_an_update_took_nothing(fed: FedSite) -> None:
    fed.offer(TEN, version=4)
    fed.update()
    fed.offer({"20.toml": NEW}, OTHER, version=5)
    for dry in (True, False):
        with pytest.raises(CallError, match="another key"):
            fed.update(dry=dry)
        states = [report.state for report in feed(fed.site)]
        assert states == [CheckState.OK if dry else CheckState.WARN]
    (report,) = feed(fed.site)
    assert "UTC took nothing: signed by another key" in report.words
    fed.offer({"20.toml": NEW}, version=6)
    fed.update()
    assert [report.state for report in feed(fed.site)] == [CheckState.OK]


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
