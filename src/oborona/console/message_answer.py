"""What the desk tells of one message: as much of it as its page shows."""

from __future__ import annotations

from typing import Any

import msgspec

from oborona.console.track_row import TrackedMessage


class ShownRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that fired."""

    name: str
    score: float = 0.0
    say: str = ""
    mode: str = "live"


class ShownWould(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict, had what is on trial been live."""

    action: str
    score: float = 0.0
    line: float = 0.0
    decided_by: str = ""


class ShownSide(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict and what led to it, at one time."""

    verdict: str
    score: float
    line: float
    decided_by: str
    would: ShownWould | None = None
    policy: str = ""
    rules: list[ShownRule] = []
    facts: dict[str, Any] = {}
    model: dict[str, Any] = {}
    not_judged: dict[str, str] = {}


class ShownPiece(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a message, and what is counted of it."""

    piece: str
    then: dict[str, int] | None = None
    now: dict[str, int] | None = None


class ShownReport(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody said of a message."""

    id: int
    what: str
    way: str = ""
    person: str = ""
    source: str = ""
    decision: str = ""
    weight: float = 0.0
    rules: list[str] = []
    say: str = ""
    effects: list[str] = []

    @property
    def stands(self) -> bool:
        """Whether there is something to take back."""
        return self.decision in {"waiting", "believed"}


class ShownMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message; `now` is what the policy would say of it now."""

    id: str | None = None
    time: str | None = None
    queue_id: str = ""
    client: str = ""
    helo: str = ""
    sender: str = ""
    recipients: list[str] = []
    login: str = ""
    subject: str = ""
    message_id: str = ""
    size: int = 0
    door: str = ""
    then: ShownSide | None = None
    now: ShownSide | None = None
    no_now: str = ""
    late: ShownSide | None = None
    counts: list[ShownPiece] = []
    changed_verdict: bool = False
    feedback: list[ShownReport] = []
    content_model: dict[str, Any] | None = None
    final_model: dict[str, Any] | None = None
    shipped_model: dict[str, Any] | None = None


class ShownRefusal(msgspec.Struct, frozen=True, kw_only=True):
    """A refusal before the content."""

    id: str
    time: str
    stage: str
    told: str
    verdict: str
    score: float
    line: float
    decided_by: str
    policy: str = ""
    rules: list[ShownRule] = []
    queue_id: str = ""
    client: str = ""
    helo: str = ""
    sender: str = ""
    recipients: list[str] = []
    login: str = ""
    network: str = ""
    times: int = 1
    named: int = 1
    first: str = ""
    last: str = ""
    door: str = ""


class ShownMethod(msgspec.Struct, frozen=True, kw_only=True):
    """What a method of authentication came to."""

    method: str
    result: str
    of: str = ""


class ShownProof(msgspec.Struct, frozen=True, kw_only=True):
    """Who sent a message, as far as it was proved."""

    methods: list[ShownMethod] = []
    proved: str = ""


class MentionedEntity(msgspec.Struct, frozen=True, kw_only=True):
    """Whom or what a message names, and has a reputation."""

    kind: str
    name: str


class ShownCopy(msgspec.Struct, frozen=True, kw_only=True):
    """Where a copy went."""

    recipient: str
    junk: bool
    time: float


class MessageAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A message, a refusal, or several that may be meant."""

    message: ShownMessage | None = None
    refusal: ShownRefusal | None = None
    proof: ShownProof | None = None
    who: list[MentionedEntity] = []
    copies: list[ShownCopy] = []
    candidates: list[TrackedMessage] = []
    reached: str = ""


class StoryLine(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened; what does not apply is empty."""

    time: float
    kind: str
    ref: str = ""
    report: int | None = None
    move: int | None = None
    client: str = ""
    who: str = ""
    verdict: str | None = None
    score: float | None = None
    line: float | None = None
    decided_by: str = ""
    policy: str = ""
    where: str = ""
    times: int = 1
    what: str = ""
    weight: float | None = None
    say: str = ""
    taken_back: bool = False
    can_undo: bool = False


class StoryAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to a message, in order of time."""

    events: list[StoryLine] = []
    before_since: float | None = None  # earlier tries were looked for back to then
