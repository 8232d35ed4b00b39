"""The alert rules that ship, as Prometheus's promtool judges them: each fires when it should."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

RULES: Final = Path(__file__).resolve().parents[2] / "etc/prometheus/oborona.rules"
RUNBOOK: Final = RULES.parents[2] / "docs/operate/alerts.md"
ALERTS: Final = tuple(re.findall(r"- alert: (\w+)", RULES.read_text()))
MINUTES: Final = 180
DAY: Final = 1500  # minutes, and some: what is compared with an average day needs one
ON, OFF = f"1x{MINUTES}", f"0x{MINUTES}"
GROWS, STANDS = f"0+60x{MINUTES}", f"5x{MINUTES}"  # one a second; as it is

Series = dict[str, str]
BUSY_TRAFFIC = 'oborona_verdicts_total{stage="connect",action="reject"}'
SIGNATURE_HITS = 'oborona_signature_hits_total{flag="spam",mode="live"}'
FLOOD = f"0+60x{DAY - 30} {60 * (DAY - 30)}+6000x30"
SCANS = 'oborona_stage_seconds_count{door="milter",stage="content"}'
SLOW_BUCKET = 'oborona_stage_seconds_bucket{door="milter",stage="content",le="3.0"}'

FIRES: Final[dict[str, Series]] = {
    "OboronaProcessHung": {'oborona_process_hung_total{process="worker"}': "0x120 1x60"},
    "OboronaProcessDies": {'oborona_process_deaths_total{process="worker"}': "0x170 1+1x10"},
    "OboronaSetApart": {"oborona_set_apart_total": "0x150 1x30"},
    "OboronaDnsListSick": {'oborona_dns_list_healthy{list="a"}': OFF},
    "OboronaEngineAway": {'oborona_engine_away{engine="clamd"}': ON},
    "OboronaDnsSlow": {
        'oborona_dns_total{event="timeouts"}': f"0+6x{MINUTES}",
        'oborona_dns_total{event="sent"}': GROWS,
    },
    "OboronaRefusesALot": {BUSY_TRAFFIC: FLOOD},
    "OboronaBusy": {"oborona_busy_total": GROWS},
    "OboronaDoorBroken": {'oborona_door_total{door="http",outcome="broken"}': GROWS},
    "OboronaPolicyRefused": {"oborona_policy_wrong": ON},
    "OboronaPolicyStuck": {"oborona_policy_stuck": ON},
    "OboronaReaderAway": {'oborona_pictures_total{outcome="away"}': GROWS},
    "OboronaReaderBehind": {'oborona_late_total{outcome="dropped"}': GROWS},
    "OboronaPicturesStopped": {'oborona_reader_pictures_total{outcome="stopped"}': GROWS},
    "OboronaSignaturesStale": {"oborona_signatures_stale": ON},
    "OboronaPinsStale": {"oborona_pins_stale": ON},
    "OboronaNextHopAway": {"oborona_next_hop_trouble_total": GROWS},
    "OboronaSignaturesFindALot": {SIGNATURE_HITS: FLOOD},
    "OboronaIntakeStuck": {"oborona_intake_stuck": ON},
    "OboronaAlertsFail": {'oborona_alerts_total{outcome="failed"}': GROWS},
    "OboronaTrapsNotWritten": {'oborona_traps_total{outcome="failed"}': GROWS},
    "OboronaIntakeRefuses": {'oborona_intake_refused_total{door="http"}': GROWS},
    "OboronaTrainerAway": {"oborona_up": ON},
    "OboronaTrainerBehind": {'oborona_model_words{state="queued"}': f"2000x{MINUTES}"},
    "OboronaModelWrong": {"oborona_model_wrong": ON},
    "OboronaFinalModelWrong": {"oborona_final_wrong": ON},
    "OboronaStoreLost": {'oborona_store_lost_seconds{store="journal.db"}': f"600x{MINUTES}"},
    "OboronaStoreOff": {'oborona_store_off{store="journal.db"}': ON},
    "OboronaEventLogsAway": {"oborona_eventlog_up": "1x100 0x80"},
    "OboronaEventLogWaits": {'oborona_eventlog_trouble{log="clicks"}': ON},
    "OboronaEventLogLate": {
        'oborona_eventlog_waiting_tables{log="clicks"}': f"3x{MINUTES}",
        'oborona_eventlog_delay_seconds{log="clicks"}': f"0+60x{MINUTES}",
    },
    "OboronaEventLogSetAside": {'oborona_eventlog_set_aside{log="clicks"}': "0x160 1x20"},
    "OboronaDown": {"up": ON},
    "OboronaProcessAway": {'oborona_process_serves{process="keeper"}': OFF},
    "OboronaScansSlow": {SLOW_BUCKET: GROWS, SCANS: f"0+64x{MINUTES}"},
    "OboronaPolicyLateWorkers": {"oborona_policy_late_workers": ON},
    "OboronaLateWaits": {"oborona_late_age_seconds": f"700x{MINUTES}"},
    "OboronaPersonsStale": {"oborona_persons_stale": ON},
    "OboronaAccountsStale": {"oborona_accounts_stale": ON},
    "OboronaSiteLogAway": {"oborona_site_log_away_seconds": f"0+60x{MINUTES}"},
    "OboronaSiteStoreStuck": {'oborona_site_store_stuck{store="personal.db"}': ON},
    "OboronaSitePolicyBehind": {"oborona_site_policy_behind": ON},
    "OboronaSiteModelsBehind": {"oborona_site_models_behind": ON},
    "OboronaSiteMovesOfNobody": {'oborona_recheck_moves_shared{where="nobody"}': f"4x{MINUTES}"},
    "OboronaRecheckPaused": {"oborona_recheck_paused": f"0x{MINUTES - 1} 1"},
    "OboronaRecheckStuck": {"oborona_recheck_stuck": ON},
    "OboronaEventsTrouble": {"oborona_events_trouble": ON},
    "OboronaEventsWait": {"oborona_events_age_seconds": f"0+60x{MINUTES}"},
    "OboronaCountersBehind": {"oborona_counters_behind_seconds": f"90x{MINUTES}"},
    "OboronaJournalBehind": {'oborona_journal_behind_seconds{follower="index"}': f"0+60x{MINUTES}"},
    "OboronaDiskFills": {"oborona_state_free_bytes": f"9e9-2e7x{MINUTES}"},
    "OboronaFinalTrainingFailed": {"oborona_final_training_failed": ON},
    "OboronaFlowsTrouble": {"oborona_flows_trouble": ON},
    "OboronaOwnListed": {'oborona_own_listed{list="ZEN"}': f"2x{MINUTES}"},
}
"""What makes each alert fire at the end of three hours."""
CALM: Final[Series] = {
    'oborona_process_hung_total{process="worker"}': STANDS,
    'oborona_process_deaths_total{process="worker"}': f"0x100 1x{MINUTES - 100}",
    "oborona_set_apart_total": STANDS,
    'oborona_dns_list_healthy{list="a"}': ON,
    'oborona_engine_away{engine="clamd"}': OFF,
    'oborona_dns_total{event="timeouts"}': f"0+1x{MINUTES}",
    'oborona_dns_total{event="sent"}': GROWS,
    BUSY_TRAFFIC: GROWS,
    "oborona_busy_total": STANDS,
    'oborona_door_total{door="http",outcome="broken"}': f"0+1x{MINUTES}",
    "oborona_policy_wrong": OFF,
    "oborona_policy_stuck": OFF,
    'oborona_pictures_total{outcome="away"}': STANDS,
    'oborona_late_total{outcome="dropped"}': STANDS,
    'oborona_reader_pictures_total{outcome="stopped"}': STANDS,
    "oborona_signatures_stale": OFF,
    "oborona_pins_stale": OFF,
    "oborona_next_hop_trouble_total": STANDS,
    SIGNATURE_HITS: GROWS,
    "oborona_intake_stuck": OFF,
    'oborona_alerts_total{outcome="failed"}': STANDS,
    'oborona_traps_total{outcome="failed"}': STANDS,
    'oborona_intake_refused_total{door="mail"}': GROWS,
    "oborona_up": ON,
    "oborona_trainer_up": ON,
    'oborona_model_words{state="queued"}': f"10x{MINUTES}",
    "oborona_model_wrong": OFF,
    "oborona_final_wrong": OFF,
    'oborona_store_lost_seconds{store="journal.db"}': "-200000x180",
    'oborona_store_off{store="journal.db"}': OFF,
    "oborona_eventlog_up": ON,
    'oborona_eventlog_trouble{log="clicks"}': OFF,
    'oborona_eventlog_waiting_tables{log="clicks"}': "0 3 0 2 0x176",
    'oborona_eventlog_delay_seconds{log="clicks"}': f"20x{MINUTES}",
    'oborona_eventlog_set_aside{log="clicks"}': STANDS,
    'oborona_process_serves{process="keeper"}': f"0x3 1x{MINUTES - 3}",
    SLOW_BUCKET: GROWS,
    SCANS: f"0+62x{MINUTES}",
    "oborona_policy_late_workers": f"0x90 1x5 0x{MINUTES - 95}",
    "oborona_late_age_seconds": f"70x{MINUTES}",
    "oborona_persons_stale": OFF,
    "oborona_accounts_stale": OFF,
    "oborona_site_log_away_seconds": f"0x40 30 0x{MINUTES - 41}",
    'oborona_site_store_stuck{store="personal.db"}': OFF,
    "oborona_site_policy_behind": OFF,
    "oborona_site_models_behind": OFF,
    'oborona_recheck_moves_shared{where="nobody"}': OFF,
    "oborona_recheck_paused": OFF,
    "oborona_recheck_stuck": OFF,
    "oborona_events_trouble": OFF,
    "oborona_events_age_seconds": f"40x{MINUTES}",
    "oborona_counters_behind_seconds": f"0.3x{MINUTES}",
    'oborona_journal_behind_seconds{follower="search"}': f"0 5 0 200 0x{MINUTES - 4}",
    "oborona_state_free_bytes": f"9e10-1e6x{MINUTES}",
    "oborona_final_training_failed": OFF,
    "oborona_flows_trouble": OFF,
    'oborona_own_listed{list="ZEN"}': OFF,
}
"""A site on which nothing is wrong."""


def judged(tmp_path: Path, series: Series, fired: dict[str, int], minutes: int = MINUTES) -> str:
    """Return what promtool says of alerts that are to fire at the end, and of others."""
    test: dict[str, Any] = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})',
                "eval_time": f"{minutes}m",
                "exp_samples": [{"labels": "{}", "value": count}] if count else [],
            }
            for alert, count in fired.items()
        ],
    }
    path = tmp_path / "test.yml"
    path.write_text(json.dumps({"rule_files": [str(RULES)], "tests": [test]}))  # JSON is YAML
    done = subprocess.run(
        ["promtool", "test", "rules", path], capture_output=True, text=True, check=False, timeout=60
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_promtool_finds_the_rules_sound() -> None:
    done = subprocess.run(
        ["promtool", "check", "rules", RULES], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_has_a_severity_and_a_case() -> None:
    severities = re.findall(r"severity: (\w+)", RULES.read_text())
    assert len(severities) == len(ALERTS)
    assert set(severities) == {"critical", "warning"}
    assert FIRES.keys() == set(ALERTS)


def test_each_alert_has_its_section_of_what_to_do() -> None:
    links = re.findall(r'runbook_url: "docs/operate/alerts\.md#(\w+)"', RULES.read_text())
    assert links == [alert.lower() for alert in ALERTS]
    sections = re.split(r"^## ", RUNBOOK.read_text(), flags=re.MULTILINE)[1:]
    told = {head: text for head, _, text in (section.partition("\n") for section in sections)}
    assert [name for name in told if name.startswith("Oborona")] == sorted(ALERTS)
    for alert in ALERTS:
        assert len(told[alert].split()) >= 20, f"{alert}: what is one to do?"


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_fires(tmp_path: Path, alert: str) -> None:
    minutes = DAY if FLOOD in FIRES[alert].values() else MINUTES
    assert judged(tmp_path, FIRES[alert], {alert: 1}, minutes) == ""


def test_none_fires_on_a_calm_site(tmp_path: Path) -> None:
    assert judged(tmp_path, CALM, dict.fromkeys(ALERTS, 0)) == ""


def test_a_steady_day_is_no_flood(tmp_path: Path) -> None:
    steady = dict.fromkeys((BUSY_TRAFFIC, SIGNATURE_HITS), f"0+60x{DAY}")
    fired = {"OboronaRefusesALot": 0, "OboronaSignaturesFindALot": 0}
    assert judged(tmp_path, steady, fired, DAY) == ""
