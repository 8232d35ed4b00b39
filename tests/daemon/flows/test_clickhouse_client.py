"""ClickHouse over HTTP: what it answers, refuses, and what happens to an answer on the way."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona.accounts.flows.clickhouse_sql import ClickHouseQuery
from oborona.accounts.flows.nfdump import FileDamaged
from oborona.config import load_settings
from oborona.config.flows import FlowSettings
from oborona.daemon.flows import clickhouse_client as client_module
from oborona.daemon.flows.clickhouse_client import ClickHouseClient, clickhouse_client
from oborona.errors import ConfigError, OboronaError, PeerError
from tests.peers.clickhouse import ClickHouse, Fault

CONFIG = Path(__file__).resolve().parents[3] / "etc/oborona.toml"
NUMBERS = ClickHouseQuery(
    sql="SELECT number, toString(number) FROM numbers({most:UInt32})", parameters={"most": "3"}
)


@pytest.fixture
def server() -> Iterator[ClickHouse]:
    with ClickHouse() as made:
        yield made


def client(server: ClickHouse, **told: str | float) -> ClickHouseClient:
    return ClickHouseClient(
        str(told.get("url", server.url)),
        user=str(told.get("user", "")),
        password=str(told.get("password", "")),
        seconds=float(told.get("seconds", 20)),
    )


def rows(client: ClickHouseClient, query: ClickHouseQuery = NUMBERS) -> list[object]:
    lines: list[bytes] = []
    client.ask(query, lines.append)
    return [json.loads(line) for line in lines]


def test_rows_come_line_by_line(server: ClickHouse) -> None:
    assert rows(client(server)) == [[0, "0"], [1, "1"], [2, "2"]]
    (asked,) = server.asked
    assert asked == {
        "readonly": "2", "wait_end_of_query": "1", "default_format": "JSONCompactEachRow",
        "output_format_json_quote_64bit_integers": "0", "param_most": "3",
        "max_execution_time": "20",
    }  # fmt: skip


def test_many_rows_come_whole(server: ClickHouse) -> None:
    many = ClickHouseQuery(sql="SELECT number FROM numbers(300000)")
    assert rows(client(server), many) == [[number] for number in range(300_000)]


def test_a_data_base_is_named_in_the_url(server: ClickHouse) -> None:
    assert rows(client(server, url=f"{server.url}/?database=default"))
    assert server.asked[0]["database"] == "default"


def test_the_clock_is_told(server: ClickHouse) -> None:
    server.ahead_s = 3600
    assert client(server).clock() > 1_700_000_000 + 3600


@pytest.mark.parametrize(
    ("fault", "error", "problem"),
    [
        ((404, {}, b"<html>nothing here</html>"), PeerError, "answers 404: <html>nothing here"),
        ((503, {}, b""), PeerError, "answers 503"),
        ((302, {"Location": "http://127.0.0.1:9/"}, b""), PeerError, "answers 302"),
        ((200, {"X-ClickHouse-Exception-Code": "60"}, b"Code: 60."), PeerError, "Code: 60."),
        (
            (500, {"X-ClickHouse-Exception-Code": "241"}, b"Code: 241. Memory\x1b[31m limit"),
            FileDamaged,
            r"^Code: 241\. Memory \[31m limit$",
        ),
        ((500, {"X-ClickHouse-Exception-Code": "159"}, b"Code: 159."), FileDamaged, "Code: 159."),
        ((200, {}, b"[1]\n[2"), FileDamaged, "last row does not end"),
        ((200, {"Content-Encoding": "gzip"}, b"\x1f\x8b"), FileDamaged, "last row does not end"),
        ("cut", PeerError, "^http://127"),
        ("endless row", FileDamaged, "too large"),
    ],
)
def test_what_is_no_answer_is_said(
    server: ClickHouse, fault: Fault, error: type[OboronaError], problem: str
) -> None:
    server.fault = fault
    with pytest.raises(error, match=problem):
        rows(client(server))


def test_a_huge_answer_is_not_taken(server: ClickHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "ANSWER_OCTETS", 1 << 20)
    with pytest.raises(FileDamaged, match="too large"):
        rows(client(server), ClickHouseQuery(sql="SELECT number FROM numbers(300000)"))


def test_a_server_that_says_nothing_is_left(
    server: ClickHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "SLACK_S", 0.1)
    server.fault = "silent"
    with pytest.raises(PeerError, match="does not answer within"):
        rows(client(server, seconds=0.1))


def test_an_error_of_the_sql_is_told_in_its_words(server: ClickHouse) -> None:
    with pytest.raises(PeerError, match=r"answers 404: Code: 60.*nowhere"):
        rows(client(server), ClickHouseQuery(sql="SELECT 1 FROM nowhere"))
    with pytest.raises(PeerError, match=r"answers 500: Code: 62.*Syntax error"):
        rows(client(server), ClickHouseQuery(sql="SELEKT 1"))


def test_nobody_there_is_said() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(PeerError, match=r"127\.0\.0\.1"):
        ClickHouseClient(url, user="", password="", seconds=5).clock()


@pytest.mark.parametrize("answer", [b"<html>\n", b"[1]\n[2]\n", b"", b"[]\n", b"[1.5]\n"])
def test_what_is_no_clickhouse_tells_no_time(
    server: ClickHouse, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    monkeypatch.setattr(client_module, "CLOCK", ClickHouseQuery(sql="SELECT 'no time'"))
    server.fault = (200, {}, answer)
    with pytest.raises(PeerError, match="is it ClickHouse"):
        client(server).clock()


def flow_settings(tmp_path: Path, server: ClickHouse, password: str) -> FlowSettings:
    (tmp_path / "password").write_text(f"{password}\n")
    told = {
        "flows.url": server.url,
        "flows.user": "reader",
        "flows.password_file": str(tmp_path / "password"),
    }
    return load_settings(CONFIG, told).settings.flows


def test_user_and_password_are_sent(tmp_path: Path, server: ClickHouse) -> None:
    server.user, server.password = "reader", "open sesame"
    assert clickhouse_client(flow_settings(tmp_path, server, "open sesame")).clock()
    with pytest.raises(PeerError, match=r"answers 403.*Authentication failed"):
        clickhouse_client(flow_settings(tmp_path, server, "open barley")).clock()


def test_a_password_that_can_not_be_read_is_said(tmp_path: Path, server: ClickHouse) -> None:
    settings = flow_settings(tmp_path, server, "x")
    (tmp_path / "password").unlink()
    with pytest.raises(ConfigError, match=r"flows\.password_file"):
        clickhouse_client(settings)


@pytest.mark.parametrize(
    "wrong",
    [
        {"flows.url": "ftp://127.0.0.1"},
        {"flows.url": "http://user:secret@127.0.0.1:8123"},
        {"flows.url": "http://"},
        {"flows.url": "http://127.0.0.1:99999"},
        {"flows.user": "a\nb"},
        {"flows.records": "ipfix"},
    ],
)
def test_settings_that_can_not_be_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        load_settings(CONFIG, wrong)
