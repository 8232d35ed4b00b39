"""Which lists are believed when."""

import hashlib
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.dns import DnsAnswer, DnsOutcome
from oborona.reputation.dnsbl import (
    DnsblFault,
    DnsblHealth,
    DnsblInputs,
    DnsblQuestion,
    DnsblState,
    DnsblStateChange,
    DnsList,
    EmailHash,
    parse,
    probes,
    questions,
    refusals,
)
from oborona.reputation.dnsbl.health import FIRST_S, HEALTHY_S, LAST_S, LOST, ROUND_S, SPAN_S
from oborona.reputation.networks import NOWHERE
from oborona.reputation.subject import ListSubject
from tests.reputation.dnsbl.lists import NOTHING, SILENCE, a_list, found

LISTED = found("127.0.0.2")
REFUSED = found("127.255.255.254")
MADE_UP = found("203.0.113.80")


def right(question: DnsblQuestion) -> DnsAnswer:
    return LISTED if question.probe else NOTHING


def round_of(health: DnsblHealth, now: float, **answers: DnsAnswer) -> list[DnsblStateChange]:
    """Ask what is due, answer by its subject or as a good list would; return what changed."""
    changed = []
    for question in health.due(now):
        answer = answers.get("a" + question.subject.replace(".", "_"), right(question))
        changed.append(health.heard(question, answer, now))
    return [event for event in changed if event is not None]


def live(one: DnsList) -> DnsblQuestion:
    (question,) = questions([one], DnsblInputs(client="9.10.11.12"), NOWHERE, lambda _: True)
    return question


def healthy(one: DnsList) -> DnsblHealth:
    health = DnsblHealth([one])
    (event,) = round_of(health, 0.0)
    assert event.state is DnsblState.HEALTHY
    return health


def test_the_test_points_are_those_of_the_rfc() -> None:
    def points(one: DnsList) -> dict[str, bool | None]:
        return {question.name: question.probe for question in probes(one)}

    zeros = "0." * 20
    assert points(a_list()) == {"2.0.0.127.list.test": True, "1.0.0.127.list.test": False}
    assert points(a_list(ipv4=False, ipv6=True)) == {
        f"2.0.0.0.0.0.f.7.f.f.f.f.{zeros}list.test": True,
        f"1.0.0.0.0.0.f.7.f.f.f.f.{zeros}list.test": False,
    }
    assert points(a_list(ListSubject.LINKS)) == {"test.list.test": True, "invalid.list.test": False}
    assert len(points(a_list(ListSubject.CLIENT, ListSubject.HELO))) == 4
    assert points(a_list(ListSubject.LINKS, probe="Listed.Example")) == {
        "invalid.list.test": False,
        "listed.example.list.test": True,
    }
    assert points(a_list(probe="9.9.9.7")) == {
        "1.0.0.127.list.test": False,
        "7.9.9.9.list.test": True,
    }
    assert points(a_list(probe="")) == {"1.0.0.127.list.test": False}
    assert points(a_list(ListSubject.FROM, hash=EmailHash.SHA1)) == {}
    assert points(a_list(ListSubject.FROM, hash=EmailHash.MD5, probe="A+x@Example.com")) == {
        f"{hashlib.md5(b'a@example.com').hexdigest()}.list.test": True
    }


def test_a_list_counts_nothing_before_its_probes_passed() -> None:
    one = a_list()
    health = DnsblHealth([one])
    assert not health.asks(one)
    first, second = health.due(0.0)
    assert health.heard(first, right(first), 0.1) is None
    assert not health.asks(one)
    assert health.heard(second, right(second), 0.2) == DnsblStateChange(
        name="LIST", state=DnsblState.HEALTHY
    )
    assert health.asks(one)


@pytest.mark.parametrize(
    ("answers", "fault", "words"),
    [
        ({"a127_0_0_2": NOTHING}, DnsblFault.NOT_LISTED, "does not list its test point 127.0.0.2"),
        ({"a127_0_0_2": found("127.0.0.1")}, DnsblFault.NOT_LISTED, "does not list"),
        ({"a127_0_0_1": LISTED}, DnsblFault.LISTED, "lists 127.0.0.1, which no list may"),
        ({"a127_0_0_2": REFUSED}, DnsblFault.REFUSED, "public resolver"),
        ({"a127_0_0_2": SILENCE}, DnsblFault.TEMPERROR, "timeout"),
        ({"a127_0_0_1": MADE_UP}, DnsblFault.MADE_UP, "203.0.113.80"),
        ({"a127_0_0_2": SILENCE, "a127_0_0_1": MADE_UP}, DnsblFault.MADE_UP, "203.0.113.80"),
    ],
)
def test_a_list_that_fails_a_probe_is_sick_and_says_why(
    answers: dict[str, DnsAnswer], fault: DnsblFault, words: str
) -> None:
    one = a_list(zone="secretkey.list.test")
    health = DnsblHealth([one])
    (event,) = round_of(health, 5.0, **answers)
    assert (event.state, event.fault, event.since) == (DnsblState.SICK, fault, 5.0)
    assert words in event.why
    assert "secretkey" not in event.why
    assert not health.asks(one)
    assert health.states() == (event,)


