"""`oborona attach` and the DNS lists that are free for a site: what is asked and shown, what is
written, and what is left as it is.
"""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oborona.cli import main
from oborona.cli.free_lists.file import KEPT_IN
from oborona.policy.folders import PACKAGED

SIZE = ("--messages-a-day", "20000", "--no-commercial")
ON = "DNS lists: 8 of 12 are on; [free_lists] is on for 20,000 messages a day of its own mail"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Settings of a site that has no policy folder yet."""
    (tmp_path / "oborona.toml").write_text("[paths]\n")
    return tmp_path


def attach(site: Path, *words: str, server: str = "exim") -> Result:
    command = ["--config", str(site / "oborona.toml"), "attach", server, *words]
    return CliRunner().invoke(main, command, catch_exceptions=False)


def kept(site: Path) -> dict[str, object]:
    table = tomllib.loads((site / "policy.d" / KEPT_IN).read_text())
    assert table.keys() == {"free_lists"}
    return dict(table["free_lists"])


def test_without_a_word_nothing_is_turned_on_and_it_is_said_how(site: Path) -> None:
    done = attach(site)
    assert done.exit_code == 0
    assert "DNS lists: none was turned on" in done.stdout
    assert "oborona attach --messages-a-day N --no-commercial" in done.stdout
    assert not (site / "policy.d").exists()
    assert "none was turned on" in attach(site, "--yes").stdout
    assert not (site / "policy.d").exists()


def test_the_size_turns_on_what_is_free_and_shows_its_terms(site: Path) -> None:
    done = attach(site, "--yes", *SIZE)
    assert done.exit_code == 0, done.output
    assert kept(site) == {"enabled": True, "messages_a_day": 20000, "commercial": False}
    assert "SPAMHAUS_DBL, asked about helo, rdns, sender, from, links: 2 spam" in done.stdout
    assert "    terms: Free for non-commercial use" in done.stdout
    assert "left off: URIBL: free below 10,000 messages a day" in done.stdout
    assert "BARRACUDA" not in done.stdout
    assert ON in done.stdout
    assert (site / "policy.d").stat().st_mode & 0o777 == 0o755
    assert (site / "policy.d" / KEPT_IN).stat().st_mode & 0o777 == 0o644


def test_a_second_time_changes_nothing_and_asks_nothing(site: Path) -> None:
    attach(site, "--yes", *SIZE)
    file = site / "policy.d" / KEPT_IN
    before = file.stat().st_ino, file.read_bytes()
    again = attach(site, "--yes", *SIZE)
    assert again.exit_code == 0
    assert ON in again.stdout
    assert "a running daemon takes it" not in again.stdout
    plain = attach(site, "--yes")
    assert ON in plain.stdout
    assert "none was turned on" not in plain.stdout
    assert (file.stat().st_ino, file.read_bytes()) == before


def test_another_size_keeps_what_an_admin_added_and_none_turns_off(site: Path) -> None:
    attach(site, "--yes", *SIZE)
    file = site / "policy.d" / KEPT_IN
    file.write_text(file.read_text() + 'mode = "shadow"\n')
    attach(site, "--yes", "--messages-a-day", "90000", "--commercial")
    assert kept(site) == {
        "enabled": True,
        "messages_a_day": 90000,
        "commercial": True,
        "mode": "shadow",
    }
    off = attach(site, "--yes", "--lists", "none")
    assert off.exit_code == 0
    assert "DNS lists: none is on; [free_lists] is off" in off.stdout
    assert kept(site)["enabled"] is False


def test_a_dry_run_shows_and_writes_nothing(site: Path) -> None:
    done = attach(site, "--dry-run", *SIZE)
    assert done.exit_code == 0
    assert "SPAMHAUS_ZEN, asked about client" in done.stdout
    assert not (site / "policy.d").exists()


def test_options_without_a_yes_and_a_terminal_change_nothing(site: Path) -> None:
    done = attach(site, *SIZE)
    assert done.exit_code == 1
    assert "no DNS list was turned on or off; --yes does it" in done.stderr
    assert not (site / "policy.d").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--messages-a-day", "20000"), "--messages-a-day N, and --commercial or --no-commercial"),
        (("--commercial",), "--messages-a-day N, and --commercial or --no-commercial"),
        (("--lists", "none", *SIZE), "--lists none goes with no size"),
        (("--messages-a-day", "0", "--commercial"), "0 is not in the range"),
        (("--messages-a-day", "many", "--commercial"), "'many' is not a valid integer"),
        (("--lists", "all"), "'all' is not 'none'"),
    ],
)
def test_a_wrong_word_is_told_before_anything_is_done(
    site: Path, words: tuple[str, ...], why: str
) -> None:
    done = attach(site, "--yes", *words)
    assert done.exit_code == 2
    assert why in " ".join(done.stderr.split())
    assert "Exim is not changed" not in done.stdout
    assert not (site / "policy.d").exists()


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        (
            "90-local.toml",
            "[free_lists]\nmessages_a_day = 7\n",
            "[free_lists] stands in {folder}/90-local.toml:2: change it there",
        ),
        (
            KEPT_IN,
            "[verdict]\nspam_score = 90\n",
            "{folder}/85-free-lists.toml holds more than [free_lists] (verdict): change it there",
        ),
    ],
)
def test_what_an_admin_wrote_stays(site: Path, name: str, text: str, why: str) -> None:
    folder = site / "policy.d"
    folder.mkdir()
    (folder / name).write_text(text)
    done = attach(site, "--yes", *SIZE)
    assert done.exit_code
    assert why.format(folder=folder) in done.stderr
    assert [(file.name, file.read_text()) for file in folder.iterdir()] == [(name, text)]


def test_a_policy_that_is_broken_is_no_lists_matter_unless_they_are_asked_for(site: Path) -> None:
    (site / "policy.d").mkdir()
    (site / "policy.d/90-local.toml").write_text("nonsense = 1\n")
    plain = attach(site)
    assert plain.exit_code == 0
    assert "note: DNS lists are not offered: " in plain.stderr
    assert attach(site, "--yes", *SIZE).exit_code == os.EX_CONFIG
    assert [file.name for file in (site / "policy.d").iterdir()] == ["90-local.toml"]


def test_a_site_without_a_policy_folder_of_its_own_is_told_so(site: Path) -> None:
    """As where the daemon runs in a clone, on the policy that ships."""
    (site / "oborona.toml").write_text(f'[paths]\npolicy = "{PACKAGED}"\n')
    plain = attach(site)
    assert plain.exit_code == 0
    assert "note: DNS lists are not offered: paths.policy is the folder that ships" in plain.stderr
    assert attach(site, "--yes", *SIZE).exit_code == os.EX_CONFIG
    assert not (PACKAGED / KEPT_IN).exists()


def test_a_list_that_is_switched_by_hand_is_not_offered(site: Path) -> None:
    (site / "policy.d").mkdir()
    (site / "policy.d/90-local.toml").write_text('[[dns_list]]\nname = "PSBL"\nenabled = false\n')
    done = attach(site, "--yes", *SIZE)
    assert "PSBL" not in done.stdout
    assert "DNS lists: 7 of 12 are on" in done.stdout


def at_terminal(site: Path, answers: str) -> tuple[int, str]:
    """Attach at a terminal of its own; return the exit status and all that was shown."""
    mine, its = pty.openpty()
    config = str(site / "oborona.toml")
    command = [str(Path(sys.executable).with_name("oborona")), "--config", config, "attach", "exim"]
    process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, close_fds=True)
    os.close(its)
    os.write(mine, answers.encode())
    shown = b""
    try:
        while more := os.read(mine, 65536):
            shown += more
    except OSError:  # the other end is closed: Linux has no end of file there
        pass
    os.close(mine)
    return process.wait(60), shown.decode()


@pytest.mark.parametrize(
    ("answers", "values"),
    [
        ("20000\nn\ny\n", {"enabled": True, "messages_a_day": 20000, "commercial": False}),
        ("many\n500\ny\ny\n", {"enabled": True, "messages_a_day": 500, "commercial": True}),
        ("20000\nn\nn\n", None),
        ("0\n", None),
    ],
)
def test_a_terminal_is_asked(site: Path, answers: str, values: dict[str, object] | None) -> None:
    status, shown = at_terminal(site, answers)
    assert status == 0, shown
    assert "how many messages come on a busy day" in shown
    if values is None:
        assert "none was turned on" in shown
        assert not (site / "policy.d").exists()
    else:
        assert "terms: Free" in shown
        assert kept(site) == values
