"""The parent of all processes of a service: starts them, watches them, stops them.

    open sockets and check everything (the caller) → fork one child per job → READY when all of them
    serve → wait for a signal, a word of a child, or a time:
      a child ended        start it again (`restart`), or end the service with its status if that is
                           a final one
      a child rests        it ended because nobody needed it: start it again when somebody connects
      a child hangs        SIGABRT, which has it say where (`child`), SIGCONT should it be stopped,
                           SIGKILL; then as above (`silence`)
      SIGHUP               its reload signal to each child; one that starts later gets it when it
                           serves
      SIGTERM, SIGINT      SIGTERM to the children, jobs that `stops_last` when the others are gone;
                           after `grace_s`
                           each, SIGKILL;  another one a second or more later: SIGKILL to all at
                                           once
    run no loop and no thread here: a child is forked from a process that does nothing else

Signals write their number into a socket pair (signal.set_wakeup_fd) and are blocked around fork, so
that none is taken twice, lost, or written by a child into its parent's pair. SIGUSR1 and SIGUSR2
are ignored. The service manager's watchdog is fed while a vital child serves: a service whose
workers all hang or can't be started is the service manager's. READY is told when all children
serve, and `READY_WITHOUT_S` after the vital ones do at the latest: a job that mail does not wait
for can't hold it up. Limits: Linux only. A child that the kernel holds (a disk that does not
answer) is killed once that lets it go, and replaced then.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import math
import os
import selectors
import signal
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

from oborona import heartbeat
from oborona.daemon import sd_notify as service_manager
from oborona.daemon.child import ClosableSocket, ProcessJob, run_job
from oborona.daemon.hang_detector import ABORT_S, cpu_usage
from oborona.daemon.heap import trim_heap
from oborona.daemon.restart import how_it_ended
from oborona.daemon.signals import TAKEN, SignalSocket
from oborona.daemon.supervised_process import HEARD_BYTES, HUNG, SupervisedProcess
from oborona.telemetry.log import crash, event

# exit statuses after which starting again would end the same way
FINAL: Final = frozenset({os.EX_CONFIG})
READY_WITHOUT_S: Final = 15.0  # far below the 90 s that a service manager gives a start
REPORT_S: Final = 10.0  # between two reports of what has not changed
# one stop may come twice: to our process group, and passed on by who started us
SAME_STOP_S: Final = 1.0

__all__ = ["FINAL", "ProcessJob", "Supervisor"]


class Supervisor:
    """Runs jobs as child processes until it is told to stop.

    Args:
        jobs: at least one, started in this order.
        grace_s: how long children may take to end after SIGTERM.
        on_ready: called once, when all jobs serve.
        log: gets every start, end and signal.
        notify: sends states to the service manager, as `oborona.daemon.sd_notify.notify` does.
        final: exit statuses that end the whole service.
        on_stop: called once, when stopping begins and before any child is told; must not raise.
        on_trouble: called with a child whose process ended though nobody told it to, why, and its
            status of wait(2); must not raise.
        report: called with all children when something has become of one, and every few seconds;
            must not raise.
    """

    def __init__(
        self,
        jobs: Sequence[ProcessJob],
        *,
        grace_s: float,
        on_ready: Callable[[], None],
        log: logging.Logger,
        notify: Callable[..., None] = service_manager.notify,
        final: Collection[int] = FINAL,
        on_stop: Callable[[], None] = lambda: None,
        on_trouble: Callable[[SupervisedProcess, str, int], None] = lambda _child, _why, _status: (
            None
        ),
        report: Callable[[Sequence[SupervisedProcess]], None] = lambda _children: None,
    ) -> None:
        self._children = [SupervisedProcess(job=job) for job in jobs]
        self._grace_s = grace_s
        self._on_ready = on_ready
        self._log = log
        self._notify = notify
        self._final = final
        self._on_stop = on_stop
        self._on_trouble = on_trouble
        self._report = report
        self._report_at = -math.inf
        self._look_s = min(map(heartbeat.beat_interval_s, (job.hung_s for job in jobs)))
        self._look_at = -math.inf
        self._vital_since = math.inf  # all vital children serve
        self._exit_status = os.EX_OK
        self._served = False  # all of them did, once
        self._reloaded = False
        self._stopping = False
        self._stopped_at = 0.0  # since when
        self._kill_at = math.inf
        self._watchdog_s = service_manager.watchdog_interval_s()
        self._watchdog_at = 0.0
        self._said = ""

    def run(self) -> int:
        """Start the jobs and stay until all have ended.

        Returns:
            0 after SIGTERM or SIGINT, else the final status with which a job ended the service.
        """
        self._warn_of_threads()
        gc.collect()
        trim_heap()
        with selectors.DefaultSelector() as self._selector, SignalSocket() as self._wakeup:
            self._selector.register(self._wakeup.reader, selectors.EVENT_READ)
            while not self._stopping or any(child.pid for child in self._children):
                self._start_what_is_due()
                for key, _ in self._selector.select(self._time_to_wait_s()):
                    if key.data is not None:
                        self._attend(key.data)
                self._reap()
                self._obey(self._wakeup.taken())
                self._look()
                self._stop_in_order()
                self._say_how_we_are()
        return self._exit_status

    # Children start ...

    def _start_what_is_due(self) -> None:
        now = time.monotonic()
        for child in self._children:
            if self._stopping or child.pid or child.rests:
                continue
            if self._due(child) <= now:
                self._start(child)

    def _due(self, child: SupervisedProcess) -> float:
        return child.due(alone=child.job.vital and not self._vital_serve())

    def _vital_serve(self) -> bool:
        return any(child.answers for child in self._children if child.job.vital)

    def _start(self, child: SupervisedProcess) -> None:
        child.reload = self._reloaded
        child.begins(self._look_s, time.monotonic())
        try:
            self._fork(child)
        except OSError as error:  # no process, memory or descriptor to be had
            self._start_again(child, f"was not started: {error.strerror}")
            return
        self._selector.register(child.channel, selectors.EVENT_READ, child)
        event(self._log, logging.INFO, "process started", process=child.job.name, child=child.pid)

    def _fork(self, child: SupervisedProcess) -> None:
        gc.freeze()  # what exists by now stays shared: the child's collector does not touch it
        parent = os.getpid()
        child.channel, childs_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, TAKEN)
        try:
            child.pid = os.fork()
            if child.pid == 0:
                run_job(
                    child.job,
                    channel=childs_end,
                    parent=parent,
                    beats=child.heartbeat,
                    unneeded=[
                        self._selector,
                        self._wakeup,
                        *self._children,
                        *self._sockets_of_others(child.job),
                    ],
                    served=self._served,
                    log=self._log,
                )
        except OSError:
            child.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            os.close(childs_end)

    def _sockets_of_others(self, job: ProcessJob) -> list[ClosableSocket]:
        own = {id(sock) for sock in job.sockets}
        return [
            sock for child in self._children for sock in child.job.sockets if id(sock) not in own
        ]

    def _warn_of_threads(self) -> None:
        """A thread may hold a lock while we fork; the child then waits for it for ever."""
        threads = sum(1 for _ in Path("/proc/self/task").iterdir())
        if threads > 1:
            event(self._log, logging.WARNING, "supervisor has threads", threads=threads)

    # ... live, or hang ...

    def _look(self) -> None:
        """Look for signs of life, when it is time."""
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + self._look_s
            for child in self._children:
                if child.pid and not child.told and child.job.hung_s < math.inf:
                    self._look_at_one(child, now)
        for child in self._children:
            if child.hangs and now >= child.kill_at:
                child.kill_at = now + ABORT_S
                self._send(child, signal.SIGKILL)

    def _look_at_one(self, child: SupervisedProcess, now: float) -> None:
        child.silence.look(child.heartbeat.beats, cpu_usage(child.pid), now)
        if child.hangs or not child.silence.hangs(child.job.hung_s):
            return
        event(
            self._log,
            logging.ERROR,
            "process hangs",
            process=child.job.name,
            child=child.pid,
            silent_s=child.silence.seconds,
            ran_s=child.silence.ran_s,
        )
        HUNG.inc(child.job.name)
        child.kill_at = now + ABORT_S
        self._look_at = min(self._look_at, child.kill_at)
        self._report_at = -math.inf
        self._send(child, signal.SIGABRT)
        # what is stopped takes no signal but this one and SIGKILL
        self._send(child, signal.SIGCONT)

    # ... speak, and end.

    def _attend(self, child: SupervisedProcess) -> None:
        """A living child speaks, or somebody connects to one that rests."""
        if child.rests:
            self._rouse(child)
            self._start(child)
        elif child.channel >= 0:  # else it could not be started
            self._hear(child)

    def _hear(self, child: SupervisedProcess) -> None:
        """Take what a living child says."""
        served = child.serves
        self._read(child)
        if child.serves and not served:
            event(
                self._log, logging.INFO, "process serves", process=child.job.name, child=child.pid
            )
            if child.reload:
                self._send(child, child.job.reload_signal)

    def _read(self, child: SupervisedProcess) -> None:
        with contextlib.suppress(BlockingIOError):
            while child.channel >= 0:
                words = os.read(child.channel, HEARD_BYTES)
                child.heard = (child.heard + words)[:HEARD_BYTES]
                if not words:
                    self._forget_channel(child)

    def _forget_channel(self, child: SupervisedProcess) -> None:
        self._selector.unregister(child.channel)
        child.close()

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                # -1: as process 1 of a container we inherit orphans
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                for child in self._children:
                    if child.pid == pid:
                        self._ended(child, status)

    def _ended(self, child: SupervisedProcess, status: int) -> None:
        self._read(child)
        if child.channel >= 0:  # a process that it started may still hold the other end
            self._forget_channel(child)
        how, exit_status = how_it_ended(status), os.waitstatus_to_exitcode(status)
        if child.job.wakes_on and child.served and exit_status == 0 and not self._stopping:
            self._rest(child)
            return
        if child.hangs:
            how = f"{'spun' if child.silence.spins else 'stood still'}, {how}"
        if not self._stopping:
            self._on_trouble(child, child.reason or how, status)
        child.pid = 0
        if self._stopping:
            level = logging.INFO if exit_status in {0, -signal.SIGTERM} else logging.WARNING
            event(self._log, level, "process ended", process=child.job.name, how=how)
        elif exit_status in self._final:
            self._exit_status = exit_status
            event(
                self._log,
                logging.CRITICAL,
                "service stops",
                process=child.job.name,
                how=how,
                reason=child.reason,
            )
            self._stop()
        else:
            self._start_again(child, how)

    def _rest(self, child: SupervisedProcess) -> None:
        """Start it again when somebody connects, and no sooner."""
        child.pid, child.rests = 0, True
        for sock in child.job.wakes_on:
            self._selector.register(sock, selectors.EVENT_READ, child)
        event(self._log, logging.INFO, "process rests", process=child.job.name)

    def _rouse(self, child: SupervisedProcess) -> None:
        child.rests = False
        for sock in child.job.wakes_on:
            self._selector.unregister(sock)

    def _start_again(self, child: SupervisedProcess, how: str) -> None:
        now = time.monotonic()
        child.ends(now)
        self._report_at = -math.inf
        about = {
            "process": child.job.name,
            "how": how,
            "reason": child.reason,
            "lived_s": child.lived_s,
            "restart_in_s": max(0.0, self._due(child) - now),
        }
        if child.stacks:
            crash(self._log, logging.ERROR, "process ended", child.stacks, **about)
        else:
            event(self._log, logging.ERROR, "process ended", **about)

    # What we are told, and tell on.

    def _obey(self, numbers: Iterable[int]) -> None:
        came = [signal.Signals(number) for number in numbers]
        # once, however many came since we last looked
        if signal.SIGHUP in came and not self._stopping:
            self._reload()
        for number in came:
            if number not in {signal.SIGTERM, signal.SIGINT}:
                continue
            if not self._stopping:
                event(self._log, logging.INFO, "stop", signal=number.name)
                self._stop()
                continue
            if time.monotonic() - self._stopped_at < SAME_STOP_S:
                continue
            event(self._log, logging.INFO, "stop at once", signal=number.name)
            self._kill_at = 0.0
            for child in self._children:  # whatever its turn
                child.told = True

    def _reload(self) -> None:
        event(self._log, logging.INFO, "reload")
        self._notify(*service_manager.reloading())
        self._reloaded = True
        for child in self._children:
            if child.serves:
                self._send(child, child.job.reload_signal)
            else:  # it may have read the old files already, and has no handler yet
                child.reload = True
        self._notify(service_manager.READY)

    def _stop(self) -> None:
        self._stopping = True
        self._stopped_at = time.monotonic()
        self._notify(service_manager.STOPPING)
        for child in self._children:
            if child.rests:
                self._rouse(child)
        self._on_stop()

    def _stop_in_order(self) -> None:
        if not self._stopping:
            return
        now = time.monotonic()
        running = [child for child in self._children if child.pid]
        turn = [child for child in running if not child.job.stops_last] or running
        for child in turn:
            if not child.told:
                child.told = True
                self._kill_at = now + self._grace_s
                self._send(child, signal.SIGTERM)
        if now >= self._kill_at:
            for child in (child for child in running if child.told):
                event(
                    self._log,
                    logging.WARNING,
                    "process killed",
                    process=child.job.name,
                    child=child.pid,
                )
                self._send(child, signal.SIGKILL)
            self._kill_at = math.inf

    @staticmethod
    def _send(child: SupervisedProcess, number: signal.Signals) -> None:
        os.kill(child.pid, number)  # not reaped yet, so the pid is its own

    def _say_how_we_are(self) -> None:
        now = time.monotonic()
        serving = sum(child.answers for child in self._children)
        status = f"STATUS={serving} of {len(self._children)} processes serve"
        if not self._served and not self._stopping and self._is_ready(serving, now):
            self._served = True
            self._notify(service_manager.READY, status)
            self._on_ready()
        elif status != self._said:
            self._notify(status)
        changed, self._said = status != self._said, status
        if (
            self._watchdog_s
            and now >= self._watchdog_at
            and (self._stopping or self._vital_serve())
        ):
            self._notify(service_manager.WATCHDOG)
            self._watchdog_at = now + self._watchdog_s
        if changed or now >= self._report_at:
            self._report_at = now + REPORT_S
            self._report(self._children)

    def _is_ready(self, serving: int, now: float) -> bool:
        """Whether all serve, or all the vital ones have for so long that nobody waits for the
        others.
        """
        vital = [child.answers for child in self._children if child.job.vital]
        if not vital or not all(vital):
            self._vital_since = math.inf
        elif self._vital_since == math.inf:
            self._vital_since = now
        return serving == len(self._children) or now >= self._vital_since + READY_WITHOUT_S

    def _time_to_wait_s(self) -> float | None:
        due = [self._kill_at] if self._stopping else [self._report_at]
        for child in self._children:
            if child.pid:
                due.append(child.kill_at)
                if child.job.hung_s < math.inf and not self._stopping:
                    due.append(self._look_at)
            elif not (self._stopping or child.rests):
                due.append(self._due(child))
        if self._watchdog_s:
            # what is overdue waits for a vital child: its word, its end or the next look at it
            # wakes us
            due.append(self._watchdog_at if self._watchdog_at > time.monotonic() else math.inf)
        if not self._served:
            due.append(self._vital_since + READY_WITHOUT_S)
        first = min(due)
        return None if first == math.inf else max(0.0, first - time.monotonic())
