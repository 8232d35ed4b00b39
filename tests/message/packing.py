"""Archives that tests pack, and what is seen in them as in files of a message."""

from __future__ import annotations

import io
import tarfile
import zipfile
from struct import pack

from oborona.message import contents
from oborona.message.contents import AttachmentContents
from oborona.message.findings import Findings


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip archive of these files, the same octets each time."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return out.getvalue()


def tarred(files: dict[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def image(files: dict[str, bytes]) -> bytes:
    """Return an ISO 9660 image with one folder (ECMA-119 s8.4, s9.1)."""

    def record(name: bytes, sector: int, size: int, flags: int = 0) -> bytes:
        made = (
            bytes((0, 0))
            + pack("<L", sector)
            + pack(">L", sector)
            + pack("<L", size)
            + pack(">L", size)
            + bytes(7)
        )
        made += (
            bytes((flags, 0, 0))
            + bytes(4)
            + bytes((len(name),))
            + name
            + b"\0" * (len(name) % 2 == 0)
        )
        return bytes((len(made),)) + made[1:].ljust(len(made) - 1, b"\0")

    folder = record(b"\0", 18, 2048, 2) + record(b"\1", 18, 2048, 2)
    data = b""
    for number, (name, content) in enumerate(files.items()):
        folder += record(name.encode(), 19 + number, len(content))
        data += content.ljust(2048, b"\0")
    primary = (b"\1CD001\1" + bytes(149) + record(b"\0", 18, 2048, 2)).ljust(2048, b"\0")
    return (
        bytes(16 * 2048)
        + primary
        + b"\xffCD001\1".ljust(2048, b"\0")
        + folder.ljust(2048, b"\0")
        + data
    )


def look(octets: bytes, name: str = "a.bin") -> tuple[AttachmentContents, dict[str, str]]:
    """Return what is seen in an attached file, and the findings with their evidence."""
    findings = Findings()
    found = contents.look(
        octets, name, name.rpartition(".")[2], "application/octet-stream", findings
    )
    return found, {each.name: each.evidence for each in findings.all()}
