"""Who may make a call, what is written down of it, and that an order is done once."""

from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from oborona.audit.reader import AuditedAct, AuditQuery, AuditReader
from oborona.audit.row import ActOutcome
from oborona.desk.call import CallError, NotAllowedError, NotFoundError
from oborona.desk.call_runner import CallRunner, texts_of
from oborona.desk.order_book import OrderConflict
from oborona.errors import PolicyError, StoreError
from oborona.people.caller import Scope
from oborona.people.rights import Right, Role
from tests.desk.calls import Recorder, person, site_of

ANNA = person("anna", Role.ANALYST)
JOE = person(
    "joe@client.example", Role.READER, scope=Scope(frozenset(), frozenset({"joe@client.example"}))
)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def runner(state: Path) -> CallRunner:
    return CallRunner(site_of(state))


def rows(state: Path) -> list[AuditedAct]:
    path = state / "audit.db"
    if not path.exists():
        return []
    with AuditReader(path) as reader:
        return reader.acts(AuditQuery(looks=True), 100)[::-1]


def told(**fields: object) -> bytes:
    return msgspec.json.encode(fields)


def test_an_ask_is_answered_and_has_no_row(
    runner: CallRunner, recorder: Recorder, state: Path
) -> None:
    answer = runner.run(recorder.calls()["site.show"], ANNA, told(name="x"))
    assert msgspec.json.decode(answer) == {"name": "x", "by": "anna"}
    assert rows(state) == []


def test_who_looks_at_a_persons_mail_has_a_row(
    runner: CallRunner, recorder: Recorder, state: Path
) -> None:
    runner.run(recorder.calls()["names.show"], ANNA, told(name="joe@client.example"))
    runner.run(recorder.calls()["names.show"], ANNA, b"")  # nobody is named
    (row,) = rows(state)
    assert (row.looked, row.act, row.person, row.about) == (
        True,
        "names.show",
        "anna",
        "joe@client.example",
    )
    assert (row.roles, row.way, row.place, row.source) == (
        "analyst",
        "page",
        "192.0.2.1",
        "session=1",
    )
    with AuditReader(state / "audit.db") as reader:
        assert reader.acts(AuditQuery(), 10) == []  # acts alone
        assert reader.acts(AuditQuery(looks=True, open_only=True), 10) == []
        assert reader.verify(b"").faults == ()


def test_a_readers_look_at_their_own_mail_has_none(
    runner: CallRunner, recorder: Recorder, state: Path
) -> None:
    runner.run(recorder.calls()["names.show"], JOE, told(name="joe@client.example"))
    assert rows(state) == []


def test_who_has_not_the_right_is_refused(
    runner: CallRunner, recorder: Recorder, state: Path
) -> None:
    with pytest.raises(NotAllowedError, match=r"reputation\.set needs the right entity"):
        runner.run(recorder.calls()["reputation.set"], JOE, told(entity="x", reason="y"))
    with pytest.raises(NotAllowedError, match="whole site"):
        runner.run(recorder.calls()["site.show"], JOE, b"")
    assert recorder.done == []
    assert rows(state) == []


def test_an_act_wants_a_reason_and_some_asks_of_some_roles_do(
    runner: CallRunner, recorder: Recorder
) -> None:
    calls = recorder.calls()
    for words in ("", "  "):
        with pytest.raises(CallError, match="say why"):
            runner.run(calls["reputation.set"], ANNA, told(entity="x", reason=words))
    runner.run(calls["reputation.set"], ANNA, told(entity="x", dry=True))
    with pytest.raises(CallError, match="say why"):
        runner.run(calls["content.show"], person("ann", Role.SUPPORT), told(name="x"))
    runner.run(
        calls["content.show"], person("ann", Role.SUPPORT), told(name="x", reason="asked by joe")
    )
    runner.run(calls["content.show"], ANNA, told(name="x"))
    runner.run(calls["content.show"], person("ann", Role.SUPPORT, Role.ANALYST), told(name="x"))


def test_an_act_has_its_rows_with_who_why_and_what_undoes_it(
    runner: CallRunner, recorder: Recorder, state: Path
) -> None:
    answer = runner.run(
        recorder.calls()["reputation.set"], ANNA, told(entity="192.0.2.7", reason="a bot", key="k1")
    )
    assert msgspec.json.decode(answer)["pinned"] == 1
    (row,) = rows(state)
    assert (row.act, row.about, row.reason, row.outcome) == (
        "reputation.set",
        "192.0.2.7",
        "a bot",
        ActOutcome.DONE,
    )
    assert msgspec.json.decode(row.undo) == {
        "call": "reputation.clear",
        "asked": {"entity": "192.0.2.7"},
    }
    assert "key" not in row.arguments


def test_a_dry_run_does_nothing_and_has_a_row_that_says_so(
    runner: CallRunner, recorder: Recorder, state: Path
) -> None:
    runner.run(
        recorder.calls()["reputation.set"], ANNA, told(entity="x", reason="y", dry=True, key="k")
    )
    assert recorder.done == []
    assert [(row.dry, row.undo) for row in rows(state)] == [(True, "")]


def test_a_dry_run_needs_no_reason_and_no_password_once_more(
    runner: CallRunner, recorder: Recorder
) -> None:
    call = recorder.calls()["reputation.set"]._replace(needs=(Right.PEOPLE,))
    admin = person("ann", Role.ADMIN)
    runner.run(call, admin, told(entity="x", dry=True))
    with pytest.raises(NotAllowedError, match="password once more"):
        runner.run(call, admin, told(entity="x", reason="y"))
    assert recorder.done == []


