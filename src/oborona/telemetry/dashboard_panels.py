"""The panels of the dashboard that ships (`etc/grafana/oborona.json`), row by row.

Each query runs against a Prometheus that has read a site with mail, in a test: none is empty there.
What a site may not have begun yet (moves, hits of signatures) is asked for `or vector(0)`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

_RATE: Final = "[$__rate_interval]"
_ON: Final = 'instance=~"$instance"'


class PanelQuery(NamedTuple):
    """One query of a panel."""

    expression: str  # PromQL, with Grafana's variables
    legend: str = ""  # `{{label}}` is replaced; empty = all labels


class DashboardPanel(NamedTuple):
    """One panel."""

    title: str
    queries: tuple[PanelQuery, ...]
    unit: str = "short"  # Grafana's name of it
    kind: str = "timeseries"  # or stat, heatmap, bargauge
    about: str = ""  # what it shows, and what to look for
    stacked: bool = False
    bad_from: float | None = None  # a stat is red from here on
    bad_below: float | None = None  # or below this


def _sum(metric: str, by: str = "", where: str = "") -> str:
    """Return the sum of a counter's rate."""
    selector = f"{metric}_total{{{_ON}{',' if where else ''}{where}}}"
    grouped = f" by ({by})" if by else ""
    return f"sum{grouped} (rate({selector}{_RATE}))"


def _gauge(function: str, metric: str, by: str = "", where: str = "") -> str:
    grouped = f" by ({by})" if by else ""
    return f"{function}{grouped} ({metric}{{{_ON}{',' if where else ''}{where}}})"


def _quantile(quantile: float, metric: str, by: str = "") -> str:
    labels = f"le, {by}" if by else "le"
    return (
        f"histogram_quantile({quantile}, sum by ({labels}) (rate({metric}_bucket{{{_ON}}}{_RATE})))"
    )


def _or_zero(expression: str) -> str:
    return f"{expression} or vector(0)"


_CONTENT: Final = 'stage="content"'
_SPAM: Final = 'stage="content",action=~"spam|reject"'
_BELIEVED: Final = 'decision="believed"'
_HITS: Final = f'oborona_rule_hits_total{{{_ON},mode="live"}}'
_HOUR: Final = f"sum by (rule) (rate({_HITS}[1h]))"
_HOUR_BEFORE: Final = f"sum by (rule) (rate({_HITS}[1h] offset 1d))"
_Q: Final = PanelQuery