def test_any_code_lists_a_test_point_whatever_it_weighs() -> None:
    health = DnsblHealth([a_list(codes=parse({"127.0.0.9": 1}, None))])
    assert [event.state for event in round_of(health, 0.0)] == [DnsblState.HEALTHY]


@pytest.mark.parametrize(
    ("answer", "fault"), [(REFUSED, DnsblFault.REFUSED), (MADE_UP, DnsblFault.MADE_UP)]
)
def test_a_refusal_or_a_made_up_answer_about_mail_ends_it_at_once(
    answer: DnsAnswer, fault: DnsblFault
) -> None:
    one = a_list()
    health = healthy(one)
    event = health.heard(live(one), answer, 7.0)
    assert event is not None
    assert (event.state, event.fault) == (DnsblState.SICK, fault)
    assert health.heard(live(one), answer, 7.1) is None  # said once
    assert not health.asks(one)
    assert health.due(7.0 + FIRST_S - 0.1) == ()
    (event,) = round_of(health, 7.0 + FIRST_S)
    assert (event.state, event.since) == (DnsblState.HEALTHY, 7.0)
    assert health.asks(one)


def test_a_code_by_which_this_list_refuses_ends_it() -> None:
    one = a_list(refused=refusals(["127.0.0.1"]))
    health = healthy(one)
    event = health.heard(live(one), found("127.0.0.1"), 1.0)
    assert event is not None
    assert event.fault is DnsblFault.REFUSED


def test_single_questions_without_answer_are_no_illness_silence_is() -> None:
    one = a_list()
    health = healthy(one)
    for second in range(100):
        assert health.heard(live(one), SILENCE, float(second)) is None
        assert health.heard(live(one), NOTHING, second + 0.5) is None
    events = [health.heard(live(one), SILENCE, 200 + 2.0 * number) for number in range(LOST)]
    assert events[:-1] == [None] * (LOST - 1)
    assert events[-1] is not None
    assert events[-1].why == "no answer to 5 of 5 questions in 8 s: timeout"


@pytest.mark.parametrize("lost", [LOST, 1000])
def test_one_lost_moment_is_no_illness_however_much_was_asked_in_it(lost: int) -> None:
    one = a_list()
    health = healthy(one)
    for number in range(lost):
        assert health.heard(live(one), SILENCE, 1 + number / lost) is None
    for number in range(LOST):
        assert health.heard(live(one), NOTHING, 2.5 + number / 10) is None
    for second in range(3, 60, 3):
        assert health.heard(live(one), SILENCE, float(second)) is None
        assert health.heard(live(one), NOTHING, second + 1.0) is None
    assert health.asks(one)


@pytest.mark.parametrize("answered", [0, 1, 3], ids="{}/10 answered".format)
def test_a_dead_list_is_out_within_seconds_though_some_answers_are_remembered(
    answered: int,
) -> None:
    one = a_list()
    health = healthy(one)
    now = 100.0
    while health.asks(one):
        number = round(10 * (now - 100))
        health.heard(live(one), NOTHING if number % 10 >= 10 - answered else SILENCE, now)
        now += 0.1
    assert SPAN_S <= now - 100 <= SPAN_S + 2


def test_silence_that_began_goes_on_where_nobody_asks_for_long() -> None:
    one = a_list()
    health = healthy(one)
    assert [health.heard(live(one), SILENCE, 1.0) for _ in range(LOST)] == [None] * LOST
    event = health.heard(live(one), SILENCE, 1 + SPAN_S)
    assert event is not None
    assert event.why == "no answer to 6 of 6 questions in 3 s: timeout"


def test_what_the_resolver_remembers_or_shares_says_nothing_of_the_list() -> None:
    one = a_list()
    health = healthy(one)
    lost, kept = (msgspec.structs.replace(answer, again=True) for answer in (SILENCE, NOTHING))
    for tenth in range(100):
        assert health.heard(live(one), lost, tenth / 10) is None
    assert health.asks(one)
    for second in range(LOST):
        health.heard(live(one), SILENCE, 20.0 + second)
        health.heard(live(one), kept, 20.5 + second)
    assert not health.asks(one)


@pytest.mark.parametrize("why", ["budget", "busy", "closed"])
def test_what_we_did_not_ask_makes_no_list_sick(why: str) -> None:
    one = a_list()
    health = healthy(one)
    answer = DnsAnswer(outcome=DnsOutcome.TEMPERROR, why=why)
    assert [health.heard(live(one), answer, float(second)) for second in range(100)] == [None] * 100
    assert health.asks(one)


def test_probes_of_a_sick_list_grow_rarer_until_it_heals() -> None:
    one = a_list()
    health = DnsblHealth([one])
    now, waits = 0.0, []
    round_of(health, now, a127_0_0_2=NOTHING)
    for _ in range(8):
        step = now
        while not health.due(step):
            step += 1.0
        waits.append(step - now)
        now = step
        for question in probes(one):
            assert health.heard(question, NOTHING, now) is None
    assert waits == [10, 20, 40, 80, 160, 300, 300, 300]
    (event,) = round_of(health, now + LAST_S)
    assert (event.state, event.since) == (DnsblState.HEALTHY, 0.0)


