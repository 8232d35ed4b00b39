"""Pictures behind a real Postfix: codes are looked at in time, grey pictures are read before the
answer, all others after it.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.reader.mails import FEW_WORDS, WORDS, code, drawn, letter
from tests.peers.dns_servers import Rbldnsd
from tests.whole.gate import Gate, eventually

LINKS = "$TTL 60\n:127.0.0.2:listed\ntest\n.casino.example\n"
POLICY = """
[[dns_list]]
name = "BAD_LINKS"
zone = "links.test"
of = ["links"]
score = 250
[[rule]]
name = "GREY"
when = "text.words < 10"
score = 40
[[rule]]
name = "WHISPER"
when = "contains(pictures.text, 'whisper')"
score = 80
"""
SETTINGS = {
    "worker.deadline_s": 60,
    "reader.look_wait_s": 10,  # so much a busy machine may take; what is late is tried below
    "reader.read_wait_s": 30,
    "reader.processes": 1,
}
TEXT = "Win a million today, whisper\nthe secret word at the desk"
PEOPLE = iter(range(1, 200))


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    with (
        Rbldnsd({"links.test:dnset": LINKS}) as lists,
        Gate(lists.setting, POLICY, settings=SETTINGS) as running,
    ):
        running.send("9.1.0.200", letter(drawn(TEXT.title())))  # the processes start with the first
        yield running


def send(gate: Gate, raw: bytes) -> tuple[str, str]:
    """Send a message as somebody new; return his address and the last reply."""
    ip = f"9.1.0.{next(PEOPLE)}"
    return ip, gate.send(ip, raw)[-1]


def explained(gate: Gate, ident: str) -> str:
    return gate.oborona.run("explain", "-v", ident).stdout


def reader_of(gate: Gate) -> int:
    """Return the process that is the reader now."""
    return int(
        [one for one in gate.events("process started") if one["process"] == "reader"][-1]["child"]
    )


def children(gate: Gate) -> list[int]:
    """Return the processes of the daemon's reader."""
    found = Path(f"/proc/{reader_of(gate)}/task").glob("*/children")
    return [int(pid) for each in found for pid in each.read_text().split()]


def test_a_code_with_a_listed_link_is_refused(gate: Gate) -> None:
    ip, reply = send(gate, letter(code("https://www.casino.example/win?you=1"), words=WORDS))
    assert reply.startswith("550 5.7.1")
    (verdict,) = gate.verdicts(ip, 1)
    assert verdict["decided_by"] == "BAD_LINKS"


def test_a_code_with_another_link_passes(gate: Gate) -> None:
    ip, reply = send(gate, letter(code("https://www.museum.example/tickets"), words=WORDS))
    assert reply.startswith("250")
    (verdict,) = gate.verdicts(ip, 1)
    assert verdict["verdict"] == "accept"


def test_a_grey_picture_waits_and_is_judged_by_what_it_says(gate: Gate) -> None:
    ip, reply = send(gate, letter(drawn(TEXT), words=FEW_WORDS))
    assert reply.startswith("250")
    (verdict,) = gate.verdicts(ip, 1)
    assert verdict["verdict"] == "spam"
    assert "WHISPER=80.0" in verdict["reason"]
    assert "X-Spam-Flag: YES" in gate.held(reply).decode()


def test_with_words_beside_it_the_answer_does_not_wait_and_the_picture_is_read_after_it(
    gate: Gate,
) -> None:
    ip, reply = send(gate, letter(drawn(TEXT.upper()), words=WORDS))
    assert reply.startswith("250")
    (verdict,) = gate.verdicts(ip, 1)
    assert verdict["verdict"] == "accept"
    eventually(lambda: verdict["id"] in {one["id"] for one in gate.events("found late")}, 60)
    eventually(lambda: "found late" in explained(gate, verdict["id"]))
    told = explained(gate, verdict["id"])
    assert "WHISPER" in told
    assert "PICTURE_TEXT" in told.upper().replace(" ", "_")
    assert re.search(r"then +accept -?\d", told)


def test_the_same_picture_is_looked_at_and_read_once(gate: Gate) -> None:
    def count(outcome: str) -> float:
        told = gate.oborona.run("metrics").stdout
        found = re.search(
            rf'^oborona_reader_pictures_total\{{outcome="{outcome}",task="look"\}} (\S+)$',
            told,
            re.MULTILINE,
        )
        return float(found[1]) if found else 0.0

    raw = letter(drawn("The same picture\nfor everybody"), words=WORDS)
    send(gate, raw)
    time.sleep(6)  # until the reader has written what it did
    known, done = count("known"), count("done")
    for _ in range(3):
        send(gate, raw)
    eventually(lambda: count("known") >= known + 3, 30, every_s=1.0)
    assert count("done") == done


def test_a_child_that_is_killed_in_the_middle_costs_nothing_but_its_picture(gate: Gate) -> None:
    before = children(gate)
    assert before
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    _ip, reply = send(gate, letter(code("https://again.casino.example/"), words=WORDS))
    assert reply.startswith("550")


def test_mail_goes_on_without_the_reader_and_pictures_are_looked_at_again_when_it_is_back(
    gate: Gate,
) -> None:
    os.kill(reader_of(gate), signal.SIGKILL)
    ip, reply = send(gate, letter(drawn("Something else\nthat nobody reads"), words=WORDS))
    assert reply.startswith("250")
    eventually(
        lambda: sum(one["process"] == "reader" for one in gate.events("process serves")) == 2, 30
    )
    _, reply = send(gate, letter(code("https://back.casino.example/"), words=WORDS))
    assert reply.startswith("550")
    gate.verdicts(ip, 1)


def test_the_doctor_and_the_metrics_know_the_reader(gate: Gate) -> None:
    eventually(lambda: "reader" in gate.oborona.run("doctor").stdout, every_s=1.0)
    told = gate.oborona.run("doctor").stdout
    assert re.search(r"text in pictures \(OCR\)\s.*Tesseract with rus eng", told)
    eventually(lambda: "oborona_reader_up 1.0" in gate.oborona.run("metrics").stdout, every_s=1.0)
    assert "Traceback" not in gate.oborona.log()
