"""`python -m oborona.cli.document`: write again what is generated from code: settings, facts,
findings, shingle types, the HTTP interface, commands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from oborona.cli import command_index
from oborona.cli.policy.history import FOLDER, table
from oborona.config import document
from oborona.desk.policy.schema_text import schema_text
from oborona.doors.http import openapi
from oborona.message.findings import NAMES as OF_PARSING
from oborona.message.shingles import TYPES
from oborona.policy.checks import FINDINGS
from oborona.policy.decision import PARTIAL, TEMPERROR, UNFINISHED
from oborona.policy.engines import FINDINGS as OF_ENGINES
from oborona.policy.event_logs import RuledLog
from oborona.policy.expression import REFERENCE, Fact
from oborona.policy.expression.forms import TextForm
from oborona.policy.expression.schema import DERIVED_METRICS, FactFamily
from oborona.policy.expression.table_dialect import REFUSED
from oborona.policy.fact_table import AREAS, NAMES, SCHEMA, STAGES
from oborona.policy.facts.declaration import FactArea
from oborona.policy.own_event_logs import OWN_LOGS
from oborona.policy.person_facts import PERSON_FACTS, person_families
from oborona.policy.pictures import FINDINGS as OF_PICTURES
from oborona.policy.scripts.scripts import FINDINGS as OF_SCRIPTS
from oborona.policy.shipped_files import MANIFEST
from oborona.telemetry.dashboard import dashboard_json
from oborona.telemetry.metric_table import TABLE, MetricDescription
from oborona.types import Metric, RuleWindow, Stage

ROOT: Final = Path(__file__).resolve().parents[3]
MONITORING: Final = (
    "# Monitoring",
    "",
    "Written from the code by `make docs`. Have Oborona serve its metrics, below the `[metrics]` that",
    "`oborona.toml` has, and restart it:",
    "",
    "    [metrics]",
    '    listen = "inet:127.0.0.1:9890"',
    "",
    "and a Prometheus on this machine read them, in `prometheus.yml`:",
    "",
    "    rule_files:",
    "      - oborona.rules",
    "    scrape_configs:",
    "      - job_name: oborona",
    "        scrape_interval: 15s",
    "        static_configs:",
    '          - targets: ["127.0.0.1:9890"]',
    "",
    "`oborona.rules` is `etc/prometheus/oborona.rules` (with the package in",
    "`/usr/share/doc/oborona/examples/prometheus`), copied beside `prometheus.yml`.",
    "What to do about each is in [alerts](alerts.md), which its `runbook_url` names; where these pages",
    "are on a server of yours, put it in front:",
    "",
    "    sed -i 's|\"docs/operate|\"https://wiki.example.org/oborona/operate|' oborona.rules",
    "",
    "`etc/grafana/oborona.json`, beside it, is a dashboard: in Grafana, *Dashboards*, *New*, *Import*. Set the data",
    "source's *Scrape interval* to that of the job.",
    "",
    "**A Prometheus on another machine** needs a token: `listen` on an address of this one, and",
    "",
    '    token_file = "/etc/oborona/metrics.tokens"        # [metrics]; lines of 16 characters and more',
    "",
    "    authorization:                                    # of the job",
    "      credentials_file: oborona.token",
    "",
    "or `allowed`, with its address. It is HTTP without TLS: keep it within your network.",
    "",
    "**Without a Prometheus that reaches it**, `oborona metrics` prints the same for node_exporter's",
    "textfile collector:",
    "",
    (
        "    * * * * * oborona oborona metrics > /var/lib/node_exporter/oborona.prom.new "
        "&& mv /var/lib/node_exporter/oborona.prom.new /var/lib/node_exporter/oborona.prom"
    ),
    "",
    "GET /metrics is served by a process of its own, which reads files alone: whoever asks, however",
    "often, takes no time from mail. Who accepts OpenMetrics gets that. Every process writes what it",
    "knows every five seconds into `status/` of the state folder, the supervisors every ten.",
    "",
)


def facts() -> str:
    """Return docs/policy/facts.md."""
    lines = [
        "# Facts: what rules may name",
        "",
        (
            "Written from the code by `make docs`. A fact is known from its stage on; a rule "
            "runs as soon as all facts it names are known. A fact marked"
        ),
        (
            "*or none* may be unknown: `none` compares as false with everything, `x == none` "
            "asks for it ([policy.md](policy.md#none))."
        ),
        (
            "A fact that is *normalised*, *in lower case* or *in capitals* is compared in "
            "that form with whatever a rule says, however it is"
        ),
        "written there ([policy.md](policy.md#text-in-rules-capitals-cyrillic-look-alikes)).",
        "",
        *(line for area, facts in AREAS.items() for line in _area(area, facts)),
        "## Counts",
        "",
        (
            f"`count[TYPE].WINDOW.METRIC`, where WINDOW is one of "
            f"{_words(span.name.lower() for span in RuleWindow)} and METRIC one of"
        ),
        (
            f"{_words([*(m.name.lower() for m in Metric), *DERIVED_METRICS])}. A window ends "
            f"with the bucket of this moment: 1, 6 or 144 of ten"
        ),
        (
            "minutes, or 14 days; `earlier` is `fortnight` without `day`: only what came then "
            "may speak for a sender"
        ),
        (
            "([ADR 42](../adr/0042-what-may-speak-for-a-sender.md)). The message that is "
            "being judged is not in it. Of a type with several pieces the worst answers; of "
            "fingerprints (and"
        ),
        (
            "what hangs on them) the smallest count that a quarter of the values reach, six "
            "of sixteen for short texts. While the counters can't be"
        ),
        "asked every count is none.",
        "",
        (
            "Mail of our own people and all other mail are counted apart "
            "([outgoing](../people/outgoing.md)): `count[TYPE]` is the"
        ),
        (
            "direction of the message at hand, `count_in[TYPE]` mail to us, `count_out[TYPE]` "
            "mail from us."
        ),
        "",
        "| TYPE | number | from | what is hashed |",
        "|---|---|---|---|",
        *(
            (
                f"| `{name}` | {int(kind)} | {STAGES.get(kind, Stage.CONTENT)} | "
                f"{TYPES[kind].meaning} |"
            )
            for name, kind in NAMES.items()
        ),
        "",
        "## Functions",
        "",
        *(f"- `{function.signature}` {function.doc}" for function in REFERENCE.values()),
        "",
        f"What `distinct` counts: {_words(SCHEMA.by_pair)}.",
        "",
        "## Findings",
        "",
        "For `found('NAME')`, and members of the fact `findings`. Checks:",
        "",
        *(f"- `{name}`: {meaning}" for name, meaning in FINDINGS.items()),
        "",
        "Of parsing:",
        "",
        *(f"- `{name}`: {meaning}" for name, meaning in OF_PARSING.items()),
        "",
        "Of the scan:",
        "",
        *(
            f"- `{name}`: {meaning}"
            for name, meaning in (OF_PICTURES | OF_ENGINES | OF_SCRIPTS).items()
        ),
        f"- `{PARTIAL}`: the counters could not be asked, or the scan could not be finished",
        (
            f"- `{UNFINISHED}`: the message took more CPU than a scan may; its head was "
            f"judged, with what was found of the rest by then"
        ),
        (
            f"- `{TEMPERROR}`: somebody who was asked by DNS gave no answer in time; the "
            f"evidence names them"
        ),
        "",
    ]
    return "\n".join(lines)


def _area(area: FactArea, facts: Sequence[Fact]) -> list[str]:
    return [
        f"## {area.value}",
        "",
        "| fact | type | from | | unit | example |",
        "|---|---|---|---|---|---|",
        *(
            f"| `{fact.name}` | {fact.kind.value}{f', {fact.form.value}' if fact.form is not TextForm.SENT else ''}{', or none' if fact.optional else ''} | {fact.stage} | {fact.doc} | {fact.unit} | {_example(fact)} |"
            for fact in facts
        ),
        "",
    ]


def _example(fact: Fact | FactFamily) -> str:
    """Return an example as a rule would write it."""
    value = fact.example
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, frozenset):
        return ", ".join(f"`{member!r}`" for member in sorted(value))
    return f"`{value!r}`"


def event_facts() -> str:
    """Return docs/policy/event-facts.md."""
    families = person_families(("EVENT",), ("COLUMN",))
    lines = [
        "# Event facts: what event rules may name",
        "",
        (
            "Written from the code by `make docs`. How a rule is written stands in [event rules]"
            "(event-rules.md). A fact marked"
        ),
        (
            "*or none* may be unknown: `none` compares as false with everything, `x == none` asks "
            "for it."
        ),
        "",
        "## A row and its person",
        "",
        (
            "Every log has these. *The day* is what is looked at together: the rows of a batch "
            "and those of the 24 hours before it, or, in"
        ),
        (
            "the pass over a whole day, that day. So all rows of a person in one batch have the "
            "same counts."
        ),
        "",
        "| fact | type | | unit | example |",
        "|---|---|---|---|---|",
        "| `event` | a text | what kind of event it is: one that the log declares |  | `'read'` |",
        *(
            (f"| `{fact.name}` | {_kind(fact)} | {fact.doc} | {fact.unit} | {_example(fact)} |")
            for fact in PERSON_FACTS
        ),
        "",
        (
            "Facts by a name in brackets: a kind of event, or a column of texts, addresses or "
            "hashes. A name with other signs than"
        ),
        "letters, digits and underscores stands in quotes: `person.day['buy-now']`.",
        "",
        "| fact | type | | unit | example |",
        "|---|---|---|---|---|",
        *(
            (
                f"| `{family.name}[{family.members[0]}]` | {_kind(family)} | {family.doc} | "
                f"{family.unit} | {_example(family)} |"
            )
            for family in families
        ),
        "",
        *(line for log in OWN_LOGS for line in _log(log)),
        "## Functions",
        "",
        *(
            f"- `{function.signature}` {function.doc}"
            for name, function in REFERENCE.items()
            if name not in REFUSED
        ),
        "",
        "Of the language of mail rules these are refused:",
        "",
        *(f"- `{name}` {why}" for name, why in REFUSED.items()),
        "",
    ]
    return "\n".join(lines)


def _log(log: RuledLog) -> list[str]:
    return [
        f"## The log {log.name}",
        "",
        f"Kinds of events: {_words(log.events)}.",
        "",
        "| column | kind |",
        "|---|---|",
        *(f"| `{name}` | {kind.value} |" for name, kind in log.columns.items()),
        "",
    ]


def _kind(fact: Fact | FactFamily) -> str:
    return f"{fact.kind.value}{', or none' if fact.optional else ''}"


def monitoring(described: Mapping[str, Sequence[MetricDescription]]) -> str:
    """Return docs/operate/monitoring.md.

    Args:
        described: the metrics of each process.
    """
    lines = [
        *MONITORING,
        "| metric | kind | labels | |",
        "|---|---|---|---|",
        *(
            (
                f"| `{metric.name}{'_total' if metric.kind == 'counter' else ''}` | {metric.kind} | "
                f"{_words(metric.labels)} | {metric.help} |"
            )
            for metrics in described.values()
            for metric in metrics
        ),
        "",
    ]
    return "\n".join(lines)


def _words(names: object) -> str:
    return ", ".join(f"`{name}`" for name in names)  # type: ignore[attr-defined]


def files() -> dict[Path, str]:
    """Return every generated file with its text."""
    from oborona.daemon import metric_catalogue  # noqa: PLC0415 - imports the whole daemon

    return {
        ROOT / "docs/policy/facts.md": facts(),
        ROOT / "docs/policy/event-facts.md": event_facts(),
        ROOT / "docs/operate/monitoring.md": monitoring(metric_catalogue.described_metrics()),
        ROOT / "docs/mail-servers/openapi.json": openapi.document(),
        ROOT / "etc/policy.d.schema.json": schema_text(),
        ROOT / "etc/grafana/oborona.json": dashboard_json(),
        command_index.FILE: command_index.document(),
        ROOT / "src/oborona/telemetry" / TABLE.name: metric_catalogue.metrics_json(),
        ROOT / FOLDER / MANIFEST: table(ROOT / FOLDER),
        **{ROOT / name: text() for name, text in document.FILES.items()},
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text)
        print(path.relative_to(ROOT))