def test_a_list_that_comes_and_goes_waits_longer_each_time() -> None:
    one = a_list()
    health = healthy(one)
    now, waits = 1000.0, []
    for _ in range(4):
        health.heard(live(one), REFUSED, now)
        wait = next(wait for wait in range(1, 1000) if health.due(now + wait))
        waits.append(wait)
        now += wait
        for question in probes(one):
            health.heard(question, right(question), now)
        now += 1
    assert waits == [10, 20, 40, 80]
    health.heard(live(one), REFUSED, now + LAST_S + 1)
    assert health.due(now + LAST_S + 1 + FIRST_S)


def test_a_healthy_list_is_probed_again_and_loses_one_probe_without_harm() -> None:
    one = a_list()
    health = healthy(one)
    assert health.due(HEALTHY_S - 1) == ()
    assert round_of(health, HEALTHY_S, a127_0_0_2=SILENCE) == []
    assert health.asks(one)
    assert (
        round_of(health, HEALTHY_S + FIRST_S, a127_0_0_2=NOTHING)[0].fault is DnsblFault.NOT_LISTED
    )


def test_probes_alone_find_out_a_list_that_fell_silent() -> None:
    one = a_list()
    health = healthy(one)
    now = HEALTHY_S
    for _ in range(LOST - 1):
        assert round_of(health, now, a127_0_0_2=SILENCE, a127_0_0_1=SILENCE) == []
        now += FIRST_S
    assert health.asks(one)
    (event,) = round_of(health, now, a127_0_0_2=SILENCE, a127_0_0_1=SILENCE)
    assert event.why == "no answer to 5 of 5 questions in 40 s: timeout"


def test_probes_without_any_answer_are_asked_again() -> None:
    one = a_list()
    health = DnsblHealth([one])
    lost = health.due(0.0)
    assert health.due(ROUND_S - 1) == ()
    again = health.due(ROUND_S)
    assert again == lost
    assert [health.heard(question, right(question), ROUND_S) for question in again][-1] is not None
    assert [health.heard(question, NOTHING, ROUND_S) for question in lost] == [
        None,
        None,
    ]  # too late, and of no use
    assert health.asks(one)


def test_a_list_without_test_points_is_believed_until_its_answers_tell_otherwise() -> None:
    one = a_list(ListSubject.FROM, hash=EmailHash.SHA1)
    health = DnsblHealth([one])
    assert health.asks(one)
    assert health.due(0.0) == ()
    (question,) = questions([one], DnsblInputs(from_=("a@example.com",)), NOWHERE, lambda _: True)
    event = health.heard(question, REFUSED, 1.0)
    assert event is not None
    assert not health.asks(one)


def test_another_policy_keeps_what_is_known_of_lists_asked_the_same_way() -> None:
    one, other = a_list(), a_list(name="OTHER", zone="other.test")
    health = DnsblHealth([one, other])
    round_of(health, 0.0)
    heavier = msgspec.structs.replace(one, codes=parse({}, 50))
    moved = msgspec.structs.replace(other, zone="moved.test")
    fresh = a_list(name="FRESH", zone="fresh.test")
    health.follow([heavier, moved, fresh])
    assert [health.asks(each) for each in (heavier, moved, fresh)] == [True, False, False]
    assert {event.name: event.state for event in health.states()} == {
        "LIST": DnsblState.HEALTHY,
        "OTHER": DnsblState.UNKNOWN,
        "FRESH": DnsblState.UNKNOWN,
    }
    assert health.heard(live(other), REFUSED, 1.0) is None  # an answer to the list as it was
    health.follow([msgspec.structs.replace(one, enabled=False)])
    assert not health.asks(one)
    assert health.states() == ()
    assert health.heard(live(one), REFUSED, 1.0) is None


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["due", "live"]),
            st.sampled_from([LISTED, NOTHING, SILENCE, REFUSED, MADE_UP]),
            st.floats(0, 400),
        ),
        max_size=60,
    )
)
def test_whatever_happens_only_a_list_that_passed_is_asked(
    steps: list[tuple[str, DnsAnswer, float]],
) -> None:
    """Invariants: nothing is asked before a whole round was right; events alternate.

    A sick list is probed within LAST_S again.
    """
    one = a_list()
    health, now, passed = DnsblHealth([one]), 0.0, False
    states: list[DnsblState] = []
    for what, answer, pause in steps:
        now += pause
        if what == "live" and health.asks(one):
            events = [health.heard(live(one), answer, now)]
        else:
            due = health.due(now)
            passed = passed or bool(due and answer is LISTED)
            events = [
                health.heard(question, right(question) if answer is LISTED else answer, now)
                for question in due
            ]
        states += [event.state for event in events if event is not None]
        assert passed or not health.asks(one)
    assert all(before is not after for before, after in pairwise(states))
    assert health.asks(one) == (bool(states) and states[-1] is DnsblState.HEALTHY)
    assert health.asks(one) or health.due(now + LAST_S + 1)
