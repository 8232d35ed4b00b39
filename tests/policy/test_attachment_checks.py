"""Checks on what attachments hold: what each finds, and the near miss that it must leave alone."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from tests.message.packing import zipped
from tests.policy.test_checks import HEAD, attached, found

FILES = Path(__file__).parents[1] / "message/files"
PROGRAM = b"MZ\x90\0" + bytes(100)


SOURCES = {f"src/module{number}.c": b"int x;" for number in range(20)}


@pytest.mark.parametrize(
    ("data", "evidence"),
    [
        (zipped({"run.exe": PROGRAM}), "a.zip: run.exe"),
        (zipped({"letter.js": b"x", "readme.txt": b"x"}), "a.zip: letter.js"),
        (zipped({"data": PROGRAM}), "a.zip: data"),
        (zipped({"in.zip": zipped({"run.scr": b"x"})}), "a.zip: run.scr"),
        ((FILES / "plain.7z").read_bytes(), "a.zip: invoice.pdf.exe"),
        # software, as people send it
        (zipped({"tool.exe": PROGRAM, "build.bat": b"x", **SOURCES}), None),
        (zipped({"report.pdf": b"%PDF-1.7", "table.xlsx": b"x"}), None),
        (
            zipped({"run.exe": b""}),
            "a.zip: run.exe",
        ),  # a directory may lie about sizes: its name promises one
        (zipped({"run.exe": b"x"}), "a.zip: run.exe"),
        (
            zipped({"example.com": b"", "index.txt": b"x"}),
            None,
        ),  # a saved site's folder, as some archives list it
    ],
)
def test_packed_program(data: bytes, evidence: str | None) -> None:
    assert found(attached("a.zip", data)).get("packed-program") == evidence


@pytest.mark.parametrize(
    ("data", "evidence"),
    [
        (
            zipped({"order.pdf": PROGRAM, **SOURCES}),
            "a.zip: order.pdf (a program by its first bytes)",
        ),
        (zipped({**SOURCES, "order.pdf.lnk": b"x"}), "a.zip: order.pdf.lnk (double extension)"),
        (zipped({"order.pdf        .exe": b"x"}), "a.zip: order.pdf .exe (double extension)"),
        (zipped({"run.exe": PROGRAM}), None),
        (zipped({"version.2.exe": PROGRAM}), None),
        (zipped({"version.2.txt": b"x"}), None),
    ],
)
def test_disguised_program(data: bytes, evidence: str | None) -> None:
    assert found(attached("a.zip", data)).get("disguised-program") == evidence


@pytest.mark.parametrize(
    ("subject", "text", "hit"),
    [
        ("invoice", "The password: 4711", True),
        ("invoice", "Archive password - qwerty", True),
        ("invoice", "password is Abc1", True),
        ("invoice", "Use PASSWORD 2026 to open", True),
        ("invoice", "Пароль к архиву: 123", True),
        ("invoice", "\u043f\u0061\u0440\u043e\u043b\u044c 777", True),  # with a Latin a
        ("invoice", "Das Passwort lautet: geheim", True),
        ("invoice, pw: 99", "see below", True),
        ("invoice", "The password will be sent to you separately.", False),
        ("invoice", "Reset your password here", False),
        ("invoice", "Forgot the password: https://bank.example/reset", False),
        ("invoice", "See the archive.", False),
    ],
)
def test_password_beside_archive(subject: str, text: str, hit: bool) -> None:
    def letter(name: str) -> bytes:
        data = base64.b64encode((FILES / name).read_bytes()).decode()
        return (
            f"{HEAD}Subject: {subject}\nMIME-Version: 1.0\nContent-Type: multipart/mixed; "
            f"boundary=b\n\n--b\n"
            f"Content-Type: text/plain; charset=utf-8\n\n{text}\n--b\nContent-Type: "
            f"application/x-7z-compressed; name={name}\n"
            f"Content-Transfer-Encoding: base64\n\n{data}\n--b--\n"
        ).encode()

    assert found(letter("data.7z")).get("password-beside-archive") == ("data.7z" if hit else None)
    assert "password-beside-archive" in found(letter("names.7z")) or not hit
    assert "password-beside-archive" not in found(letter("plain.7z"))
