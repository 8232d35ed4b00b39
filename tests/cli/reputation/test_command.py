"""`oborona reputation`: what an analyst types, and what comes of it."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from oborona import state_files
from oborona.cli import main
from oborona.cli.context import CliContext
from oborona.counters.write_only import WriteOnlyCounters
from oborona.desk.doctor import pins
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.refusals import UnusableValueError
from oborona.desk.reputation import forgiveness
from oborona.desk.reputation.entity import KINDS, REACHING, EntityName, entity_named
from oborona.errors import StoreFull
from oborona.feedback.effect_outbox import CountedEffect, EffectOutbox, EffectRequest, forgiven_mark
from oborona.feedback.label_store import LabelStore as WordStore
from oborona.ident import from_text
from oborona.journal.evidence import VerdictEvidence
from oborona.message.parse import parse
from oborona.message.shingle_name import name_of
from oborona.message.shingles import Hasher, ShingleType, envelope_shingles, shingles
from oborona.metrics import REGISTRY
from oborona.stores.pins.follower import PINS, STALE
from oborona.telemetry.status import WorkerStatus, write_status
from oborona.types import Action, Amounts, Client, CounterPrefix, Envelope, Location, ProvedIdentity
from tests.cli.remembered import DAY_S, Happened, bring_in, journal, remember, run, shingle

HASHER = Hasher(b"k" * 32)
SHA256 = "0" * 63 + "a"
WALLET = "bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"
MAIL = (
    "From: Ann <ann@Example.ORG>\r\nTo: bob@b.example\r\nSubject: shop\r\nList-Id: News "
    "<News.example.org>\r\n\r\n"
    f"Buy at https://www.shop.example/Buy or call +49 30 901820, pay to {WALLET}, telegram: "
    f"@shop_name, write to sales@shop.example\r\n"
).encode()
ENVELOPE = Envelope(
    client=Client(ip="192.0.2.1"), sender="ann@example.org", recipients=("bob@b.example",)
)
PROVED = ProvedIdentity(
    author="ann@example.org", author_domain="example.org", sender="ann@example.org", account="bob"
)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """One bad address, one good one, and one that nobody knows."""
    folder = tmp_path / "state"
    good = [
        Happened("192.0.2.1", Amounts(seen=30, reads=9), day * DAY_S + 600.0) for day in range(13)
    ]
    bad = [
        Happened(entity, Amounts(seen=40, spam=40, traps=2), hour * 600.0 + 60)
        for hour in range(6)
        for entity in ("198.51.100.7", "198.51.100.0/24")
    ]
    beside = [
        Happened("198.51.100.7", Amounts(seen=7), 60.0, CounterPrefix.REFUSED),
        Happened("198.51.100.7", Amounts(seen=5), 60.0, CounterPrefix.FIRST),
        Happened("198.51.100.7", Amounts(seen=3), 60.0, CounterPrefix.DELETED),
    ]
    remember(folder, [*good, *bad, *beside])
    return folder


def shown(state: Path, entity: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(state, "show", entity, "--json").stdout)
    return found


def logged(state: Path) -> list[tuple[str, str, str]]:
    lines = run(state, "log", "--json").stdout.splitlines()
    return [(one["what"], one["entity"], one["reason"]) for one in map(json.loads, lines)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("192.0.2.1", ShingleType.CLIENT_IP),
        ("::ffff:192.0.2.1", ShingleType.CLIENT_IP),
        ("192.0.2.0/24", ShingleType.CLIENT_NETWORK),
        ("as64496", ShingleType.AS_NUMBER),
        ("Ann@Example.org", ShingleType.AUTHOR),
        ("EXAMPLE.org", ShingleType.AUTHOR_DOMAIN),
        ("sender:ann@example.org", ShingleType.PROVED_SENDER),
        ("account:Bob", ShingleType.ACCOUNT),
        ("link:Shop.example", ShingleType.LINK_DOMAIN),
        ("host:WWW.shop.example", ShingleType.HOST),
        ("https://www.shop.example/Buy", ShingleType.URL),
        ("phone:+49 (30) 901820", ShingleType.PHONE),
        (f"wallet:{WALLET}", ShingleType.WALLET),
        ("handle:telegram:shop_name", ShingleType.HANDLE),
        ("contact:sales@shop.example", ShingleType.ADDRESS),
        ("list:<News.Example.org>", ShingleType.LIST),
    ],
)
def test_an_entity_is_what_the_scan_counts(text: str, kind: ShingleType) -> None:
    location = Location(as_number=64496)
    # an author stands for him
    who = ProvedIdentity(sender=PROVED.sender) if kind is ShingleType.PROVED_SENDER else PROVED
    counted = shingles(parse(MAIL), ENVELOPE, HASHER, (), location, who)
    named = entity_named(text, HASHER)
    assert named.type == kind
    assert named.shingle in (
        *counted.shingles,
        *envelope_shingles(ENVELOPE, HASHER, location).shingles,
    )
    again = entity_named(named.name, HASHER)
    assert again == named, "its name is what can be typed"
    assert (named.recipients is not None) == (kind in REACHING)
    if named.recipients is not None:
        assert named.recipients in {pair.distinct for pair in counted.pairs}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is no entity"),
        ("x\x1b[2J", "is no entity"),
        ("a" * 2000, "is no entity"),
        ("10.0.0.0/8", "counted are networks of /24"),
        ("192.0.2.7/24", "the network is 192.0.2.0/24"),
        ("as0", "number of an autonomous system"),
        ("as4294967296", "number of an autonomous system"),
        ("www.example.org", "registered is example.org"),
        ("co.uk", "public suffix"),
        ("localhost", "write a domain"),
        ("a b@c.example", "write a mail address"),
        ("@c.example", "write a mail address"),
        ("phone:030", "with its country"),
        ("wallet:bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb", "checksum must be right"),
        ("file:12", "64 hexadecimal digits"),
        ("odd:thing", "no kind 'odd'; there are address"),
        ("account:", "write a login"),
    ],
)
def test_what_is_no_entity_is_told_so(state: Path, text: str, why: str) -> None:
    assert why in run(state, "show", text, status=2).stderr
    run(state, "set", text, "bad", "--reason", "x", status=2)
    assert logged(state) == []


@given(
    st.one_of(
        st.text(max_size=60),
        st.tuples(st.sampled_from(list(KINDS)), st.text(max_size=40)).map(":".join),
    )
)
def test_any_text_is_an_entity_or_a_clear_error_and_a_name_names_the_same(text: str) -> None:
    named: EntityName | None = None
    with contextlib.suppress(UnusableValueError):
        named = entity_named(text, HASHER)
    if named is not None:
        assert named.name.isprintable()
        assert entity_named(named.name, HASHER).shingle == named.shingle


def test_show_draws_the_past_and_tells_the_judgement_and_what_lies_beside(state: Path) -> None:
    text = run(state, "show", "198.51.100.7").stdout
    for said in (
        "address  bad",
        "at connect: bad",
        "messages",
        "240 ^",
        "spam",
        "traps",
        "refused before",
        "first contacts",
        "deleted unread",
        "judgement: bad",
        "share",
        "octets in the counters",
    ):
        assert said in text, said
    assert "\x1b" not in text, "no colours where there is no terminal"
    found = shown(state, "198.51.100.7")
    assert sum(one["spam"] for one in found["buckets"]) == 240
    assert (len(found["buckets"]), len(found["days"])) == (144, 14)
    assert [
        found["days"][-1][name] + found["days"][-2][name]
        for name in ("refused", "first", "deleted")
    ] == [7, 5, 3]
    assert (found["judgement"]["flag"], found["connect"]["flag"]) == ("bad", "bad")
    assert 0 < found["octets"] < 1000
    assert found["pin"] is None
    assert shown(state, "192.0.2.1")["judgement"]["flag"] == "good"
    assert shown(state, "203.0.113.9")["judgement"]["flag"] == "unknown"
    assert "nothing" in run(state, "show", "203.0.113.9").stdout
    same = shown(state, name_of(shingle(state, "198.51.100.7")))
    assert same["days"] == found["days"], "by its hash"


def test_a_pin_from_its_birth_to_its_end(state: Path) -> None:
    done = run(
        state, "set", "198.51.100.7", "good", "--reason", "their owner cleaned up", "--for", "7d"
    )
    assert "198.51.100.7 is set to good until" in done.stdout
    found = shown(state, "198.51.100.7")
    assert (found["pin"]["flag"], found["pin"]["reason"]) == ("good", "their owner cleaned up")
    assert 6.9 * DAY_S < found["pin"]["until"] - time.time() < 7.1 * DAY_S
    assert "set to good by" in run(state, "show", "198.51.100.7").stdout
    assert (
        "was set to good by" in run(state, "set", "198.51.100.7", "bad", "--reason", "again").stdout
    )
    run(state, "note", "198.51.100.7", "wrote to their abuse desk")
    assert "wrote to their abuse desk" in run(state, "show", "198.51.100.7").stdout
    run(state, "clear", "198.51.100.7", "--reason", "let it speak")
    assert shown(state, "198.51.100.7")["pin"] is None
    assert (
        "has no manual override"
        in run(state, "clear", "198.51.100.7", "--reason", "x", status=1).stderr
    )
    assert logged(state) == [
        ("clear", "198.51.100.7", "let it speak"),
        ("note", "198.51.100.7", "wrote to their abuse desk"),
        ("pin", "198.51.100.7", "again"),
        ("pin", "198.51.100.7", "their owner cleaned up"),
    ]
    line = run(state, "log", "198.51.100.7", "--limit", "1").stdout
    assert " cleared bad 198.51.100.7: let it speak" in line
    assert run(state, "log", "192.0.2.1").stdout == ""


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["set", "192.0.2.1", "bad"], "Missing option '--reason'"),
        (["set", "192.0.2.1", "odd", "--reason", "x"], "is not one of 'good'"),
        (["set", "192.0.2.1", "bad", "--reason", "x", "--for", "soon"], "write a number with"),
        (["set", "192.0.2.1", "bad", "--reason", "x", "--for", "0d"], "in the future"),
        (["set", "192.0.2.1", "bad", "--reason", "x", "--until", "2020-01-01"], "in the future"),
        (["set", "192.0.2.1", "bad", "--reason", "x", "--until", "9999-12-31"], "in the future"),
        (["set", "192.0.2.1", "bad", "--reason", "x", "--until", "tomorrow"], "is no day"),
        (
            ["set", "192.0.2.1", "bad", "--reason", "x", "--for", "1d", "--until", "2099-01-01"],
            "not both",
        ),
        (["set", "from:00ff00ff00ff00ff", "good", "--reason", "x"], "anybody can write it"),
        (["set", "list:news.example.org", "good", "--reason", "x"], "anybody can write it"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    state: Path, words: list[str], why: str
) -> None:
    assert why in run(state, *words, status=2).stderr
    assert logged(state) == []


def test_the_pin_of_a_network_is_seen_at_its_addresses(state: Path) -> None:
    run(state, "set", "198.51.100.0/24", "good", "--reason", "our own customers")
    found = shown(state, "198.51.100.7")
    assert (found["pin"], found["network_pin"]["entity"]) == (None, "198.51.100.0/24")
    text = run(state, "show", "198.51.100.7").stdout
    assert "198.51.100.0/24 is set to good by" in text
    assert text.startswith("198.51.100.7  address  good")
    run(state, "set", "198.51.100.7", "poor", "--reason", "but this one")
    assert shown(state, "198.51.100.7")["network_pin"] is None, "its own stands above it"


def test_without_the_sites_secret_nothing_is_said_of_anybody(state: Path) -> None:
    (state / "secret").rename(state / "away")
    for words in (
        ["set", "192.0.2.1", "bad", "--reason", "x"],
        ["note", "192.0.2.1", "x"],
        ["clear", "192.0.2.1", "--counts", "--reason", "x"],
    ):
        assert "secret" in run(state, *words, status=74).stderr
    (state / "away").rename(state / "secret")
    assert logged(state) == []


@pytest.mark.parametrize("reason", ["", "two\nlines", "\x1b[2J", "x" * 1001])
def test_a_reason_that_no_log_should_hold_is_refused(state: Path, reason: str) -> None:
    run(state, "set", "192.0.2.1", "bad", "--reason", reason, status=2)
    run(state, "note", "192.0.2.1", reason, status=2)
    assert logged(state) == []


def test_dry_runs_say_what_they_would_do_and_do_nothing(state: Path) -> None:
    for words in (
        ["set", "192.0.2.1", "bad", "--reason", "x"],
        ["note", "192.0.2.1", "x"],
        ["clear", "192.0.2.1", "--reason", "x", "--counts"],
    ):
        assert "would be" in run(state, *words, "--dry-run").stdout
    assert not (state / state_files.PINS).exists()


def test_counts_are_forgotten_where_that_is_asked_for(state: Path) -> None:
    run(state, "set", "198.51.100.7", "bad", "--reason", "x")
    done = run(state, "clear", "198.51.100.7", "--counts", "--reason", "sold to somebody else")
    assert "is to be forgotten when the writer runs again" in done.stdout
    bring_in(state)
    found = shown(state, "198.51.100.7")
    assert not any(any(day.values()) for day in found["days"])
    assert (found["octets"], found["pin"]) == (0, None)
    assert [one[0] for one in logged(state)] == ["forget", "clear", "pin"]


def test_what_a_verdict_counted_is_taken_back_exactly_and_once(state: Path) -> None:
    pieces = (shingle(state, "198.51.100.7"), shingle(state, "link:shop.example"))
    remember(state, [Happened(one, Amounts(seen=1, spam=1), 60.0) for one in ("198.51.100.7", "link:shop.example")])  # fmt: skip
    wrong, right, uncounted = journal(
        state,
        [
            {"client_ip": "198.51.100.7", "verdict": Action.REJECT, "shingles": pieces},
            {"client_ip": "192.0.2.1", "shingles": pieces},
            {"client_ip": "198.51.100.7", "verdict": Action.REJECT, "decided_by": "REPIP_BAD", "shingles": pieces},
        ],
    )  # fmt: skip
    before = shown(state, "198.51.100.7")["days"]
    assert (
        "would be taken back" in run(state, "forgive", wrong, "--reason", "x", "--dry-run").stdout
    )
    assert "2 hashes: taken back" in run(state, "forgive", wrong, "--reason", "it was ours").stdout
    assert "taken back before" in run(state, "forgive", wrong, "--reason", "x", status=1).stderr
    assert (
        "was not counted as spam" in run(state, "forgive", right, "--reason", "x", status=1).stderr
    )
    assert "was not counted" in run(state, "forgive", uncounted, "--reason", "x", status=1).stderr
    assert (
        "the journal has no message"
        in run(state, "forgive", "0" * 13, "--reason", "x", status=2).stderr
    )
    assert "is no id" in run(state, "forgive", "nothing", "--reason", "x", status=2).stderr
    bring_in(state)
    after = shown(state, "198.51.100.7")["days"]
    spam = [sum(day["spam"] for day in days) for days in (before, after)]
    seen = [sum(day["seen"] for day in days) for days in (before, after)]
    assert (spam, seen) == ([241, 240], [241, 241]), "that it came stays"
    assert sum(day["spam"] for day in shown(state, "link:shop.example")["days"]) == 0
    assert [one[:2] for one in logged(state)] == [("forgive", wrong)]


def test_what_is_taken_back_is_what_the_site_counted_whatever_its_readers_lists_made_of_it(
    state: Path,
) -> None:
    pieces = (shingle(state, "198.51.100.7"),)
    remember(state, [Happened("198.51.100.7", Amounts(seen=1, spam=1), 60.0)])
    theirs = {"decided_by": "PERSONAL", "shingles": pieces}
    wanted, unwanted, refused, unknown = journal(
        state,
        [
            {
                "verdict": Action.ACCEPT,
                "kept": VerdictEvidence(site=(Action.SPAM, "score")),
                **theirs,
            },
            {
                "verdict": Action.SPAM,
                "kept": VerdictEvidence(site=(Action.ACCEPT, "below-threshold")),
                **theirs,
            },
            {
                "verdict": Action.SPAM,
                "kept": VerdictEvidence(site=(Action.REJECT, "REPIP_BAD")),
                **theirs,
            },
            {"verdict": Action.SPAM, **theirs},
        ],
    )
    for ident, why in (
        (unwanted, "was not counted as spam, but as accept"),
        (refused, "was not counted"),
        (unknown, "a list of its recipients"),
    ):
        assert why in run(state, "forgive", ident, "--reason", "x", status=1).stderr
    assert "taken back" in run(state, "forgive", wanted, "--reason", "x").stdout
    bring_in(state)
    assert sum(day["spam"] for day in shown(state, "198.51.100.7")["days"]) == 240


def test_what_a_pardon_took_back_is_not_taken_back_again(state: Path) -> None:
    pieces = (shingle(state, "198.51.100.7"),)
    (ident,) = journal(state, [{"verdict": Action.REJECT, "shingles": pieces}])
    number = from_text(ident)
    assert number is not None
    with WordStore(state / state_files.FEEDBACK) as words:
        EffectOutbox(words).want(
            [EffectRequest(forgiven_mark(number), CountedEffect.FORGIVEN, pieces, 1.0)]
        )
        assert (
            "an accepted not-spam report did it"
            in run(state, "forgive", ident, "--reason", "x", status=1).stderr
        )
        EffectOutbox(words).take_back([forgiven_mark(number)])
    assert "taken back" in run(state, "forgive", ident, "--reason", "x").stdout


@pytest.mark.parametrize("broken", ["unsettle", "flush"])
def test_what_fails_on_the_way_is_never_taken_back_twice(
    state: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """Invariant: however a forgiving ends, no second one takes anything from what others count."""
    pieces = (shingle(state, "198.51.100.7"),)
    (ident,) = journal(state, [{"verdict": Action.REJECT, "shingles": pieces}])

    def fail(*_: object, **__: object) -> None:
        raise StoreFull("no room")

    with monkeypatch.context() as patched:
        if broken == "unsettle":
            patched.setattr(forgiveness, "undo_verdict", fail)
        else:
            patched.setattr(WriteOnlyCounters, "flush", fail)
        run(state, "forgive", ident, "--reason", "x", status=74)
    assert "taken back before" in run(state, "forgive", ident, "--reason", "x", status=1).stderr
    bring_in(state)
    assert sum(day["spam"] for day in shown(state, "198.51.100.7")["days"]) >= 239


def test_top_ranks_and_names_what_it_can(state: Path) -> None:
    journal(state, [{"client_ip": ip} for ip in ("192.0.2.1", "198.51.100.7", "203.0.113.9")])
    run(state, "set", "192.0.2.1", "poor", "--reason", "x")

    def ranked(*words: str) -> list[str]:
        return [
            json.loads(line)["entity"]
            for line in run(state, "top", *words, "--json").stdout.splitlines()
        ]

    assert ranked() == ["198.51.100.7", "192.0.2.1"]
    assert ranked("--by", "best", "--limit", "1") == ["192.0.2.1"]
    assert ranked("--by", "loudest", "--window", "fortnight") == ["192.0.2.1", "198.51.100.7"]
    assert ranked("--by", "changed") == ["198.51.100.7", "192.0.2.1"]
    assert ranked("--window", "hour") == ["198.51.100.7", "192.0.2.1"]
    assert ranked("phone") == []
    (network,) = ranked("network")
    assert network == "198.51.100.0/24"
    table = run(state, "top").stdout
    assert "poor by hand" in table
    (state / "journal.db").unlink()
    assert ranked("--by", "worst")[0] == name_of(shingle(state, "198.51.100.7")), (
        "no name without the journal"
    )
    assert "no phone had mail" in run(state, "top", "phone").stdout


def test_stats_say_what_entities_take(state: Path) -> None:
    lines = {
        one["kind"]: one
        for one in map(json.loads, run(state, "stats", "--json").stdout.splitlines())
    }
    assert set(lines) == set(KINDS)
    address = lines["address"]
    assert address["entities"] == 2
    assert address["records"] == {"refused": 1, "first contacts": 1, "deleted": 1}
    sizes = [shown(state, one)["octets"] for one in ("192.0.2.1", "198.51.100.7")]
    assert address["octets"] == sum(sizes)
    assert max(sizes) / 4 <= address["largest"] <= max(sizes)
    assert "address" in run(state, "stats").stdout


def test_no_store_no_state_and_a_damaged_one_are_said_in_one_line(
    tmp_path: Path, state: Path
) -> None:
    assert "no counter store" in run(tmp_path / "other", "show", "192.0.2.1", status=74).stderr
    assert (
        "no state folder"
        in run(tmp_path / "other", "set", "192.0.2.1", "bad", "--reason", "x", status=2).stderr
    )
    (state / state_files.PINS).write_bytes(
        b"not SQLite at all, but long enough to be looked at" * 100
    )
    for words in (
        ["show", "192.0.2.1"],
        ["log"],
        ["set", "192.0.2.1", "bad", "--reason", "x"],
        ["top"],
    ):
        refused = run(state, *words, status=74)
        assert "is damaged" in refused.stderr
        assert "Traceback" not in refused.output
    assert "not SQLite" in (state / state_files.PINS).read_text(), "it is left where it is"


def test_doctor_tells_of_pins(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = CliContext(None, state, ())
    assert [one.state for one in pins.pins(asked)] == [CheckState.WARN]
    run(state, "set", "192.0.2.1", "bad", "--reason", "x")
    run(state, "set", "192.0.2.2", "good", "--reason", "x", "--for", "1d")
    path = state / state_files.PINS
    assert list(pins.pins(asked)) == [
        CheckReport(
            "overrides", CheckState.OK, f"{path}: 1 good, 1 bad in force, 1 of them without an end"
        )
    ]
    STALE.set(1)
    PINS.replace({("bad",): 1})
    write_status(
        state,
        WorkerStatus(worker=3, pid=1, time=time.time(), policy="x", metrics=REGISTRY.snapshot()),
    )
    assert [one.words for one in pins.pins(asked)][1:] == [
        "worker 3 can't use the store of manual overrides; its log says why"
    ]
    exposed = CliRunner().invoke(main, ["--state", str(state), "metrics"]).stdout
    assert 'oborona_pins{flag="bad",worker="3"} 1.0' in exposed
    assert 'oborona_pins_stale{worker="3"} 1.0' in exposed
    path.write_bytes(b"\xff" * 5000)
    assert [one.state for one in pins.pins(asked)] == [CheckState.FAIL, CheckState.FAIL]


def test_of_an_account_what_it_sent_is_shown_and_forgotten(state: Path) -> None:
    remember(
        state,
        [
            Happened("account:bob", Amounts(seen=30), 3_000.0, CounterPrefix.OUT),
            Happened("account:bob", Amounts(seen=9), 3_000.0),
        ],
    )
    found = shown(state, "account:bob")
    assert sum(one["seen"] for one in found["buckets"]) == 30
    assert found["octets"] > 0
    run(state, "clear", "account:bob", "--counts", "--reason", "another person now")
    bring_in(state)
    found = shown(state, "account:bob")
    assert not any(any(day.values()) for day in found["days"])
    assert found["octets"] == 0
