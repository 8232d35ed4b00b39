"""A machine that died leaves no move undone that is in reach of another: told before it is made,
taken over once, and not made again by whoever comes back.

Real PostgreSQL, real mailboxes of a Dovecot, real kills.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import IO

import msgspec
import pytest
from click.testing import CliRunner, Result

from oborona import state_files
from oborona.cli import main as cli_main
from oborona.cli.context import CliContext
from oborona.daemon.site import move_share
from oborona.daemon.site.departure import leave_site
from oborona.desk.doctor.machines import machines as examine_machines
from oborona.ident import from_text
from oborona.recheck.mailboxes.model import MailboxItem
from oborona.recheck.moves import Move, MoveDecision, MoveState, MoveStore
from oborona.recheck.site_moves import SiteMoveStore
from tests.peers.dovecot_mailboxes import MailboxDovecot
from tests.peers.postgresql import Postgresql
from tests.replication.machines import follow_once, two_machines

ROOT = Path(__file__).resolve().parents[2]
USERS = [f"user{number}" for number in range(300)]
COPIES = 4
WAIT_S = 40.0
REST_S = 2.0  # that a machine is given to do what it should not


@pytest.fixture(scope="module")
def dovecot() -> Iterator[MailboxDovecot]:
    with MailboxDovecot(USERS) as running:
        yield running


@pytest.fixture(scope="module")
def users() -> Iterator[int]:
    return count()


class MovingMachine:
    """A machine whose process moves.

    Args:
        state: its folder.
        settings: file of its mailboxes.

    Attributes:
        said: its lines.
    """

    def __init__(self, state: Path, settings: Path) -> None:
        self.state = state
        self._settings = settings
        self.said: list[str] = []
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    def start(self, point: str = "never", *more: str) -> None:
        """Let it run, up to a point."""
        command = [sys.executable, "-m", "tests.replication.move_machine"]
        command += [str(self.state), str(self._settings), point, *more]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,))
        self._reader.start()

    def _read(self, lines: IO[str]) -> None:
        with lines:
            self.said += (line.strip() for line in lines)

    def died(self) -> None:
        """Wait until it has killed itself."""
        assert self._process is not None
        assert self._process.wait(timeout=WAIT_S) == -signal.SIGKILL
        self.close()

    def signal(self, number: int) -> None:
        """Send it a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def close(self) -> None:
        """Kill it, and hear all that it has said."""
        if self._process is not None:
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait(timeout=WAIT_S)
            assert self._reader is not None
            self._reader.join()
            self._process = None

    @property
    def asked(self) -> list[str]:
        """Names of the letters that it has asked a mailbox for."""
        return [line.split()[1] for line in self.said if line.startswith("asked ")]

    def moves(self) -> list[Move]:
        """Return its moves, in order."""
        with MoveStore(self.state / state_files.MOVES) as store:
            return store.since(0.0)

    def states(self) -> list[MoveState]:
        """Return their states."""
        return [move.state for move in self.moves()]


class MovingSite:
    """Two machines that reach the same mailboxes."""

    def __init__(
        self, root: Path, postgresql: Postgresql, dovecot: MailboxDovecot, users: Iterator[int]
    ) -> None:
        self.dovecot, self.postgresql, self._users = dovecot, postgresql, users
        settings = root / "mailboxes.json"
        settings.write_bytes(msgspec.json.encode(dovecot.settings("doveadm", move_listed=True)))
        self.first, self.second = (
            MovingMachine(state, settings) for state in two_machines(root, postgresql.address)
        )
        self.letters: list[MailboxItem] = []

    def decide(self, machine: MovingMachine, number: int = COPIES) -> list[MailboxItem]:
        """Deliver copies, and have a machine decide that they are spam."""
        letters = [self.dovecot.deliver_letter(USERS[next(self._users)]) for _ in range(number)]
        with MoveStore(machine.state / state_files.MOVES) as store:
            store.decide([_decision(letter) for letter in letters], now=time.time())
        self.letters += letters
        return letters

    def folders(self) -> list[str]:
        """Return where each copy is."""
        return [self._folder(letter) for letter in self.letters]

    def _folder(self, letter: MailboxItem) -> str:
        name = letter.message_id.encode()
        return " and ".join(  # while it is moved it is seen in both, or in none
            folder
            for folder in ("INBOX", "Junk")
            for raw in self.dovecot.messages(letter.user, folder)
            if name in raw
        )

    def told(self, machine: MovingMachine) -> int:
        """Return how many moves the site knows."""
        follow_once(machine.state)
        with SiteMoveStore(machine.state / state_files.SITE_MOVES) as store:
            ((number,),) = store.rows("SELECT count(*) FROM told")
        return int(number)


