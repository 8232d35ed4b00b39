"""Log lines, with values that a hostile peer would choose."""

import io
import json
import logging
import os
import re
import sys
import time
import warnings
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.telemetry.log import (
    ITEMS,
    VALUE_CHARS,
    LogFormat,
    LogFormatter,
    event,
    goes_to_journald,
    json_line,
    logfmt,
    plain,
    set_up,
)
from oborona.types import Action, Metric

ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(), max_size=600),
    st.text(st.characters(categories=["Cs", "Cc", "Cf", "Zl", "Zp"])),
    st.binary(max_size=600),
    st.lists(st.text()),
)
PAIR = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|[^" ]*)(?: |$)')


def fail(text: str) -> None:
    raise ValueError(text)


def read_back(line: str) -> dict[str, str]:
    assert re.fullmatch(f"(?:{PAIR.pattern})*", line)
    return {
        key: json.loads(value) if value.startswith('"') else value
        for key, value in PAIR.findall(line)
    }


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,9}", fullmatch=True), ANYTHING, max_size=5))
def test_a_text_line_prints_and_reads_back(fields: dict[str, object]) -> None:
    """Invariant: one line, only characters that print, same keys, same plain values as text."""
    line = logfmt(fields)
    assert line.isprintable()
    expected = {key: plain(value) for key, value in fields.items()}
    assert read_back(line) == {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in expected.items()
    }


@given(st.dictionaries(st.text(max_size=9), ANYTHING, max_size=5))
def test_a_json_line_is_ascii_and_reads_back(fields: dict[str, object]) -> None:
    """Invariant: one line of printable ASCII, an object with the same plain values, no NaN."""
    line = json_line(fields)
    assert line.isascii()
    assert line.isprintable()

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(line, parse_constant=refuse) == {
        key: plain(value) for key, value in fields.items()
    }


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("mx.example.org", "mx.example.org"),
        ("", '""'),
        ("two words", '"two words"'),
        ('say "a=b"', r'"say \"a=b\""'),
        ("x\nlevel=critical msg=forged", r'"x\nlevel=critical msg=forged"'),
        ("nul\0", r'"nul\u0000"'),
        ("\x1b[31m\x9b2J\x7f", r'"\u001b[31m\u009b2J\u007f"'),
        ("pay\u202egpj.exe", r'"pay\u202egpj.exe"'),
        ("line\u2028para\u2029\x85", r'"line\u2028para\u2029\u0085"'),
        ("почта", "почта"),
        ("\udce9", r'"\\udce9"'),
        (b"\xff\x00ok", r'"\\xff\u0000ok"'),
        ("back\\slash", r'"back\\slash"'),
        (True, "true"),
        (None, "null"),
        (1 / 3, "0.333333"),
        (float("nan"), "nan"),
        (2**64, "0x10000000000000000"),
        (Action.SPAM, "spam"),
        (Metric.TRAPS, "5"),
        (("a", "b c"), '"a,b c"'),
        ({"k": 1.5}, "k:1.5"),
        (ValueError("bad\n"), r'"ValueError: bad\n"'),
        (Path("/run/x"), "/run/x"),
    ],
)
def test_a_value_as_text(value: object, shown: str) -> None:
    assert logfmt({"v": value}) == f"v={shown}"


@pytest.mark.parametrize(
    "value", ["x" * 1_000_000, b"\xff" * 1_000_000, "\udcff" * 1_000_000, "\n" * 1_000_000]
)
def test_a_megabyte_is_cut_and_its_length_said(value: str | bytes) -> None:
    began = time.monotonic()
    line = logfmt({"v": value})
    assert time.monotonic() - began < 5
    assert f"…(+{1_000_000 - VALUE_CHARS})" in line
    assert len(line) <= 8 * VALUE_CHARS


def test_a_long_list_is_cut() -> None:
    assert plain(list(range(1000))) == ",".join(map(str, range(ITEMS))) + ",…"


