"""`make container`: the images of package/container built, and compose.yaml walked through by
podman, as docs/containers.md has it; nothing of it runs in CI.

GTUBE is refused by the compose's Postfix, a letter arrives in its Dovecot with our headers, what
its reader says of it is heard, the console answers, state outlives a new container. Images,
containers and networks are in a folder of their own, and go with it.

Registries are not asked: the base image is made by debootstrap, once, beside the images of
machines. BUILD_OPTIONS has further options of `podman build`, such as a volume with pip's settings.
"""

from __future__ import annotations

import imaplib
import os
import re
import shlex
import shutil
import smtplib
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

from tests.boot.image import CODENAME, ROOT, told
from tests.letters import GTUBE

FOLDER: Final = ROOT / "package/container"
COMPOSE: Final = FOLDER / "compose.yaml"
BASE: Final = f"localhost/debian:{CODENAME}-slim"
WITHIN_S: Final = 90.0
# by the network of compose.yaml: what an engine does to published ports is its own
_POSTFIX: Final = "10.231.25.3"
_DOVECOT: Final = "10.231.25.4"
_CONSOLE: Final = "10.231.25.5"
_LIST: Final = ("oborona", "feedback", "list")
_Told = TypeVar("_Told")
_LETTER: Final = """\
From: Ann <ann@partner.example>
To: joe@shop.example
Subject: {subject}
Message-ID: <{subject}@partner.example>
Date: Fri, 20 Nov 2026 10:00:00 +0000

{text}
"""
_STORAGE: Final = """\
[storage]
driver = "vfs"
graphroot = "{folder}/images"
runroot = "{folder}/run"
"""
# For a machine whose root may not raise limits, and which has both kinds of control groups.
_ENGINE: Final = """\
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""


def main() -> None:
    """Do the walk; end with a traceback where something is not as it should be."""
    missing = [
        name
        for name in ("podman", "podman-compose", "runc", "debootstrap", "iptables")
        if not shutil.which(name)
    ]
    if missing or os.geteuid() != 0:
        sys.exit(
            f"needs root, and {', '.join(missing) or 'podman, podman-compose 1.1, runc'} "
            "(podman-compose from pip: Debian 12's can't read the file)"
        )
    with tempfile.TemporaryDirectory(prefix="oborona-containers-", dir="/var/tmp") as folder:
        _settle(Path(folder))
        _build()
        with _up():
            _walk()


def _settle(folder: Path) -> None:
    """Have podman keep all that it makes in a folder."""
    for name, variable, text in (
        ("storage.conf", "CONTAINERS_STORAGE_CONF", _STORAGE),
        ("containers.conf", "CONTAINERS_CONF", _ENGINE),
    ):
        (folder / name).write_text(text.format(folder=folder))
        os.environ[variable] = str(folder / name)


def _build() -> None:
    began = time.monotonic()
    with subprocess.Popen(["tar", "-C", _base(), "-c", "."], stdout=subprocess.PIPE) as pack:
        subprocess.run(["podman", "import", "-q", "-", BASE], stdin=pack.stdout, check=True)
    for name, file, context in (
        ("oborona", FOLDER / "Dockerfile", ROOT),
        ("oborona-dovecot", FOLDER / "dovecot/Dockerfile", ROOT),
        ("oborona-postfix", FOLDER / "postfix/Dockerfile", FOLDER / "postfix"),
    ):
        options = [
            *("--format=docker", "--isolation=chroot", "--pull=false", f"--build-arg=BASE={BASE}"),
            *([f"--ignorefile={FOLDER / 'Dockerfile.dockerignore'}"] if context == ROOT else []),
            *shlex.split(os.environ.get("BUILD_OPTIONS", "")),
        ]
        told(["podman", "build", *options, "--tag", f"localhost/{name}", "--file", file, context])
    print(f"built in {time.monotonic() - began:.0f} s")
    print(told(["podman", "images", "--format", "{{.Repository}} {{.Size}}"]), end="", flush=True)


def _base() -> Path:
    """Return the folder of what debian:bookworm-slim is."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "oborona-tests"
    root = cache / f"slim-{CODENAME}"
    if not root.exists():
        fresh = cache / "slim-making"
        shutil.rmtree(fresh, ignore_errors=True)
        told(["debootstrap", "--variant=minbase", CODENAME, fresh, "http://deb.debian.org/debian"])
        for package in (fresh / "var/cache/apt/archives").glob("*.deb"):
            package.unlink()
        shutil.rmtree(fresh / "var/lib/apt/lists")
        fresh.rename(root)
    return root