@pytest.fixture
def site(
    tmp_path: Path, postgresql: Postgresql, dovecot: MailboxDovecot, users: Iterator[int]
) -> Iterator[MovingSite]:
    made = MovingSite(tmp_path, postgresql, dovecot, users)
    with closing(made.first), closing(made.second):
        yield made


def run(state: Path, *words: str) -> Result:
    return CliRunner().invoke(cli_main, ["--state", str(state), *words])


def _decision(letter: MailboxItem) -> MoveDecision:
    return MoveDecision(
        message=from_text(letter.ident) or 0,
        recipient=f"{letter.user}@example.test",
        source="INBOX",
        target="Junk",
        why="MASS_TEXT seen 412",
        score=120.0,
        line=100.0,
        event="word",
    )


def wait(what: Callable[[], bool]) -> None:
    """Wait until something is so."""
    until = time.monotonic() + WAIT_S
    while not what():
        assert time.monotonic() < until
        time.sleep(0.05)


def names(letters: Sequence[MailboxItem]) -> list[str]:
    return sorted(letter.ident for letter in letters)


@pytest.mark.parametrize("point", ["told", "held", "issued", "asked", "settled"])
def test_what_a_dead_machine_left_another_makes_and_who_comes_back_does_not(
    site: MovingSite, point: str
) -> None:
    letters = site.decide(site.first)
    site.first.start(point)
    site.first.died()
    site.second.start()
    wait(lambda: site.second.states() == [MoveState.DONE] * COPIES)
    assert site.folders() == ["Junk"] * COPIES
    # also of what was made before it died, where nobody else knew that: the mailbox says so
    assert names(letters) == sorted(site.second.asked)
    site.first.said.clear()
    site.first.start()
    wait(lambda: site.first.states() == [MoveState.DONE] * COPIES)
    wait(lambda: site.told(site.second) == 0)
    time.sleep(REST_S)
    assert site.first.asked == []
    assert sorted(site.second.asked) == names(letters)
    assert site.folders() == ["Junk"] * COPIES


def test_who_dies_before_the_site_knows_makes_them_itself(site: MovingSite) -> None:
    letters = site.decide(site.first)
    site.first.start("noted")
    site.first.died()
    site.second.start()
    time.sleep(REST_S)
    assert site.second.asked == []
    site.first.start()
    wait(lambda: site.first.states() == [MoveState.DONE] * COPIES)
    assert sorted(site.first.asked) == names(letters)
    wait(lambda: site.told(site.second) == 0)


@pytest.mark.parametrize("point", ["claimed", "adopted", "issued", "asked", "settled"])
def test_who_takes_over_may_die_too(site: MovingSite, point: str) -> None:
    site.decide(site.first)
    site.first.start("told")
    site.first.died()
    site.second.start(point)
    site.second.died()
    site.second.start()
    wait(lambda: site.folders() == ["Junk"] * COPIES)
    wait(lambda: site.second.states() == [MoveState.DONE] * COPIES)
    site.first.start()
    wait(lambda: site.first.states() == [MoveState.DONE] * COPIES)
    wait(lambda: site.told(site.second) == 0)
    assert site.first.asked == []


def test_taken_moves_come_back_where_the_one_that_took_them_died(site: MovingSite) -> None:
    letters = site.decide(site.first)
    site.first.start("told")
    site.first.died()
    site.second.start("adopted")
    site.second.died()
    site.first.start()
    wait(lambda: site.first.states() == [MoveState.DONE] * COPIES)
    site.second.start()
    wait(lambda: all(state is not MoveState.DECIDED for state in site.second.states()))
    wait(lambda: site.told(site.second) == 0)
    time.sleep(REST_S)
    assert site.second.asked == []
    assert sorted(site.first.asked) == names(letters)


