"""A bare Debian 12, made once and kept outside the tree, with all that the documents install beside
it as a mirror on its own disk.

    <cache>/debian-KEY/root      what debootstrap makes: no Python's venv, no compiler, no mail
                                 server
    <cache>/debian-KEY/mirror    the packages that apt and pip are asked for, as a folder each of
                                 them reads

A machine started from it needs no network: apt has one source, `file:/srv/mirror`, and pip one,
`/srv/mirror/wheels`. Where both come from is asked of this machine's apt and pip. The key is a hash
of what goes in, so that a change of it makes another image.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
CODENAME: Final = "bookworm"
PYTHON: Final = "3.11"  # of that Debian
MIRROR: Final = "/srv/mirror"  # where a machine sees it
HOST: Final = "mx.shop.example"
PATIENCE_S: Final = 900  # for a download

PACKAGES: Final = (
    # what the documents install, and a site has before it reads them
    *("python3-venv", "python3-dev", "gcc", "libc6-dev", "libmilter-dev", "libxxhash-dev"),
    *("ca-certificates", "curl", "man-db", "bash-completion"),
    *("tesseract-ocr-eng", "tesseract-ocr-rus"),
    *("postfix", "dovecot-imapd", "dovecot-lmtpd", "dovecot-sieve", "unbound"),
)
APART: Final = ("exim4-daemon-light",)  # on a machine of its own: mail servers exclude each other
ALSO: Final = ("dbus",)  # every installer of Debian puts it on the disk, debootstrap does not
LOCKS: Final = (ROOT / "requirements-ocr.lock", ROOT / "requirements-eventlog.lock")
# what pip asks for to build what comes as source
BUILD: Final = ("pip>=24", "setuptools>=77", "wheel")


def base_image() -> Path:
    """Return the folder with `root` and `mirror`.

    What is missing is made, by one process while others wait.

    Raises:
        subprocess.CalledProcessError: a program failed; what it said is in the error.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "oborona-tests"
    cache.mkdir(parents=True, exist_ok=True)
    made = cache / f"debian-{_key()}"
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            fresh = cache / "making"
            _remove(fresh)
            fresh.mkdir()
            _make(fresh)
            fresh.rename(made)
            for old in cache.glob("debian-*"):
                if old != made:
                    _remove(old)
    return made


def _key() -> str:
    parts = (*_sources(), *(lock.read_text() for lock in LOCKS), Path(__file__).read_text())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _make(folder: Path) -> None:
    root, mirror = folder / "root", folder / "mirror"
    sources = _sources()
    first = next(source.split()[1] for source in sources if source.split()[2] == CODENAME)
    told(["debootstrap", f"--include={','.join(ALSO)}", CODENAME, root, first])
    (mirror / "wheels").mkdir(parents=True)
    _fetch_packages(root, mirror, sources)
    _fetch_wheels(mirror / "wheels")
    told(["systemd-machine-id-setup", f"--root={root}"])
    (root / MIRROR[1:]).mkdir()
    for name, text in (
        ("hostname", f"{HOST}\n"),
        ("hosts", f"127.0.0.1 localhost\n127.0.1.1 {HOST} mx\n::1 localhost\n"),
        ("resolv.conf", "nameserver 127.0.0.1\n"),
        ("apt/sources.list", f"deb [trusted=yes] file:{MIRROR} ./\n"),
        ("pip.conf", f"[global]\nno-index = true\nfind-links = {MIRROR}/wheels\n"),
    ):
        (root / "etc" / name).unlink(missing_ok=True)
        (root / "etc" / name).write_text(text)


def _sources() -> list[str]:
    """Return this machine's sources of that Debian, a line of sources.list each."""
    found = told(
        [
            "apt-get",
            "indextargets",
            "--format",
            "$(ORIGIN)|$(CODENAME)|$(REPO_URI)|$(COMPONENT)",
            "Created-By: Packages",
        ]
    )
    lines = (line.split("|") for line in found.splitlines())
    return sorted(
        {
            f"deb {uri} {name} {component}"
            for origin, name, uri, component in lines
            if origin == "Debian" and name.split("-")[0] == CODENAME and component == "main"
        }
    )


def _fetch_packages(root: Path, mirror: Path, sources: Sequence[str]) -> None:
    """Fetch what `PACKAGES` needs beyond the base, by this machine's apt as if it were that
    one's.
    """
    (root / "etc/apt/sources.list").write_text("\n".join(sources) + "\n")
    apt = [
        *(
            "apt-get",
            "-qq",
            "-o",
            f"Dir={root}",
            "-o",
            f"Dir::State::status={root}/var/lib/dpkg/status",
        ),
        *("-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=3"),
    ]
    archives = root / "var/cache/apt/archives"
    for package in archives.glob("*.deb"):  # of the base itself
        package.unlink()
    told([*apt, "update"])
    for packages in (PACKAGES, APART):
        told([*apt, "install", "--yes", "--download-only", "--no-install-recommends", *packages])
    stanzas = []
    for package in sorted(archives.glob("*.deb")):
        octets = package.read_bytes()
        stanzas.append(
            told(["dpkg-deb", "--field", package])
            + (
                f"Filename: ./{package.name}\nSize: {len(octets)}\nSHA256: "
                f"{hashlib.sha256(octets).hexdigest()}\n"
            )
        )
        shutil.move(package, mirror / package.name)
    (mirror / "Packages").write_text("\n".join(stanzas))
    for lists in ((root / "var/lib/apt/lists"), archives):
        for file in lists.rglob("*"):
            if file.is_file():
                file.unlink()


def _fetch_wheels(folder: Path) -> None:
    """Fetch what the locks name, as it is there, and what builds those that come as source."""
    asked: list[str | os.PathLike[str]] = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--dest",
        folder,
    ]
    asked += ["--no-deps", "--python-version", PYTHON]
    for lock in LOCKS:
        told([*asked, "--require-hashes", "-r", lock])
    told([*asked, *BUILD, *_build_requirements()])


def _build_requirements() -> Iterator[str]:
    yield from tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]


def told(command: Sequence[str | os.PathLike[str]]) -> str:
    """Run a program and return what it says.

    Raises:
        RuntimeError: it failed; with what it said.
    """
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        env={**os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"},
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(
            f"{' '.join(os.fspath(word) for word in command)}: status "
            f"{done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
        )
    return done.stdout
