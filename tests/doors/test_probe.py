"""A message of our own that proves a door: who is believed, and that nothing stays of it."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from oborona import secret
from oborona.config import UnixAddress, parse_address
from oborona.counters.memory import MemoryCounters
from oborona.desk.gtube import GtubeOutcome, prove
from oborona.doors.probe import FRESH_S, MACRO, TOLD, is_probe, probe_value
from oborona.doors.reply import ReplyAction
from oborona.session.verdict_metrics import VERDICTS
from tests.peers.oborona import Oborona
from tests.session.test_session import GTUBE, KEY, NOW, Table

OTHER = b"o" * 32


def test_a_proof_is_believed_while_it_is_fresh_and_by_its_own_site() -> None:
    said = probe_value(KEY, NOW)
    assert is_probe(KEY, said, NOW)
    assert is_probe(KEY, said, NOW + FRESH_S - 1)
    assert not is_probe(KEY, said, NOW + FRESH_S + 2)
    assert not is_probe(KEY, said, NOW - FRESH_S - 2)
    assert not is_probe(OTHER, said, NOW)


@pytest.mark.parametrize(
    "said", ["", ".", "x", "1", f"{int(NOW)}", f"{int(NOW)}.", f"{int(NOW)}.0", "9" * 5000, f"{int(NOW)}.é", "²." + "0" * 32, f"-{int(NOW)}.x"]
)  # fmt: skip
def test_nonsense_is_not_believed(said: str) -> None:
    assert not is_probe(KEY, said, NOW)


async def test_nothing_stays_of_a_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[object] = []
    monkeypatch.setattr(
        MemoryCounters, "add", lambda _self, *told, **more: counted.append((told, more))
    )
    table = Table(tmp_path / "policy.d")
    table.session.learn({MACRO: probe_value(KEY, NOW)})
    reply = await table.message(GTUBE)
    assert reply.answer is ReplyAction.REJECT
    assert reply.text.endswith(f"({TOLD})")
    assert table.journal == []
    assert VERDICTS.values == {}
    assert counted == []
    reply = await table.message(GTUBE)
    assert TOLD not in reply.text, "a proof holds for one message"
    assert len(table.journal) == 1
    assert counted


async def test_a_forged_proof_is_mail_like_any_other(tmp_path: Path) -> None:
    table = Table(tmp_path / "policy.d")
    table.session.learn({MACRO: probe_value(OTHER, NOW)})
    reply = await table.message(GTUBE)
    assert TOLD not in reply.text
    assert len(table.journal) == 1


@pytest.mark.parametrize("transport", ["native", "libmilter"])
def test_a_daemon_proves_that_it_refuses(transport: str) -> None:
    with Oborona({"worker.processes": 1, "doors.milter.transport": transport}) as daemon:
        for key, outcome in ((_key(daemon), GtubeOutcome.REFUSED), (OTHER, GtubeOutcome.NOT_OURS)):
            found = prove(_dial(daemon), key)
            assert found.outcome is outcome, found
        until = time.monotonic() + 10
        while "msg=verdict" not in daemon.log():  # of who was not believed; logged after the answer
            assert time.monotonic() < until, daemon.log()
            time.sleep(0.05)
        assert daemon.log().count("msg=verdict") == 1
        assert f'msg="{TOLD}"' in daemon.log()


def test_a_site_that_marks_is_told_from_one_that_does_nothing(tmp_path: Path) -> None:
    for name, text, outcome in (
        ("mark", "[verdict]\nrefuse = false\n", GtubeOutcome.MARKED),
        ("off", '[[rule]]\nname = "GTUBE"\nscore = 0\n', GtubeOutcome.LET_IN),
    ):
        folder = tmp_path / name
        folder.mkdir()
        for file in (Path(__file__).parents[2] / "etc/policy.d").iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        (folder / "90-local.toml").write_text(text)
        with Oborona({"worker.processes": 1, "paths.policy": str(folder)}) as daemon:
            assert prove(_dial(daemon), _key(daemon)).outcome is outcome


def _key(daemon: Oborona) -> bytes:
    return secret.load(daemon.state).signature


def _dial(daemon: Oborona) -> socket.socket:
    address = parse_address(daemon.milter)
    assert isinstance(address, UnixAddress)
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(address.path)
    return peer
