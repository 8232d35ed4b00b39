"""A daemon whose policy is what ships, and what is the admin's over it, while both change."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from oborona.policy.folders import PACKAGED
from tests.peers.oborona import Oborona

LOCAL = "[verdict]\nspam_score = 80\n"


class Site:
    """A daemon, a copy of the package's policy and a folder of the admin's that is not there
    yet.
    """

    def __init__(self, folder: Path) -> None:
        self.shipped, self.own = folder / "package/policy.d", folder / "policy.d"
        shutil.copytree(PACKAGED, self.shipped)
        self.oborona = Oborona(
            {
                "paths.policy": self.own,
                "paths.shipped_policy": self.shipped,
                "worker.processes": 1,
                "reader.enabled": "false",
                "log.format": "json",
            }
        )

    def events(self, message: str) -> list[dict[str, object]]:
        lines = [line for line in self.oborona.log().splitlines() if line.startswith("{")]
        found = [msgspec.json.decode(line) for line in lines]
        return [one for one in found if str(one.get("msg", "")).startswith(message)]

    def wait(self, message: str, number: int, within_s: float = 20.0) -> list[dict[str, object]]:
        """Wait until so many events of a message were logged."""
        until = time.monotonic() + within_s
        while len(found := self.events(message)) < number:
            assert time.monotonic() < until, self.oborona.log()[-3000:]
            time.sleep(0.05)
        return found

    @property
    def version(self) -> str:
        return self.oborona.run("policy", "reload").stdout.split()[1].rstrip(":")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    site = Site(folder)
    with site.oborona:
        yield site


def test_the_folder_of_the_admin_comes_and_goes(site: Site) -> None:
    (said,) = site.events("policy: what ships alone")
    assert (said["folder"], said["own"]) == (str(site.own), 0)
    first = site.version
    site.own.mkdir()
    (site.own / "90-local.toml").write_text(LOCAL)
    (loaded,) = site.wait("policy loaded", 1)
    assert loaded["version"] != first
    assert f"yours: {site.own}: 90-local.toml" in site.oborona.run("policy", "check").stdout
    shutil.rmtree(site.own)
    assert site.wait("policy loaded", 2)[-1]["version"] == first
    told = "".join(char for char in site.oborona.run("doctor").stdout if char not in "┃│ \n")
    assert f"{site.own}isnotthere;whatshipsisinforcealone" in told


def test_a_comment_is_no_new_policy_and_is_read_all_the_same(site: Site) -> None:
    before = site.version, len(site.events("policy loaded"))
    site.own.mkdir()
    (site.own / "90-local.toml").write_text("# nothing yet\n")
    site.wait("policy files changed, and mean the same", 1)
    (site.own / "90-local.toml").write_text("# nothing yet\n\n# and nothing here\n")
    site.wait("policy files changed, and mean the same", 2)
    assert (site.version, len(site.events("policy loaded"))) == before
    shutil.rmtree(site.own)
    site.wait("policy files changed, and mean the same", 3)


def test_an_upgrade_is_in_force_when_all_of_it_is_there(site: Site) -> None:
    """As pip does it: the old folder goes away as a whole, the new files come one by one in the
    order of names.
    """
    before, loaded = site.version, len(site.events("policy loaded"))
    new = site.shipped.with_name("new")
    shutil.copytree(site.shipped, new)
    verdict = (new / "10-verdict.toml").read_text()
    (new / "10-verdict.toml").write_text(verdict.replace("spam_score = 100", "spam_score = 101"))
    site.shipped.rename(site.shipped.with_name("old"))
    site.wait("policy refused, the old one stays", 1)
    site.shipped.mkdir()
    for path in sorted(new.iterdir()):
        shutil.copy(path, site.shipped / path.name)
        if path.name in ("10-verdict.toml", "48-good.toml"):
            time.sleep(0.5)  # a slow disk
            assert len(site.events("policy loaded")) == loaded
    assert site.wait("policy loaded", loaded + 1)[-1]["version"] != before
    assert any("is not whole" in str(one["error"]) for one in site.events("policy refused"))


def test_what_is_broken_is_told_with_whose_it_is(site: Site) -> None:
    path = site.shipped / "30-forged.toml"
    text, before = path.read_text(), site.version
    path.write_text(text + "[verdict]\nspam = 1\n")
    result = site.oborona.run("policy", "reload")
    assert result.returncode == 78
    assert f"{path}:" in result.stderr
    assert "this file ships with the program" in result.stderr
    path.write_text(text)
    assert site.version == before
