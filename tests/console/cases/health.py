"""The engine room: well, unwell, parts that are away; checks, settings, acts."""

from msgspec import to_builtins

from oborona.daemon.publisher.reload_socket import ReloadOutcome
from oborona.desk.acts.alarm import AlarmChannelOutcome, AlarmTestOutcome
from oborona.desk.asks.charts import Chart, ChartKind, ChartLine
from oborona.desk.asks.doctor import CheckNames, DoctorFinding, DoctorReport
from oborona.desk.asks.policy import OriginList
from oborona.desk.asks.status import StatusAnswer
from oborona.desk.doctor.report import CheckState
from oborona.desk.policy.origins import OriginRow
from oborona.desk.policy.reload_outcome import PolicyReloaded
from oborona.desk.processes.parts import PolicyPart, ProcessPart, SupervisedPart, UnwellPart
from oborona.people.rights import Role
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW, DeskRefusalError

STATUS = StatusAnswer(
    time=NOW,
    processes=[
        ProcessPart(name="worker-0", here=True, at=NOW, pid=17),
        ProcessPart(name="reader", here=False, at=NOW - 900, pid=18, trouble="it\u202e <b>"),
        ProcessPart(name="flows", here=False, at=None, wanted=False),
    ],
    supervised=[SupervisedPart(name="worker-0", serves=True, starts=3, deaths=1, hung=1)],
    policy=PolicyPart(version="8121c0de", workers={0: "8121c0de"}),
    final={},
    unwell=[UnwellPart(worker=0, kind="list", name="ZEN", since=NOW - 60, why="refuses <b>")],
    queues={"queues/events": 3000},
    spools={"journal": 12_345},
    relearning=None,
    late=["reader is away"],
)
GROWN: list[tuple[str, list[int | None]]] = [
    ("journal", [None, 1000, *(1000 * n for n in range(2, 15))]),
    ("events", [None] * 14 + [5]),
    ("charts", [None] * 15),
]
STORES = Chart(
    first=int(NOW) - 14 * 86_400,
    step=86_400,
    times=15,
    series=[
        ChartLine(name=f"bytes/{name}", kind=ChartKind.MOST, total=0, values=values)
        for name, values in GROWN
    ],
    unknown=[],
    begins=None,
)
CHECKS = CheckNames(checks=["policy", "postfix", "dns"])
FOUND = DoctorReport(
    findings=[
        DoctorFinding(
            check="dns", what="resolver", state=CheckState.OK, finding="answers", hint=""
        ),
        DoctorFinding(
            check="dns",
            what="list ZEN",
            state=CheckState.FAIL,
            finding="refuses us \u202e<b>",
            hint="ask a resolver of your own",
        ),
    ],
    summary="",
)
SETTINGS = OriginList(
    settings=(
        OriginRow(name="site.name", value="mx\u202e<b>", origin="/etc/oborona.toml:3"),
        OriginRow(name="worker.processes", value=2, origin="default"),
        OriginRow(
            name="alarm.webhook", value="https://hooks.example/T0/s3cret", origin="command line"
        ),
    ),
    policy=(),
)
ALL = {
    "status.read": to_builtins(STATUS, str_keys=True),
    "doctor.checks": to_builtins(CHECKS),
    "charts.read": to_builtins(STORES),
    "doctor.report": to_builtins(FOUND),
}
AWAY = DeskRefusalError(503, "the store is away")
ALARM = AlarmTestOutcome(
    channels=(
        AlarmChannelOutcome(channel="webhook", to="https://hooks.example/s3cret", trouble=""),
        AlarmChannelOutcome(channel="mail", to="duty@a.example", trouble="no route \u202e<b>"),
    )
)
RELOADED = PolicyReloaded(outcome=ReloadOutcome(version="8121c0de", workers=2), seconds=0.1)
DONE = {"step": "do", "reason": "tried", "key": "k1"}

CASES = [
    PageCase(
        name="health",
        path="/health",
        answers=ALL,
        texts=("reader is away", "refuses <b>", "postfix", "12 345", "not known yet", "1 000"),
    ),
    PageCase(
        name="health-parts-away",
        path="/health",
        role=Role.SUPPORT,
        answers=ALL | {"status.read": AWAY, "charts.read": AWAY},
        texts=("What the processes say can't be read now.", "The keeper measures stores", "dns"),
    ),
    PageCase(
        name="health-away",
        path="/health",
        answers={"status.read": AWAY, "doctor.checks": AWAY, "charts.read": AWAY},
        status=503,
        texts=("Not available now",),
    ),
    PageCase(
        name="health-check",
        path="/health/check/dns",
        answers={"doctor.report": to_builtins(FOUND)},
        texts=("wrong", "U+202E<b>", "ask a resolver of your own"),
    ),
    PageCase(
        name="health-check-slow",
        path="/health/check/dns",
        answers={"doctor.report": DeskRefusalError(503, "it goes on")},
        texts=("This takes longer than usual", "Go on"),
    ),
    PageCase(
        name="health-check-unknown",
        path="/health/check/%3Cb%3E",
        answers={"doctor.report": DeskRefusalError(422, "there is no check")},
        status=404,
        texts=("None found",),
    ),
    PageCase(
        name="health-settings",
        path="/health/settings?name=site",
        answers={"policy.settings": to_builtins(SETTINGS)},
        texts=("U+202E<b>", "/etc/oborona.toml:3", "(set)"),
    ),
    PageCase(
        name="health-settings-none",
        path="/health/settings?name=%22%3E%3Cb%3E",
        answers={"policy.settings": to_builtins(OriginList(settings=(), policy=()))},
        texts=("No setting begins so.",),
    ),
    PageCase(
        name="health-reload",
        path="/health/reload",
        form={},
        answers={"policy.reload": to_builtins(PolicyReloaded(outcome=None))},
        texts=("The policy files are read now", "Do it"),
    ),
    PageCase(
        name="health-reloaded",
        path="/health/reload",
        form=DONE,
        answers={"policy.reload": to_builtins(RELOADED)},
        texts=("Done", "8121c0de"),
    ),
    PageCase(
        name="health-reload-nobody",
        path="/health/reload",
        form=DONE,
        answers={"policy.reload": to_builtins(PolicyReloaded(outcome=None))},
        texts=("No daemon runs on this state",),
    ),
    PageCase(
        name="health-alarm",
        path="/health/alarm",
        form={},
        answers={"alarm.test": to_builtins(ALARM)},
        texts=("would be tried", "duty@a.example"),
    ),
    PageCase(
        name="health-alarmed",
        path="/health/alarm",
        form=DONE,
        answers={"alarm.test": to_builtins(ALARM)},
        texts=("was taken", "no route", "Done"),
    ),
    PageCase(
        name="health-alarm-nobody",
        path="/health/alarm",
        form={},
        answers={"alarm.test": to_builtins(AlarmTestOutcome(channels=()))},
        texts=("Nobody is set to be told",),
    ),
]
