"""Types of attachments and of the message's shape."""

from __future__ import annotations

import io
import tarfile
import zipfile
from base64 import b64encode

from oborona.message.shingles import ShingleType
from oborona.types import CountedPieces
from tests.message.types.case import Case, mail

PDF = b"%PDF-1.4\n" + b"octets of some document " * 200


def attached(
    content: bytes, name: str = "a.bin", kind: str = "application/octet-stream", *, more: str = ""
) -> CountedPieces:
    parts = ["--b", "Content-Type: text/plain", "", "see the file", "", "--b"]
    parts += [f'Content-Type: {kind}; name="{name}"', "Content-Transfer-Encoding: base64", "Content-Disposition: attachment", ""]  # fmt: skip
    text = "\n".join([*parts, b64encode(content).decode(), more, "--b--"])
    return mail(text, "MIME-Version: 1.0", "Content-Type: multipart/mixed; boundary=b")


def zipped(content: bytes, name: str, *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", method) as archive:
        archive.writestr(name, content)
    return held.getvalue()


def tarred(content: bytes, name: str) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return held.getvalue()


CASES = {
    ShingleType.ATTACHMENT_NAME: Case(
        same=(attached(PDF, "Bill 7.PDF"), attached(b"other", "BILL  7.pdf"), attached(PDF, "B\u0456ll 7.pdf")),
        differ=(attached(PDF, "bill 7.pdf"), attached(PDF, "bill 8.pdf"), attached(PDF, "bill 7.doc")),
        none=(mail("no file"), attached(PDF, "")),
    ),
    ShingleType.ATTACHMENT_TYPE: Case(
        same=(attached(PDF, "a.pdf", "application/pdf"), attached(b"other", "B.PDF", "Application/PDF")),
        differ=(attached(PDF, "a.pdf", "application/pdf"), attached(PDF, "a.pdf", "image/png"), attached(PDF, "a.exe", "application/pdf")),
        none=(mail("no file"),),
    ),
    ShingleType.ATTACHMENT_SIZE: Case(
        same=(attached(PDF, "a.pdf"), attached(PDF[:-1] + b"!", "b.pdf", "application/pdf")),
        differ=(attached(PDF, "a.pdf"), attached(PDF + b"!", "a.pdf"), attached(b"x" * len(PDF), "a.txt", "text/csv")),
        none=(mail("no file"), attached(PDF[:4000], "a.pdf")),
    ),
    ShingleType.MEMBER_NAME: Case(
        same=(
            attached(zipped(PDF, "Folder/Bill.PDF"), "a.zip"),
            attached(zipped(b"other" * 99, "Folder/BILL.pdf"), "b.zip"),
            attached(tarred(PDF, "Folder/Bill.pdf"), "c.tar"),
        ),
        differ=(attached(zipped(PDF, "bill.pdf")), attached(zipped(PDF, "bill2.pdf"))),
        none=(attached(PDF, "bill.pdf"), attached(zipped(PDF, "1.js")), attached(zipped(PDF, ".DS_Store")), attached(zipped(PDF, "README.txt"))),
    ),
    ShingleType.MEMBER_CHECKSUM: Case(
        same=(
            attached(zipped(PDF, "bill.pdf"), "a.zip"),
            attached(zipped(PDF, "other.pdf", method=zipfile.ZIP_STORED), "b.zip"),
        ),
        differ=(attached(zipped(PDF, "bill.pdf")), attached(zipped(PDF + b"!", "bill.pdf"))),
        none=(attached(PDF, "bill.pdf"), attached(zipped(b"small", "bill.pdf"))),
    ),
    ShingleType.MIME_TREE: Case(
        same=(attached(PDF, "a.pdf", "application/pdf"), attached(b"other", "b.bin", "Application/PDF")),
        differ=(attached(PDF, "a.pdf", "application/pdf"), attached(PDF, "a.pdf", "application/zip"), attached(PDF, more="\n--b\n\nmore\n")),
        none=(mail("a plain letter"), mail(html="<p>a page")),
    ),
    ShingleType.CHECKSUM: Case(
        same=(attached(PDF, "a.pdf", "application/pdf"), attached(PDF, "b.exe")),
        differ=(attached(PDF), attached(PDF + b" ")),
        none=(mail("no file"), attached(b"x" * 63)),
    ),
}  # fmt: skip
