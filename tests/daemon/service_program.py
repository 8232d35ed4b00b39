"""A service of small jobs for the tests of the supervisor:  service_program.py EVENTS GRACE_S
NAME:KIND...

Each job writes what happens to it as "NAME EVENT PID TIME" lines to the file EVENTS.
"""

import logging
import math
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from oborona.daemon.child import ClosableSocket
from oborona.daemon.sd_notify import notify
from oborona.daemon.supervisor import ProcessJob, Supervisor
from oborona.errors import ConfigError, StoreBusy
from oborona.heartbeat import beat
from oborona.telemetry import log

Ready = Callable[[], None]
HUNG_S = 2.5
events = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def say(name: str, what: str) -> None:
    os.write(events, f"{name} {what} {os.getpid()} {time.monotonic():.3f}\n".encode())


def lives(name: str) -> int:
    return Path(sys.argv[1]).read_text().count(f"{name} born ")


def handle(name: str, drain_s: float = 0.0) -> None:
    def stop(*_: object) -> None:
        say(name, "told")
        time.sleep(drain_s)
        say(name, "gone")
        os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGHUP, lambda *_: say(name, "hup"))
    signal.signal(signal.SIGUSR2, lambda *_: say(name, "usr2"))


def serve(name: str, ready: Ready, *, drain_s: float = 0.0) -> int:
    handle(name, drain_s)
    ready()
    say(name, "serves")
    while True:
        beat()
        time.sleep(0.05)  # signal.pause() would miss one that comes just before it


def spins_in_a_loop(rounds: int) -> int:
    while True:
        rounds += 1


def spin_once(name: str, ready: Ready) -> int:
    if lives(name) > 1:
        return serve(name, ready)
    handle(name)
    ready()
    beat()
    say(name, "serves")
    return spins_in_a_loop(0)


def hung_for_good(name: str, ready: Ready) -> int:
    handle(name)
    if lives(name) == 1:
        ready()
    beat()
    return spins_in_a_loop(0)


def slow_start(name: str, ready: Ready) -> int:
    time.sleep(3.0)  # says and beats nothing
    return serve(name, ready)


def deaf(name: str, ready: Ready) -> int:
    signal.signal(signal.SIGTERM, lambda *_: say(name, "told"))
    ready()
    say(name, "serves")
    while True:
        time.sleep(0.05)  # signal.pause() would miss one that comes just before it


def late(name: str, ready: Ready) -> int:
    time.sleep(0.5)  # with the signals' default actions: a reload now would be its death
    return serve(name, ready)


@cache
def listening_for_rest() -> socket.socket:
    """Return what jobs that rest listen on; its port is in a file beside the events."""
    listening = socket.create_server(("127.0.0.1", 0))
    Path(sys.argv[1] + ".port").write_text(str(listening.getsockname()[1]))
    return listening


def rest(name: str, ready: Ready) -> int:
    """Serve who has connected, if anybody has, and end."""
    handle(name)
    if name == "early":
        return 0
    ready()
    visitors = listening_for_rest()
    visitors.settimeout(0.2)
    try:
        visitors.accept()[0].close()
        say(name, "served")
    except TimeoutError:
        say(name, "idle")
    return 0


def crash(_: str, ready: Ready) -> int:
    ready()
    return 3


def fruitless(_name: str, _ready: Ready) -> int:
    return 3


def serve_once(name: str, ready: Ready) -> int:
    return 3 if lives(name) > 1 else serve(name, ready)


def crash_once(name: str, ready: Ready) -> int:
    if lives(name) > 1:
        return serve(name, ready)
    ready()
    raise RuntimeError("a bug\nlevel=info msg=forged")


def busy(_: str, ready: Ready) -> int:
    ready()
    time.sleep(0.2)
    raise StoreBusy("counters.lock is held by oborona writer (pid 1)")


def broken_file_later(name: str, ready: Ready) -> int:
    if lives(name) == 1:  # served; then dies
        ready()
        time.sleep(0.3)
        return 1
    if lives(name) == 2:  # finds a broken file when it comes back
        raise ConfigError("unknown rule", file="10-rules.toml", line=3)
    return serve(name, ready)


def broken_file(_: str, _ready: Ready) -> int:
    raise ConfigError("unknown rule", file="10-rules.toml", line=3)


def job(argument: str, listening: socket.socket) -> ProcessJob:
    name, _, kind = argument.partition(":")
    kind, *options = kind.split(",")
    drain_s = 0.4 if "slow" in options else 0.0
    do = {"serve": lambda name, ready: serve(name, ready, drain_s=drain_s)}.get(kind) or globals()[
        kind
    ]

    def run(ready: Ready) -> int:
        say(name, "born")
        return int(do(name, ready))

    sockets: tuple[ClosableSocket, ...] = (listening,) if "socket" in options else ()
    reload_signal = signal.SIGUSR2 if "usr2" in options else signal.SIGHUP
    return ProcessJob(
        name=name,
        run=run,
        stops_last="last" in options,
        sockets=sockets,
        reload_signal=reload_signal,
        hung_s=HUNG_S if "heart" in options else math.inf,
        vital="beside" not in options,
        wakes_on=(listening_for_rest(),) if kind == "rest" else (),
    )


def main() -> int:
    log.set_up()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        # another service's socket comes with a job of its own, so that the others are known not to
        # need it
        return Supervisor(
            [job(argument, listening) for argument in sys.argv[3:]],
            grace_s=float(sys.argv[2]),
            on_ready=lambda: say("service", "ready"),
            on_stop=lambda: say("service", "stops"),
            log=logging.getLogger("oborona.daemon.supervisor"),
            notify=notify,
        ).run()


if __name__ == "__main__":
    raise SystemExit(main())
