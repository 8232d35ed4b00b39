"""What fuzzing starts from: golden mails, their parts, and files that other programs or the tests
packed.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from PIL import Image

from oborona.feedback.weights_file import WeightsHeader
from oborona.journal.evidence import VerdictEvidence
from oborona.message.documents.pdf_text import samples
from oborona.message.findings import Findings
from oborona.message.limits import DEFAULT
from oborona.message.mime import split
from oborona.message.transfer_encoding import decode
from oborona.policy.merge import merge
from oborona.policy.models.content.calibration import Calibration
from oborona.policy.models.final.file import FORMAT, ModelFile
from oborona.policy.models.final.summary import TrainingSummary
from oborona.policy.rules import Rule
from oborona.toml import parse
from tests.daemon.intake.letters import ABUSE, arf, forwarded, spam
from tests.fuzz import seeds_of_doors, seeds_of_wires
from tests.message.delivery_statuses import EXCHANGE, EXIM, FULL, GOOGLE, POSTFIX, notification
from tests.message.office_files import compound_file, container, macro_project
from tests.message.packing import image, tarred, zipped

TESTS: Final = Path(__file__).parents[1]
POLICY: Final = TESTS.parent / "etc/policy.d"
FILES: Final = TESTS / "message/files"
_SEEDS: Final = {**seeds_of_doors.SEEDS, **seeds_of_wires.SEEDS}
_MACROS: Final = b"Sub AutoOpen()\nShell x"
_CHARSETS: Final = (
    b"koi8-r",
    b"utf-7",
    b"utf-16",
    b"iso-2022-jp",
    b"hz",
    b"gb2312",
    b"big5",
    b"windows-1251",
    b"x",
)


def _mails() -> Iterator[bytes]:
    for place in ("golden/mails/*.eml", "golden/torture/*.txt"):
        for file in sorted(TESTS.glob(place)):
            yield file.read_bytes().replace(b"\r\n", b"\n")


def _parts(start: str) -> Iterator[bytes]:
    """Yield the decoded parts of a type that golden mails have."""
    for mail in _mails():
        for entity in split(mail, DEFAULT, Findings()):
            if entity.leaf and entity.content_type.startswith(start):
                yield decode(mail[entity.start : entity.end], entity.encoding, Findings())


def _files(*endings: str) -> Iterator[bytes]:
    for file in sorted(FILES.iterdir()):
        if file.suffix in endings:
            yield file.read_bytes()


def _compound() -> bytes:
    return compound_file({"WordDocument": b"", **macro_project(_MACROS)}, ("VBA",))


def _zips() -> Iterator[bytes]:
    files = {
        "a/b.exe": b"MZ\0" * 50,
        "c.pdf": b"%PDF-1.7 /JavaScript /ObjStm stream\n",
        "п.txt": b"text " * 20,
    }
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2):
        yield zipped(files, method)
    yield zipped({"[Content_Types].xml": b"x", "word/vbaProject.bin": _compound(), "word/_rels/a.rels": b'<Relationship TargetMode="External" '
                  b'Type="x/attachedTemplate" Target="http://a.example/"/>'})  # fmt: skip
    yield zipped({"a.zip": zipped({"b.zip": zipped(files)})})


def _rules() -> tuple[Rule, ...]:
    """Return the rules that ship."""
    return merge(
        [parse(file.read_bytes(), file.name) for file in sorted(POLICY.glob("*.toml"))]
    ).rules


def _final_model() -> bytes:
    """Return what stands under the digest of a file with the smallest model."""
    stored = ModelFile(
        format=FORMAT,
        features=("links",),
        depth=1,
        places=bytes(2),
        borders=bytes(4),
        values=bytes(16),
        weights=bytes(16),
        scale=1.0,
        bias=0.0,
        calibration=Calibration(),
        policy="x",
        trained_at=1.0,
        summary=TrainingSummary(spam=1, ham=1),
    )
    return msgspec.msgpack.encode(stored)


def seeds(target: str) -> Iterator[bytes]:
    """Yield the inputs that fuzzing of a target starts from.

    Those of texts for a target that has none of its own.
    """
    match target:
        case "message" | "mime":
            yield from _mails()
        case "headers":
            yield from (mail.partition(b"\n\n")[0] + b"\n\n" for mail in _mails())
        case "charset":
            yield from (
                charset + b"\n" + text[:500]
                for text in _parts("text/plain")
                for charset in _CHARSETS
            )
        case "transfer":
            yield from (mail.partition(b"\n\n")[2] for mail in _mails())
            yield b"begin 644 a.txt\n#8F]Y\n`\nend\n"
        case "report":
            for mail in (
                forwarded(spam(), spam(None)),
                arf(spam(), *ABUSE, "Original-Rcpt-To: <a@b.example>"),
            ):
                yield mail.replace(b"\r\n", b"\n")
            for status in (POSTFIX, EXIM, GOOGLE, EXCHANGE, FULL):
                yield notification(status)
        case "page" | "sheet":
            yield from _parts("text/html")
        case "paper":
            yield from samples()
        case "zip":
            yield from _zips()
        case "rar" | "7z" | "tnef":
            yield from _files("." + target)
        case "tar":
            yield from (
                tarred({"a.txt": b"x" * 20, "п" * 120: b"y"}, form)
                for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
            )
        case "iso":
            yield image({"A.EXE;1": b"MZ", "B.TXT;1": b"text"})[16 * 2048 :]
        case "streams":
            for pack in (gzip.compress, bz2.compress, lzma.compress):
                yield pack(b"a letter to read " * 20)
        case "compound":
            yield _compound()
            yield from _files(".bin")
        case "macros":
            yield container(_MACROS)
        case "documents":
            yield (
                b"%PDF-1.5\n/JavaScript /OpenAction 1 0 obj << /ObjStm >> stream\n"
                + zlib.compress(b"/JS 1")
                + b"\nendstream"
            )
            yield b"{\\rtf1\\object\\objdata 01050000}"
            yield from _parts("text/html")
        case "wrapped":
            for kind in ("application/pkcs7-mime", "application/x-pkcs7-mime"):
                yield from _parts(kind)
        case "card":
            yield (
                b"BEGIN:VCALENDAR\r\nSUMMARY:a\\, b\r\nDESCRIPTION:long\r\n  "
                b"text\r\nEND:VCALENDAR\r\n"
            )
            yield from _parts("text/calendar")
        case "picture":
            yield from _parts("image/")
            for kind in ("PNG", "GIF", "JPEG", "BMP", "WEBP", "TIFF"):
                out = io.BytesIO()
                Image.effect_mandelbrot((48, 48), (-2, -1, 1, 1), 20).save(out, kind)
                yield out.getvalue()
        case "attachment" | "kind":
            for name, octets in (
                ("a.docx", _compound()),
                ("x.tgz", gzip.compress(tarred({"a": b"x"}))),
                ("a.iso", image({"A.EXE;1": b"MZ"})),
            ):
                yield name.encode() + b"\n" + octets
            yield from (
                b"a.zip\n" + octets for octets in (*_zips(), *_files(".rar", ".7z", ".tnef"))
            )
        case "expression":
            for rule in _rules():
                yield "\0".join(
                    [rule.when, rule.say, rule.score if isinstance(rule.score, str) else ""]
                ).encode()
        case "policy":
            yield from (file.read_bytes() for file in sorted(POLICY.glob("*.toml")))
        case "script":
            yield b"oborona.rule{name='A', score=1, when=function(f) return f.links > 2 end}\n"
            yield b"oborona.check{name='a', run=function(f) return 'x' end}\n"
        case "weights":
            yield msgspec.json.encode(WeightsHeader(epoch=1, spam=2, persons=b"x"))
        case "final":
            yield _final_model()
        case "row":
            yield b'[{"name":"A","score":1.0}]\0["a@b.example"]\0{}\0[{"name":"x"}]\0[1,true,"x",["y"]]\0["a","b","c","d"]\0\1\0\0\0\0\0\0\0\0'
        case "kept":
            yield msgspec.msgpack.encode(
                VerdictEvidence(counts=((15, [[[1] * 6] * 4]),), robotic={14: 0.5})
            )
        case _ if target in _SEEDS:
            yield from _SEEDS[target]
        case _:
            yield from _parts("text/")