def test_a_machine_that_is_heard_of_makes_its_own(site: MovingSite) -> None:
    letters = site.decide(site.first)
    site.first.start("never", "60")
    site.second.start("never", "60")
    wait(lambda: site.folders() == ["Junk"] * COPIES)
    assert (sorted(site.first.asked), site.second.asked) == (names(letters), [])
    wait(lambda: site.told(site.second) == 0)


def test_a_forgotten_machine_is_not_waited_for(site: MovingSite) -> None:
    letters = site.decide(site.first)
    site.first.start("told")
    site.first.died()
    site.second.start("never", "3600")
    time.sleep(REST_S)
    assert site.second.asked == []
    done = run(site.second.state, "site", "forget", "mx1")
    assert done.exit_code != 0
    assert "may be moving mail" in done.output
    site.postgresql.rows(
        "UPDATE oborona.machine SET seen = now() - interval '61 s' WHERE name = 'mx1'"
    )
    done = run(site.second.state, "site", "forget", "mx1")
    assert done.exit_code == 0, done.output
    wait(lambda: site.folders() == ["Junk"] * COPIES)
    assert sorted(site.second.asked) == names(letters)
    # it comes back all the same, and nobody has let it in again
    site.first.start()
    time.sleep(REST_S)
    assert site.first.asked == []


def test_who_stood_still_asks_whose_they_are_before_the_mailbox(site: MovingSite) -> None:
    letters = site.decide(site.first)
    site.first.start("stands", "1", "0.5")
    wait(lambda: "stands" in site.first.said)
    site.second.start()
    wait(lambda: site.folders() == ["Junk"] * COPIES)
    site.first.signal(signal.SIGCONT)
    wait(lambda: site.first.states() == [MoveState.DONE] * COPIES)
    assert (site.first.asked, sorted(site.second.asked)) == ([], names(letters))


def test_what_an_admin_takes_back_is_moved_back_by_another(site: MovingSite) -> None:
    site.decide(site.first)
    site.first.start()
    wait(lambda: site.first.states() == [MoveState.DONE] * COPIES)
    wait(lambda: site.told(site.second) == 0)
    site.first.close()
    with MoveStore(site.first.state / state_files.MOVES) as store:
        store.undo([move.id for move in site.first.moves()], now=time.time())
    site.first.start("told")
    site.first.died()
    assert site.folders() == ["Junk"] * COPIES
    site.second.start()
    wait(lambda: site.folders() == ["INBOX"] * COPIES)
    wait(lambda: site.second.states().count(MoveState.UNDONE) == COPIES)
    site.first.said.clear()
    site.first.start()
    wait(lambda: site.first.states().count(MoveState.UNDONE) == COPIES)
    assert site.first.asked == []


def test_what_another_does_not_find_its_machine_makes_when_it_is_back(
    site: MovingSite, tmp_path: Path
) -> None:
    letters = site.decide(site.first)
    site.first.start("told")
    site.first.died()
    blind = tmp_path / "elsewhere.json"
    settings = site.dovecot.settings("doveadm", user="nobody-{local}")
    blind.write_bytes(msgspec.json.encode(settings))
    other = MovingMachine(site.second.state, blind)
    with closing(other):
        other.start()
        wait(lambda: MoveState.FAILED in other.states())
        time.sleep(REST_S)
        assert sorted(other.asked) == names(letters)  # once: what it can't reach it leaves
        site.first.start()
        wait(lambda: site.folders() == ["Junk"] * COPIES)
        wait(lambda: site.first.states() == [MoveState.DONE] * COPIES)


@pytest.mark.parametrize("takes", [False, True])
def test_moves_that_nobody_makes_are_counted_until_their_machine_is_back(
    site: MovingSite, monkeypatch: pytest.MonkeyPatch, *, takes: bool
) -> None:
    monkeypatch.setattr(move_share, "LOOK_S", 0.0)
    site.decide(site.first)
    site.first.start("told")
    site.first.died()
    follow_once(site.second.state)
    with MoveStore(site.second.state / state_files.MOVES) as moves:
        share = move_share.open_move_share(site.second.state, moves, takes=takes)
        assert share is not None
        with closing(share):
            share.follow(paused=True)
            assert move_share.SHARED.value("nobody") == 0, "it was heard of"
            site.postgresql.rows(
                "UPDATE oborona.machine SET seen = now() - interval '1 hour' WHERE name = 'mx1'"
            )
            share.follow(paused=True)
            assert move_share.SHARED.value("nobody") == COPIES
            share.follow(paused=False)
            assert move_share.SHARED.value("nobody") == (0 if takes else COPIES)


