"""GET /metrics over a real socket: what is answered to whom, and what hostile clients get."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType

import aiohttp
import pytest
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as open_families,
)
from prometheus_client.parser import text_string_to_metric_families

from oborona import state_files
from oborona.config.address import UnixAddress
from oborona.config.metrics import MetricsSettings
from oborona.daemon import sockets
from oborona.daemon.metrics_process import listen
from oborona.daemon.metrics_server import FRESH_S, MetricsServer, accepts_open_metrics
from oborona.daemon.worker import UP
from oborona.doors.tokens import AccessTokens
from oborona.doors.web import HttpLimits
from oborona.errors import ConfigError
from oborona.metrics import REGISTRY
from oborona.telemetry.status import WorkerStatus, write_status

LONG_S = 60.0
TOKEN = "0123456789abcdef"
URL = "http://oborona/metrics"
OPEN = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"


class Endpoint:
    """A server on a socket file, of a state folder in which one worker runs."""

    def __init__(
        self, folder: Path, *, tokens: bool, idle_s: float = LONG_S, most: int = 16
    ) -> None:
        self.path, self.state = folder / "metrics.sock", folder / "state"
        self.state.mkdir()
        UP.set(1)
        self.say(0)
        file = folder / "tokens"
        file.write_text(f"{TOKEN}\n")
        self.server = MetricsServer(
            self.state,
            tokens=AccessTokens(file) if tokens else None,
            limits=HttpLimits(read_s=LONG_S, idle_s=idle_s),
            max_connections=most,
        )

    def say(self, worker: int) -> None:
        told = REGISTRY.snapshot()
        write_status(
            self.state,
            WorkerStatus(worker=worker, pid=1, time=time.time(), policy="abc", metrics=told),
        )

    async def ask(
        self,
        headers: Mapping[str, str] = MappingProxyType({}),
        *,
        url: str = URL,
        method: str = "GET",
    ) -> tuple[int, str, str]:
        """Return status, kind and text of an answer."""
        async with (
            aiohttp.ClientSession(
                connector=aiohttp.UnixConnector(str(self.path)),
                timeout=aiohttp.ClientTimeout(LONG_S),
            ) as client,
            client.request(method, url, headers=headers) as answer,
        ):
            return answer.status, answer.headers["Content-Type"], await answer.text()

    async def hears(self, octets: bytes) -> bytes:
        """Return all that is answered to these octets, until the connection is closed."""
        reader, writer = await asyncio.open_unix_connection(self.path)
        writer.write(octets)
        try:
            async with asyncio.timeout(LONG_S):
                return await reader.read()
        finally:
            writer.close()


@contextlib.asynccontextmanager
async def serving(
    folder: Path, *, tokens: bool = False, idle_s: float = LONG_S, most: int = 16
) -> AsyncIterator[Endpoint]:
    endpoint = Endpoint(folder, tokens=tokens, idle_s=idle_s, most=most)
    listener = sockets.listen(UnixAddress(str(endpoint.path)), owner="", group="", mode=0o600)
    try:
        await endpoint.server.start(listener)
        yield endpoint
        await endpoint.server.drain(0.0)
    finally:
        sockets.close_and_unlink(listener)


def test_both_formats_have_the_same_metrics(tmp_path: Path) -> None:
    async def ask() -> tuple[tuple[int, str, str], tuple[int, str, str]]:
        async with serving(tmp_path) as endpoint:
            return await endpoint.ask(), await endpoint.ask({"Accept": OPEN})

    (status, kind, text), (open_status, open_kind, open_text) = asyncio.run(ask())
    assert (status, open_status) == (200, 200)
    assert kind.startswith("text/plain")
    assert open_kind.startswith("application/openmetrics-text")
    assert open_text.endswith("# EOF\n")
    told = [one.name for one in text_string_to_metric_families(text)]
    assert told == [one.name for one in open_families(open_text)]  # type: ignore[no-untyped-call]
    assert {"oborona_up", "oborona_build_info", "oborona_state_free_bytes"} <= set(told)
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize(
    ("accept", "is_open"),
    [
        ([], False),
        (["*/*"], False),
        ([OPEN], True),
        (["text/plain", "Application/OpenMetrics-Text ; version=0.0.1"], True),
        (["application/openmetrics-text;q=0"], False),
        ([";;;,,,=", "\x00", "application/openmetrics-textual"], False),
        (["application/openmetrics-text" * 200], False),
    ],
)
def test_who_accepts_openmetrics_gets_it_and_others_get_text(
    accept: list[str], is_open: bool
) -> None:
    assert accepts_open_metrics(accept) is is_open


def test_who_has_no_token_gets_nothing(tmp_path: Path) -> None:
    async def ask() -> list[int]:
        async with serving(tmp_path, tokens=True) as endpoint:
            shown = [{}, {"Authorization": "Bearer wrong-token-here"}, {"Authorization": "Basic x"}]
            answers = [await endpoint.ask(headers) for headers in shown]
            assert all("oborona_up" not in text for _, _, text in answers)
            answers.append(await endpoint.ask({"Authorization": f"Bearer {TOKEN}"}))
            return [status for status, _, _ in answers]

    assert asyncio.run(ask()) == [401, 401, 401, 200]


def test_there_is_nothing_else(tmp_path: Path) -> None:
    async def ask() -> list[int]:
        async with serving(tmp_path) as endpoint:
            return [
                (await endpoint.ask(url="http://oborona/"))[0],
                (await endpoint.ask(url="http://oborona/metrics/../secret"))[0],
                (await endpoint.ask(method="POST"))[0],
                (await endpoint.ask(method="HEAD"))[0],
            ]

    assert asyncio.run(ask()) == [404, 404, 405, 200]


def test_what_was_gathered_is_told_for_a_second(tmp_path: Path) -> None:
    async def ask() -> list[int]:
        async with serving(tmp_path) as endpoint:
            counts = [(await endpoint.ask())[2].count("\noborona_up{")]
            endpoint.say(1)
            answers = await asyncio.gather(*(endpoint.ask() for _ in range(8)))
            counts += {text.count("\noborona_up{") for _, _, text in answers}
            await asyncio.sleep(FRESH_S)
            counts.append((await endpoint.ask())[2].count("\noborona_up{"))
            return counts

    assert asyncio.run(ask()) == [1, 1, 2]


def test_a_folder_that_can_not_be_read_is_said_and_heals(tmp_path: Path) -> None:
    async def ask() -> list[int]:
        async with serving(tmp_path) as endpoint:
            folder = endpoint.state / state_files.STATUS
            aside = folder.rename(endpoint.state / "aside")
            folder.write_text("")
            refused, _, why = await endpoint.ask()
            assert str(tmp_path) not in why
            folder.unlink()
            aside.rename(folder)
            return [refused, (await endpoint.ask())[0]]

    assert asyncio.run(ask()) == [503, 200]


@pytest.mark.parametrize(
    "octets",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),  # TLS
        b"GET /metrics SMTP/9\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"GET /" + b"a" * 100_000,
        b"GET /metrics HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(10_000)),
    ],
)
def test_what_is_no_request_ends_its_connection_and_no_other(tmp_path: Path, octets: bytes) -> None:
    async def ask() -> tuple[bytes, int]:
        async with serving(tmp_path) as endpoint:
            with contextlib.suppress(ConnectionError):
                heard = await endpoint.hears(octets)
                return heard, (await endpoint.ask())[0]
            return b"", (await endpoint.ask())[0]

    heard, status = asyncio.run(ask())
    assert b"oborona_up" not in heard
    assert status == 200


def test_a_head_that_drips_is_cut_and_others_are_served_meanwhile(tmp_path: Path) -> None:
    async def ask() -> tuple[int, bytes]:
        async with serving(tmp_path, idle_s=0.5) as endpoint:
            slow = asyncio.create_task(endpoint.hears(b"GET /metrics HTTP/1.1\r\nX: "))
            await asyncio.sleep(0)
            status, _, _ = await endpoint.ask()
            return status, await slow

    assert asyncio.run(ask()) == (200, b"")


def test_too_many_connections_are_told_so(tmp_path: Path) -> None:
    async def ask() -> bytes:
        async with serving(tmp_path, most=2) as endpoint:
            idle = [await asyncio.open_unix_connection(endpoint.path) for _ in range(2)]
            heard = await endpoint.hears(b"GET /metrics HTTP/1.1\r\n\r\n")
            for _, writer in idle:
                writer.close()
            return heard

    assert asyncio.run(ask()).startswith(b"HTTP/1.1 503 ")


def test_tokens_that_can_not_be_read_are_said_before_anything_starts(tmp_path: Path) -> None:
    path = tmp_path / "metrics.sock"
    settings = MetricsSettings(listen=f"unix:{path}", token_file=str(tmp_path / "nowhere"))
    with ExitStack() as listening, pytest.raises(ConfigError, match="tokens can't be read"):
        listen(settings, listening)
    assert not path.exists()
