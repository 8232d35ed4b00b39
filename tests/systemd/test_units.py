"""The units: without a warning, hardened, alike, and such that the service runs under them."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona import state_files
from oborona.daemon.confinement.egress import ALLOWED

ROOT = Path(__file__).resolve().parents[2]
QUEUE = ROOT / "systemd/oborona-queue.service"  # root's, and no daemon
HOOK = ROOT / "systemd/oborona-hook.service"  # so is it
FEED = ROOT / "systemd/oborona-feed.service"  # the daemon's user's, and no daemon
UNITS = sorted(set((ROOT / "systemd").glob("*.service")) - {QUEUE, HOOK, FEED})
NAMES = [unit.stem for unit in UNITS]
DESK = "--set console.desk=unix:/run/oborona-desk/desk.sock"
KINDS = (".service", ".target", ".path", ".timer")
PROGRAM = "/usr/local/bin/oborona"
OF_THE_READER = {("SystemCallFilter", "setpriority")}  # its children are put behind all else
OF_THE_KEEPER = {("ReadWritePaths", "-/var/lib/oborona-tables")}  # where it exports tables
OF_THE_FLOWS = {("ReadWritePaths", "-/var/spool/oborona-flows")}  # where JSON lines are put
OF_THE_INTAKE = {
    ("RuntimeDirectory", "oborona oborona-intake"),
    ("RuntimeDirectory", "oborona-intake"),
    ("RuntimeDirectory", "oborona"),
    ("ReadWritePaths", "-/var/spool/oborona"),
    ("ReadWritePaths", "-/var/spool/postfix/oborona"),
}  # where its sockets and its spool lie
OPTIONAL = {f"oborona-{name}" for name in ("intake", "flows", "eventlog", "desk", "console")}
OF_THE_DOORS = {("FileDescriptorStoreMax", "64")}  # their ports outlive a restart
LISTENING = {"oborona", "oborona-worker", "oborona-intake"}
# measured, with two workers
IDLE_MIB = dict.fromkeys(NAMES, 120) | {
    "oborona": 280,
    "oborona-worker": 200,
    "oborona-eventlog": 200,
}
THREADS = 40  # of one process at most: asyncio's pool has 32
EXPOSURE = 10  # tenths: 1.0
# what a person waits for gives way to what mail waits for
EXPOSURES = {"oborona": 11, "oborona-desk": 11}
EXPOSURE_OF_FEED = 13  # it asks a server wherever that is
EXPOSURE_OF_ROOT = 30

needs_systemd = pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="needs systemd-analyze"
)


def settings(unit: Path) -> list[tuple[str, str]]:
    pairs = (
        line.partition("=")
        for line in unit.read_text().splitlines()
        if "=" in line and line[0] != "#"
    )
    return [(key, value) for key, _, value in pairs]


def values(unit: Path, key: str) -> list[str]:
    return [value for name, value in settings(unit) if name == key]


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The units with a program that is there, for an analysis that looks for it."""
    for unit in (ROOT / "systemd").iterdir():
        (tmp_path / unit.name).write_text(
            unit.read_text().replace(PROGRAM, str(shutil.which("true")))
        )
    return tmp_path


def test_there_is_a_unit_for_each_process_and_one_for_all() -> None:
    assert {unit: values(path, "ExecStart") for unit, path in zip(NAMES, UNITS, strict=True)} == {
        "oborona": [f"{PROGRAM} serve"],
        "oborona-worker": [f"{PROGRAM} worker"],
        "oborona-writer": [f"{PROGRAM} writer"],
        "oborona-keeper": [f"{PROGRAM} keeper"],
        "oborona-reader": [f"{PROGRAM} reader"],
        "oborona-trainer": [f"{PROGRAM} trainer"],
        "oborona-intake": [f"{PROGRAM} intake"],
        "oborona-flows": [f"{PROGRAM} flows run"],
        "oborona-eventlog": [f"{PROGRAM} eventlog run"],
        "oborona-desk": [f"{PROGRAM} {DESK} desk"],
        "oborona-console": [f"{PROGRAM} {DESK} console"],
    }


