"""Charts: by name, of each span, none, too many, away."""

from msgspec import to_builtins

from oborona.desk.asks.charts import (
    Chart,
    ChartKind,
    ChartLine,
    SeriesDescription,
    SeriesList,
)
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW, DeskRefusalError

NAMES = ["queues/events", *(f"rules/live/RULE_{n}" for n in range(7)), "verdicts/\u202e<b>/x"]
KNOWN = SeriesList(
    series=[
        SeriesDescription(
            name=name, kind=ChartKind.MOST if name.startswith("queues") else ChartKind.SUM
        )
        for name in NAMES
    ],
    summed=[],
    begins=None,
)
CHART = Chart(
    first=int(NOW) - 86_400,
    step=600,
    times=144,
    series=[
        ChartLine(
            name=name,
            kind=ChartKind.MOST if number == 0 else ChartKind.SUM,
            total=144 * number,
            values=[number if n % 5 else None for n in range(144)],
        )
        for number, name in enumerate(NAMES)
    ],
    unknown=[],
    begins=None,
)
NONE = Chart(first=int(NOW) - 86_400, step=600, times=144, series=[], unknown=["x"], begins=None)

CASES = [
    PageCase(
        name="charts",
        path="/charts",
        answers={"charts.series": to_builtins(KNOWN)},
        texts=("What there is", "rules/live"),
    ),
    PageCase(
        name="charts-shown",
        path="/charts?series=rules%2Flive&span=fortnight",
        answers={"charts.series": to_builtins(KNOWN), "charts.read": to_builtins(CHART)},
        texts=("all others", "the largest", "CSV", "RULE_6"),
    ),
    PageCase(
        name="charts-none",
        path="/charts?series=x%22%3E%3Cb%3E&span=all",
        answers={"charts.series": to_builtins(KNOWN), "charts.read": to_builtins(NONE)},
        texts=("None found",),
    ),
    PageCase(
        name="charts-too-many",
        path="/charts?series=rules",
        answers={
            "charts.series": to_builtins(KNOWN),
            "charts.read": DeskRefusalError(422, "2000 series of 2016 times: ask for fewer"),
        },
        status=422,
        texts=("ask for fewer",),
    ),
    PageCase(
        name="charts-away",
        path="/charts?series=verdicts",
        answers={"charts.series": DeskRefusalError(404, "there are no charts yet")},
        texts=("There are no charts yet",),
    ),
]
