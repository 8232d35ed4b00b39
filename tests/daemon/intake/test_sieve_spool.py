"""The spool: what is taken and removed, what stays, and what hostile users may leave there."""

from __future__ import annotations

import os
import pwd
import subprocess
import time
from pathlib import Path

import pytest

from oborona.daemon.intake import sieve_spool
from oborona.daemon.intake.event_sink import EVENTS, REFUSED, EventSink
from oborona.daemon.intake.sieve_spool import AT_ONCE, SETTLED_S, SieveSpool
from oborona.errors import StoreFull
from oborona.feedback.events.model import MOST_RAW, EventKind
from tests.daemon.intake.takings import KEY, Memory

PROGRAM = Path(__file__).parents[3] / "etc/dovecot/oborona-spool"
SAID = b"what=complaint\nuser=joe\nmailbox=Junk\n\nSubject: x\r\n\r\nBuy!\r\n"


class Bench:
    """A spool, and what was written down from it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "spool"
        self.folder.mkdir()
        self.memory = Memory()
        self.desk = EventSink(self.memory, 60.0)
        self.spool = SieveSpool(self.folder, self.desk, key=KEY, template="{user}@example.org")

    def leave(self, name: str, said: bytes = SAID, *, age_s: float = 0.0) -> Path:
        file = self.folder / name
        file.write_bytes(said)
        when = time.time() - age_s
        os.utime(file, (when, when))
        return file

    def names(self) -> list[str]:
        return sorted(one.name for one in self.folder.iterdir())


@pytest.fixture
def services(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_what_lies_there_is_taken_in_its_order_and_removed(services: Bench) -> None:
    for number in range(AT_ONCE + 3):
        services.leave(f"said-{number}", SAID.replace(b"Buy!", b"%d" % number), age_s=1000 - number)
    assert await services.spool.look() == AT_ONCE + 3
    assert services.names() == []
    first, *_, last = services.memory.events
    assert (first.what, first.person, first.mailbox) == (
        EventKind.COMPLAINT,
        "joe@example.org",
        "Junk",
    )
    assert (first.raw, last.raw) == (
        b"Subject: x\r\n\r\n0\r\n",
        b"Subject: x\r\n\r\n%d\r\n" % (AT_ONCE + 2),
    )
    assert abs(first.time - (time.time() - 1000)) < 60
    assert await services.spool.look() == 0


async def test_what_cannot_be_written_down_stays(services: Bench) -> None:
    services.leave("said-1")
    services.memory.trouble = StoreFull("no room")
    assert await services.spool.look() == 0
    assert services.names() == ["said-1"]
    services.memory.trouble = None
    assert await services.spool.look() == 1
    assert services.names() == []


async def test_a_file_that_was_taken_and_not_removed_is_one_event(
    services: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.leave("said-1")
    with monkeypatch.context() as killed:
        killed.setattr(sieve_spool, "_remove", lambda _: None)
        await services.spool.look()
    assert services.names() == ["said-1"]
    await services.spool.look()
    assert services.names() == []
    assert EVENTS.values == {("sieve", "complaint", "new"): 1, ("sieve", "complaint", "known"): 1}
    services.leave("said-1")  # another file of the same name is another word
    await services.spool.look()
    assert len(services.memory.events) == 2


async def test_what_is_being_written_waits_and_what_was_left_half_written_goes(
    services: Bench,
) -> None:
    services.leave(".said-1")
    services.leave(".said-2", age_s=SETTLED_S + 60)
    assert await services.spool.look() == 0
    assert services.names() == [".said-1"]


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"what=complaint\nuser=joe\n", id="no end of the arguments"),
        pytest.param(b"what=complaint\nuser=joe\n\n", id="no message"),
        pytest.param(b"what=trap\nuser=joe\n\nSubject: x\r\n\r\n", id="what no mailbox says"),
        pytest.param(b"\0" * 2_000_000, id="zeros"),
        pytest.param(b"x=y\n" * 100_000 + b"\n", id="many arguments"),
        pytest.param(b"Subject: x\n\nBuy!", id="a message alone"),
    ],
)
async def test_what_is_of_no_use_goes_and_is_counted(services: Bench, said: bytes) -> None:
    services.leave("said-1", said)
    services.leave("said-2")
    await services.spool.look()
    assert len(services.memory.events) == 1
    assert services.names() == []
    assert REFUSED.values == {("spool", "broken"): 1}


async def test_nothing_of_ours_is_read_through_a_link(services: Bench) -> None:
    ours = services.folder.parent / "secret"
    ours.write_bytes(SAID)
    (services.folder / "symbolic").symlink_to(ours)
    os.link(ours, services.folder / "hard")
    (services.folder / "folder").mkdir()
    os.mkfifo(services.folder / "pipe")
    await services.spool.look()
    assert services.memory.events == []
    assert ours.read_bytes() == SAID
    assert "hard" not in services.names()


async def test_a_file_that_cannot_be_read_stays_and_holds_nothing_up(
    services: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(path: Path) -> object:
        if path.name == "said-1":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    real = sieve_spool._read
    services.leave("said-1", age_s=10)
    services.leave("said-2")
    with monkeypatch.context() as closed:
        closed.setattr(sieve_spool, "_read", refused)
        for _ in range(3):
            await services.spool.look()
    assert services.names() == ["said-1"]
    assert [one.getMessage() for one in caplog.records] == ["the spool can't be read"]
    await services.spool.look()
    assert (services.names(), len(services.memory.events)) == ([], 2)


async def test_of_a_large_message_the_beginning_is_kept(services: Bench) -> None:
    services.leave("said-1", SAID + b"x" * (3 << 20))
    await services.spool.look()
    assert MOST_RAW <= len(services.memory.events[0].raw) < MOST_RAW + 40_000


async def test_a_folder_that_is_away_is_looked_for_again(
    services: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    services.folder.rmdir()
    assert [await services.spool.look() for _ in range(3)] == [0, 0, 0]
    assert len(caplog.records) == 1
    services.folder.mkdir()
    services.leave("said-1")
    assert await services.spool.look() == 1


async def test_the_shipped_program_leaves_what_is_taken(services: Bench, tmp_path: Path) -> None:
    program = tmp_path / "oborona-spool"
    program.write_text(PROGRAM.read_text().replace("/var/spool/oborona\n", f"{services.folder}\n"))
    message = b"Subject: x\r\n\r\n" + b"x" * (2 << 20)
    for words in (
        ["what=complaint", "user=joe", "mailbox=Корзина $(id) `id`"],
        ["what=pardon", "user=joe", "mailbox="],
    ):
        done = subprocess.run(["sh", program, *words], input=message, check=False, timeout=60)
        assert done.returncode == 0
    assert {one.stat().st_mode & 0o777 for one in services.folder.iterdir()} == {0o640}
    await services.spool.look()
    found = {one.what: one for one in services.memory.events}
    assert found[EventKind.COMPLAINT].mailbox == "Корзина $(id) `id`"
    assert found[EventKind.COMPLAINT].raw == message[:MOST_RAW]
    assert services.names() == []
    services.folder.rmdir()
    done = subprocess.run(
        ["sh", program, "what=pardon"], input=message, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 75


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize(
    ("user", "owner", "taken"),
    [
        ("daemon", "nobody", False),  # somebody with an account speaks for another one
        ("nobody", "nobody", True),
        ("daemon", "root", True),
        # mailboxes without accounts: all files are of one user
        ("joe-without-account", "nobody", True),
    ],
)
async def test_a_file_of_another_account_speaks_for_nobody(
    services: Bench, user: str, owner: str, taken: bool, caplog: pytest.LogCaptureFixture
) -> None:
    file = services.leave("said", SAID.replace(b"user=joe", b"user=" + user.encode()))
    os.chown(file, pwd.getpwnam(owner).pw_uid, -1)
    await services.spool.look()
    assert services.names() == []
    assert len(services.memory.events) == taken
    assert len(caplog.records) == (not taken)


async def test_what_cannot_be_read_starves_nobody(
    services: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root reads everything; so the file system's refusal is put in its place."""
    read = sieve_spool._read

    def refusing(path: Path) -> sieve_spool._SpooledAction:
        if path.name.startswith("closed"):
            raise PermissionError(13, "Permission denied")
        return read(path)

    monkeypatch.setattr(sieve_spool, "_read", refusing)
    monkeypatch.setattr(sieve_spool, "MOST", 5)
    monkeypatch.setattr(sieve_spool, "MOST_OF_ONE", 5)
    for number in range(5):
        services.leave(f"closed-{number}")
    assert await services.spool.look() == 5
    services.leave("said", SAID.replace(b"Buy!", b"Later!"))
    await services.spool.look()
    assert services.names() == [f"closed-{number}" for number in range(5)]
    assert len(services.memory.events) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
async def test_nobody_fills_the_look_of_all(
    services: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sieve_spool, "MOST_OF_ONE", 3)
    for number in range(30):
        os.chown(services.leave(f"of-nobody-{number}", SAID + b"%d" % number), 65534, -1)
    services.leave("of-root")
    assert await services.spool.look() == 4
    assert "of-root" not in services.names()