def test_what_can_only_be_done_is_not_tried(
    runner: CallRunner, recorder: Recorder, state: Path
) -> None:
    call = recorder.calls()["reputation.set"]._replace(name="policy.reload")
    with pytest.raises(CallError, match="can't be tried"):
        runner.run(call, ANNA, told(entity="x", dry=True, reason="y"))
    assert recorder.done == []
    assert rows(state) == []


@pytest.mark.parametrize(
    ("fails", "outcome", "status"),
    [("told", ActOutcome.REFUSED, 422), ("fault", ActOutcome.FAILED, 500)],
)
def test_how_an_act_failed_is_there(
    runner: CallRunner,
    recorder: Recorder,
    state: Path,
    fails: str,
    outcome: ActOutcome,
    status: int,
) -> None:
    with pytest.raises((CallError, ZeroDivisionError)):
        runner.run(
            recorder.calls()["reputation.set"], ANNA, told(entity="x", reason="y", fails=fails)
        )
    (row,) = rows(state)
    assert (row.outcome, row.status) == (outcome, status)


def test_the_same_order_is_done_once_and_answered_again(
    runner: CallRunner, recorder: Recorder, state: Path
) -> None:
    call = recorder.calls()["reputation.set"]
    order = told(entity="x", reason="y", key="k1")
    first = runner.run(call, ANNA, order)
    assert runner.run(call, ANNA, order) == first
    assert recorder.done == ["x"]
    assert len(rows(state)) == 1
    runner.run(call, person("bert", Role.DUTY), order)  # another person's key is another
    assert recorder.done == ["x", "x"]
    with pytest.raises(OrderConflict, match="another order's"):
        runner.run(call, ANNA, told(entity="z", reason="y", key="k1"))


def test_what_was_refused_may_be_ordered_again_and_what_broke_may_not(
    runner: CallRunner, recorder: Recorder
) -> None:
    call = recorder.calls()["reputation.set"]
    order = told(entity="x", reason="y", key="k1", fails="told")
    for _ in range(2):
        with pytest.raises(CallError, match="it can't be"):
            runner.run(call, ANNA, order)
    broken = told(entity="x", reason="y", key="k2", fails="fault")
    with pytest.raises(ZeroDivisionError):
        runner.run(call, ANNA, broken)
    with pytest.raises(OrderConflict, match="has no end"):
        runner.run(call, ANNA, broken)


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'{"name": 1}',
        b'{"other": 1}',
        b"\xff\xfe",
        b'{"name": "\\ud800"}',
        b"[" * 100_000,
        b"null",
    ],
)
def test_what_is_no_question_is_refused_plainly(
    runner: CallRunner, recorder: Recorder, body: bytes
) -> None:
    with pytest.raises(CallError):
        runner.run(recorder.calls()["names.show"], ANNA, body)


def test_a_key_has_a_length(runner: CallRunner, recorder: Recorder) -> None:
    with pytest.raises(CallError, match="at most 100 letters"):
        runner.run(
            recorder.calls()["reputation.set"], ANNA, told(entity="x", reason="y", key="k" * 101)
        )


def test_without_a_row_nothing_is_done(runner: CallRunner, recorder: Recorder, state: Path) -> None:
    (state / "audit.db").write_bytes(b"no log" * 1000)
    with pytest.raises(StoreError, match="nothing was done"):
        runner.run(recorder.calls()["reputation.set"], ANNA, told(entity="x", reason="y"))
    assert recorder.done == []


def test_what_is_not_there_is_told(runner: CallRunner, recorder: Recorder) -> None:
    with pytest.raises(NotFoundError, match="nobody is not there"):
        runner.run(recorder.calls()["names.show"], ANNA, told(name="nobody"))


def test_octets_stand_in_no_row() -> None:
    assert texts_of(b"Subject: secret") == ("15 octets",)
    assert texts_of(["a", 1, None, False, b"xy"]) == ["a", "1", "2 octets"]


def test_an_answer_that_holds_a_secret_is_told_once_and_kept_nowhere(
    runner: CallRunner, recorder: Recorder, state: Path
) -> None:
    call = recorder.calls()["reputation.set"]._replace(tells_secret=True)
    order = told(entity="hush-hush", reason="y", key="k1")
    assert b"hush-hush" in runner.run(call, ANNA, order)
    with pytest.raises(OrderConflict, match="told once"):
        runner.run(call, ANNA, order)
    assert recorder.done == ["hush-hush"]
    assert all(b"hush-hush" not in path.read_bytes() for path in state.glob("desk.db*"))


def test_what_the_policy_refuses_was_not_done_and_may_be_ordered_again(
    runner: CallRunner, recorder: Recorder, state: Path
) -> None:
    call = recorder.calls()["reputation.set"]
    for _ in range(2):
        with pytest.raises(PolicyError):
            runner.run(call, ANNA, told(entity="x", reason="y", key="k1", fails="policy"))
    assert {(row.outcome, row.status) for row in rows(state)} == {(ActOutcome.REFUSED, 422)}
    runner.run(call, ANNA, told(entity="x", reason="y", key="k1"))
    assert recorder.done == ["x"]


def test_a_right_that_hurts_asks_for_the_password_whichever_is_named_first(
    runner: CallRunner, recorder: Recorder
) -> None:
    admin, duty = person("anna", Role.ADMIN), person("bert", Role.DUTY)
    order = told(entity="x", reason="y")
    for needs in (
        (Right.POLICY_SHADOW, Right.POLICY_PUBLISH),
        (Right.POLICY_PUBLISH, Right.POLICY_SHADOW),
    ):
        call = recorder.calls()["reputation.set"]._replace(needs=needs)
        with pytest.raises(NotAllowedError, match="password once more"):
            runner.run(call, admin, order)
        runner.run(call, structs.replace(admin, fresh=True), order)
        runner.run(call, duty, order)  # who can't publish live does no such harm
    assert recorder.done == ["x"] * 4
