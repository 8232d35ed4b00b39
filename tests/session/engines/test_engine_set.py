"""Who is asked about which message, and that nobody waits for longer than the scan does."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import msgspec
import pytest

from oborona.config import EngineSettings, load_settings
from oborona.errors import ConfigError
from oborona.policy.engine_table import EngineName
from oborona.policy.engines import EngineOpinion
from oborona.policy.load import Policy
from oborona.session.engines.engine import ExternalEngine
from oborona.session.engines.engine_set import EngineSet, open_engines
from oborona.session.engines.question import EngineQuestion
from oborona.types import Client, Envelope
from tests.policy.test_engines import ENVELOPE, LETTER, SHIPPED, policy

OWN = msgspec.structs.replace(ENVELOPE, own=True)
PERSON = msgspec.structs.replace(ENVELOPE, login="ann")


class Slow:
    """An engine that answers when it may."""

    takes_heads = True

    def __init__(self, name: EngineName) -> None:
        self.name = name
        self.gate = asyncio.Event()
        self.begun = self.ended = 0

    async def ask(self, question: EngineQuestion) -> EngineOpinion:
        self.begun += 1
        try:
            await self.gate.wait()
        finally:
            self.ended += 1
        return EngineOpinion(engine=self.name, action="ok", score=1.0)

    async def ping(self) -> None:
        raise AssertionError

    async def close(self) -> None:
        self.gate.clear()


def beside(*names: EngineName) -> tuple[EngineSet, list[Slow]]:
    clients = [Slow(name) for name in names]
    asks = EngineSettings(deadline_s=10)
    return EngineSet(
        [
            ExternalEngine(one.name, one, asks, clock=time.monotonic, wall=time.time)
            for one in clients
        ]
    ), clients


async def test_all_are_asked_at_once_and_answer_in_the_order_of_the_settings() -> None:
    engines, clients = beside("rspamd", "spamd", "clamd")
    asked = engines.ask(LETTER, ENVELOPE, len(LETTER), SHIPPED)
    assert asked is not None
    await asyncio.sleep(0)
    assert [one.begun for one in clients] == [1, 1, 1]
    for one in reversed(clients):
        one.gate.set()
        await asyncio.sleep(0)
    assert [one.engine for one in await asked.said()] == ["rspamd", "spamd", "clamd"]
    asked.cancel()
    assert list(engines.status()) == ["rspamd", "spamd", "clamd"]
    await engines.close()


@pytest.mark.parametrize(
    ("envelope", "text", "wanted"),
    [
        (ENVELOPE, "", ["rspamd", "spamd", "clamd"]),
        (OWN, "", ["clamd"]),
        (PERSON, "", ["clamd"]),
        (PERSON, '[engines]\nown = ["rspamd", "spamd"]', ["rspamd", "spamd"]),
        (PERSON, "[engines]\nown = []", []),
        (
            ENVELOPE,
            (
                '[[local_list]]\nname = "FRIENDS"\naction = "allow"\nof = ["client"]\nentries '
                '= ["9.10.11.12"]'
            ),
            [],
        ),
    ],
)
async def test_who_is_asked_about_whose_mail(
    tmp_path: Path, envelope: Envelope, text: str, wanted: list[str]
) -> None:
    by: Policy = policy(tmp_path, text)
    engines, clients = beside("rspamd", "spamd", "clamd")
    asked = engines.ask(LETTER, envelope, len(LETTER), by)
    await asyncio.sleep(0)
    assert [one.name for one in clients if one.begun] == wanted
    assert (asked is None) is (not wanted)
    if asked is not None:
        asked.cancel()


async def test_a_scan_past_its_deadline_leaves_nobody_waiting() -> None:
    engines, clients = beside("rspamd", "clamd")
    asked = engines.ask(LETTER, ENVELOPE, len(LETTER), SHIPPED)
    assert asked is not None
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await asked.said()
    asked.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [one.ended for one in clients] == [1, 1]


async def test_which_engines_are_opened_is_a_matter_of_settings(tmp_path: Path) -> None:
    def opened(**settings: str) -> EngineSet | None:
        given = {name.replace("__", "."): value for name, value in settings.items()}
        return open_engines(load_settings(None, given).settings, "mx.b.example")

    assert opened() is None
    some = opened(
        engines__clamd__ask="unix:/run/clamd.ctl", engines__rspamd__ask="inet:127.0.0.1:11333"
    )
    assert some is not None
    assert list(some.status()) == ["rspamd", "clamd"]
    await some.close()
    with pytest.raises(ConfigError, match=r"engines\.rspamd\.password_file"):
        opened(
            engines__rspamd__ask="inet:127.0.0.1:11333",
            engines__rspamd__password_file=str(tmp_path / "none"),
        )


def test_an_engine_s_deadline_ends_before_the_scan_s_if_it_is_asked() -> None:
    short = {"worker.deadline_s": "4.5"}
    load_settings(None, short)
    with pytest.raises(
        ConfigError, match=r"engines\.spamd\.deadline_s = 5 .* a spamd that does not answer"
    ):
        load_settings(None, short | {"engines.spamd.ask": "inet:127.0.0.1:783"})
    load_settings(
        None, short | {"engines.spamd.ask": "inet:127.0.0.1:783", "engines.spamd.deadline_s": "3"}
    )


def test_who_came_by_this_machine_is_one_of_ours() -> None:
    engines, clients = beside("rspamd")
    local = Envelope(client=Client(ip="127.0.0.1"), login="ann")
    assert engines.ask(LETTER, local, len(LETTER), SHIPPED) is None
    assert clients[0].begun == 0
