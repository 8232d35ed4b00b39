"""What package/container and package/ansible name is there: settings, paths, packages, who may
speak with whom.
"""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from oborona.cli.document import ROOT
from oborona.config.address import InetAddress
from oborona.config.load import load_settings
from oborona.config.settings import SECTIONS

CONTAINER: Final = ROOT / "package/container"
ANSIBLE: Final = ROOT / "package/ansible"
ROLE: Final = ANSIBLE / "roles/oborona"
DOCKERFILES: Final = sorted(CONTAINER.rglob("Dockerfile"))
COMPOSE: Final[dict[str, Any]] = yaml.safe_load((CONTAINER / "compose.yaml").read_text())
SETTINGS: Final = {section: set(struct.__struct_fields__) for section, struct in SECTIONS.items()}
PACKAGES: Final = re.compile(r"(?m)^    \[(\w+)\]=\"")


def role_files() -> list[Path]:
    return sorted(ANSIBLE.rglob("*.yml"))


def _of_role(name: str) -> Any:
    return yaml.safe_load((ROLE / name).read_text())


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.parent.name)
def test_a_dockerfile_copies_what_is_there(path: Path) -> None:
    context = path.parent if path.parent.name == "postfix" else ROOT
    copied = re.findall(r"(?m)^COPY (?!--from)(.+) \S+$", path.read_text())
    assert copied
    ignored = (CONTAINER / "Dockerfile.dockerignore").read_text().splitlines()
    for source in " ".join(copied).split():
        assert (context / source).exists(), source
        if context == ROOT and source.startswith("package/container/"):
            assert f"!{source}" in ignored


def test_a_build_is_given_what_the_package_is_made_of() -> None:
    lines = (CONTAINER / "Dockerfile.dockerignore").read_text().splitlines()
    for line in lines:
        if line.startswith("!"):
            assert list(ROOT.glob(line[1:])), line
    needed = {
        "setup",
        "setup.py",
        "pyproject.toml",
        "src",
        "etc",
        "systemd",
        "package",
        "CHANGELOG.md",
    }
    assert needed | {"README.md", "LICENSE", "requirements*.lock"} <= {line[1:] for line in lines}


def test_compose_names_folders_volumes_and_networks_that_are_there() -> None:
    for name, service in COMPOSE["services"].items():
        if build := service.get("build"):
            build = build if isinstance(build, dict) else {"context": build}
            context = CONTAINER / build["context"]
            assert (context / build.get("dockerfile", "Dockerfile")).is_file(), name
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert (
                (CONTAINER / source).exists() if source[0] == "." else source in COMPOSE["volumes"]
            )
        assert set(service.get("depends_on", ())) <= set(COMPOSE["services"])
        # nothing is open to the world before somebody writes it
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name


def test_who_may_speak_in_the_settings_is_who_compose_has() -> None:
    settings = load_settings(CONTAINER / "oborona.toml").settings
    services = COMPOSE["services"]
    at = {name: one["networks"]["mail"]["ipv4_address"] for name, one in services.items()}
    assert settings.doors.milter.allowed == f"127.0.0.1/32 {at['postfix']}/32"
    asked = services["postfix"]["environment"]
    listen = settings.doors.milter.address
    assert isinstance(listen, InetAddress)
    assert asked["FILTER"] == f"{at['oborona']}:{listen.port}"
    assert asked["MAILBOXES"] == f"{at['dovecot']}:24"
    subnet = COMPOSE["networks"]["mail"]["ipam"]["config"][0]["subnet"]
    assert all(ipaddress.ip_address(one) in ipaddress.ip_network(subnet) for one in at.values())
    given = dict(
        one.split("=", 1) for one in services["console"]["command"] if one.startswith("console.")
    )
    assert {name.partition(".")[2] for name in given} <= SETTINGS["console"]
    assert given["console.allowed"] == subnet
    folders = {volume.split(":")[1] for volume in services["console"]["volumes"]}
    assert str(Path(settings.console.desk.removeprefix("unix:")).parent) in folders


@pytest.mark.parametrize("path", role_files(), ids=lambda path: str(path.relative_to(ANSIBLE)))
def test_a_file_of_the_role_is_yaml_and_names_files_that_are_there(path: Path) -> None:
    text = path.read_text()
    assert yaml.safe_load(text)
    for name in re.findall(r"import_tasks: (\S+)", text):
        assert (ROLE / "tasks" / name).is_file()
    for name in re.findall(r"src: (\S+\.j2)", text):
        assert (ROLE / "templates" / name).is_file()
    handlers = {one["name"] for one in _of_role("handlers/main.yml")}
    assert set(re.findall(r"notify: (.+)", text)) <= handlers


def test_variables_of_the_role_are_declared_used_and_told() -> None:
    declared = set(_of_role("defaults/main.yml"))
    assert declared == set(_of_role("meta/argument_specs.yml")["argument_specs"]["main"]["options"])
    used = "".join(path.read_text() for path in ROLE.glob("tasks/*.yml"))
    used += (ROLE / "templates/oborona.toml.j2").read_text()
    page = (ROOT / "docs/operate/ansible.md").read_text()
    assert declared == set(re.findall(r"(?m)^\| `(oborona_\w+)`", page))
    assert all(name in used for name in declared)


def test_playbooks_have_settings_and_packages_that_are_known() -> None:
    parts = set(PACKAGES.findall((ROOT / "package/deb.sh").read_text()))
    assert "machines" in parts
    page = re.findall(r"(?ms)^```yaml\n(.*?)^```$", (ROOT / "docs/operate/ansible.md").read_text())
    given = [yaml.safe_load(text) for text in page]
    for name in ("one.yml", "site.yml"):
        (play,) = yaml.safe_load((ANSIBLE / name).read_text())
        given.append(play["roles"][0]["vars"])
    for variables in given:
        for section, settings in variables["oborona_settings"].items():
            assert set(settings) <= SETTINGS[section]
        for package in variables.get("oborona_packages", ()):
            name = Path(package).name.split("_")[0]
            assert name == "oborona" or name.removeprefix("oborona-") in parts
