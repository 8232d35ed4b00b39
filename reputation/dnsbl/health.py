"""Which DNS lists may be believed at present.

Each list is asked for its test points (RFC 5782 section 5) before it counts, and again every few
minutes: what every list of its sort has must be listed, what none may have must not.  Answers about
real mail tell as much: a list that refuses us, or whose answers were made up on the way, is out at
once; one that does not answer, too, as soon as LOST more questions got no answer than got one, over
SPAN_S at least.  While it is out it is asked for nothing but its test points, at growing intervals,
and comes back as soon as it gives all of them right.

Silence must span time because one lost moment, a resolver that restarts or a full line, costs all
answers of that moment, and ten links of one message are ten of them.  A dead list is out all the
same: where mail asks it twice a second, its first question fails after `dns.timeout_s` (2 s), and
the first that fails SPAN_S (3 s) later is one too many: 6 s at most.  Where no mail asks, LOST
rounds of probes, FIRST_S apart, find it out.  Answers are weighed against each other, because the
resolvers of a site still remember some of what a dead list has said; what our own one remembers
does not count.

    unknown   not probed yet; counts nothing
    healthy
    sick      why, since when; counts nothing

Lists of hashed mail addresses have no test points that all share; without a `probe` of their own
they are healthy until their answers tell otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec

from oborona.dns import DnsAnswer
from oborona.reputation.dnsbl.model import DnsblFailure, DnsblFault, DnsblQuestion, DnsList
from oborona.reputation.dnsbl.probe_points import probe_error, probes
from oborona.reputation.dnsbl.queries import listing_codes

HEALTHY_S: Final = 300.0  # between probes of a healthy list
FIRST_S: Final = 10.0  # from the moment it is found sick to the next probe; doubles
LAST_S: Final = 300.0
ROUND_S: Final = 30.0  # a probe without answer is given up
# questions without answer, beyond those with one; single ones are lost on every network
LOST: Final = 5
# from the first of them to the last: longer than a resolver takes to restart, or than a question
# may take by default
SPAN_S: Final = 3.0
OURS: Final = frozenset({"budget", "busy", "closed"})
"""Why of answers that say nothing of the list: the message had asked too much, the resolver had no
place, it was being closed.
"""


class DnsblState(StrEnum):
    """Of a list."""

    UNKNOWN = "unknown"
    HEALTHY = "healthy"
    SICK = "sick"


class DnsblStateChange(msgspec.Struct, frozen=True, kw_only=True):
    """A list has changed its state."""

    name: str
    state: DnsblState  # its new one
    why: str = ""  # of sick; without the zone
    fault: DnsblFault | None = None
    since: float = 0.0  # when it became sick, by the clock of `DnsblHealth`; 0: it never was


class _UnansweredQueries:
    """Questions without answer, as long as they outweigh those with one."""

    def __init__(self) -> None:
        self._since = 0.0
        self._failed = self._asked = 0  # since then
        # at most LOST: that ten or a thousand answers of one moment were lost is the same
        self._weight = 0

    def failed(self, now: float) -> str:
        """Take a question without answer; return what to say if it is one too many."""
        if not self._weight:
            self._since, self._failed, self._asked = now, 0, 0
        self._failed += 1
        self._asked += 1
        self._weight = min(self._weight + 1, LOST)
        span = now - self._since
        if self._weight < LOST or span < SPAN_S:
            return ""
        return f"no answer to {self._failed} of {self._asked} questions in {span:.0f} s"

    def answered(self) -> None:
        """Take one with an answer."""
        self._asked += 1
        self._weight = max(self._weight - 1, 0)


class _ListHealth:
    """One list's health."""

    def __init__(self, dns_list: DnsList) -> None:
        self.list = dns_list
        self.points = probes(dns_list)
        self.state = DnsblState.UNKNOWN if self.points else DnsblState.HEALTHY
        self.why = ""
        self.fault: DnsblFault | None = None
        self.since = 0.0
        self.due = 0.0  # of the next probe
        self.wait = FIRST_S
        self.healthy_since = 0.0
        self.silence = _UnansweredQueries()
        self.open: set[str] = set()  # names of the probe under way
        self.failed: DnsblFailure | None = None


