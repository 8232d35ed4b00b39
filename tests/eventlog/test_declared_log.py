"""Files that declare logs of others: what they say, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from oborona.errors import ConfigError
from oborona.eventlog.declared_log import DeclaredLog, read_logs
from oborona.eventlog.ruled_logs import as_ruled
from oborona.eventlog.schema import OWN_NAMES
from oborona.policy.event_columns import ColumnKind
from oborona.policy.own_event_logs import OWN_LOGS

EVENTS = 'events = ["click", "buy-now", "a.b:c/d_E"]'
TEXT = """
id = "click"
time = "at"
event = "action"
person = ["user"]
{events}
[columns]
click = "text"
at = "time"
action = "text"
user = "text"
page = "text"
address = "hashed"
price = "number"
if = "text"
[thresholds]
click = 2
others = 9
"""


def declared(folder: Path, text: str) -> DeclaredLog:
    """Return the log that a file declares."""
    (folder / "clicks.toml").write_text(text)
    (log,) = read_logs(folder, OWN_NAMES)
    return log


def test_a_log_is_declared_once_for_its_tables_and_its_rules(tmp_path: Path) -> None:
    log = declared(tmp_path, TEXT.format(events=EVENTS))
    ruled = as_ruled(log.schema)
    assert (ruled.name, ruled.events) == ("CLICKS", ("click", "buy-now", "a.b:c/d_E"))
    assert ruled.columns == {
        "page": ColumnKind.TEXT,
        "address": ColumnKind.HASHED,
        "price": ColumnKind.NUMBER,
    }
    assert ruled.counted == ("page", "address")
    assert "if" in [column.name for column in log.schema.columns], "tables have it all the same"


def test_kinds_of_events_may_be_left_out(tmp_path: Path) -> None:
    log = declared(tmp_path, TEXT.format(events=""))
    assert (log.schema.events, as_ruled(log.schema).events) == ((), ())


@pytest.mark.parametrize(
    ("was", "becomes", "told"),
    [
        (EVENTS, 'events = "click"', "a list of at most 200 kinds of events"),
        (EVENTS, "events = [1]", "a list of at most 200 kinds of events"),
        (EVENTS, f"events = {[f'e{n}' for n in range(201)]}", "a list of at most 200"),
        (EVENTS, 'events = ["click", "click"]', "events: each once"),
        (EVENTS, 'events = ["click", "a b"]', "'a b' is no kind of event"),
        (EVENTS, 'events = ["click", ""]', "'' is no kind of event"),
        (EVENTS, f'events = ["click", "{"x" * 65}"]', "is no kind of event"),
        (EVENTS, 'events = ["click", "\\u202e"]', "is no kind of event"),
        (EVENTS, 'events = ["clik"]', "thresholds: 'click' is none of events; did you mean clik?"),
        ('price = "number"', 'price = "set"', "'price' is set; a file has integer"),
        ('price = "number"', 'price = "address"', "'price' is address; a file has integer"),
        ('price = "number"', 'price = "word"', "a table of columns, each one of integer"),
    ],
)
def test_what_is_no_declaration_is_refused(
    tmp_path: Path, was: str, becomes: str, told: str
) -> None:
    with pytest.raises(ConfigError, match=r"clicks\.toml") as caught:
        declared(tmp_path, TEXT.format(events=EVENTS).replace(was, becomes))
    assert told in str(caught.value)
    assert caught.value.line


def test_our_own_logs_are_those_that_rules_know() -> None:
    assert {log.name.lower() for log in OWN_LOGS} == OWN_NAMES