def test_while_the_log_is_away_what_nobody_knows_is_moved_and_what_others_know_waits(
    tmp_path: Path, dovecot: MailboxDovecot, users: Iterator[int]
) -> None:
    with Postgresql() as own:
        site = MovingSite(tmp_path, own, dovecot, users)
        with closing(site.first):
            known = site.decide(site.first)
            site.first.start("told")
            site.first.died()
            own.kill()
            new = site.decide(site.first)
            site.first.start()
            wait(lambda: site.folders() == ["INBOX"] * COPIES + ["Junk"] * COPIES)
            time.sleep(REST_S)
            assert sorted(site.first.asked) == names(new)
            own.start()
            wait(lambda: site.folders() == ["Junk"] * (2 * COPIES))
            assert sorted(site.first.asked) == names([*known, *new])


def test_moves_that_have_stopped_are_nobody_elses(site: MovingSite) -> None:
    site.decide(site.first)
    site.first.start("told")
    site.first.died()
    with MoveStore(site.first.state / state_files.MOVES) as store:
        store.pause("it runs away", now=time.time())
    site.first.start("never", "60")
    wait(lambda: site.told(site.second) == 0)
    site.first.close()
    site.second.start()
    time.sleep(REST_S)
    assert (site.first.asked, site.second.asked) == ([], [])
    with MoveStore(site.first.state / state_files.MOVES) as store:
        assert store.resume()
    site.first.start()
    wait(lambda: site.folders() == ["Junk"] * COPIES)


def test_doctor_names_whose_moves_nobody_makes(site: MovingSite) -> None:
    site.decide(site.first)
    site.first.start("told")
    site.first.died()
    follow_once(site.second.state)
    context = CliContext(None, site.second.state, ())
    assert not any("moves of delivered" in one.words for one in examine_machines(context))
    site.postgresql.rows(
        "UPDATE oborona.machine SET seen = now() - interval '1 hour' WHERE name = 'mx1'"
    )
    found = [one.words for one in examine_machines(context)]
    assert any(f"{COPIES} moves of delivered mail wait for mx1" in one for one in found)


def test_who_leaves_keeps_its_moves_and_gives_back_those_of_others(site: MovingSite) -> None:
    letters = site.decide(site.first)
    site.first.start("told")
    site.first.died()
    site.second.start("adopted")
    site.second.died()
    own = site.decide(site.second)
    site.second.start("told")
    site.second.died()
    leave_site(site.second.state)
    follow_once(site.first.state)
    assert site.told(site.first) == COPIES
    states = Counter(site.second.states())
    assert states == {MoveState.KEPT: COPIES, MoveState.DECIDED: COPIES}
    site.first.start()
    wait(lambda: site.first.states() == [MoveState.DONE] * COPIES)
    assert sorted(site.first.asked) == names(letters)
    with MoveStore(site.second.state / state_files.MOVES) as store:
        assert len(store.due(time.time() + 1, 100)) == len(own)


@pytest.mark.parametrize("seed", [1, 2])
def test_whoever_is_killed_each_copy_is_moved_and_both_know(
    tmp_path: Path, dovecot: MailboxDovecot, users: Iterator[int], seed: int
) -> None:
    chance = random.Random(seed)
    with Postgresql(sync=True) as own:
        site = MovingSite(tmp_path, own, dovecot, users)
        machines = site.first, site.second
        with closing(site.first), closing(site.second):
            for machine in machines:
                machine.start()
            for turn in range(8):
                site.decide(chance.choice(machines), 2)
                time.sleep(chance.uniform(0.0, 1.5))
                if turn % 4 == 3:
                    own.kill()
                    time.sleep(chance.uniform(0.0, 1.0))
                    own.start()
                victim = chance.choice(machines)
                victim.close()
                time.sleep(chance.choice([0.0, 2.5]))
                victim.start()
            wait(lambda: site.folders() == ["Junk"] * 16)
            wait(lambda: {state for one in machines for state in one.states()} == {MoveState.DONE})
            wait(lambda: site.told(site.second) == 0)
