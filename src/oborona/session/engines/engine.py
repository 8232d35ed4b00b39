"""One external engine as a worker queries it: within a deadline, with bounded concurrency, and not
at all while its circuit breaker is open.

If it fails in any way, its opinion is unknown and mail goes on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

import msgspec

from oborona.config import EngineSettings
from oborona.errors import PeerError
from oborona.metrics import Counter, Gauge
from oborona.policy.engine_table import EngineName
from oborona.policy.engines import EngineOpinion
from oborona.session.engines.breaker import BreakerPermit, CircuitBreaker
from oborona.session.engines.question import TOO_LARGE, EngineClient, EngineQuestion
from oborona.telemetry.log import event
from oborona.telemetry.status import EngineStatus

AWAY: Final = "away"
BUSY: Final = "busy"
TIMEOUT: Final = "timeout"
BROKEN: Final = "broken"  # it answered, and that was no answer
UNREACHABLE: Final = "unreachable"
FAULT: Final = "fault"  # of ours
ANSWERED: Final = "answered"

IS_AWAY: Final = Gauge(
    "oborona_engine_away",
    "1 while another engine is not asked, for it gave no answers.",
    ("engine",),
)
QUESTIONS: Final = Counter(
    "oborona_engine_questions",
    "Questions to another engine by outcome; answered, and why its opinion is unknown else: "
    "timeout, unreachable, broken (no answer"
    " but words), away, busy (too many at a time), too-large, fault.",
    ("engine", "outcome"),
)
SECONDS: Final = Counter(
    "oborona_engine_seconds", "Time that questions to another engine took.", ("engine",)
)

log = logging.getLogger("oborona.engines")


class ExternalEngine:
    """One engine.

    Args:
        name: of its settings.
        client: speaks to it.
        settings: how long it is waited for, and how much it is asked.
        clock: seconds, monotonic.
        wall: Unix seconds, for people.
    """

    def __init__(
        self,
        name: EngineName,
        client: EngineClient,
        settings: EngineSettings,
        *,
        clock: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        self.name = name
        self._client = client
        self._settings = settings
        self._clock = clock
        self._wall = wall
        self._breaker = CircuitBreaker()
        self._asked = 0  # questions that are not answered yet
        self._why = ""  # it gave no answer last
        self._set_away(away=False)
        SECONDS.inc(name, by=0)

    async def ask(self, question: EngineQuestion) -> EngineOpinion:
        """Return what the engine says of a message.

        Never raises but where nobody waits any more.
        """
        most = self._settings.max_bytes
        if question.size > most or not question.whole:
            if not self._client.takes_heads:
                return self._unknown(TOO_LARGE)
            question = question._replace(raw=question.raw[:most])
        if self._asked >= self._settings.max_questions:
            return self._unknown(BUSY)
        leave = self._breaker.enter(self._clock())
        if leave is BreakerPermit.NONE:
            return self._unknown(AWAY)
        started = self._clock()
        self._asked += 1
        try:
            async with asyncio.timeout(self._settings.deadline_s):
                opinion = await self._client.ask(question)
        except asyncio.CancelledError:
            self._breaker.given_up(leave)
            raise
        except TimeoutError:
            return self._failed(TIMEOUT, f"no answer within {self._settings.deadline_s:g} s", leave)
        except PeerError as error:
            return self._failed(BROKEN, str(error), leave)
        except OSError as error:
            return self._failed(UNREACHABLE, str(error) or type(error).__name__, leave)
        except Exception:
            log.exception("fault in asking %s", self.name)
            return self._failed(FAULT, "a fault of ours", leave)
        finally:
            self._asked -= 1
            SECONDS.inc(self.name, by=self._clock() - started)
        if self._breaker.answered():
            self._set_away(away=False)
            event(log, logging.WARNING, "engine is back", engine=self.name)
        QUESTIONS.inc(self.name, opinion.unknown or ANSWERED)
        return msgspec.structs.replace(opinion, ms=round((self._clock() - started) * 1000, 1))

    def status(self) -> EngineStatus:
        """Return how it does."""
        away = self._breaker.away
        return EngineStatus(away=away, since=self._since, why=self._why if away else "")

    async def close(self) -> None:
        """Let go of it."""
        await self._client.close()

    def _set_away(self, *, away: bool) -> None:
        self._since = self._wall()
        IS_AWAY.set(away, self.name)

    def _unknown(self, why: str) -> EngineOpinion:
        QUESTIONS.inc(self.name, why)
        return EngineOpinion(engine=self.name, unknown=why)

    def _failed(self, outcome: str, why: str, leave: BreakerPermit) -> EngineOpinion:
        self._why = why
        if self._breaker.failed(leave, self._clock()):
            self._set_away(away=True)
            event(log, logging.WARNING, "engine is away", engine=self.name, why=why)
        return self._unknown(outcome)
