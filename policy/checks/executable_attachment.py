"""An attachment is a program by its name or its first bytes, or hides its kind behind a second
extension.
"""

from __future__ import annotations

from typing import Final

from oborona.message.file_types import PROGRAMS
from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "executable-attachment"

# What Windows and macOS run, or hand to an interpreter, on a double click.  Gmail, Outlook and
# Postfix admins refuse the same.
EXECUTABLE: Final = frozenset(
    [
        "ade",
        "adp",
        "appx",
        "appxbundle",
        "apk",
        "application",
        "bat",
        "cab",
        "chm",
        "cmd",
        "com",
        "cpl",
        "dll",
        "dmg",
        "exe",
        "gadget",
        "hlp",
        "hta",
        "img",
        "inf",
        "ins",
        "iso",
        "isp",
        "jar",
        "jnlp",
        "js",
        "jse",
        "lib",
        "lnk",
        "mde",
        "msc",
        "msi",
        "msix",
        "msp",
        "mst",
        "nsh",
        "pif",
        "ps1",
        "ps1xml",
        "ps2",
        "psc1",
        "reg",
        "scf",
        "scr",
        "sct",
        "settingcontent-ms",
        "shb",
        "sys",
        "url",
        "vb",
        "vbe",
        "vbs",
        "vhd",
        "vhdx",
        "vxd",
        "wsc",
        "wsf",
        "wsh",
        "xll",
    ]
)
# Kinds that people expect: before an executable extension they are a disguise.
HARMLESS: Final = frozenset(
    [
        "pdf",
        "doc",
        "docx",
        "xls",
        "xlsx",
        "ppt",
        "pptx",
        "txt",
        "rtf",
        "jpg",
        "jpeg",
        "png",
        "gif",
        "zip",
        "html",
        "htm",
        "mp3",
        "mp4",
        "csv",
    ]
)


def check(context: CheckContext) -> Finding | None:
    """Return a finding for the first attachment that would run; the evidence is its name."""
    for attachment in context.message.attachments:
        extension = attachment.extension.lower()
        if extension in EXECUTABLE:
            stem = attachment.name.lower().rsplit(".", 2)
            disguise = (
                " (double extension)" if len(stem) == 3 and stem[1].strip() in HARMLESS else ""
            )
            return Finding(SLUG, quoted(attachment.name, 80) + disguise)
        if attachment.kind in PROGRAMS:
            return Finding(SLUG, quoted(attachment.name, 80) + " (a program by its first bytes)")
    return None
