"""What the command line refuses or can't do: addresses that are none, files that can't be read,
output that can't be written.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oborona.cli import main
from oborona.daemon.serve import AS_ROOT
from oborona.journal import schema
from tests.peers.oborona import PROGRAM, Oborona

LETTER = b"From: Ann <ann@a.example>\nTo: bob@b.example\nSubject: Lunch\n\nAt noon?\n"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def letter(tmp_path: Path) -> Path:
    path = tmp_path / "letter.eml"
    path.write_bytes(LETTER)
    return path


def run(state: Path, *words: object) -> Result:
    return CliRunner().invoke(
        main, ["--state", str(state / "state"), *map(str, words)], catch_exceptions=False, env={"COLUMNS": "300"}
    )  # fmt: skip


# --- the envelope ---


@pytest.mark.parametrize("command", ["check", "explain"])
@pytest.mark.parametrize(
    ("option", "text"),
    [
        *(
            ("--ip", text)
            for text in ("999.1.1.1", "a b", "2001:db8::zz", "[192.0.2.1]", "192.0.2.1/24", " ")
        ),
        *(
            (option, text)
            for option in ("--from", "--rcpt")
            for text in ("a b@c.example", "a@c.example\r\n", "a\x00@b", "\x7f", "\ta")
        ),
    ],
)
def test_what_is_no_address_is_wrong_usage(
    tmp_path: Path, letter: Path, command: str, option: str, text: str
) -> None:
    told = run(tmp_path, command, letter, option, text)
    assert told.exit_code == 2
    assert option in told.stderr
    assert not told.stdout


@pytest.mark.parametrize("option", ["--ip", "--from", "--name", "--helo", "--login"])
def test_an_empty_option_is_none(tmp_path: Path, letter: Path, option: str) -> None:
    assert run(tmp_path, "check", letter, option, "").exit_code == 0


def test_an_address_has_one_spelling(tmp_path: Path, letter: Path) -> None:
    def explained(ip: str, sender: str, recipient: str) -> str:
        told = run(
            tmp_path, "explain", letter, "--ip", ip, "--from", sender, "--rcpt", recipient
        ).stdout
        return re.sub(r"\b1\d{9}\b", "", told)  # what time it is

    written = explained("2001:DB8:0::1", "<x@x.example>", "<y@y.example>")
    assert written == explained("2001:db8::1", "x@x.example", "y@y.example")
    assert written != explained("2001:db8::1", "x@x.example", "z@y.example")


def test_explain_takes_the_envelope_of_a_file_and_of_nothing_else(
    tmp_path: Path, letter: Path
) -> None:
    told = run(
        tmp_path,
        "explain",
        letter,
        "--ip",
        "2001:DB8::1",
        "--helo",
        "mx.x.example",
        "--login",
        "joe",
    )
    assert told.exit_code == 0
    for value in ("2001:db8::1", "mx.x.example", "joe"):
        assert value in told.stdout
    assert run(tmp_path, "explain", "0S9YJ9Z0C04MC", "--helo", "mx.x.example").exit_code == 2


# --- what is read ---


@pytest.mark.parametrize("command", ["check", "explain"])
def test_what_is_no_message_file_is_said_and_not_waited_for(tmp_path: Path, command: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "empty").mkdir()
    for name, words in (
        ("fifo", "neither a file nor a folder"),
        ("broken", "leads nowhere"),
        ("loop", "leads nowhere"),
        ("empty", "no message files"),
    ):
        told = run(tmp_path, command, tmp_path / name)
        assert told.exit_code == os.EX_NOINPUT, name
        assert f"{tmp_path / name}: " in told.stderr
        assert words in told.stderr
    assert run(tmp_path, command, "/dev/zero").exit_code == os.EX_NOINPUT


def test_a_folder_gives_what_can_be_read_and_names_the_rest(tmp_path: Path) -> None:
    folder = tmp_path / "mail"
    folder.mkdir()
    os.mkfifo(folder / "0-fifo")
    (folder / "1-broken").symlink_to("nowhere")
    (folder / "2-broken").symlink_to("nowhere")
    (folder / "3-letter").write_bytes(LETTER)
    (folder / "4-link").symlink_to("3-letter")
    told = run(tmp_path, "check", "--json", folder)
    assert [json.loads(line)["file"] for line in told.stdout.splitlines()] == [
        f"{folder}/3-letter",
        f"{folder}/4-link",
    ]
    assert told.exit_code == os.EX_NOINPUT
    assert (
        f"{folder}/1-broken: is a link that leads nowhere, to nowhere (and 1 more in {folder})"
    ) in told.stderr
    assert run(tmp_path, "policy", "check", "--ham", folder).exit_code == os.EX_NOINPUT


# --- what is written ---

COMMANDS = ["check", "check --json", "explain", "policy show", "doctor"]


def _command(words: str, state: Path, letter: Path) -> list[str]:
    files = [str(letter)] if words.startswith(("check", "explain")) else []
    return [str(PROGRAM), "--state", str(state), *words.split(), *files]


@pytest.mark.parametrize("words", COMMANDS)
def test_a_full_output_is_not_blamed_on_what_was_read(
    tmp_path: Path, letter: Path, words: str
) -> None:
    with Path("/dev/full").open("w") as full:
        told = subprocess.run(
            _command(words, tmp_path / "state", letter),
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert told.returncode == os.EX_IOERR
    assert told.stderr.splitlines()[-1] == "oborona: standard output: No space left on device"
    assert str(letter) not in told.stderr


@pytest.mark.parametrize("words", COMMANDS)
def test_a_reader_who_leaves_ends_it_quietly(tmp_path: Path, letter: Path, words: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as closed:  # noqa: PTH123 - of a descriptor
        told = subprocess.run(
            _command(words, tmp_path / "state", letter),
            stdout=closed, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert told.returncode == 0
    assert "ipe" not in told.stderr


# --- doctor, serve, setup ---


def test_doctor_opens_the_journal(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    journal = state / "journal.db"
    schema.open_writer(journal).close()
    assert "can be read: 0 verdicts" in run(tmp_path, "doctor").stdout

    with sqlite3.connect(journal) as db:
        db.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    db.close()
    told = run(tmp_path, "doctor")
    assert told.exit_code == 1
    assert "written by a newer one" in told.stdout

    journal.write_bytes(b"no database at all" * 1000)
    told = run(tmp_path, "doctor")
    assert told.exit_code == 1
    assert "is damaged" in told.stdout


@pytest.fixture
def closed_folder(open_folder: Path) -> Iterator[Path]:
    folder = open_folder / "closed"
    folder.mkdir(mode=0o700)
    yield folder
    folder.chmod(0o700)


def test_a_daemon_behind_a_closed_folder_warns(closed_folder: Path) -> None:
    address = {"doors.milter.listen": f"unix:{closed_folder}/milter.sock", "worker.processes": 1}
    with Oborona(address) as oborona:
        assert f"warning: {closed_folder} is closed to others" in oborona.log()
        assert f"{closed_folder} is closed to others" in oborona.run("doctor").stdout.replace(
            "\n", ""
        )
    closed_folder.chmod(0o711)
    with Oborona(address) as oborona:
        said = [
            line for line in oborona.log().splitlines() if "warning" in line and AS_ROOT not in line
        ]
        assert said == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run it as somebody else")
def test_setup_without_root_and_sudo_names_the_packages(open_folder: Path) -> None:
    """Nothing is found in an empty PATH but what the script itself needs."""
    programs = open_folder / "bin"
    programs.mkdir()
    for name in ("bash", "dirname", "id", "env"):
        found = shutil.which(name)
        assert found
        (programs / name).symlink_to(found)
    (programs / "apt-get").symlink_to("/bin/false")
    shutil.copy(ROOT / "setup", open_folder / "setup")
    told = subprocess.run(
        [programs / "bash", open_folder / "setup", "run"],
        env={"PATH": str(programs), "PYTHON": "python3"}, user="nobody", group="nogroup", extra_groups=[], cwd=open_folder,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert told.returncode == 1
    (line,) = told.stderr.splitlines()
    assert "apt-get install" in line
    assert "gcc" in line
    assert "python3-venv" in line


# --- the doors ---


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_a_service_without_doors_does_not_start(tmp_path: Path, command: str) -> None:
    words = ["--state", str(tmp_path / "state"), "--set", "doors.milter.listen=", command]
    done = subprocess.run(
        [PROGRAM, *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode != 0
    assert "no listener is set" in done.stderr
    assert not (tmp_path / "state").exists()


def test_the_delivery_door_is_a_door(tmp_path: Path) -> None:
    settings = {"doors.milter.listen": "", "doors.delivery.listen": f"unix:{tmp_path}/lmtp.sock"}
    with Oborona(settings) as daemon:
        assert "ready on the delivery listener" in daemon.log()