@pytest.fixture
def logger() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    root, before = logging.getLogger(), (logging.getLogger().handlers[:], logging.getLogger().level)
    raising = logging.raiseExceptions
    stream = io.StringIO()
    yield logging.getLogger("oborona.session.session"), stream
    logging.captureWarnings(False)
    logging.raiseExceptions = raising
    root.handlers[:], root.level = before
    root.setLevel(before[1])


def test_one_event_is_one_line_of_text(logger: tuple[logging.Logger, io.StringIO]) -> None:
    log, stream = logger
    set_up(stream=stream, environ={})
    event(log, logging.INFO, "verdict", id="4Qx", client="192.0.2.1", level="x")
    (line,) = stream.getvalue().splitlines()
    assert re.fullmatch(
        r"time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z level=info logger=session\.session "
        rf"pid={os.getpid()} msg=verdict id=4Qx client=192\.0\.2\.1 level_=x",
        line,
    )


def test_one_event_is_one_object_of_json(logger: tuple[logging.Logger, io.StringIO]) -> None:
    log, stream = logger
    set_up(LogFormat.JSON, stream=stream, environ={})
    try:
        fail("bad\udcff\n")
    except ValueError:
        log.exception("session crashed", extra={"fields": {"id": "4Qx"}})
    (line,) = stream.getvalue().splitlines()
    found = json.loads(line)
    assert found["level"] == "error"
    assert found["id"] == "4Qx"
    assert found["error"] == "ValueError: bad\\udcff\n"
    assert found["traceback"].startswith("Traceback (most recent call last):\n")


def test_events_below_the_level_are_dropped(logger: tuple[logging.Logger, io.StringIO]) -> None:
    log, stream = logger
    set_up(level="WARNING", stream=stream, environ={})
    event(log, logging.INFO, "verdict")
    assert stream.getvalue() == ""


def test_a_traceback_cannot_forge_a_line(logger: tuple[logging.Logger, io.StringIO]) -> None:
    log, stream = logger
    set_up(stream=stream, environ={})
    try:
        fail("\nlevel=info msg=forged\x1b[2J" + "x" * 100_000)
    except ValueError:
        log.exception("session crashed")
    first, *rest = stream.getvalue().splitlines()
    assert 'msg="session crashed"' in first
    assert all(line.startswith("  | ") and line.isprintable() for line in rest)
    assert len(stream.getvalue()) < 40_000


def test_records_of_other_libraries_are_lines_too(
    logger: tuple[logging.Logger, io.StringIO],
) -> None:
    _, stream = logger
    set_up(stream=stream, environ={})
    logging.getLogger("asyncio").warning("peer said %s", "a\nb")
    logging.getLogger("asyncio").warning("does not fit %d", "a")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.warn("old", UserWarning, stacklevel=1)
    lines = stream.getvalue().splitlines()
    assert r'msg="peer said a\nb"' in lines[0]
    assert "does not fit" in lines[1]
    assert "logger=py.warnings" in lines[2]


@pytest.mark.parametrize(
    ("level", "priority"), [(10, 7), (20, 6), (30, 4), (40, 3), (50, 2), (25, 6)]
)
def test_journald_gets_priorities_on_every_line_and_no_time(level: int, priority: int) -> None:
    try:
        fail("bad")
    except ValueError:
        record = logging.LogRecord("oborona.x", level, "", 0, "m", None, sys.exc_info())
    for line in LogFormatter(LogFormat.TEXT, journald=True).format(record).splitlines():
        assert line.startswith(f"<{priority}>")
        assert "time=" not in line


def test_journald_is_known_by_the_stream_it_names(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as stream:
        status = os.fstat(stream.fileno())
        name = f"{status.st_dev}:{status.st_ino}"
        assert goes_to_journald(stream, {"JOURNAL_STREAM": name})
        assert not goes_to_journald(stream, {"JOURNAL_STREAM": f"{status.st_dev}:1"})
        assert not goes_to_journald(stream, {})
    assert not goes_to_journald(io.StringIO(), {"JOURNAL_STREAM": name})


def test_an_enum_is_its_value() -> None:
    class Odd(Enum):
        LIST = ("a", "b")

    assert plain(Odd.LIST) == "a,b"
