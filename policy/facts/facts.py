"""All facts of one message: its parts', then what models, other engines and the counters say."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Concatenate, Final, ParamSpec, cast

import msgspec

from oborona.policy.counts import DirectionCounts, MessageCounts
from oborona.policy.facts.declaration import SHARE, FactArea, FactDeclaration, Words
from oborona.policy.facts.evidence import EvidenceFacts
from oborona.types import Stage

_models = partial(FactDeclaration, FactArea.MODELS, Stage.CONTENT)
_engines = partial(FactDeclaration, FactArea.ENGINES, Stage.CONTENT)
_message = partial(FactDeclaration, FactArea.MESSAGE, Stage.CONTENT)
_mass = partial(FactDeclaration, FactArea.MASS, Stage.CONTENT)
_SAYS: Final = ("good", "perhaps", "certain", "unknown")
_Values = ParamSpec("_Values")


class Facts(EvidenceFacts, frozen=True, kw_only=True):
    """The facts of one message, or of what is known of it at a stage.

    A fact not yet known at a stage holds the empty value of its type; rules that name it do not run
    there.
    """

    known: MessageCounts = msgspec.field(default_factory=MessageCounts)
    model_content: Annotated[
        float | None,
        _models(
            "model.content",
            "probability that it is spam, by the content model; none until that has learned enough",
            0.93,
            unit=SHARE,
        ),
    ] = None
    model_spam_learned: Annotated[
        int,
        _models("model.spam_learned", "spam messages that the content model has learned from", 412),
    ] = 0
    model_ham_learned: Annotated[
        int, _models("model.ham_learned", "the same of good ones", 380)
    ] = 0
    model_meaning: Annotated[
        float | None,
        _models(
            "model.meaning",
            "probability that it is spam, by what its text means; none where nobody looked at that",
            0.7,
            unit=SHARE,
        ),
    ] = None
    rspamd_says: Annotated[
        str | None,
        _engines(
            "rspamd.says",
            (
                "what rspamd's action stands for; unknown: no answer in time; none where it "
                "was not asked"
            ),
            "perhaps",
            words=_SAYS,
        ),
    ] = None
    rspamd_score: Annotated[
        float | None, _engines("rspamd.score", "its score; none without an answer", 7.5)
    ] = None
    rspamd_symbols: Annotated[
        Words,
        _engines(
            "rspamd.symbols",
            "its symbols, at most 64, the weightiest",
            frozenset({"BAYES_SPAM"}),
            kept=False,
        ),
    ] = frozenset()
    spamd_says: Annotated[
        str | None,
        _engines(
            "spamd.says",
            "what SpamAssassin's score stands for, as of `rspamd.says`",
            "good",
            words=_SAYS,
        ),
    ] = None
    spamd_score: Annotated[
        float | None, _engines("spamd.score", "its score; none without an answer", 2.1)
    ] = None
    spamd_symbols: Annotated[
        Words,
        _engines(
            "spamd.symbols",
            "its rules that fired, at most 64",
            frozenset({"HTML_MESSAGE"}),
            kept=False,
        ),
    ] = frozenset()
    clamd_says: Annotated[
        str | None,
        _engines(
            "clamd.says",
            "what ClamAV's finding stands for, as of `rspamd.says`",
            "certain",
            words=_SAYS,
        ),
    ] = None
    clamd_virus: Annotated[
        str,
        _engines(
            "clamd.virus",
            "its name for what it found; empty where that is nothing",
            "Win.Test.EICAR_HDB-1",
        ),
    ] = ""
    findings: Annotated[
        Words,
        _message(
            "findings", "names of all findings, see the list below", frozenset({"hidden-text"})
        ),
    ] = frozenset()
    partial: Annotated[
        bool,
        _message(
            "partial",
            (
                "the counters could not be asked: counts are none; or not all of them: what "
                "did not answer is 0"
            ),
            False,
        ),
    ] = False
    mass_hour: Annotated[
        int | None,
        _mass(
            "mass.hour", "messages of the last hour that share their text with this one, nearly", 40
        ),
    ] = None
    mass_day: Annotated[int | None, _mass("mass.day", "the same for the last day", 120)] = None
    mass_fortnight: Annotated[
        int | None, _mass("mass.fortnight", "the same for the last two weeks", 130)
    ] = None
    mass_earlier: Annotated[
        int | None,
        _mass("mass.earlier", "the same for the last two weeks without the last 24 hours", 10),
    ] = None
    mass_spam: Annotated[
        int | None, _mass("mass.spam", "how many of those of the last day were judged spam", 30)
    ] = None
    mass_complaints: Annotated[
        int | None, _mass("mass.complaints", "complaints about those of the last day", 3)
    ] = None
    mass_pardons: Annotated[
        int | None,
        _mass("mass.pardons", "people who said of those of the last day that they are no spam", 1),
    ] = None
    mass_traps: Annotated[
        int | None, _mass("mass.traps", "how many of those of the last day came to traps", 2)
    ] = None
    mass_ips: Annotated[
        int | None,
        _mass("mass.ips", "distinct client addresses that sent nearly this text, last day", 35),
    ] = None
    mass_senders: Annotated[
        int | None,
        _mass("mass.senders", "distinct From addresses of nearly this text, last day", 90),
    ] = None
    mass_recipients: Annotated[
        int | None,
        _mass("mass.recipients", "distinct recipients of nearly this text, last day", 118),
    ] = None

    def count(self, kind: int, window: int, metric: int) -> int | None:
        """Return one count of one type of piece; see `MessageCounts.count`."""
        return None if self.known.away else self.known.count(kind, window, metric)

    def ham(self, kind: int, window: int) -> int | None:
        """Return how many were seen and were not spam."""
        return None if self.known.away else self.known.ham(kind, window)

    def spam_share(self, kind: int, window: int) -> float | None:
        """Return the expected share of spam, 0.5 for no history."""
        return None if self.known.away else self.known.spam_share(kind, window)

    @property
    def inbound(self) -> DirectionCounts:
        """What is counted of mail to us."""
        return DirectionCounts(self.known.across if self.outgoing else self.known)

    @property
    def outbound(self) -> DirectionCounts:
        """What is counted of mail from us."""
        return DirectionCounts(self.known if self.outgoing else self.known.across)

    def robotic(self, kind: int) -> float | None:
        """Return how regularly it came in the last day; see `MessageCounts.robotic`."""
        return self.known.robotic(kind)

    def found(self, name: str) -> bool:
        """Tell whether there is a finding of this name."""
        return name in self.findings


def _typed(_: Callable[_Values, Facts]) -> Callable[Concatenate[Facts, _Values], Facts]:
    """Return `msgspec.structs.replace`, which takes anything, with the arguments of the struct
    itself.
    """
    return cast(Callable[Concatenate[Facts, _Values], Facts], msgspec.structs.replace)


with_values: Final = _typed(Facts)
"""Return facts with other values: `with_values(facts, partial=True)`.

Names and types are checked.
"""
