"""rspamd's own client against the whole service: our /checkv2 is one that it can read."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona import state_files
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import StoredEvent
from tests.doors.http.sittings import TOKEN
from tests.letters import gtube
from tests.peers.oborona import Oborona
from tests.peers.ports import free_port
from tests.peers.rspamc import PROGRAM, Rspamc

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no rspamc here")

SPAM = gtube().raw
HAM = (
    b"From: Ann <ann@a.example>\nTo: Bob <bob@b.example>\nSubject: lunch\nDate: Sun, 22 Nov "
    b"2026 12:00:00 +0000\n"
)
HAM += (
    b"Message-ID: <1@a.example>\nX-Mras: Ok\n\nAt noon, at http://www.example.org/menu? Mail "
    b"joe@example.org.\n"
)
ENVELOPE = ("-i", "192.0.2.1", "--helo", "a.example", "-F", "ann@a.example", "-r", "bob@b.example")


class House(Oborona):
    """The service with an HTTP door that needs a key."""

    def __init__(self) -> None:
        self.port = free_port()
        super().__init__(
            {
                "doors.http.listen": f"inet:127.0.0.1:{self.port}",
                "worker.processes": 1,
                "reader.enabled": "false",
            }
        )
        keys = self.root / "keys"
        keys.write_text(f"{TOKEN}\n")
        self._settings["doors.http.keys_file"] = str(keys)

    def events(self) -> list[StoredEvent]:
        log = EventLog(self.state / state_files.EVENTS)
        with contextlib.closing(log):
            return log.last(100)[::-1]


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    with House() as running:
        yield running


@pytest.fixture
def rspamc(house: House) -> Rspamc:
    return Rspamc(house.port, "-P", TOKEN)


def test_spam_and_ham(rspamc: Rspamc) -> None:
    spam, ham = rspamc.json(SPAM, *ENVELOPE), rspamc.json(HAM, *ENVELOPE)
    assert (spam["action"], ham["action"]) == ("reject", "no action")
    assert spam["score"] >= spam["required_score"] == spam["thresholds"]["reject"]
    assert "reference" in spam["messages"]["smtp_message"]
    assert "milter" not in spam
    assert ham["score"] < ham["thresholds"]["add header"]
    assert ham["message-id"] == "1@a.example"
    assert ham["urls"] == ["www.example.org"]
    assert ham["emails"] == ["joe@example.org"]
    assert ham["milter"]["remove_headers"] == {"X-Mras": 1}  # it came with a forged one
    added = ham["milter"]["add_headers"]
    assert added["X-Mras"] == {"value": "Ok"}
    assert added["X-Mras-Id"]["value"] == ham["oborona"]["id"]
    assert "spf=none" in added["Authentication-Results"]["value"]


def test_what_people_read(rspamc: Rspamc) -> None:
    words = rspamc.run("symbols", *ENVELOPE, message=SPAM).stdout.decode()
    assert "Action: reject" in words
    assert "Spam: true" in words
    assert "Symbol: GTUBE (" in words


def test_the_envelope_is_judged(rspamc: Rspamc, house: House) -> None:
    rspamc.json(
        HAM, *ENVELOPE, "-u", "joe", "--hostname", "mx.a.example", "--header", "Queue-Id=4XyQ"
    )
    line = house.log().splitlines()[-1]
    for word in (
        "client=192.0.2.1",
        "helo=a.example",
        "sender=ann@a.example",
        "recipient=bob@b.example",
    ):
        assert word in line
    assert rspamc.json(HAM, "-i", "127.0.0.1")["milter"]["add_headers"].keys() >= {
        "X-Mras",
        "X-Mras-Id",
    }


def test_several_files_at_once(rspamc: Rspamc, tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.eml" for number in range(12)]
    for number, file in enumerate(files):
        file.write_bytes(SPAM if number % 2 else HAM)
    done = rspamc.run("-n", "4", "--compact", "-j", *ENVELOPE, *files)
    found = [json.loads(line) for line in done.stdout.splitlines() if line]
    assert sorted(Path(one["filename"]).name for one in found) == sorted(
        file.name for file in files
    )
    for one in found:
        # a text that comes again and again is ever less welcome
        assert (one["action"] == "reject") == bool(int(Path(one["filename"]).stem) % 2)


def test_the_message_back(rspamc: Rspamc) -> None:
    letter = rspamc.run("--mime", *ENVELOPE, message=HAM).stdout.decode()
    assert "X-Spam-Action: " in letter
    assert letter.endswith("Mail joe@example.org.\n")


@pytest.mark.parametrize(
    ("command", "what"), [("learn_spam", "complaint"), ("learn_ham", "pardon")]
)
def test_what_somebody_teaches_is_written_down(
    rspamc: Rspamc, house: House, command: str, what: str
) -> None:
    ident = rspamc.json(HAM, *ENVELOPE)["oborona"]["id"]
    before = len(house.events())
    done = rspamc.run(
        command, "-d", "bob@b.example", message=f"X-Mras-Id: {ident}\n".encode() + HAM
    )
    assert b"success = true" in done.stdout, done
    (event,) = house.events()[before:]
    assert (event.what, event.way, event.person, event.message_id) == (
        what,
        "http",
        "bob@b.example",
        "1@a.example",
    )
    assert event.ident is not None


def test_what_it_shows_when_it_may_not(house: House, rspamc: Rspamc) -> None:
    nobody = rspamc.run("learn_spam", message=HAM)
    assert nobody.returncode
    assert b"403, who says so? Name the mailbox in Deliver-To" in nobody.stdout
    stranger = Rspamc(house.port).run(message=HAM)
    assert stranger.returncode
    assert b"401, no key" in stranger.stdout
    packed = rspamc.run("-z", message=HAM)
    assert packed.returncode
    assert b"415, a compressed body is not taken" in packed.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
def test_curl_asks_our_own_way_and_waits_for_nobody(house: House, tmp_path: Path) -> None:
    """A body of more than a mebibyte: curl asks first whether to go on."""
    large = tmp_path / "large.eml"
    large.write_bytes(HAM + b"x" * 78 + b"\n" + b"A line of a long letter.\n" * 60_000)
    done = subprocess.run(
        [
            *("curl", "-sS", "-v", "--expect100-timeout", "60", "--max-time", "30"),
            *("-H", f"Authorization: Bearer {TOKEN}", "-H", "Content-Type: message/rfc822"),
            *("-H", "IP: 192.0.2.1", "-H", "From: ann@a.example", "-H", "Rcpt: bob@b.example"),
            *("--data-binary", f"@{large}", f"http://127.0.0.1:{house.port}/v1/scan"),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "100 Continue" in done.stderr
    found = json.loads(done.stdout)
    assert found["verdict"] in {"accept", "spam"}
    assert found["headers"]["remove"] == [{"name": "X-Mras", "index": 1}]
