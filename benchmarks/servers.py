"""The servers that benchmarks load: ours, and its peers on the same machine, each in a folder of
its own on loopback.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
# the command of whichever tree comes first on the path
_COMMAND: Final = "from oborona.cli import main; main(prog_name='oborona')"
PATIENCE_S: Final = 60.0  # rspamd compiles its patterns at the first start


@dataclass(frozen=True)
class Server:
    """A milter that runs."""

    name: str
    address: str  # as milterload.py takes it
    pids: dict[str, int]  # name → pid whose process tree is watched


@contextmanager
def oborona(
    folder: Path,
    *,
    transport: str,
    workers: int,
    pictures: bool = True,
    settings: Mapping[str, str] = MappingProxyType({}),
    root: Path = ROOT,
    state: Path | None = None,
) -> Iterator[Server]:
    """Run our daemon as it ships, with a store of its own, and a resolver on loopback that knows no
    name; pictures looked at and read, or not.

    `settings` are others than those that ship, by SECTION.KEY; `root` is the tree that runs, by the
    packages of this interpreter; `state` is a state folder that is there.
    """
    folder.mkdir(mode=0o755)
    address = folder / "milter.sock"
    with _resolver(folder) as (port, resolver):
        command: list[str | Path] = [
            sys.executable, "-c", _COMMAND, "--config", root / "etc/oborona.toml", "--state", state or folder / "state",
            "--set", f"doors.milter.listen=unix:{address}", "--set", f"doors.milter.transport={transport}",
            "--set", f"worker.processes={workers}", "--set", f"dns.servers=127.0.0.1:{port}",
            "--set", f"reader.enabled={str(pictures).lower()}", "--set", "log.level=warning",
            *(f"--set={name}={value}" for name, value in settings.items()), "serve",
        ]  # fmt: skip
        with _running(command, folder / "log", PYTHONPATH=str(root / "src")) as pid:
            _wait(lambda: address.exists() and _unix_answers(address), folder / "log")
            yield Server(
                f"oborona ({transport})", str(address), {"oborona": pid, "unbound": resolver}
            )


@contextmanager
def oborona_site(folder: Path, *, workers: int, root: Path = ROOT) -> Iterator[Server]:
    """Run two of our daemons as one site over a PostgreSQL with `fsync`; the first is the one that
    is loaded, `mx2` and `postgresql` are beside it.
    """
    from tests.peers.postgresql import Postgresql  # noqa: PLC0415 - of those alone who have one
    from tests.replication.machines import site_of  # noqa: PLC0415

    folder.mkdir(mode=0o755)
    with Postgresql(sync=True) as postgresql, ExitStack() as stack:
        assert postgresql.process is not None
        first, second = (
            stack.enter_context(
                oborona(
                    folder / f"{state.name}-run",
                    transport="native",
                    workers=workers,
                    root=root,
                    state=state,
                )
            )
            for state in site_of(folder, postgresql.address, 2)
        )
        beside = {"mx2": second.pids["oborona"], "postgresql": postgresql.process.pid}
        yield Server("oborona, of a site", first.address, first.pids | beside)


@contextmanager
def rspamd(folder: Path, *, workers: int) -> Iterator[Server]:
    """Run Debian's rspamd with its default modules, Redis, and a resolver on loopback that knows no
    name.

    Greylisting is off: it would answer what it saw before from Redis, without scanning.
    """
    _need("rspamd", "redis-server")
    milter, redis_port = free_port(), free_port()
    local = folder / "etc/local.d"
    local.mkdir(parents=True)
    for name in ("data", "run", "log"):
        (folder / name).mkdir()
    with ExitStack() as stack:
        resolver, dns_pid = stack.enter_context(_resolver(folder))
        for name, text in _rspamd_settings(folder, milter, redis_port, resolver, workers).items():
            (local / name).write_text(text)
        user = pwd.getpwnam("_rspamd")
        for path in (folder, *folder.rglob("*")):
            os.chown(path, user.pw_uid, user.pw_gid)
            path.chmod(0o755)
        redis_pid = stack.enter_context(redis(folder, redis_port))
        pid = stack.enter_context(
            _running(
                [
                    "rspamd", "-f", "-u", "_rspamd", "-g", "_rspamd", f"--var=LOCAL_CONFDIR={folder}/etc",
                    f"--var=DBDIR={folder}/data", f"--var=RUNDIR={folder}/run", f"--var=LOGDIR={folder}/log",
                ],
                folder / "rspamd.log",
            )
        )  # fmt: skip
        _wait(lambda: _port_answers(milter), folder / "rspamd.log")
        yield Server(
            "rspamd", f"127.0.0.1:{milter}", {"rspamd": pid, "redis": redis_pid, "unbound": dns_pid}
        )


@contextmanager
def _resolver(folder: Path) -> Iterator[tuple[int, int]]:
    """Run Debian's unbound without a network: no name exists; yield port and pid."""
    _need("unbound")
    port = free_port()
    (folder / "unbound.conf").write_text(
        f'server:\n interface: 127.0.0.1@{port}\n username: ""\n chroot: ""\n directory: '
        f'"{folder}"\n pidfile: ""\n'
        ' use-syslog: no\n module-config: "iterator"\n do-not-query-localhost: no\n local-zone: '
        '"." static\n'
        ' local-data: ". 3600 IN SOA ns.invalid. nobody.invalid. 1 3600 600 86400 3600"\n '
        "num-threads: 1\n"
    )
    log = folder / "unbound.log"
    with _running(["/usr/sbin/unbound", "-d", "-c", folder / "unbound.conf"], log) as pid:
        _wait(lambda: _port_answers(port), log)
        yield port, pid


@contextmanager
def redis(folder: Path, port: int) -> Iterator[int]:
    """Run Debian's redis-server in memory alone, on a port of loopback; yield its pid."""
    settings = ("--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder)
    log = folder / "redis.log"
    with _running(["redis-server", "--port", str(port), *settings], log) as pid:
        _wait(lambda: _port_answers(port), log)
        yield pid


def _rspamd_settings(
    folder: Path, milter: int, redis: int, resolver: int, workers: int
) -> dict[str, str]:
    off = "enabled = false;\n"
    return {
        "options.inc": (
            f'dns {{ nameserver = ["127.0.0.1:{resolver}"]; }}\ncontrol_socket = '
            f'"{folder}/run/control.sock mode=0600";\n'
        ),
        "logging.inc": 'type = "console";\nlevel = "warning";\n',
        "redis.conf": f'servers = "127.0.0.1:{redis}";\n',
        "greylist.conf": off,
        "worker-normal.inc": off,
        "worker-controller.inc": off,
        "worker-fuzzy.inc": off,
        "worker-proxy.inc": (
            f'bind_socket = "127.0.0.1:{milter}";\nmilter = yes;\ntimeout = 60s;\ncount = '
            f"{workers};\n"
            'upstream "local" { default = yes; self_scan = yes; }\n'
        ),
    }


@contextmanager
def _running(command: Sequence[str | Path], log: Path, **environment: str) -> Iterator[int]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env=os.environ | environment,
        )
    try:
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is None:
            sys.exit(
                f"{program} is missing: apt-get install --no-install-recommends "
                f"{' '.join(programs)}"
            )


def _wait(answers: Callable[[], bool], log: Path) -> None:
    limit = time.monotonic() + PATIENCE_S
    while not answers():
        if time.monotonic() > limit:
            sys.exit(f"did not start; its log ends:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.05)


def _unix_answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as trial:
        return trial.connect_ex(str(path)) == 0


def _port_answers(port: int) -> bool:
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])