@needs_systemd
def test_they_verify_without_a_word(installed: Path) -> None:
    units = sorted(path for path in installed.iterdir() if path.suffix in KINDS)
    assert len(units) == len(UNITS) + 7
    found = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    # the units of the machine's other programs are read with ours, and complained of
    of_others = tuple(f"{folder}/systemd/system/" for folder in ("/lib", "/usr/lib", "/etc"))
    ours = [line for line in found.stderr.splitlines() if not line.startswith(of_others)]
    assert (found.returncode, found.stdout, ours) == (0, "", [])


@needs_systemd
def test_a_misspelt_setting_would_be_noticed(installed: Path) -> None:
    unit = installed / "oborona.service"
    unit.write_text(unit.read_text().replace("ProtectHome=", "ProtectHomes="))
    found = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "ProtectHomes" in found.stderr


@needs_systemd
@pytest.mark.parametrize(
    ("name", "most"),
    [
        *((name, EXPOSURES.get(name, EXPOSURE)) for name in NAMES),
        *((unit.stem, EXPOSURE_OF_ROOT) for unit in (QUEUE, HOOK)),
        (FEED.stem, EXPOSURE_OF_FEED),
    ],
)
def test_their_exposure_is_low(installed: Path, name: str, most: int) -> None:
    found = subprocess.run(
        [
            "systemd-analyze",
            "security",
            "--offline=yes",
            "--no-pager",
            f"--threshold={most}",
            f"{name}.service",
        ],
        cwd=installed,
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{installed}:"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert f"Overall exposure level for {name}.service" in found.stdout


NETWORK = {
    "PrivateNetwork",
    "IPAddressDeny",
    "IPAddressAllow",
    "RestrictAddressFamilies",
}  # the keeper speaks to mailboxes


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("oborona", "oborona-worker"),
        ("oborona-writer", "oborona-keeper"),
        ("oborona-writer", "oborona-reader"),
        ("oborona-writer", "oborona-trainer"),
        ("oborona-worker", "oborona-intake"),
        ("oborona-keeper", "oborona-flows"),
        ("oborona-trainer", "oborona-eventlog"),
    ],
)
def test_units_of_a_kind_are_confined_alike(one: str, other: str) -> None:
    def confinement(name: str) -> list[tuple[str, str]]:
        found = settings(ROOT / "systemd" / f"{name}.service")
        return [
            pair
            for pair in found
            if pair
            not in OF_THE_READER | OF_THE_INTAKE | OF_THE_KEEPER | OF_THE_FLOWS | OF_THE_DOORS
            and not (pair[0] in NETWORK and "oborona-keeper" in (one, other))
            and pair[0]
            not in {
                "Description",
                "After",
                "Before",
                "PartOf",
                "Conflicts",
                "ExecStartPre",
                "ExecStart",
                "ExecStartPost",
                "ExecReload",
                "MemoryMax",
                "TasksMax",
                "WantedBy",
            }
        ]

    assert confinement(one) == confinement(other)


@pytest.mark.parametrize("unit", UNITS, ids=NAMES)
def test_each_has_bounds_that_its_machine_and_its_workers_fit_in(unit: Path) -> None:
    """Of a machine of 1 GiB a quarter stays with the mail server.

    What an idle service has, and a burst of mail, fits into the rest.
    """
    (share,) = values(unit, "MemoryMax")
    assert share.endswith("%"), "a number fits one machine"
    assert IDLE_MIB[unit.stem] * 2 < int(share[:-1]) / 100 * 1024 <= 768
    (tasks,) = map(int, values(unit, "TasksMax"))
    assert tasks >= 6 * THREADS, "of a default pool each"
    assert values(unit, "MemoryHigh") == []
    assert values(unit, "OOMPolicy") == ["continue"], "who was killed is replaced"