class DnsblHealth:
    """The health of all lists of a policy.

    Args:
        lists: of the policy; `follow` takes those of the next one.
    """

    def __init__(self, lists: Iterable[DnsList] = ()) -> None:
        self._lists: dict[str, _ListHealth] = {}
        self.follow(lists)

    def follow(self, lists: Iterable[DnsList]) -> None:
        """Watch these lists from now on.

        One that is asked the same way as before keeps its state.
        """
        before = self._lists
        self._lists = {}
        for dns_list in lists:
            if dns_list.enabled:
                previous = before.get(dns_list.name)
                if previous is not None and _query_settings(previous.list) == _query_settings(
                    dns_list
                ):
                    previous.list = dns_list
                    self._lists[dns_list.name] = previous
                else:
                    self._lists[dns_list.name] = _ListHealth(dns_list)

    def asks(self, dns_list: DnsList) -> bool:
        """Return whether a list may be asked about mail."""
        state = self._lists.get(dns_list.name)
        return state is not None and state.state is DnsblState.HEALTHY

    def states(self) -> tuple[DnsblStateChange, ...]:
        """Return how every list is, for people and metrics."""
        return tuple(
            DnsblStateChange(
                name=name, state=state.state, why=state.why, fault=state.fault, since=state.since
            )
            for name, state in self._lists.items()
        )

    def due(self, now: float) -> tuple[DnsblQuestion, ...]:
        """Return the probes to be asked now; their answers go to `heard` like all others.

        Args:
            now: any clock's seconds, the same one always.
        """
        questions: list[DnsblQuestion] = []
        for state in self._lists.values():
            if state.points and now >= state.due:
                state.due = now + ROUND_S
                state.open = {point.name for point in state.points}
                state.failed = None
                questions += state.points
        return tuple(questions)

    def heard(
        self, question: DnsblQuestion, answer: DnsAnswer, now: float
    ) -> DnsblStateChange | None:
        """Learn from an answer, to a probe or about mail; return what changed.

        Args:
            question: that was asked.
            answer: of kind A.
            now: as `due` is told.
        """
        state = self._lists.get(question.list.name)
        if state is None or _query_settings(state.list) != _query_settings(question.list):
            return None
        codes = listing_codes(question.list, answer)
        trouble = codes if isinstance(codes, DnsblFailure) else None
        if question.probe is None:
            # an answer that is kept or shared was heard before, and a kept one says nothing of the
            # list as it is now
            return None if answer.again else self._take_outcome(state, trouble, now)
        if question.name not in state.open:
            return None  # of a round that was given up
        if trouble is None and bool(codes) != question.probe:
            trouble = probe_error(question)
        return self._probed(state, question, trouble, now)

    def _take_outcome(
        self, state: _ListHealth, trouble: DnsblFailure | None, now: float
    ) -> DnsblStateChange | None:
        """Take an answer about mail, or a failed round of probes."""
        if state.state is not DnsblState.HEALTHY:
            return None
        if trouble is None:
            state.silence.answered()
            return None
        if trouble.fault is DnsblFault.TEMPERROR:
            silent = "" if trouble.why in OURS else state.silence.failed(now)
            if not silent:
                return None
            trouble = msgspec.structs.replace(trouble, why=f"{silent}: {trouble.why}")
        return self._mark_sick(state, trouble, now)

    def _probed(
        self, state: _ListHealth, question: DnsblQuestion, trouble: DnsblFailure | None, now: float
    ) -> DnsblStateChange | None:
        """Take the answer of a probe; the last one of a round decides."""
        state.open.discard(question.name)
        if state.failed is None or (
            trouble is not None and state.failed.fault is DnsblFault.TEMPERROR
        ):
            state.failed = trouble or state.failed
        if state.open:
            return None
        if state.failed is None:
            return self._mark_healthy(state, now)
        if state.state is DnsblState.HEALTHY and state.failed.fault is DnsblFault.TEMPERROR:
            state.due = now + FIRST_S
            return self._take_outcome(state, state.failed, now)
        if state.state is DnsblState.SICK:
            state.why, state.fault = state.failed.why, state.failed.fault
            state.wait = min(2 * state.wait, LAST_S)
            state.due = now + state.wait
            return None
        return self._mark_sick(state, state.failed, now)

    def _mark_sick(self, state: _ListHealth, trouble: DnsblFailure, now: float) -> DnsblStateChange:
        # A list that was well for a short time only goes on waiting longer: else it would come and
        # go.
        shortly = (
            state.state is DnsblState.HEALTHY
            and state.healthy_since
            and now - state.healthy_since < LAST_S
        )
        state.wait = min(2 * state.wait, LAST_S) if shortly else FIRST_S
        state.state, state.why, state.fault, state.since = (
            DnsblState.SICK,
            trouble.why,
            trouble.fault,
            now,
        )
        state.silence = _UnansweredQueries()
        state.open = set()
        state.due = now + state.wait
        return DnsblStateChange(
            name=state.list.name, state=DnsblState.SICK, why=state.why, fault=state.fault, since=now
        )

    def _mark_healthy(self, state: _ListHealth, now: float) -> DnsblStateChange | None:
        state.due = now + HEALTHY_S
        state.silence = _UnansweredQueries()
        if state.state is DnsblState.HEALTHY:
            return None
        since = state.since
        state.state, state.why, state.fault, state.since = DnsblState.HEALTHY, "", None, 0.0
        state.healthy_since = now
        return DnsblStateChange(name=state.list.name, state=DnsblState.HEALTHY, since=since)


def _query_settings(dns_list: DnsList) -> tuple[object, ...]:
    """How a list is asked, as far as its health depends on it."""
    return (
        dns_list.zone,
        dns_list.refused,
        dns_list.hash,
        dns_list.ipv4,
        dns_list.of_addresses,
        dns_list.of_domains,
        dns_list.probe,
    )
