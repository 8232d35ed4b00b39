"""Events by HTTP: on the disk when they are answered, once, and nothing of what is wrong."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest

from oborona import state_files
from oborona.config import load_settings
from oborona.doors.http.event_keys import EventKey, EventKeys, event_keys
from oborona.doors.http.events_api import MAX_EVENTS, MOST_EVENTS
from oborona.errors import ConfigError
from oborona.eventlog.event_spool import SpooledBatch
from tests.doors.http.account_site import ask
from tests.doors.http.event_site import (
    ARRAY,
    KEYS,
    LINES,
    OF_LATER,
    OTHER,
    SHOP,
    click,
    declare,
    door,
    files,
    lines,
    send,
    spooled,
)
from tests.eventlog.test_full_disk import files_of_at_most


async def test_what_is_answered_is_a_whole_file(open_folder: Path) -> None:
    events = [click(n, undeclared={"a": [1]}) for n in range(3)]
    async with door(open_folder).serving() as at:
        assert await send(at, lines(*events)) == (200, {"taken": 3, "refused": []})
    (rows,) = spooled(open_folder)
    assert rows == [click(n) for n in range(3)], "columns that are not declared are not kept"
    (file,) = files(open_folder)
    batch = SpooledBatch.of(file.name)
    assert batch is not None
    assert batch.rows == 3
    assert file.parent.stat().st_mode & 0o077 == 0, "nobody else reads it"
    assert at.notes == {"answered": 1}


async def test_an_array_is_as_good_as_lines(open_folder: Path) -> None:
    async with door(open_folder).serving() as at:
        body = json.dumps([click(0), click(1)], indent=2).encode()
        assert await send(at, body, kind=ARRAY) == (200, {"taken": 2, "refused": []})
        assert (await send(at, b"[]", kind=ARRAY)) == (200, {"taken": 0, "refused": []})
        assert (await send(at, b"\n\n")) == (200, {"taken": 0, "refused": []})
    assert len(files(open_folder)) == 1


async def test_what_is_right_is_taken_and_the_rest_is_named(open_folder: Path) -> None:
    body = b"\n" + b"\n".join(
        [
            json.dumps(click(0)).encode(),
            b"{broken",
            b'{"click": "x", "click": "y", "action": "click"}',
            json.dumps(click(1, amount="much")).encode(),
            json.dumps(click(2, action=None)).encode(),
            b"[1]",
            json.dumps(click(0)).encode(),
            b'{"click": "big", "action": "click", "amount": 1e999}',
            b'{"click": "sur\\ud800", "action": "click"}',
            b'{"click": "nan", "action": "click", "amount": NaN}',
            b'{"click": "deep", "action": "click", "at": [[[]]]}',
            json.dumps(click(9)).encode(),
        ]
    )
    async with door(open_folder).serving() as at:
        status, told = await send(at, body)
    assert (status, told["taken"]) == (200, 2)
    reasons = {one["line"]: one["reason"] for one in told["refused"]}
    assert list(reasons) == list(range(3, 13))
    for line, why in {
        3: "no JSON object",
        4: "'click' is there twice",
        5: "amount = 'much' is no number",
        6: "action is empty",
        7: "no JSON object",
        8: "click is that of row 2, too",
        9: "amount is a number that is too large",
        10: "is no Unicode",
        11: "NaN is no number of JSON",
        12: "at is neither text nor number",
    }.items():
        assert why in reasons[line], (line, reasons[line])
    assert [row["click"] for row in spooled(open_folder)[0]] == ["c0", "c9"]


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        (ARRAY, b"", 400),
        (ARRAY, b'{"click": "c0", "action": "click"}', 400),
        (ARRAY, b'[{"click": "c0", "action": "click"}', 400),
        (ARRAY, b'[{"click": "c0", "action": "click"}] x', 400),
        (ARRAY, b"[" * 100_000, 400),
        (ARRAY, b"[" * 100_000 + b"]" * 100_000, 400),
        (ARRAY, b'[{"a":' * 90_000, 400),
        (ARRAY, b"[" + b",".join([b"1"] * (MOST_EVENTS + 1)) + b"]", 413),
        (LINES, b'{"a":' * 90_000, 400),
        (LINES, b'{"click": ' + b"9" * 500_000 + b"}", 400),
        (LINES, b'{"click": "c", "action": "a", "count": ' + b"9" * 4_000 + b"}", 400),
        (LINES, b'{"click": "c", "action": "a", "amount": 1e' + b"9" * 4_000 + b"}", 400),
        (LINES, b"{" + b",".join(b'"a%d":1' % n for n in range(80_000)) + b',"a0":1}', 400),
        (LINES, b"{" + b",".join([b'"a":1'] * 150_000) + b"}", 400),
        (LINES, b'{"click": "c", "action": "' + b"x" * 70_000 + b'"}', 400),
        (LINES, b'{"click": "\xff", "action": "a"}', 400),
        (LINES, b"\xff\xfe{\x00}\x00", 400),
        (LINES, b"\x00" * 1000, 400),
        (LINES, b"1\n" * (MOST_EVENTS + 1), 413),
        (LINES, b"x" * MAX_EVENTS, 400),
        (LINES, b"x" * (MAX_EVENTS + 1), 413),
        ("application/x-www-form-urlencoded", lines(click()), 415),
        ("text/plain", lines(click()), 415),
    ],
)
async def test_what_is_hostile_writes_nothing(
    open_folder: Path, kind: str, body: bytes, status: int
) -> None:
    async with door(open_folder).serving() as at:
        found, told = await send(at, body, kind=kind)
        assert found == status
        assert told["error"]
        assert files(open_folder) == []
        assert (await send(at, lines(click())))[0] == 200, "the next one is taken"


async def test_who_may_not_writes_nothing(open_folder: Path) -> None:
    async with door(open_folder).serving() as at:
        for key, log, status in (
            ("nobody-0123456789ab", "clicks", 401),
            ("", "clicks", 401),
            (OTHER, "clicks", 404),
            (SHOP, "clocks", 404),
            (SHOP, "feedback", 404),
            (SHOP, "", 404),
            (SHOP, "clicks/x", 404),
            (SHOP, "..%2Fclicks", 404),
            (OF_LATER, "nothing_yet", 404),
        ):
            assert (await send(at, lines(click()), log, key=key))[0] == status, (key, log)
        assert (await ask(at, "/v1/events", SHOP, method="POST", body=b"x"))[0] == 404
        assert (await ask(at, "/v1/events/clicks", SHOP))[0] == 405
        assert (await send(at, lines(click()), headers={"Content-Encoding": "gzip"}))[0] == 415
        assert (await send(at, lines(click()), once=""))[0] == 400
        assert (await send(at, lines(click()), once="x" * 256))[0] == 400
        status = (
            await ask(
                at,
                "/v1/events/clicks?log=orders",
                SHOP,
                method="POST",
                body=lines(click()),
                headers={"Content-Type": LINES},
            )
        )[0]
        assert status == 400
    assert files(open_folder) == []


async def test_a_log_of_ours_is_written_by_nobody(open_folder: Path) -> None:
    keys = f"{SHOP} shop feedback,messages,clicks\n"
    async with door(open_folder, keys).serving() as at:
        for log in ("feedback", "messages"):
            assert (await send(at, lines(click()), log))[0] == 404


async def test_without_keys_they_are_not_served(open_folder: Path) -> None:
    async with door(open_folder, events_keys_file="").serving() as at:
        assert (await send(at, lines(click())))[0] == 404
    assert files(open_folder) == []


async def test_keys_of_scans_and_of_accounts_open_nothing_of_it(open_folder: Path) -> None:
    scans, panel = open_folder / "http.keys", open_folder / "panel.keys"
    scans.write_text("0123456789abcdef\n")
    panel.write_text("acts-on-all-01234567 read,act=staff\n")
    at = door(open_folder, keys_file=scans, accounts_keys_file=panel)
    async with at.serving():
        for key in ("0123456789abcdef", "acts-on-all-01234567"):
            assert (await send(at, lines(click()), key=key))[0] == 401
        assert (await ask(at, "/v1/accounts", SHOP))[0] == 401
        assert (await ask(at, "/v1/scan", SHOP, method="POST", body=b"{}"))[0] == 401


async def test_a_key_that_is_taken_away_sends_no_more(open_folder: Path) -> None:
    async with door(open_folder).serving() as at:
        assert (await send(at, lines(click())))[0] == 200
        (open_folder / "events.keys").write_text(f"{OTHER} billing orders\n")
        assert (await send(at, lines(click())))[0] == 401


async def test_a_repeated_batch_has_the_same_name(open_folder: Path) -> None:
    """By which whoever makes the table knows it, however its JSON is written."""
    told = [click(n) for n in range(3)]
    turned = [dict(reversed(one.items())) for one in told]
    async with door(open_folder).serving() as at:
        first = await send(at, lines(*told), "orders", once="batch 1")
        assert await send(at, lines(*told), "orders", once="batch 1") == first
        again = json.dumps(turned, indent=1).encode()
        assert (await send(at, again, "orders", once="batch 1", kind=ARRAY))[0] == 200
        named = {
            batch.ident for path in files(open_folder) if (batch := SpooledBatch.of(path.name))
        }
        assert len(named) == 1
        await send(at, lines(*told), "orders", once="batch 2")
        await send(at, lines(click(7)), "orders", once="batch 1")
        await send(at, lines(*told), "orders", key=OTHER, once="batch 1")
        await send(at, lines(*told), "orders")
        await send(at, lines(*told), "orders")
    named = {batch.ident for path in files(open_folder) if (batch := SpooledBatch.of(path.name))}
    assert len(named) == 6


async def test_what_waits_is_bounded(open_folder: Path) -> None:
    def big(name: str) -> bytes:
        return lines(*(click(click=f"{name}{n}", page="x" * 50_000) for n in range(8)))

    async with door(open_folder, events_spool_bytes=1 << 20).serving() as at:
        assert (await send(at, big("a")))[0] == 200
        assert (await send(at, big("b")))[0] == 200
        assert await send(at, big("c")) == (503, {"error": "events can't be taken now"})
        assert (await send(at, lines(click())))[0] == 200, "there is room for a small one"
    assert len(files(open_folder)) == 3
    async with door(open_folder, events_spool_bytes=1 << 20).serving() as at:
        assert (await send(at, big("d")))[0] == 503, "another process sees what is there"


async def test_a_file_that_cant_grow_leaves_no_half(open_folder: Path) -> None:
    async with door(open_folder).serving() as at:
        body = lines(*(click(n) for n in range(200)))
        with files_of_at_most(8192):
            assert (await send(at, body))[0] == 503
        assert files(open_folder) == []
        assert at.notes["failed"] == 1
        assert (await send(at, body)) == (200, {"taken": 200, "refused": []})


@pytest.mark.skipif(os.geteuid() != 0, reason="a file system of its own is mounted by root alone")
async def test_a_disk_that_is_full_is_503_and_leaves_no_half(open_folder: Path) -> None:
    at = door(open_folder)
    spool = open_folder / state_files.EVENT_LOG_RECEIVED
    spool.mkdir()
    if os.system(f"mount -t tmpfs -o size=300k none {spool} 2>/dev/null"):
        pytest.skip("no file system can be mounted here")
    try:
        async with at.serving():
            body = lines(*(click(n) for n in range(500)))
            assert (await send(at, body))[0] == 200
            ballast = spool / "ballast"
            with ballast.open("wb", buffering=0) as file, suppress(OSError):
                while True:
                    file.write(b"x" * 1024)
            status, told = await send(at, body, once="k")
            assert (status, told) == (503, {"error": "events can't be taken now"})
            assert len(files(open_folder)) == 2, "the first batch, and what fills the disk"
            ballast.unlink()
            assert (await send(at, body, once="k"))[0] == 200
    finally:
        os.system(f"umount {spool}")


async def test_a_wrong_declaration_stops_events_alone(open_folder: Path) -> None:
    at = door(open_folder)
    declare(open_folder, clicks="columns = 7\n")
    async with at.serving():
        assert (await send(at, lines(click())))[0] == 404
        assert (await at.post("/v1/scan", {"raw": ""}))[0] == 200


@pytest.mark.parametrize(
    "line",
    [
        "0123456789abcdef",
        "0123456789abcdef shop",
        "0123456789abcdef shop clicks orders",
        "0123456789abcdef shop clicks,,orders",
        "0123456789abcdef shop ,",
        f"0123456789abcdef {'x' * 65} clicks",
        "short shop clicks",
    ],
)
def test_a_line_that_is_none_refuses_the_start(tmp_path: Path, line: str) -> None:
    file = tmp_path / "events.keys"
    file.write_text(f"# keys\n{line}\n")
    with pytest.raises(ConfigError) as error:
        EventKeys(file)
    assert error.value.line == 2


def test_keys_say_who_sends_into_which_log(tmp_path: Path) -> None:
    file = tmp_path / "events.keys"
    file.write_text(KEYS)
    keys = EventKeys(file)
    assert keys.key(SHOP) == EventKey("shop", frozenset({"clicks", "orders"}))
    assert keys.key("shop") is None


def test_keys_want_somebody_who_makes_tables(tmp_path: Path) -> None:
    file = tmp_path / "events.keys"
    file.write_text(KEYS)
    named = {"doors.http.events_keys_file": str(file)}
    with pytest.raises(ConfigError, match=r"eventlog\.enabled is false"):
        event_keys(load_settings(None, named).settings)
    named["eventlog.enabled"] = "true"
    assert event_keys(load_settings(None, named).settings) is not None
    assert event_keys(load_settings(None, {}).settings) is None
