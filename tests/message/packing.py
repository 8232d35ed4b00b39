"""Archives that tests pack, and what is seen in them as in files of a message."""

from __future__ import annotations

import io
import zipfile

from oborona.message import contents
from oborona.message.contents import Contents
from oborona.message.findings import Findings


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip archive of these files, the same octets each time."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return out.getvalue()


def look(octets: bytes, name: str = "a.bin") -> tuple[Contents, dict[str, str]]:
    """Return what is seen in an attached file, and the findings with their evidence."""
    findings = Findings()
    found = contents.look(octets, name, name.rpartition(".")[2], "application/octet-stream", findings)
    return found, {each.name: each.evidence for each in findings.all()}
