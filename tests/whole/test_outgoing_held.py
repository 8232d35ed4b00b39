"""`oborona outgoing held`, `release` and `drop` behind a real Postfix: what is on hold and why, and
that a decision is carried out on what Oborona had held, and on nothing else.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import time
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from oborona import secret
from oborona.cli import main
from oborona.config import load_settings
from oborona.message.hashing import Hasher
from oborona.message.unique_pairs import account_place
from oborona.stores.counters import open_readonly
from oborona.types import Client, CounterPrefix, Envelope, Metric, Window
from tests.peers.dns import Zones
from tests.peers.postfix import Postfix
from tests.whole.gate import LETTER, Gate, eventually
from tests.whole.queued import OUTGOING, command, outgoing, queue, send

POLICY = """
[[rule]]
name = "SOLD"
when = "subject == 'sold'"
score = 150
say = "it is sold"
[[limit]]
name = "FEW"
each = "account"
count = "recipients"
window = "hour"
limit = 3
then = "hold"
unless = "login != 'many'"
[outgoing]
inside = ["example.test"]
"""
SPAM = LETTER.replace(b"Subject: Lunch", b"Subject: Sold")


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    with Zones() as zones, Gate(zones.setting, POLICY) as running:
        yield running


@pytest.fixture
def postfix(gate: Gate) -> Iterator[Postfix]:
    """A Postfix of our own people, with an empty queue; what is let go stays deferred."""
    with Postfix(f"unix:{gate.folder}/milter.sock", main=OUTGOING) as running:
        yield running


def hold(postfix: Postfix, ident: str) -> None:
    words = ["/usr/sbin/postsuper", "-c", f"{postfix.folder}/etc", "-h", ident]
    subprocess.run(words, capture_output=True, check=True, timeout=20)
    assert queue(postfix)[ident] == "hold"


def test_what_is_held_is_shown_with_its_account_score_and_reasons(
    gate: Gate, postfix: Postfix
) -> None:
    assert outgoing(gate, postfix, "held").exit_code == 1
    spam = send(gate, postfix, SPAM, "Ann", "bo@b.example", "cy@c.example", "di@d.example")
    many = send(gate, postfix, LETTER, "many", *(f"r{number}@c.example" for number in range(5)))
    good = send(gate, postfix, LETTER, "ann")
    hold(postfix, good)
    shown = outgoing(gate, postfix, "held")
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    of = {
        line.split()[0]: (line, below) for line, below in zip(lines[::2], lines[1::2], strict=True)
    }
    assert of.keys() == {spam, many, good}
    assert (
        "Ann  150.0 / 100  <ann@example.test> → <bo@b.example>, <cy@c.example> and 1 more"
        in of[spam][0]
    )
    assert of[spam][1] == "    held: SOLD +150 (it is sold)"
    assert "held: limit FEW: 5 of 3, hold" in of[many][1]
    assert of[good][1] == "    not held by Oborona"
    told = [
        json.loads(line) for line in outgoing(gate, postfix, "held", "--json").stdout.splitlines()
    ]
    assert {one["queue_id"]: one["ours"] for one in told} == {spam: True, many: True, good: False}
    (first,) = (one for one in told if one["queue_id"] == spam)
    assert (first["login"], first["score"], first["line"]) == ("Ann", 150.0, 100.0)
    assert first["reasons"] == [{"name": "SOLD", "score": 150.0, "say": "it is sold"}]
    assert first["recipients"] == ["bo@b.example", "cy@c.example", "di@d.example"]
    assert first["id"] in command(gate, "find", f"queue:{spam}").stdout
    of_many = outgoing(gate, postfix, "held", "--login", "MANY", "--json").stdout.splitlines()
    assert [json.loads(line)["queue_id"] for line in of_many] == [many]


def test_a_message_is_let_go_and_another_stays(gate: Gate, postfix: Postfix) -> None:
    first, second = (send(gate, postfix, SPAM, "ann") for _ in range(2))
    done = outgoing(gate, postfix, "release", first)
    assert (done.exit_code, done.stdout) == (0, f"{first} let go\n")
    assert queue(postfix)[first] != "hold"
    assert queue(postfix)[second] == "hold"


def test_what_was_let_go_speaks_for_where_it_came_from(gate: Gate, postfix: Postfix) -> None:
    hasher = Hasher(secret.load(gate.oborona.state).shingles)
    here = Envelope(client=Client(ip="192.0.2.9"), login="traveller@example.test")
    settings = load_settings(None, {}).settings

    def counted() -> tuple[int, int]:
        async def row() -> list[list[int]]:
            with open_readonly(settings, gate.oborona.state) as store:
                return (
                    await store.read(account_place(here, hasher), time.time(), CounterPrefix.OUT)
                )[0]

        fortnight = asyncio.run(row())[Window.FORTNIGHT]
        return fortnight[Metric.SEEN], fortnight[Metric.SPAM]

    first, second = (send(gate, postfix, SPAM, here.login) for _ in range(2))
    eventually(lambda: counted() == (2, 2))
    assert outgoing(gate, postfix, "release", first).exit_code == 0
    eventually(lambda: counted() == (2, 1))
    assert outgoing(gate, postfix, "drop", second, "--yes", "--silent").exit_code == 0
    assert outgoing(gate, postfix, "release", first).exit_code == os.EX_DATAERR
    time.sleep(1)
    assert counted() == (2, 1), "each once, and what was thrown away stays"


def test_all_of_an_account_is_thrown_away_when_it_is_meant(gate: Gate, postfix: Postfix) -> None:
    stolen = {send(gate, postfix, SPAM, "eve") for _ in range(2)}
    other = send(gate, postfix, SPAM, "ann")
    good = send(gate, postfix, LETTER, "eve")
    hold(postfix, good)
    asked = outgoing(gate, postfix, "drop", "--login", "Eve")
    assert asked.exit_code == 1
    assert "--yes" in asked.stderr
    assert stolen <= queue(postfix).keys()
    done = outgoing(gate, postfix, "drop", "--login", "Eve", "--yes")
    assert done.exit_code == 0
    assert {line.split()[0] for line in done.stdout.splitlines()} == stolen
    assert queue(postfix).keys() == {other, good}


def test_what_others_put_on_hold_is_left_unless_it_is_asked_for(
    gate: Gate, postfix: Postfix
) -> None:
    ours, good = send(gate, postfix, SPAM, "ann"), send(gate, postfix, LETTER, "ann")
    hold(postfix, good)
    for name, more in (("release", ()), ("drop", ("--yes",))):
        refused = outgoing(gate, postfix, name, ours, good, *more)
        assert refused.exit_code == os.EX_DATAERR
        assert f"{good} is held, but not by Oborona" in refused.stderr
        assert queue(postfix) == {ours: "hold", good: "hold"}
    assert outgoing(gate, postfix, "release", good, "--any").exit_code == 0
    assert queue(postfix)[good] != "hold"
    gone = outgoing(gate, postfix, "drop", good, "--any", "--yes")
    assert (gone.exit_code, f"{good} is not held" in gone.stderr) == (os.EX_DATAERR, True)
    assert good in queue(postfix)


@pytest.mark.parametrize(
    "ident", ["ALL", "-", "4Z;id", "$(id)", "../4ZqX1k", "4ZqX1k2pYz\nALL", ""]
)
def test_what_is_no_queue_id_reaches_no_command(gate: Gate, postfix: Postfix, ident: str) -> None:
    ours = send(gate, postfix, SPAM, "ann")
    refused = outgoing(gate, postfix, "drop", "--any", "--yes", "--", ours, ident)
    assert refused.exit_code == 2
    assert "is no queue id" in refused.stderr
    assert queue(postfix) == {ours: "hold"}


def test_nothing_named_is_a_wrong_use(gate: Gate, postfix: Postfix) -> None:
    assert outgoing(gate, postfix, "release").exit_code == 2
    assert outgoing(gate, postfix, "release", "4ZqX1k2pYz", "--login", "ann").exit_code == 2
    nobody = outgoing(gate, postfix, "release", "--login", "nobody")
    assert nobody.exit_code == os.EX_DATAERR
    assert "nothing of nobody is held" in nobody.stderr


def test_who_is_not_root_is_shown_what_root_writes(
    gate: Gate, postfix: Postfix, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = send(gate, postfix, SPAM, "ann")
    monkeypatch.setattr("oborona.cli.outgoing.hold_decision.os.geteuid", lambda: 1000)
    for name in ("release", "drop"):
        told = outgoing(gate, postfix, name, ours)
        assert told.exit_code == os.EX_NOPERM
        assert queue(postfix) == {ours: "hold"}
    # the last is the command of drop; it does what it says
    subprocess.run(shlex.split(told.stdout), check=True, capture_output=True, timeout=20)
    assert queue(postfix) == {}


def test_without_a_journal_the_queue_is_shown_and_nothing_is_ours(
    gate: Gate, postfix: Postfix
) -> None:
    ours = send(gate, postfix, SPAM, "ann")
    folder, elsewhere = f"{postfix.folder}/etc", f"{postfix.folder}/nothing"

    def blind(*words: str) -> Result:
        return CliRunner().invoke(
            main, ["--state", elsewhere, "outgoing", *words, "--postfix", folder]
        )

    shown = blind("held")
    assert shown.exit_code == 0
    assert ours in shown.stdout
    assert "not in the journal" in shown.stdout
    assert "there is no journal" in shown.stderr
    assert blind("release", ours).exit_code == os.EX_DATAERR
    assert queue(postfix) == {ours: "hold"}
    assert blind("release", ours, "--any").exit_code == 0
    assert queue(postfix)[ours] != "hold"


def test_an_account_is_told_of_what_was_thrown_away(gate: Gate) -> None:
    """By one mail to the address that it logs in by, which passes us as other mail does."""
    milter = f"unix:{gate.folder}/milter.sock"
    stays = {"virtual_transport": "smtp:[127.0.0.1]:1", "non_smtpd_milters": milter}
    with Postfix(milter, main=OUTGOING | stays) as postfix:
        dropped = [send(gate, postfix, SPAM, "Lea@example.test") for _ in range(2)]
        dropped.append(send(gate, postfix, SPAM, "max"))
        spam = send(gate, postfix, SPAM, "kim@example.test")
        command(gate, "account", "ban", "kim@example.test", "--reason", "stolen", postfix=postfix)
        done = outgoing(gate, postfix, "drop", *dropped, spam, "--yes")
        assert done.exit_code == 0
        assert "lea@example.test is told" in done.stderr
        assert "max is not told: it is no mail address" in done.stderr
        assert "kim@example.test" not in done.stderr, "who reads it may have sent the spam"
        eventually(lambda: [*queue(postfix).values()] in (["deferred"], ["hold"]), 30.0)
        ((notice, where),) = queue(postfix).items()
        assert where == "deferred", "it was shown to us on its way, and passed"
        words = ["/usr/sbin/postcat", "-c", f"{postfix.folder}/etc", "-q", notice]
        told = subprocess.run(words, capture_output=True, check=True, timeout=20).stdout.decode()
        assert "recipient: lea@example.test" in told
        assert "Auto-Submitted: auto-generated" in told
        assert "Subject: 2 messages of yours were not sent" in told
        assert "to bo@b.example" in told
        again = send(gate, postfix, SPAM, "lea@example.test")
        done = outgoing(gate, postfix, "drop", again, "--yes", "--silent")
        assert (done.exit_code, done.stderr) == (0, "")
        assert queue(postfix).keys() == {notice}
