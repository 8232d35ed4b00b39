"""The policy that is put in force: by all workers at once or by none, and never half of it,
whatever happens to files, disks and processes.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from oborona.daemon.publisher import (
    page,
    policy_follower,
    publisher,
    quiet_period,
    reload_socket,
)
from oborona.daemon.publisher.page import PolicyPage, version_of, word_of
from oborona.daemon.publisher.reload_socket import ReloadOutcome
from oborona.daemon.publisher.reporter import CHANGES, REFUSALS
from oborona.errors import PolicyError, StoreError
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy, load_policy
from oborona.policy.load_cache import PolicyCache
from oborona.telemetry import status
from tests.daemon.publisher.places import House, dead_pid, rules, score


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def looked(house: House, within_s: float = 5.0) -> ReloadOutcome:
    """Look as the publisher does until something comes of it."""
    until = time.monotonic() + within_s
    while (outcome := house.publisher.look()) is None:
        assert time.monotonic() < until
        time.sleep(0.01)
    return outcome


def errors(caplog: pytest.LogCaptureFixture) -> str:
    """Return what the log says is wrong."""
    return "\n".join(
        str(getattr(record, "fields", {}).get("error", "")) for record in caplog.records
    )


async def test_all_workers_switch_at_one_moment_and_not_before_the_last_is_ready(
    house: House,
) -> None:
    async with house.workers(1) as (ready,):
        late = house.worker(1)  # does not look at what is offered
        assert await score(ready) == await score(late) == 1
        house.write(rules(2))
        publishing = asyncio.create_task(house.reload())
        while house.page.ready(0) != house.page.offered or house.page.offered == house.page.active:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.001)
        assert await score(ready) == await score(late) == 1, (
            "one is ready and judges by the old one"
        )
        watching = asyncio.create_task(late.watch())
        outcome = await publishing
        assert (outcome.changed, outcome.workers, outcome.late) == (True, 2, ())
        assert await score(ready) == await score(late) == 2
        watching.cancel()


async def test_a_worker_that_is_late_loads_it_before_it_judges_and_is_not_waited_for_again(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    async with house.workers(1) as (ready,):
        late = house.worker(1)
        house.write(rules(2))
        outcome = await house.reload()
        assert (outcome.changed, outcome.workers, outcome.late) == (True, 1, (1,))
        house.write(rules(3))
        outcome = await house.reload()
        assert outcome.seconds < publisher.PATIENCE_S / 2, "it owes one already"
        assert await score(ready) == await score(late) == 3
        assert "policy is loaded late" in caplog.text
        assert house.page.ready(1) == house.page.active


async def test_nobody_waits_for_a_worker_that_is_dead(house: House) -> None:
    async with house.workers(1):
        house.page.enter(1, dead_pid())
        house.write(rules(2))
        assert (await house.reload()).late == ()


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        (rules(2).replace("links", "lynx"), 3, 9, "unknown"),
        ('[[rule]]\nname = "MANY_LINKS"\nwhen = "links > 5"\nscore = 1', 4, 0, "half-written"),
        ("", 1, 0, "half-written"),
        ('[[rule]]\nname = "MANY_L', 2, 0, ""),
    ],
    ids=["unknown fact", "last line cut", "empty", "cut in a text"],
)
async def test_a_broken_policy_keeps_the_old_one_and_says_where(
    house: House, text: str, line: int, column: int, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with house.workers() as workers:
        before = house.page.active
        house.write(text)
        outcome = await asyncio.to_thread(looked, house)
        assert outcome.refused is not None
        assert (outcome.refused.file, outcome.refused.line) == (str(house.folder / "10.toml"), line)
        assert column in (0, outcome.refused.column)
        assert problem in outcome.refused.problem
        assert outcome.refused.text == (text.split("\n")[line - 1])
        assert house.page.active == house.page.offered == before
        assert [await score(one) for one in workers] == [1, 1]
        assert f"{house.folder}/10.toml:{line}" in errors(caplog)
        house.write(rules(4))
        assert (await asyncio.to_thread(looked, house)).changed
        assert [await score(one) for one in workers] == [4, 4]


def test_of_two_quick_changes_the_first_is_never_read(house: House) -> None:
    house.write("broken")
    assert house.publisher.look() is None
    house.write(rules(3))
    outcome = looked(house)
    assert outcome.changed
    assert outcome.refused is None


def test_files_that_change_without_rest_are_not_read_and_the_log_says_so(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(quiet_period, "MOVING_S", 0.2)
    until, number = time.monotonic() + 0.6, 0
    while time.monotonic() < until:
        house.write("broken" + "\n" * (number := number + 1))
        assert house.publisher.look() is None
        time.sleep(0.02)
    assert caplog.text.count("change without rest") == 1
    house.write(rules(5))
    assert looked(house).changed


def test_a_file_that_is_renamed_over_another_a_new_one_and_one_that_goes_are_seen(
    house: House,
) -> None:
    fresh = house.folder / ".10.toml.swp"
    fresh.write_text(rules(2))
    fresh.rename(house.folder / "10.toml")
    versions = [looked(house).version]
    house.write("[verdict]\nspam_score = 50\n", "20.toml")
    versions.append(looked(house).version)
    (house.folder / "20.toml").unlink()
    versions.append(looked(house).version)
    assert versions[0] == versions[2] != versions[1]


def test_what_does_not_change_the_policy_is_no_change(house: House) -> None:
    before = house.page.active
    (house.folder / "10.toml").touch()
    outcome = looked(house)
    assert (outcome.changed, house.page.active) == (False, before)


def test_the_clock_of_the_machine_decides_nothing(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    for now in (0.0, 4e9, 1.0):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        house.write(rules(int(now % 97) + 5))
        assert looked(house).changed


async def test_what_a_publisher_offered_when_it_was_killed_is_withdrawn_and_offered_anew(
    house: House,
) -> None:
    async with house.workers() as workers:
        house.write(rules(2))
        word = word_of(2, "ab" * 6)
        house.page.offered = word  # killed here, before or after the copy was there
        house.publisher = house.another()
        house.publisher.open()
        assert house.page.offered == house.page.active
        outcome = await house.reload()
        assert outcome.version == version_of(house.page.active)
        assert [await score(one) for one in workers] == [2, 2]


async def test_a_publisher_that_starts_again_over_broken_files_keeps_what_is_in_force(
    house: House,
) -> None:
    inherited = house.another()  # made by the parent while the files were right
    async with house.workers() as workers:
        house.write(rules(2))
        await house.reload()
        house.write("broken")
        house.publisher = inherited
        house.publisher.open()
        outcome = await asyncio.to_thread(looked, house)
        assert outcome.refused is not None
        assert [await score(one) for one in [*workers, house.worker(7)]] == [2, 2, 2]


async def test_what_one_worker_cannot_load_no_worker_judges_by_and_it_is_tried_again(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with house.workers() as workers:
        before = house.page.active
        with monkeypatch.context() as patch:
            patch.setattr(
                workers[1],
                "_load",
                lambda _: (_ for _ in ()).throw(StoreError("no descriptor left")),
            )
            house.write(rules(2))
            outcome = await house.reload()
        assert outcome.trouble == "worker 1 can't load it; its log says why"
        assert "no descriptor left" in errors(caplog)
        assert house.page.active == house.page.offered == before
        assert [await score(one) for one in workers] == [1, 1]
        house.publisher._retry_at = time.monotonic()
        assert (await asyncio.to_thread(looked, house)).changed
        assert [await score(one) for one in workers] == [2, 2]


async def test_a_state_folder_that_cannot_be_written_keeps_the_old_policy_loudly_until_it_can(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with house.workers() as workers:
        files, away = house.copies / "files", house.copies / "away"
        files.rename(away)
        files.touch()  # root writes wherever there is a folder
        house.write(rules(2))
        monkeypatch.setattr(publisher, "RETRY_S", 0.05)
        outcome = await asyncio.to_thread(looked, house)
        assert str(files) in outcome.trouble
        assert await asyncio.to_thread(looked, house) == outcome
        assert caplog.text.count("policy can't be put in force, the old one stays") == 1, (
            "said once"
        )
        assert [await score(one) for one in workers] == [1, 1]
        files.unlink()
        away.rename(files)
        assert (await asyncio.to_thread(looked, house)).changed
        assert [await score(one) for one in workers] == [2, 2]


def test_what_others_put_into_the_folder_is_neither_used_nor_touched(
    house: House, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept.toml").touch()
    (house.copies / "ffff-ffffffffffff").symlink_to(elsewhere)
    (house.copies / "notes.txt").touch()
    (house.copies / "files" / "x").touch()
    house.write(rules(2))
    assert looked(house).changed
    assert (elsewhere / "kept.toml").exists()
    assert {"notes.txt", "ffff-ffffffffffff"} <= {path.name for path in house.copies.iterdir()}
    assert (house.copies / "files" / "x").exists()


def test_no_more_than_two_copies_are_kept_and_contents_that_did_not_change_once(
    house: House,
) -> None:
    house.write("203.0.113.9\n", "kept-out.list")
    house.write(
        (
            '[[local_list]]\nname = "KEPT_OUT"\naction = "deny"\nof = ["client"]\nfile = '
            '"kept-out.list"\n'
        ),
        "20.toml",
    )
    inodes = set()
    for number in range(2, 8):
        house.write(rules(number))
        assert looked(house).changed
        newest = max(path for path in house.copies.iterdir() if path.name[0] == "0")
        inodes.add((newest / "kept-out.list").stat().st_ino)
    copies = [path for path in house.copies.iterdir() if path.name[0] == "0"]
    assert len(copies) == 2
    assert len(inodes) == 1
    assert len(list((house.copies / "files").iterdir())) == 4


def test_a_file_that_no_policy_can_be_made_of_is_not_copied(house: House) -> None:
    os.mkfifo(house.folder / "never-read.list")
    with (house.folder / "huge.list").open("wb") as handle:
        handle.truncate(1 << 40)
    house.write(rules(2))
    assert looked(house).changed
    os.mkfifo(house.folder / "20.toml")
    outcome = looked(house)
    assert outcome.refused is not None
    assert outcome.refused.file == str(house.folder / "20.toml")


def test_there_is_no_beginning_with_a_broken_policy(house: House) -> None:
    house.write("broken")
    with pytest.raises(PolicyError):
        house.another()


def test_a_page_that_is_gone_is_said(house: House) -> None:
    (house.copies / "page").unlink()
    with pytest.raises(StoreError, match="page"):
        house.another().open()
    with pytest.raises(StoreError, match="page"):
        house.worker(1)


def test_status_tells_versions_refusals_and_trouble(house: House) -> None:
    house.write("broken")
    looked(house)
    house.publisher.telling.report()
    said = status.read_process(house.state, status.PolicyStatus, time.time())
    assert said is not None
    assert said.refused is not None
    assert (said.version, CHANGES.of(said.metrics), REFUSALS.of(said.metrics)) == (
        version_of(house.page.active),
        0,
        1,
    )
    house.write(rules(2))
    looked(house)
    house.publisher.telling.report()
    said = status.read_process(house.state, status.PolicyStatus, time.time())
    assert said is not None
    assert (said.refused, CHANGES.of(said.metrics), said.version) == (
        None,
        1,
        version_of(house.page.active),
    )
    status.remove_process(house.state, status.PolicyStatus)
    assert status.read_process(house.state, status.PolicyStatus, time.time()) is None


async def test_a_worker_whose_policy_was_taken_away_judges_by_what_it_has(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(policy_follower, "RETRY_S", 60.0)
    late = house.worker()
    house.page.active = word_of(9, "cd" * 6)  # in force, and nowhere to be read
    assert await score(late) == 1
    assert await score(late) == 1
    assert caplog.text.count("policy can't be loaded") == 1, "not for every message"


async def test_a_message_waits_no_longer_than_the_limit_for_a_policy_that_is_late(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(policy_follower, "LATE_S", 0.05)
    late = house.worker()
    load = late._load

    def slowly(word: int) -> Policy:
        time.sleep(0.3)
        return load(word)

    monkeypatch.setattr(late, "_load", slowly)
    house.write(rules(2))
    await house.reload()
    assert await score(late) == 1
    assert "the new one takes long" in caplog.text
    await asyncio.sleep(0.4)
    assert await score(late) == 2, "the loading went on"


def test_a_page_that_a_new_service_puts_there_leaves_the_old_one_to_who_has_it(
    house: House,
) -> None:
    old = house.page.active
    house.write(rules(2))
    fresh = house.another()
    fresh.begin()
    page = PolicyPage(house.copies / "page")
    assert page.active != old
    assert house.page.active == old


def test_a_publisher_that_is_stopped_while_it_waits_switches_nobody_and_says_nothing(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.worker()  # never gets ready
    house.publisher = house.another(patience_s=30.0)
    house.publisher.open()
    before = house.page.active
    threading.Timer(0.3, house.publisher._end, (15, None)).start()
    house.write(rules(2))
    outcome = house.publisher.look(asked=True)
    assert outcome is not None
    assert outcome.trouble == publisher.STOPS
    assert house.page.active == house.page.offered == before
    assert not caplog.records


async def test_what_was_known_before_the_fork_changes_nothing_of_what_is_judged_by(
    house: House,
) -> None:
    """A worker that is started again after weeks knows what its parent knew at the start."""
    house.write("one sort of words\n", "words.list")
    house.write(
        '[[signature_list]]\nname = "WORDS"\nflag = "mark"\nfile = "words.list"\n', "20.toml"
    )
    before = PolicyCache()
    load_policy(house.folder, SCHEMA, before)
    assert (await house.reload()).changed
    house.write(rules(7))
    house.write("another sort\n", "words.list")
    assert (await house.reload()).changed
    knows, knows_nothing = house.worker(0, before), house.worker(1)
    assert await score(knows) == 7
    assert [one.value for one in knows.current.signatures.values()] == ["another sort"]
    assert knows.current.version == knows_nothing.current.version


async def test_a_worker_judges_by_what_was_loaded_before_the_fork_until_another_is_in_force(
    house: House,
) -> None:
    before = PolicyCache()
    before.published = house.publisher.published
    worker = house.worker(0, before)
    assert worker.current is before.published.policy, "its memory is shared"
    assert await score(worker) == 1
    watching = asyncio.create_task(worker.watch())
    for wanted in (2, 1):
        house.write(rules(wanted))
        outcome = await house.reload()
        assert (outcome.changed, outcome.late) == (True, ())
        assert await score(worker) == wanted
        assert worker.current is not before.published.policy, "another publication, another word"
    watching.cancel()
    late = house.worker(1, before)
    assert late.current is not before.published.policy
    assert await score(late) == 1


async def test_an_offer_that_nobody_rang_for_is_taken_by_the_seconds_look(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "ring", lambda _path: None)
    async with house.workers(1):
        house.write(rules(2))
        assert (await asyncio.to_thread(looked, house)).late == (0,), "within its patience"
        async with asyncio.timeout(5):
            while house.page.ready(0) != house.page.active:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.01)


def test_what_is_in_force_is_told_before_anybody_hears_that_we_are_ready(
    house: House, open_folder: Path
) -> None:
    """An admin restarts the service and asks the doctor at once."""
    said: list[status.PolicyStatus | None] = []

    def ready() -> None:
        said.append(status.read_process(house.state, status.PolicyStatus, time.time()))
        signal.raise_signal(signal.SIGTERM)

    before = {
        number: signal.getsignal(number)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    }
    try:
        with reload_socket.listen(open_folder) as listener:
            assert house.another().run(listener, ready) == os.EX_OK
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    (one,) = said
    assert one is not None
    assert one.version == version_of(house.page.active)