ROWS: Final[dict[str, tuple[DashboardPanel, ...]]] = {
    "Is all well?": (
        DashboardPanel(
            "Alerts that fire",
            (_Q(_or_zero('count(ALERTS{alertname=~"Oborona.*",alertstate="firing"})')),),
            kind="stat",
            about="Of etc/prometheus/oborona.rules; docs/operate/alerts.md says what to do.",
            bad_from=1,
        ),
        DashboardPanel("Workers", (_Q(_gauge("sum", "oborona_up")),), kind="stat", bad_below=1),
        DashboardPanel(
            "Processes that do not serve",
            (_Q(_or_zero(f"count(oborona_process_serves{{{_ON}}} == 0)")),),
            kind="stat",
            bad_from=1,
        ),
        DashboardPanel(
            "Messages a second",
            (_Q(_sum("oborona_verdicts", where=_CONTENT)),),
            kind="stat",
        ),
        DashboardPanel(
            "Share of spam",
            (
                _Q(
                    f"({_or_zero(_sum('oborona_verdicts', where=_SPAM))})"
                    f" / {_sum('oborona_verdicts', where=_CONTENT)}"
                ),
            ),
            unit="percentunit",
            kind="stat",
            about="Of the messages whose content was judged: those for Junk, and those refused.",
        ),
        DashboardPanel(
            "Scan time, 95 %",
            (_Q(_quantile(0.95, "oborona_scan_seconds")),),
            unit="s",
            kind="stat",
            bad_from=3,
        ),
        DashboardPanel(
            "Free where the state lies",
            (_Q(_gauge("min", "oborona_state_free_bytes")),),
            unit="bytes",
            kind="stat",
            bad_below=1e9,
        ),
        DashboardPanel(
            "Version",
            (
                _Q(
                    _gauge("sum", "oborona_build_info", "version, python"),
                    "{{version}}, Python {{python}}",
                ),
            ),
            kind="stat",
        ),
    ),
    "Mail": (
        DashboardPanel(
            "Messages by verdict",
            (_Q(_sum("oborona_verdicts", "action", _CONTENT), "{{action}}"),),
            unit="reqps",
            stacked=True,
        ),
        DashboardPanel(
            "Refusals by stage",
            (
                _Q(
                    _sum("oborona_verdicts", "stage, action", 'action=~"reject|tempfail"'),
                    "{{stage}}: {{action}}",
                ),
            ),
            unit="reqps",
            stacked=True,
        ),
        DashboardPanel(
            "Listeners",
            (_Q(_sum("oborona_door", "door, outcome"), "{{door}}: {{outcome}}"),),
            unit="reqps",
            about="busy: told to come again; broken, unauthorized: docs/operate/alerts.md.",
        ),
        DashboardPanel(
            "Outgoing mail",
            (_Q(_sum("oborona_outgoing", "outcome"), "{{outcome}}"),),
            unit="reqps",
        ),
        DashboardPanel(
            "Authentication",
            (_Q(_sum("oborona_authentication", "method, result"), "{{method}}: {{result}}"),),
            unit="reqps",
        ),
    ),
    "Time": (
        DashboardPanel(
            "Scan time",
            tuple(
                _Q(_quantile(quantile, "oborona_scan_seconds"), f"{quantile * 100:g} %")
                for quantile in (0.5, 0.95, 0.99)
            ),
            unit="s",
            about="Waiting for the DNS, engines and pictures included.",
        ),
        DashboardPanel(
            "Scan time by listener and stage",
            (
                _Q(
                    _quantile(0.95, "oborona_stage_seconds", "door, stage"),
                    "{{door}}: {{stage}}, 95 %",
                ),
            ),
            unit="s",
        ),
        DashboardPanel(
            "Scans by time",
            (_Q(f"sum by (le) (increase(oborona_scan_seconds_bucket{{{_ON}}}{_RATE}))", "{{le}}"),),
            kind="heatmap",
        ),
    ),
    "Whom it asks": (
        DashboardPanel("DNS", (_Q(_sum("oborona_dns", "event"), "{{event}}"),), unit="reqps"),
        DashboardPanel(
            "DNS lists",
            (_Q(_sum("oborona_dns_list_questions", "list, outcome"), "{{list}}: {{outcome}}"),),
            unit="reqps",
        ),
        DashboardPanel(
            "DNS lists that count",
            (_Q(_gauge("min", "oborona_dns_list_healthy", "list"), "{{list}}"),),
            kind="bargauge",
            about="0: it is down, refuses us, or lists everything, and counts nothing.",
        ),
        DashboardPanel(
            "Engines",
            (_Q(_sum("oborona_engine_questions", "engine, outcome"), "{{engine}}: {{outcome}}"),),
            unit="reqps",
        ),
        DashboardPanel(
            "Pictures",
            (_Q(_sum("oborona_reader_pictures", "task, outcome"), "{{task}}: {{outcome}}"),),
            unit="reqps",
        ),
    ),
    "What people say": (
        DashboardPanel(
            "Reports",
            (_Q(_sum("oborona_intake_events", "what, outcome"), "{{what}}: {{outcome}}"),),
            unit="reqps",
        ),
        DashboardPanel(
            "Decided",
            (_Q(_sum("oborona_events_decided", "what, decision"), "{{what}}: {{decision}}"),),
            unit="reqps",
        ),
        DashboardPanel(
            "Share that is believed",
            (
                _Q(
                    f"({_or_zero(_sum('oborona_events_decided', where=_BELIEVED))})"
                    f" / {_sum('oborona_events_decided')}"
                ),
            ),
            unit="percentunit",
        ),
        DashboardPanel(
            "Delivered mail, rechecked",
            (_Q(_sum("oborona_recheck_messages", "outcome"), "{{outcome}}"),),
            unit="reqps",
        ),
        DashboardPanel(
            "Moves",
            (
                _Q(_or_zero(_sum("oborona_recheck_moves", where='outcome="moved"')), "moved"),
                _Q(_or_zero(_sum("oborona_recheck_moves", where='outcome!="moved"')), "not moved"),
                _Q(_gauge("max", "oborona_recheck_paused"), "paused"),
            ),
        ),
    ),
    "Rules and models": (
        DashboardPanel(
            "Rules that hit most",
            (_Q(f"topk(20, sum by (rule) (rate({_HITS}{_RATE})))", "{{rule}}"),),
            unit="reqps",
        ),
        DashboardPanel(
            "Rules that hit otherwise than a day before",
            (
                _Q(
                    f"topk(10, abs({_HOUR} - ({_HOUR_BEFORE} or 0 * {_HOUR})))",
                    "{{rule}}",
                ),
            ),
            unit="reqps",
            about="By how much, in the hour before; a rule that was changed, or mail that was.",
        ),
        DashboardPanel(
            "Shadow mode would have",
            (_Q(_or_zero(_sum("oborona_would")), "made another verdict"),),
            unit="reqps",
        ),
        DashboardPanel(
            "Signatures found",
            (
                _Q(_or_zero(_sum("oborona_signature_hits", where='mode="live"')), "live"),
                _Q(_or_zero(_sum("oborona_signature_hits", where='mode="shadow"')), "shadow"),
            ),
            unit="reqps",
        ),
        DashboardPanel(
            "Content model: learned",
            (_Q(_gauge("max", "oborona_model_learned", "kind"), "{{kind}}"),),
        ),
        DashboardPanel(
            "Content model: labels",
            (_Q(_gauge("max", "oborona_model_words", "state, kind"), "{{state}}: {{kind}}"),),
        ),
    ),
    "Stores": (
        DashboardPanel(
            "Stores on the disk",
            (_Q(_gauge("max", "oborona_store_bytes", "store"), "{{store}}"),),
            unit="bytes",
            stacked=True,
        ),
        DashboardPanel(
            "Behind",
            (
                _Q(_gauge("max", "oborona_counters_behind_seconds"), "counters"),
                _Q(_gauge("max", "oborona_journal_behind_seconds", "follower"), "{{follower}}"),
            ),
            unit="s",
            about="The writer behind the workers; index and search files behind the journal.",
        ),
        DashboardPanel(
            "Oldest that waits",
            (
                _Q(_gauge("max", "oborona_late_age_seconds"), "pictures"),
                _Q(_gauge("max", "oborona_events_age_seconds"), "reports"),
            ),
            unit="s",
        ),
        DashboardPanel(
            "Waiting",
            (
                _Q(_gauge("sum", "oborona_late_waiting"), "messages with pictures"),
                _Q(_gauge("sum", "oborona_events_waiting"), "reports"),
                _Q(_gauge("sum", "oborona_recheck_waiting"), "changes to recheck by"),
            ),
        ),
    ),
    "Processes": (
        DashboardPanel(
            "Memory by process",
            (_Q(_gauge("max", "oborona_process_memory_bytes", "process"), "{{process}}"),),
            unit="bytes",
        ),
        DashboardPanel(
            "Processor by process",
            (_Q(_sum("oborona_process_cpu_seconds", "process"), "{{process}}"),),
            unit="percentunit",
        ),
        DashboardPanel(
            "Open files by process",
            (_Q(_gauge("max", "oborona_process_open_files", "process"), "{{process}}"),),
        ),
        DashboardPanel(
            "Starts in an hour",
            (
                _Q(
                    f"sum by (process) (increase(oborona_process_starts_total{{{_ON}}}[1h]))",
                    "{{process}}",
                ),
            ),
        ),
    ),
}
