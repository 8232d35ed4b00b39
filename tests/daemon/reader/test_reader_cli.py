"""The reader on the command line: what an admin is told of it, and `check` and `explain` that look
at pictures without it.
"""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from oborona.cli import main
from tests.daemon.reader.mails import FEW_WORDS, code, drawn, letter


def run(state: Path, *words: str, **settings: str) -> Result:
    sets = [
        word for name, value in settings.items() for word in ("--set", f"reader.{name}={value}")
    ]
    return CliRunner().invoke(main, ["--state", str(state), *sets, *words])


def test_a_reader_that_is_switched_off_is_not_run(tmp_path: Path) -> None:
    found = run(tmp_path, "reader", enabled="false")
    assert found.exit_code == 2
    assert "reader.enabled is off" in found.stderr


def test_check_looks_at_codes_by_itself(tmp_path: Path) -> None:
    mail = tmp_path / "mail.eml"
    mail.write_bytes(letter(code("https://casino.example/win")))
    seen = json.loads(run(tmp_path, "check", "--json", str(mail)).stdout)
    assert "CODE_FROM_STRANGER" in {rule["name"] for rule in seen["rules"]}
    blind = json.loads(run(tmp_path, "check", "--json", str(mail), enabled="false").stdout)
    assert "CODE_FROM_STRANGER" not in {rule["name"] for rule in blind["rules"]}


def test_explain_reads_what_the_daemon_would_read(tmp_path: Path) -> None:
    mail = tmp_path / "mail.eml"
    mail.write_bytes(letter(drawn("Meet us at the harbour"), words=FEW_WORDS))
    policy = tmp_path / "policy.d"
    policy.mkdir()
    (policy / "10.toml").write_text(
        '[verdict]\nreject_score = 200\n[[rule]]\nname = "GREY"\nwhen = '
        '"pictures.only"\nscore = 40\n'
    )
    words = [
        "--state",
        str(tmp_path),
        "--set",
        f"paths.policy={policy}",
        "--set",
        "paths.shipped_policy=none",
        "explain",
        "-v",
        str(mail),
    ]
    assert "harbour" in CliRunner().invoke(main, words).stdout


def test_the_doctor_says_what_is_missing(tmp_path: Path) -> None:
    tessdata = tmp_path / "none"
    told = _unfolded(run(tmp_path, "doctor", tessdata=str(tessdata)).stdout)
    words = (
        f"not there: rus.traineddata, eng.traineddata in {tessdata}; text in pictures is not read"
    )
    assert words.replace(" ", "") in told
    assert "doesnotrun,ornotyet" in told
    assert "reader.enabled is off" in run(tmp_path, "doctor", enabled="false").stdout


def _unfolded(table: str) -> str:
    """The last column of a table, in one line without blanks."""
    return "".join("".join(line.rpartition("│")[2].split()) for line in table.splitlines())
