"""Exim's line protocol with real parts: a real Exim that asks our daemon by ${readsocket} and takes
the answers apart.
"""

from __future__ import annotations

import base64
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona.doors.exim.answer import answer_line, error_line
from oborona.doors.reply import refusal_reply
from tests.peers.exim_expansions import Expansions, asks, program
from tests.peers.oborona import Oborona
from tests.peers.ports import free_port
from tests.peers.readsocket import extract

pytestmark = pytest.mark.skipif(program() is None, reason="needs Exim and root")

POLICY = """
[verdict]
reject_score = 200
[[rule]]
name = "EVIL"
when = "sender == 'evil@a.example'"
score = 300
[[rule]]
name = "GTUBE"
when = "found('gtube')"
score = 150
[[rule]]
name = "SMALL"
when = "message.truncated"
score = 7
"""
GTUBE = "XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X"
HOSTILE = [
    b"",
    b" ",
    b"a b\tc",
    b"\n",
    b"x\noborona/1 ping\n",
    b"x from64= rcpt=y",
    b"}}{${run{/bin/false}}",
    b'\\n\\""\'',
    b"\x00\x01\xff\xfe",
    "юля@пример.example".encode(),
    b"=" * 300,
    b"a" * 1_500,
]


class Asking:
    """A daemon, an Exim, and the way between them."""

    def __init__(self, address: str, oborona: Oborona, exim: Expansions) -> None:
        self.address = address
        self.oborona = oborona
        self.exim = exim

    def ask(self, *requests: str, options: str = "5s") -> list[str]:
        """Return what Exim reads in answer to each request."""
        return self.exim.expand(
            [asks(self.address, request, options=options) for request in requests]
        )


@pytest.fixture(scope="module", params=["unix", "inet"])
def asking(request: pytest.FixtureRequest) -> Iterator[Asking]:
    folder = Path(tempfile.mkdtemp(prefix="oborona-test-", dir="/tmp"))
    folder.chmod(0o755)
    (folder / "policy.d").mkdir()
    (folder / "policy.d" / "10.toml").write_text(POLICY)
    address = (
        f"unix:{folder}/exim.sock" if request.param == "unix" else f"inet:{free_port()}@127.0.0.1"
    )
    settings = {
        "paths.policy": folder / "policy.d",
        "doors.exim.listen": address,
        "doors.exim.socket_mode": "0666",
        "worker.processes": 1,
    }
    with Oborona(settings) as oborona, Expansions() as exim:
        yield Asking(address, oborona, exim)
    shutil.rmtree(folder)


def encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()


@pytest.mark.parametrize("options", ["5s", "5s:shutdown=no"])
def test_exim_reads_answers_to_their_end(asking: Asking, options: str) -> None:
    lines = asking.ask(
        "oborona/1 ping",
        "oborona/1 rcpt ip=192.0.2.7 from64=${base64:ann@a.example} rcpt=joe@example.test",
        "oborona/1 rcpt ip=192.0.2.7 from64=${base64:evil@a.example} rcpt=joe@example.test",
        "oborona/1 helo",
        options=options,
    )
    assert [extract("verdict", line) for line in lines] == ["accept", "accept", "reject", "error"]
    assert [extract("version", line) for line in lines] == ["1"] * 4


def test_no_value_of_a_stranger_changes_question_or_answer(asking: Asking) -> None:
    asked = [
        f"oborona/1 {word} ip=192.0.2.7 {' '.join(f'{name}64=${{base64:${{base64d:{encoded(value)}}}}}' for name in names)}"
        for value in HOSTILE
        for word, names in (
            ("helo", ["helo"]),
            ("auth", ["helo", "auth"]),
            ("mail", ["helo", "from"]),
            ("rcpt", ["helo", "name", "from", "rcpt", "auth"]),
        )
    ]
    for line in asking.ask(*asked):
        assert extract("verdict", line) == "accept", line
        assert extract("version", line) == "1", line
    assert "Traceback" not in asking.oborona.log()


def test_a_message_that_exim_shows_is_judged_and_its_headers_are_ready_to_be_added(
    asking: Asking,
) -> None:
    head = "From: ann@a.example\nX-Mras: Ok\nX-Spam-Flag: NO\n"
    (line, part) = asking.ask(
        *(
            "oborona/1 data ip=192.0.2.7 id=1xVCQn-0005T8-0K from64=${base64:ann@a.example} "
            "rcpts64=${base64:joe@b.example, x@b.example}"
            f" headers64={encoded(head.encode())} body64={encoded(GTUBE.encode())} size={size}"
            for size in (len(head) + 1 + len(GTUBE), 100_000)
        )
    )
    assert (extract("verdict", line), extract("score", line)) == ("spam", "150.0")
    assert (extract("verdict", part), extract("score", part)) == ("spam", "157.0")
    assert extract("remove", line) == "X-Spam-Flag:X-Mras"
    added = base64.b64decode(extract("headers64", line)).decode().splitlines()
    assert added[0].startswith("Authentication-Results: ")
    assert "X-Mras: Probable" in added
    assert added[-1] == "X-Spam-Flag: YES"
    assert f"X-Mras-Id: {extract('id', line)}" in added
    assert "queue=1xVCQn-0005T8-0K" in asking.oborona.log()


@pytest.fixture(scope="module")
def exim() -> Iterator[Expansions]:
    with Expansions() as exim:
        yield exim


def test_exim_takes_answers_apart_as_our_tests_do(exim: Expansions) -> None:
    words = [
        "Message refused as spam, reference 0SACAQKB800DF; https://b.example/mail",
        r'"quoted" \ and \n \101 \x41 \\',
        'verdict=accept text="x" ',
        "}{${run{/bin/false}} $1 ${extract{x}{y}}",
        "' = == \" =",
        "x" * 480,
    ]
    answers = [answer_line(refusal_reply(550, "5.7.1", one)) for one in words] + [
        error_line('a"b\\'),
        error_line(""),
    ]
    lines = [one.decode().rstrip("\n") for one in answers]
    keys = ["verdict", "text", "code", "karma", "version", "id", "nothing"]
    found = exim.expand(
        [
            f"${{extract{{{key}}}{{${{base64d:{encoded(line.encode())}}}}}}}"
            for line in lines
            for key in keys
        ]
    )
    assert found == [extract(key, line) for line in lines for key in keys]
    assert [found[at * len(keys) + 1] for at in range(len(words))] == [
        f"5.7.1 {one}" for one in words
    ]
