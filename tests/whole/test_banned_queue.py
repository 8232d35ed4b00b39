"""What a banned account has in the queue of a real Postfix: held, let go when it is open again, and
nobody else's mail touched.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator

import pytest

from oborona import state_files
from tests.peers.dns import Zones
from tests.peers.postfix import Postfix
from tests.whole.gate import LETTER, Gate, eventually
from tests.whole.queued import OUTGOING, command, outgoing, queue, send

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="postsuper serves root alone")
POLICY = """
[[rule]]
name = "SOLD"
when = "subject == 'sold'"
score = 150
[outgoing]
inside = ["example.test"]
"""
SPAM = LETTER.replace(b"Subject: Lunch", b"Subject: Sold")
EVE = "eve@example.test"


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    with Zones() as zones, Gate(zones.setting, POLICY) as running:
        yield running


@pytest.fixture
def postfix(gate: Gate) -> Iterator[Postfix]:
    with Postfix(f"unix:{gate.folder}/milter.sock", main=OUTGOING) as running:
        yield running


def held(postfix: Postfix) -> set[str]:
    return {ident for ident, where in queue(postfix).items() if where == "hold"}


def test_a_ban_holds_what_waits_and_its_end_lets_just_that_go(gate: Gate, postfix: Postfix) -> None:
    waiting = {send(gate, postfix, LETTER, "Eve@Example.test") for _ in range(3)}
    content = send(gate, postfix, SPAM, EVE)
    other = send(gate, postfix, LETTER, "ann@example.test")
    assert held(postfix) == {content}
    done = command(gate, "account", "ban", EVE, "--reason", "stolen", "--json", postfix=postfix)
    assert json.loads(done.stdout)["state"] == "banned"
    assert "3 messages of banned accounts are on hold" in done.stderr
    assert held(postfix) == {*waiting, content}
    assert queue(postfix).keys() == {*waiting, content, other}, "nothing is lost"
    again = outgoing(gate, postfix, "hold-banned")
    assert (again.exit_code, again.stdout) == (0, ""), "it is done"
    done = command(gate, "account", "unban", EVE, "--reason", "changed", postfix=postfix)
    assert "3 messages of accounts that are open again are let go" in done.stderr
    assert held(postfix) == {content}
    again = outgoing(gate, postfix, "hold-banned")
    assert (again.exit_code, again.stdout) == (0, "")


def test_what_a_person_lets_go_of_a_banned_account_stays_so(gate: Gate, postfix: Postfix) -> None:
    ident = send(gate, postfix, LETTER, "bob@example.test")
    command(gate, "account", "ban", "bob@example.test", "--reason", "stolen", postfix=postfix)
    assert held(postfix) == {ident}
    shown = outgoing(gate, postfix, "held", "--login", "bob@example.test")
    assert "held, for its account is banned" in shown.stdout
    assert outgoing(gate, postfix, "release", ident).exit_code == 0
    assert outgoing(gate, postfix, "hold-banned").exit_code == 0
    assert held(postfix) == set()
    command(gate, "account", "unban", "bob@example.test", "--reason", "changed", postfix=postfix)


def test_the_daemon_asks_for_it_and_whoever_does_it_takes_the_mark(
    gate: Gate, postfix: Postfix
) -> None:
    """A ban of anybody who is not root, or of the inspector."""
    mark = gate.oborona.state / state_files.QUEUE_DUE
    ident = send(gate, postfix, LETTER, "dan@example.test")
    mark.unlink(missing_ok=True)
    command(gate, "account", "ban", "dan@example.test", "--reason", "stolen")  # no Postfix there
    eventually(mark.exists)
    assert outgoing(gate, postfix, "hold-banned").stdout.startswith("1 messages of banned")
    assert held(postfix) == {ident}
    assert not mark.exists()
    command(gate, "account", "unban", "dan@example.test", "--reason", "changed")
    eventually(mark.exists)
    assert outgoing(gate, postfix, "hold-banned").exit_code == 0
    assert held(postfix) == set()


def test_what_is_held_is_written_down_for_who_tells_people(gate: Gate, postfix: Postfix) -> None:
    state = gate.oborona.state
    ident = send(gate, postfix, SPAM, "lea@example.test")
    assert held(postfix) == {ident}
    assert (state / state_files.HELD_LAST).exists()
    assert outgoing(gate, postfix, "hold-banned").exit_code == 0
    found = json.loads((state / state_files.QUEUE_HELD).read_text())
    assert (found["number"], found["accounts"]) == (1, [["lea@example.test", 1]])
    assert found["at"] >= found["oldest"] > found["at"] - 600
    assert outgoing(gate, postfix, "release", ident).exit_code == 0
    assert outgoing(gate, postfix, "hold-banned").exit_code == 0
    assert json.loads((state / state_files.QUEUE_HELD).read_text())["number"] == 0


def test_a_sender_is_told_once_a_day_that_mail_is_held(gate: Gate) -> None:
    """Not where the account is banned, nor where its login is no address."""
    milter = f"unix:{gate.folder}/milter.sock"
    stays = {"virtual_transport": "smtp:[127.0.0.1]:1", "non_smtpd_milters": milter}
    with Postfix(milter, main=OUTGOING | stays) as postfix:
        command(gate, "account", "ban", "sam@example.test", "--reason", "stolen")
        spam = {send(gate, postfix, SPAM, "Noa@example.test") for _ in range(2)}
        spam |= {send(gate, postfix, SPAM, "noname")}
        assert outgoing(gate, postfix, "hold-banned").exit_code == 0
        eventually(lambda: [*queue(postfix).values()].count("deferred") == 1, 30.0)
        (notice,) = queue(postfix).keys() - spam
        told = postcat(postfix, notice)
        assert "recipient: noa@example.test" in told
        assert "Subject: 2 messages of yours are held" in told
        assert "to bo@b.example" in told
        again = send(gate, postfix, SPAM, "noa@example.test")
        assert outgoing(gate, postfix, "hold-banned").exit_code == 0
        assert queue(postfix).keys() == {*spam, again, notice}
        noted = json.loads((gate.oborona.state / state_files.SENDERS_TOLD).read_text())
        assert "noa@example.test" in noted
        assert "noname" not in noted
        command(gate, "account", "unban", "sam@example.test", "--reason", "changed")


def postcat(postfix: Postfix, ident: str) -> str:
    words = ["/usr/sbin/postcat", "-c", f"{postfix.folder}/etc", "-q", ident]
    return subprocess.run(words, capture_output=True, check=True, timeout=20).stdout.decode()


def test_the_queue_of_an_account_is_held_by_hand_and_taken_back(
    gate: Gate, postfix: Postfix
) -> None:
    waiting = [send(gate, postfix, LETTER, "gus@example.test") for _ in range(2)]
    other = send(gate, postfix, LETTER, "ann@example.test")
    dry = outgoing(gate, postfix, "hold-queue", "Gus@example.test", "--dry-run")
    assert (set(dry.stdout.split()), held(postfix)) == (set(waiting), set())
    done = outgoing(gate, postfix, "hold-queue", "gus@example.test")
    assert set(done.stdout.split()) == set(waiting) == held(postfix)
    nothing = outgoing(gate, postfix, "hold-queue", "gus@example.test")
    assert (nothing.exit_code, nothing.stdout) == (1, "")
    assert outgoing(gate, postfix, "release", "--any", *waiting).exit_code == 0
    assert held(postfix) == set()
    assert other in queue(postfix)


def test_a_mail_server_that_is_down_is_said_and_the_ban_holds(gate: Gate) -> None:
    with Postfix(f"unix:{gate.folder}/milter.sock", main=OUTGOING) as gone:
        pass
    done = command(gate, "account", "ban", "kim@example.test", "--reason", "stolen", postfix=gone)
    assert (done.exit_code, done.stdout) == (0, "kim@example.test is banned\n")
    assert "the mail server's queue stays as it is: " in done.stderr
    failed = command(gate, "outgoing", "hold-banned", postfix=gone)
    assert failed.exit_code != 0
    assert "oborona: " in failed.stderr