@contextmanager
def _up() -> Iterator[None]:
    try:
        told(["podman-compose", "--file", COMPOSE, "up", "--detach"])
        yield
    except BaseException:
        for name in ("oborona", "console", "postfix", "dovecot"):
            subprocess.run(["podman", "logs", "--tail", "30", f"oborona_{name}_1"], check=False)
        raise
    finally:
        told(["podman-compose", "--file", COMPOSE, "down", "--volumes"])
        told(["podman", "system", "reset", "--force"])


def _walk() -> None:
    began = time.monotonic()
    _until("Oborona is ready", lambda: _doctor().returncode == 0)
    print(f"ready after {time.monotonic() - began:.0f} s")
    print(_doctor().stdout)
    assert _send("noon", "Shall we meet at noon?") == "taken"
    refusal = _send("gtube", GTUBE)
    assert re.fullmatch(r"(?s)550 5\.7\.1 .*reference \w+.*", refusal), refusal
    print(refusal)
    # the first time it is put off, until Dovecot was asked
    _until("nobody is refused", lambda: _send("no", "Hello", "nobody@shop.example")[:3] == "550")
    header = _until("the letter arrives", lambda: _found("INBOX", "noon"))
    print(*re.findall(r"(?m)^X-Mras.*", header), sep="\n")
    assert re.search(r"(?m)^X-Mras: Ok", header), header

    _complain("noon")
    _until("a complaint is heard", lambda: "spam report" in _in("oborona", *_LIST).stdout)

    page = _until("the console answers", _page)
    assert "<form" in page
    print(
        _in("oborona", "grep", "-E", "^(Name|Seccomp|NoNewPrivs|CapEff)", "/proc/1/status").stdout
    )
    print(
        _in(
            "oborona", "sh", "-c", "cat /proc/[0-9]*/status | grep -c '^Seccomp_filters:.[2-9]'"
        ).stdout
    )
    print(told(["podman", "top", "oborona_oborona_1", "pid", "user", "seccomp", "args"]))

    began = time.monotonic()
    told(["podman", "stop", "oborona_oborona_1"])
    print(f"stopped in {time.monotonic() - began:.1f} s")
    assert _send("away", "Hello").startswith("451")
    told(["podman", "start", "oborona_oborona_1"])
    _until("Oborona is back", lambda: _doctor().returncode == 0)
    assert _send("later", "Hello again") == "taken"
    assert "noon" in _in("oborona", "oborona", "find", "subject:noon").stdout


def _send(subject: str, text: str, to: str = "joe@shop.example") -> str:
    """Send a message as a stranger; return "taken", or the refusal."""
    letter = _LETTER.format(subject=subject, text=text).replace("\n", "\r\n")
    with smtplib.SMTP(_POSTFIX, 25, "mail.partner.example", WITHIN_S) as server:
        try:
            server.sendmail("ann@partner.example", [to], letter)
        except smtplib.SMTPRecipientsRefused as refused:
            ((code, words),) = refused.recipients.values()
            return f"{code} {words.decode()}"
        except smtplib.SMTPResponseException as refused:
            return f"{refused.smtp_code} {os.fsdecode(refused.smtp_error)}"
    return "taken"


@contextmanager
def _mailbox() -> Iterator[imaplib.IMAP4]:
    with imaplib.IMAP4(_DOVECOT, 143, WITHIN_S) as server:
        server.login("joe@shop.example", "trial")
        yield server


def _found(folder: str, subject: str) -> str:
    """Return the header of a message, or nothing."""
    with _mailbox() as server:
        server.select(folder, readonly=True)
        numbers = server.search(None, "SUBJECT", subject)[1][0].split()
        if not numbers:
            return ""
        (found, *_) = server.fetch(numbers[0], "(RFC822.HEADER)")[1]
        assert isinstance(found, tuple)
        return found[1].decode()


def _complain(subject: str) -> None:
    """Move a message into Junk, as its reader."""
    with _mailbox() as server:
        server.select("INBOX")
        number = server.search(None, "SUBJECT", subject)[1][0].split()[0].decode()
        assert server._simple_command("MOVE", number, "Junk")[0] == "OK"


def _page() -> str:
    try:
        with urllib.request.urlopen(f"http://{_CONSOLE}:8891/", timeout=10) as answer:
            return str(answer.read(), "utf-8")
    except OSError:
        return ""


def _in(name: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a container."""
    return subprocess.run(
        ["podman", "exec", f"oborona_{name}_1", *command],
        capture_output=True, text=True, timeout=WITHIN_S, check=False,
    )  # fmt: skip


def _doctor() -> subprocess.CompletedProcess[str]:
    return _in("oborona", "oborona", "doctor")


def _until(what: str, ask: Callable[[], _Told]) -> _Told:
    until = time.monotonic() + WITHIN_S
    while True:
        if told := ask():
            return told
        if time.monotonic() > until:
            raise TimeoutError(what)
        time.sleep(0.5)


if __name__ == "__main__":
    main()
