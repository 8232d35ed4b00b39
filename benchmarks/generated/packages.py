"""The packages that mail is made from, pinned by SHA-256, with their licences.

They are fetched to a folder of the caller's; nothing of them is kept here.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """A package that mail is made from."""

    registry: str  # pip, or npm
    name: str
    version: str
    licence: str
    sha256: str


PACKAGES: Final = (
    Package(
        registry="pip",
        name="django-allauth",
        version="65.21.1",
        licence="MIT",
        sha256="7bdf018c9f3f0a32c80677f84e7777272d9c833b180bd6734314c4831c802a9e",
    ),
    Package(
        registry="pip",
        name="django-oscar",
        version="4.2.1",
        licence="BSD-3-Clause",
        sha256="adbb95ea0130859c204cc6fb221052d6d437ecbaa90800e8418a809f72645e9c",
    ),
    Package(
        registry="pip",
        name="django-registration-redux",
        version="2.13",
        licence="BSD-3-Clause",
        sha256="547c86ad9b951cf743075b5486f304e51e450b45d04e5ef04392838a9cff3da8",
    ),
    Package(
        registry="pip",
        name="mailman",
        version="3.3.10",
        licence="GPL-3.0-or-later",
        sha256="0f63ed38efa938357074e993d6a9b2d81bedaab92f5b3ecdd519890259893f37",
    ),
    Package(
        registry="npm",
        name="foundation-emails",
        version="2.5.1",
        licence="MIT",
        sha256="80fdb99d93931a62aab5b2db786cfb51833e02fd025acab14883980ff61fdf8f",
    ),
    Package(
        registry="npm",
        name="responsive-html-email-template",
        version="1.0.0",
        licence="MIT",
        sha256="eedccf39fd8ae9d9d496b9700853b888b3fe207f2668003f78e37320d2c43d76",
    ),
)


def fetch(folder: Path) -> dict[str, Path]:
    """Return where the contents of each package lie, fetched and unpacked.

    Raises:
        ValueError: a package is not the one that is pinned.
        subprocess.CalledProcessError: pip or npm can't fetch it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    places = {}
    for package in PACKAGES:
        place = folder / f"{package.name}-{package.version}"
        places[package.name] = place
        if not place.exists():
            with TemporaryDirectory(dir=folder) as loaded:
                _unpack(_fetched(package, Path(loaded)), Path(loaded, "contents"))
                Path(loaded, "contents").rename(place)
    return places


def _fetched(package: Package, folder: Path) -> Path:
    if package.registry == "npm":
        command = ["npm", "pack", "--silent", "--pack-destination", str(folder)]
        command += [f"{package.name}@{package.version}"]
    else:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--dest", str(folder), f"{package.name}=={package.version}"]
    _ = subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (archive,) = folder.iterdir()
    if sha256(archive.read_bytes()).hexdigest() != package.sha256:
        raise ValueError(f"{archive.name} is not the {package.name} that is pinned")
    return archive


def _unpack(archive: Path, place: Path) -> None:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(place)  # noqa: S202 - zipfile lets nothing out of the folder
    else:
        with tarfile.open(archive) as tar:
            tar.extractall(place, filter="data")  # which lets nothing out of it either