def test_a_reload_says_what_came_of_it() -> None:
    for name in ("oborona", "oborona-worker"):
        assert (
            values(ROOT / "systemd" / f"{name}.service", "ExecReload")[-1]
            == f"{PROGRAM} policy reload"
        )


def test_all_in_one_and_one_by_one_never_run_together() -> None:
    parts = [name for name in NAMES if name != "oborona"]
    assert set(values(ROOT / "systemd/oborona.service", "Conflicts")[0].split()) == {
        "oborona.target",
        *(f"{name}.service" for name in parts),
    }
    for name in parts:
        assert values(ROOT / "systemd" / f"{name}.service", "Conflicts") == ["oborona.service"]
        assert values(ROOT / "systemd" / f"{name}.service", "PartOf") == ["oborona.target"]
    assert values(ROOT / "systemd/oborona.target", "Conflicts") == ["oborona.service"]
    assert set(values(ROOT / "systemd/oborona.target", "Wants")[0].split()) == {
        f"{name}.service"
        for name in parts
        # for those who set them up
        if name not in OPTIONAL
    }


@pytest.mark.skipif(not shutil.which("systemd-sysusers"), reason="needs systemd-sysusers")
def test_the_user_can_be_made(tmp_path: Path) -> None:
    found = subprocess.run(
        [
            "systemd-sysusers",
            "--dry-run",
            f"--root={tmp_path}",
            ROOT / "systemd/oborona.sysusers.conf",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    said = found.stdout + found.stderr
    assert "Creating user 'oborona'" in said
    assert "ignoring" not in said


def can_confine() -> bool:
    try:
        ctypes.CDLL("libseccomp.so.2")
    except OSError:
        return False
    return os.geteuid() == 0 and bool(shutil.which("systemd-analyze") and shutil.which("setpriv"))


@pytest.fixture
def folder() -> Iterator[Path]:
    made = tempfile.mkdtemp(dir="/tmp")  # short: it holds a socket
    yield Path(made)
    shutil.rmtree(made)


@pytest.mark.skipif(not can_confine(), reason="needs root, libseccomp and systemd-analyze")
@pytest.mark.parametrize(
    ("unit", "role"),
    [
        ("oborona", "serve"),
        ("oborona-writer", "writer"),
        ("oborona-keeper", "keeper"),
        ("oborona-reader", "reader"),
        ("oborona-trainer", "trainer"),
        ("oborona-intake", "intake"),
        ("oborona-desk", "desk"),
        ("oborona-console", "console"),
    ],
)
def test_the_service_runs_reloads_and_stops_within_its_unit(
    unit: str, role: str, folder: Path
) -> None:
    """No capability, no executable memory, and not one system call that the unit does not grant."""
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager,
        (folder / "log").open("w+") as log,
    ):
        manager.bind(str(folder / "notify"))
        manager.settimeout(60)
        confined = Path(__file__).with_name("confined.py")
        sets = [
            f"--set=doors.milter.listen=unix:{folder}/milter.sock",
            "--set=worker.processes=1",
            f"--set=intake.listen=unix:{folder}/feedback.sock",
            "--set=console.enabled=true",
            f"--set=console.listen=unix:{folder}/pages.sock",
            f"--set=console.desk=unix:{folder}/desk.sock",
        ]
        with subprocess.Popen(
            [
                *("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"),
                *(sys.executable, str(confined), f"{ROOT}/systemd/{unit}.service"),
                *(
                    str(Path(sys.executable).with_name("oborona")),
                    f"--config={ROOT}/etc/oborona.toml",
                ),
                *(f"--state={folder}/state", *sets, role),
            ],
            env={**os.environ, "NOTIFY_SOCKET": str(folder / "notify")},
            stdout=log,
            stderr=log,
        ) as service:
            try:
                while not (said := manager.recv(4096)).startswith(b"READY=1"):
                    pass
                service.send_signal(signal.SIGHUP)
                while not said.startswith(b"RELOADING=1"):
                    said = manager.recv(4096)
                while not said.startswith(b"READY=1"):
                    said = manager.recv(4096)
                if role == "serve":
                    with socket.socket(socket.AF_UNIX) as client:
                        client.connect(str(folder / "milter.sock"))
                service.terminate()
                assert service.wait(60) == 0
            finally:
                service.kill()
        log.seek(0)
        assert "was killed" not in log.read()


def test_the_hand_in_the_queue_is_started_by_the_mark_and_touches_nothing_else() -> None:
    mark = f"/var/lib/oborona/{state_files.QUEUE_DUE}"
    assert values(QUEUE.with_suffix(".path"), "PathExists") == [mark]
    assert values(QUEUE, "ExecStart") == [f"{PROGRAM} outgoing hold-banned"]
    assert values(QUEUE, "ReadWritePaths") == [
        "/var/lib/oborona -/var/spool/postfix -/var/spool/exim4 -/var/log/exim4"
    ]
    assert values(QUEUE, "IPAddressDeny") == ["any"]
    assert values(QUEUE, "IPAddressAllow") == []
    assert "AF_NETLINK" in values(QUEUE, "RestrictAddressFamilies")[0], "getifaddrs of Postfix"
    of_daemon = {name for name, _ in settings(ROOT / "systemd/oborona-writer.service")}
    left_out = of_daemon - {name for name, _ in settings(QUEUE)}
    assert left_out == {
        "NotifyAccess", "ExecReload", "KillMode", "TimeoutStopSec",
        "WatchdogSec", "OOMPolicy", "PartOf", "Conflicts", "WantedBy",
        "Group", "StateDirectory", "StateDirectoryMode",
        "PrivateUsers",  # root of the machine is meant
        "PrivateNetwork",  # Postfix's tools look for the address of inet_interfaces
    }  # fmt: skip


def test_the_hook_is_started_by_the_mark_and_differs_from_the_queue_in_what_it_reaches() -> None:
    mark = f"/var/lib/oborona/{state_files.HOOK_DUE}"
    assert values(HOOK.with_suffix(".path"), "PathExists") == [mark]
    assert values(HOOK, "ExecStart") == [f"{PROGRAM} incident run-hooks"]
    assert values(HOOK, "ReadWritePaths") == ["/var/lib/oborona"]
    assert values(HOOK, "RestartPreventExitStatus") == [str(os.EX_TEMPFAIL)]
    differs = {name for name, _ in set(settings(HOOK)) ^ set(settings(QUEUE))}
    assert differs == {
        "Description", "ExecStart", "RestartPreventExitStatus",
        "CapabilityBoundingSet", "ReadWritePaths",
        "IPAddressDeny",  # a command may ask an API
    }  # fmt: skip


def test_units_with_a_network_reach_private_ones_alone() -> None:
    for name in NAMES:
        path = ROOT / "systemd" / f"{name}.service"
        assert values(path, "IPAddressDeny") == ["any"], name
        if allowed := values(path, "IPAddressAllow"):
            named = " ".join(allowed).replace("localhost", "127.0.0.0/8 ::1/128")
            if name == "oborona-console":  # a proxy on this machine stands before it
                assert tuple(named.split()) == ALLOWED[:2]
                assert values(path, "ExecStartPre") == []
                continue
            assert tuple(named.split()) == ALLOWED, name
            assert values(path, "ExecStartPre") == [f"+-{PROGRAM} unit addresses --allow %n"], name
        else:
            assert values(path, "PrivateNetwork") == ["yes"], name


def test_units_whose_daemon_listens_give_its_sockets_away() -> None:
    for name in NAMES:
        given = values(ROOT / "systemd" / f"{name}.service", "ExecStartPost")
        gives = f"+-{PROGRAM} unit give"
        known = {name: [gives] for name in LISTENING} | {"oborona-console": [f"{gives} --console"]}
        assert given == known.get(name, []), name
