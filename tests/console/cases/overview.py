"""The first page: a calm day, a bad one, a new site, a desk whose stores are away."""

from msgspec import to_builtins

from oborona.desk.asks.overview import HourlyEvents, Overview, RuleHitChange, VerdictBars
from oborona.desk.asks.status import StatusAnswer
from oborona.desk.overview.needs import ContestedCampaign, NeededPerson
from oborona.desk.processes.parts import PolicyPart, ProcessPart, SupervisedPart, UnwellPart
from oborona.people.rights import Role
from oborona.telemetry.alert import CampaignSighting
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW, DeskRefusalError

VERSION = "8121c0de"


def status(*, bad: bool = False) -> StatusAnswer:
    """Return what the processes say."""
    why = "ZEN\u202e refuses us <b>"
    return StatusAnswer(
        time=NOW,
        processes=[
            ProcessPart(name="worker-0", here=True, at=NOW - 1, pid=17),
            ProcessPart(name="worker-1", here=not bad, at=NOW - 900 * bad, pid=18),
            ProcessPart(name="policy", here=True, at=NOW, pid=19),
            ProcessPart(name="trainer", here=True, at=NOW, pid=20, trouble=why if bad else ""),
            ProcessPart(name="reader", here=False, at=None, wanted=bad),
        ],
        supervised=[
            SupervisedPart(name="oborona/worker-0", serves=True, starts=1, deaths=0, hung=0),
            SupervisedPart(name="oborona/worker-1", serves=not bad, starts=4, deaths=2, hung=1),
        ],
        policy=PolicyPart(
            version=VERSION,
            workers={0: VERSION, 1: "0000aaaa" if bad else VERSION},
            refused="rule X: <i>" if bad else "",
            place="/etc/oborona/policy.d/90-local.toml:3" if bad else "",
        ),
        final={0: ""},
        unwell=[UnwellPart(worker=1, kind="list", name="ZEN", since=NOW - 3600, why=why)] * bad,
        queues={"queues/events": 3},
        spools={"journal": 90_000_000 if bad else 1_000, "counters": 0},
        relearning=None,
        late=[f"worker-1 is away: {why}"] if bad else [],
    )


def bars() -> list[VerdictBars]:
    """Return the verdicts of a day."""
    return [
        VerdictBars(kind=kind, values=[much + n % 7 for n in range(144)], before=[much] * 144)
        for kind, much in (("refused-at-door", 40), ("refused", 3), ("junk", 9), ("inbox", 60))
    ]


CALM = Overview(
    status=status(),
    first=int(NOW) - 86_400,
    bars=bars(),
    events=HourlyEvents(complaints=[n % 3 for n in range(24)], pardons=[0] * 24),
    moves={"moved": 12, "undone": 1},
    needs=NeededPerson(),
)
BAD = Overview(
    status=status(bad=True),
    first=int(NOW) - 86_400,
    bars=bars(),
    waves=[
        CampaignSighting(
            name="c17",
            time=NOW,
            subject="\u202eYour parcel <script>alert(1)</script>",
            sender="a@b.example",
            client="192.0.2.1",
            hour=1204,
            ips=96,
            complaints=12,
            traps=3,
            verdict="spam",
        )
    ],
    rules=[
        RuleHitChange(rule="MASS_TEXT", now=412.0, before=3.0),
        RuleHitChange(rule="LINK_NEW", now=0.0, before=88.0),
    ],
    events=HourlyEvents(complaints=[5] * 24, pardons=[1] * 24),
    moves={"moved": 12},
    needs=NeededPerson(
        contested=[ContestedCampaign(campaign=3, complainers=4, pardoners=5)],
        proposals=5,
        unended=2,
        paused=True,
    ),
    missing=["campaigns: events.db: damaged"],
)
NEW = Overview(
    status=status(),
    first=int(NOW) - 86_400,
    events=HourlyEvents(complaints=[], pardons=[]),
    needs=NeededPerson(),
    missing=["charts: there are none yet"],
)

CASES = [
    PageCase(
        name="overview",
        path="/overview",
        answers={"overview.read": to_builtins(CALM, str_keys=True)},
        texts=("workers well: 2/2", "Nothing waits for a person.", "8121c0de on all", "As a table"),
    ),
    PageCase(
        name="overview-bad",
        path="/overview?live=off",
        answers={"overview.read": to_builtins(BAD, str_keys=True)},
        texts=(
            "workers wrong: 1/2",
            "policy wrong: the files are refused",
            "DNS lists look: ZEN",
            "MASS_TEXT",
            "412.0",
            "1 204",
            "1 campaign of which people say both",
            "2 acts began and have no end",
            "campaigns: events.db: damaged",
            "Refresh by itself",
        ),
    ),
    PageCase(
        name="overview-new",
        path="/overview",
        role=Role.AUDITOR,
        answers={"overview.read": to_builtins(NEW, str_keys=True)},
        texts=("None yet", "charts: there are none yet"),
    ),
    PageCase(
        name="overview-away",
        path="/overview",
        answers={"overview.read": DeskRefusalError(503, "status can't be read")},
        status=503,
        texts=("Not available now",),
    ),
]
