"""`make ansible`: the role of package/ansible on booted machines, as docs/operate/ansible.md
has it; nothing of it runs in CI.

One machine: tried before it is done (check mode), installed, attached to its Postfix, done again
without a change; mail is filtered. Then two machines as one site by a PostgreSQL of this machine,
which they reach by a socket file, for they have no network.

Ansible is in a venv of its own, kept with the images of machines.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from tests.boot.image import ROOT, told
from tests.boot.machine import Machine
from tests.boot.mail import install_postfix, is_filtered
from tests.boot.steps import eventually
from tests.peers.postgresql import USER, Postgresql

CORE: Final = "ansible-core>=2.19,<2.20"
COLLECTIONS: Final = "ansible>=12,<13"  # whose community.general has connections by chroot(8)
PYTHON_PACKAGES: Final = ("python3-apt", "python-apt-common", "distro-info-data")
"""What Ansible wants on a machine, and the image's mirror has not."""
_ENTER: Final = """\
#!/bin/sh
# as chroot(8) is called: a folder, then a command
shift
exec nsenter --target={leader} --all --wdns=/root -- env -i \\
    PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
"""


def main() -> None:
    """Do the walk; end with status 1 and what was said where something is not as it should be."""
    with tempfile.TemporaryDirectory(prefix="oborona-ansible-", dir="/var/tmp") as folder:
        work = Path(folder)
        programs = _ansible()
        packages = _packages(work)
        with ExitStack() as stack:
            machines = {name: stack.enter_context(Machine()) for name in ("mx1", "mx2")}
            for machine in machines.values():
                _prepare(machine)
            _one(programs, work, machines["mx1"], packages)
            _site(programs, work, machines, packages)


