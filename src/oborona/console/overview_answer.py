"""What the desk tells of processes and of the first page, as far as pages show it."""

from __future__ import annotations

import msgspec


class StatusProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A process, as the desk tells it."""

    name: str
    here: bool
    at: float | None = None
    pid: int = 0
    trouble: str = ""
    wanted: bool = True


class StatusSupervised(msgspec.Struct, frozen=True, kw_only=True):
    """The same, as its supervisor sees it."""

    name: str
    serves: bool
    starts: int = 0
    deaths: int = 0
    hung: int = 0


class StatusUnwell(msgspec.Struct, frozen=True, kw_only=True):
    """A DNS list or engine that is not asked."""

    worker: int
    kind: str
    name: str
    since: float
    why: str


class StatusPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Which policy is in force, and where."""

    version: str = ""
    workers: dict[str, str] = {}
    refused: str = ""
    place: str = ""


class ShownStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How the processes do."""

    time: float
    processes: list[StatusProcess]
    supervised: list[StatusSupervised] = []
    policy: StatusPolicy
    unwell: list[StatusUnwell] = []
    queues: dict[str, int] = {}
    spools: dict[str, int] = {}
    late: list[str] = []


class ShownBars(msgspec.Struct, frozen=True, kw_only=True):
    """Verdicts of one kind."""

    kind: str
    values: list[int]
    before: list[int]


class ChangedRuleRow(msgspec.Struct, frozen=True, kw_only=True):
    """A rule whose hits changed."""

    rule: str
    now: float
    before: float


class ShownWave(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign that workers see now."""

    name: str
    subject: str
    sender: str
    hour: int
    ips: int
    complaints: int
    traps: int
    verdict: str


class ShownEvents(msgspec.Struct, frozen=True, kw_only=True):
    """What people said, by hour."""

    complaints: list[int] = []
    pardons: list[int] = []


class ShownContested(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign of which people say both."""

    desk: str = ""
    campaign: int
    complainers: int
    pardoners: int


class ShownNeeds(msgspec.Struct, frozen=True, kw_only=True):
    """What waits for a person."""

    contested: list[ShownContested] = []
    proposals: int = 0
    unended: int = 0
    paused: bool = False


class ShownMachine(msgspec.Struct, frozen=True, kw_only=True):
    """Another machine, and how its processes do."""

    desk: str
    status: ShownStatus


class ShownOverview(msgspec.Struct, frozen=True, kw_only=True):
    """All of the page."""

    status: ShownStatus
    first: int
    step: int = 600
    bars: list[ShownBars] = []
    waves: list[ShownWave] = []
    rules: list[ChangedRuleRow] = []
    events: ShownEvents
    moves: dict[str, int] = {}
    needs: ShownNeeds
    missing: list[str] = []
    others: list[ShownMachine] = []