def _ansible() -> Path:
    """Return the folder with Ansible's programs; they are installed once."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "oborona-tests"
    venv = cache / "ansible"
    if not (venv / "whole").exists():
        shutil.rmtree(venv, ignore_errors=True)
        told([sys.executable, "-m", "venv", venv])
        pip: list[str | Path] = [
            venv / "bin/python",
            "-m",
            "pip",
            "--quiet",
            "--disable-pip-version-check",
        ]
        told([*pip, "install", CORE, "ansible-lint"])
        told([*pip, "download", "--no-deps", "--dest", venv, COLLECTIONS])
        (wheel,) = venv.glob("ansible-*.whl")
        with zipfile.ZipFile(wheel) as packed:
            general = "ansible_collections/community/general/"
            packed.extractall(
                venv, [name for name in packed.namelist() if name.startswith(general)]
            )
        wheel.unlink()
        (venv / "whole").touch()
    return venv / "bin"


def _packages(folder: Path) -> list[Path]:
    """Build the package and that of several machines; return them, the base first.

    PACKAGES names a folder where they are already.
    """
    if there := os.environ.get("PACKAGES"):
        return sorted(
            Path(there).glob("oborona[-_]*.deb"), key=lambda path: "-machines" in path.name
        )
    before = set(ROOT.glob("dist/*.deb"))
    told(["env", "LEVEL=0", "EXTRAS=machines", "VERSION=1.0", "make", "-C", ROOT, "deb"])
    built = sorted(set(ROOT.glob("dist/*_1.0-1+deb*.deb")) - before, key=lambda path: path.name)
    return [Path(shutil.move(package, folder)) for package in reversed(built)]


def _prepare(machine: Machine) -> None:
    """Install what a machine has before the role comes: Postfix, and what Ansible wants."""
    install_postfix(machine)
    debs = machine.root / "srv/debs"
    debs.mkdir()
    subprocess.run(
        ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", *PYTHON_PACKAGES],
        cwd=debs, check=True, timeout=300,
    )  # fmt: skip
    machine.run("apt-get -qq install -y /srv/debs/*.deb")


def _one(programs: Path, work: Path, machine: Machine, packages: Sequence[Path]) -> None:
    play = _Play(programs, work, {"mx1": machine}, "one.yml", {"oborona_packages": packages[:1]})
    tried = play("--check")
    assert tried["changed"]
    assert machine.run("command -v oborona || echo none").strip() == "none"

    began = time.monotonic()
    play()
    print(f"one machine: {time.monotonic() - began:.0f} s")
    print(machine.run("oborona doctor").splitlines()[-1])
    assert 'contact = "postmaster@shop.example"' in machine.run("cat /etc/oborona/oborona.toml")
    is_filtered(machine, "one")

    assert not play()["changed"]
    assert not play("--check")["changed"]
    machine.run("oborona detach --yes")
    assert play("--check")["changed"] == 1
    assert play()["changed"] == 1
    is_filtered(machine, "again")
    # a setting that is none is refused before it is written
    said = play.refused("-e", json.dumps({"oborona_settings": {"site": {"nmae": "x"}}}))
    assert "nmae" in said, said
    assert "nmae" not in machine.run("cat /etc/oborona/oborona.toml")


def _site(
    programs: Path, work: Path, machines: Mapping[str, Machine], packages: Sequence[Path]
) -> None:
    server = Postgresql()
    try:
        address = _open_database(server, machines.values())
        asked = {
            "oborona_packages": packages,
            "oborona_site_address": address,
            "oborona_site_pgpass": "",
        }
        play = _Play(programs, work, machines, "site.yml", asked)
        began = time.monotonic()
        play()
        print(f"two machines, one site: {time.monotonic() - began:.0f} s")
        for machine in machines.values():
            eventually(machine, "oborona site status")
            said = machine.run("oborona site status")
            assert {"mx1", "mx2"} <= set(re.findall(r"(?m)^(\w+)", said)), said
        print(said)
        secrets = {
            machine.run("sha256sum </var/lib/oborona/secret") for machine in machines.values()
        }
        assert len(secrets) == 1
        machines["mx1"].run("oborona reputation set --reason walk spam.example bad")
        eventually(machines["mx2"], "oborona reputation log | grep spam.example")
        is_filtered(machines["mx2"], "site")
        assert not play()["changed"]
    finally:
        server.stop()


def _open_database(server: Postgresql, machines: Collection[Machine]) -> str:
    """Start PostgreSQL with a socket file on the disk of each machine; return its address there."""
    folders = [machine.root / "srv/pg" for machine in machines]
    for machine, folder in zip(machines, folders, strict=True):
        folder.mkdir()
        shutil.chown(folder, USER)
        machine.folder.chmod(0o711)  # who runs PostgreSQL passes through
    data = server.root / "data"
    with (
        (data / "pg_hba.conf").open("a") as rules,
        (data / "postgresql.conf").open("a") as settings,
    ):
        rules.write("local all all trust\n")
        settings.write(f"unix_socket_directories = '{', '.join(map(str, folders))}'\n")
    server.start()
    server.rows("CREATE ROLE oborona LOGIN")
    server.rows("CREATE DATABASE oborona OWNER oborona")
    return f"postgresql://oborona@/oborona?host=/srv/pg&port={server.port}"


class _Play:
    """A playbook for machines, run when it is called; returns its recap, summed over them."""

    def __init__(
        self,
        programs: Path,
        work: Path,
        machines: Mapping[str, Machine],
        playbook: str,
        variables: Mapping[str, object],
    ) -> None:
        hosts = {}
        for name, machine in machines.items():
            enter = work / f"enter-{name}"
            enter.write_text(_ENTER.format(leader=machine.leader))
            enter.chmod(0o755)
            hosts[name] = {
                "ansible_connection": "community.general.chroot",
                "ansible_host": str(machine.root),
                "ansible_chroot_exe": str(enter),
                "ansible_python_interpreter": "/usr/bin/python3",
            }
        inventory = work / "inventory.json"
        inventory.write_text(json.dumps({"mx": {"hosts": hosts}}))
        self._command: list[str | Path] = [
            programs / "ansible-playbook", "-i", inventory, ROOT / "package/ansible" / playbook,
            "-e", json.dumps(variables, default=str), "-e", "vault_site_password=none", "-e", "ansible_become=false",
        ]  # fmt: skip
        self._environment = {
            "PATH": f"{programs}:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(work),
            "LANG": "C.UTF-8",
            "ANSIBLE_COLLECTIONS_PATH": str(programs.parent),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_LOCALHOST_WARNING": "0",
        }

    def __call__(self, *options: str) -> dict[str, int]:
        done = self._run(*options)
        assert done.returncode == 0, done.stdout[-8000:]
        counts: dict[str, int] = {}
        for name, count in re.findall(r"(\w+)=(\d+)", done.stdout.partition("PLAY RECAP")[2]):
            counts[name] = counts.get(name, 0) + int(count)
        changed = re.findall(
            r"(?m)^TASK \[(.*?)\] \*+\n(?:ok.*\n|skipping.*\n)*changed", done.stdout
        )
        print(" ".join(options) or "run", counts, *changed, sep=" | ", flush=True)
        return counts

    def refused(self, *options: str) -> str:
        """Run it where it must fail; return what it says."""
        done = self._run(*options)
        assert done.returncode, done.stdout[-8000:]
        return done.stdout

    def _run(self, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._command, *options], env=self._environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1200, check=False,
        )  # fmt: skip


if __name__ == "__main__":
    main()
