"""`oborona dissect`: what it prints for programs and for people, and that its hashes are those of a
scan.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from oborona import secret
from oborona.cli import main
from oborona.counters.memory import MemoryCounters
from oborona.message.dissection import Dissection
from oborona.message.shingles import Hasher
from oborona.policy.evidence import NoInquiry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy, load_policy
from oborona.policy.scan import Scan, ScanSite, scan
from oborona.types import Client, Envelope
from tests.event_loop import finished

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
LETTER = (
    "From: Ann <ann@a.example>\nTo: bob@b.example\nSubject: Lunch\nDate: Fri, 20 Nov 2026 "
        "10:00:00 +0000\nMessage-ID: <1@a.example>\n"
    "Content-Type: multipart/mixed; boundary=x\n\n"
    "--x\nContent-Type: text/html; charset=utf-8\n\n"
    "<p>Get ca$h, Bob, and v i a g r a: write to shop@c.example or call +49 30 901820</p>"
    "<p><a href='https://user@www.d.example/a?utm_source=x'>our shop</a></p><p "
        "style='display:none'>nobody reads this</p>\n"
    "<br>-- <br>Ann\n"
    f'--x\nContent-Type: image/png; name="dot\x1b[2J.png"\nContent-Transfer-Encoding: '
        f'base64\n\n{PNG}\n--x--\n'
)  # fmt: skip
ENVELOPE = ("--ip", "192.0.2.7", "--name", "m.a.example", "--helo", "m", "--from", "b@a.example", "--rcpt", "bob@b.example")  # fmt: skip


def run(*words: object, data: bytes | None = None) -> Result:
    return CliRunner().invoke(
        main, [str(word) for word in words], input=data, catch_exceptions=False
    )


@pytest.fixture
def letter(tmp_path: Path) -> Path:
    path = tmp_path / "letter.eml"
    path.write_text(LETTER)
    return path


@pytest.fixture
def dissected(letter: Path, tmp_path: Path) -> dict[str, Any]:
    secret.make(tmp_path)
    found: dict[str, Any] = json.loads(
        run("--state", tmp_path, "dissect", "--json", letter, *ENVELOPE).stdout
    )
    return found


def test_keys_are_those_of_the_schema(dissected: dict[str, Any], letter: Path) -> None:
    assert list(dissected) == list(Dissection.__struct_fields__)
    assert dissected["file"] == str(letter)
    assert dissected["keyed"] is True
    assert dissected["size"] == len(LETTER)


def test_the_tree(dissected: dict[str, Any]) -> None:
    tree = dissected["tree"]
    assert (tree["path"], tree["type"]) == ("", "multipart/mixed")
    assert [
        (part["path"], part["type"], part["charset"], part["encoding"]) for part in tree["children"]
    ] == [
        ("1", "text/html", "utf-8", ""),
        ("2", "image/png", "", "base64"),
    ]


def test_the_texts(dissected: dict[str, Any]) -> None:
    assert dissected["shown"].startswith("Get ca$h, Bob, and v i a g r a: write to")
    assert dissected["text"].startswith("get ca$h, bob, and v i a g r a: write to")
    assert dissected["hidden"] == "nobody reads this"
    removed = dissected["removed"]
    assert 0 < removed["hidden_share"] < 1
    assert removed["respelled"] == [
        {"written": "ca$h,", "read": "cash,"},
        {"written": "v i a g r a", "read": "viagra"},
    ]
    assert removed["not_own"] == ["--", "Ann"]


def test_the_entities(dissected: dict[str, Any]) -> None:
    entities = {entity["kind"]: entity for entity in dissected["entities"]}
    assert set(entities) == {"link", "address", "phone"}
    link = entities["link"]
    assert (link["value"], link["host"], link["domain"]) == ("https://www.d.example/a", "www.d.example", "d.example")  # fmt: skip
    assert (link["shown"], link["user"], link["place"], link["through"]) == (
        "our shop",
        "user",
        "anchor",
        "",
    )
    assert entities["address"]["value"] == "shop@c.example"
    assert (entities["phone"]["value"], entities["phone"]["raw"]) == (
        "+4930901820",
        "+49 30 901820",
    )


def test_attachments_and_pictures(dissected: dict[str, Any]) -> None:
    (attached,) = dissected["attachments"]
    assert (attached["type"], attached["kind"], attached["picture"], attached["files"]) == ("image/png", "png", True, [])  # fmt: skip
    assert (attached["size"], len(attached["sha256"])) == (70, 64)


def test_shingles_and_pairs(dissected: dict[str, Any]) -> None:
    sources = {(one["name"], one["source"]) for one in dissected["shingles"]}
    assert {("from", "ann@a.example"), ("url", "https://www.d.example/a"), ("client_network", "192.0.2.0/24")} <= sources  # fmt: skip
    assert all(
        set(one) == {"type", "name", "hash", "source", "form"} for one in dissected["shingles"]
    )
    assert all(len(one["hash"]) == 16 for one in dissected["shingles"])
    assert {("b@a.example", "bob@b.example")} <= {
        (one["a"], one["b"]) for one in dissected["pairs"]
    }


def test_findings_say_what_they_mean() -> None:
    found = json.loads(run("dissect", "--json", GOLDEN / "mails/13-hidden-text.eml").stdout)
    (finding,) = [one for one in found["findings"] if one["name"] == "hidden-text"]
    assert finding["evidence"].startswith("97% of the words")
    assert finding["meaning"].startswith("HTML with text that a reader does not see")


def scanned(raw: bytes, state: Path, policy: Policy) -> Scan:
    site = ScanSite(
        name="mx", hasher=Hasher(secret.load(state).shingles), counters=MemoryCounters()
    )
    envelope = Envelope(
        client=Client(ip="192.0.2.7", name="m.a.example"),
        helo="m",
        sender="b@a.example",
        recipients=("bob@b.example",),
    )
    return finished(scan(raw, envelope, site, policy, NoInquiry(), now=1_800_000_000.0))


def test_hashes_and_findings_are_those_of_a_scan(tmp_path: Path) -> None:
    secret.make(tmp_path)
    policy = load_policy(ROOT / "etc/policy.d", SCHEMA)
    mails = sorted(GOLDEN.glob("mails/*.eml"))
    (tmp_path / "mails").mkdir()
    for mail in mails:  # in a folder of their own: one run of the command for all of them
        (tmp_path / "mails" / mail.name).symlink_to(mail)
    told = run(
        "--state", tmp_path, "dissect", "--json", tmp_path / "mails", *ENVELOPE
    ).stdout.splitlines()
    for mail, line in zip(mails, told, strict=True):
        found = json.loads(line)
        assert Path(found["file"]).name == mail.name
        scan_of_it = scanned(mail.read_bytes(), tmp_path, policy)
        counted = {(one["type"], int(one["hash"], 16)) for one in found["shingles"]}
        assert set(scan_of_it.pieces.shingles) <= counted, mail.name
        pairs = {(one["type"], int(one["hash"], 16)) for one in found["pairs"]}
        assert {pair.both for pair in scan_of_it.pieces.pairs} <= pairs, mail.name
        names = {one["name"] for one in found["findings"]}
        assert {one.name for one in scan_of_it.verdict.findings} <= names, mail.name
        assert all(one["meaning"] for one in found["findings"]), mail.name


def test_without_a_secret_it_is_said(letter: Path, tmp_path: Path) -> None:
    result = run("--state", tmp_path / "none", "dissect", letter)
    assert "hashes are those of no site" in result.stderr
    assert "hashes of no site" in result.stdout
    assert (
        json.loads(run("--state", tmp_path / "none", "dissect", "--json", letter).stdout)["keyed"]
        is False
    )


def test_people_see_what_was_removed_and_no_escapes(letter: Path, tmp_path: Path) -> None:
    told = run("--state", tmp_path, "dissect", letter, *ENVELOPE).stdout
    assert "\x1b" not in told
    for expected in (
        "multipart/mixed",
        "  ! nobody reads this",
        "  - Ann",
        "viagra",
        'shown "our shop"',
        "sender_recipients",
        "+4930901820",
    ):
        assert expected in told


def test_markup_of_a_message_is_no_markup(tmp_path: Path) -> None:
    path = tmp_path / "one"
    path.write_text(
        "From: [red]x@a.example\nSubject: [/bold]\n\n[blink]seven words and one more "
        "[/blink] [/] stand here\n"
    )
    assert "[blink]seven words" in run("--state", tmp_path, "dissect", path).stdout


def test_an_mbox_is_an_object_a_message_and_standard_input_one(tmp_path: Path) -> None:
    one = b"From ann@a.example Fri Nov 20 10:00:00 2026\nFrom: ann@a.example\n\nHello\n\n"
    (tmp_path / "box").write_bytes(one + one)
    lines = run("--state", tmp_path, "dissect", "--json", tmp_path / "box").stdout.splitlines()
    assert [json.loads(line)["file"] for line in lines] == [
        f"{tmp_path}/box#1",
        f"{tmp_path}/box#2",
    ]
    assert (
        json.loads(run("--state", tmp_path, "dissect", "--json", "-", data=one).stdout)["file"]
        == "-"
    )


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert run("--state", tmp_path, "dissect", tmp_path / "none").exit_code == 66


def test_as_a_program_in_either_form(tmp_path: Path) -> None:
    files = [str(file) for file in (GOLDEN / "mails").glob("0[34]*.eml")]
    command = [
        sys.executable,
        "-c",
        "from oborona.cli import main; main()",
        "--state",
        str(tmp_path),
        "dissect",
    ]
    for words in ([files[0]], ["--json", files[1]]):
        done = subprocess.run(
            [*command, *words], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        assert "text/plain" in done.stdout


def test_all_torture_mails_are_shown(tmp_path: Path) -> None:
    result = run("--state", tmp_path, "dissect", GOLDEN / "torture")
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert result.stdout.count("shingles; hashes of no site") >= 48


def test_pictures_with_what_was_read_in_them(tmp_path: Path) -> None:
    """A golden mail whose text and link are in a picture alone."""
    found = json.loads(
        run(
            "--state",
            tmp_path,
            "dissect",
            "--json",
            GOLDEN / "mails/50-picture-and-code-are-all.eml",
        ).stdout
    )
    (picture,) = found["pictures"]
    assert picture["looked"]
    assert picture["read"]
    assert (picture["kind"], picture["frames"]) == ("png", 1)
    assert picture["width"] > 100
    (code,) = picture["codes"]
    assert len(picture["text"].split()) > 3
    assert code in {entity["value"] for entity in found["entities"] if entity["place"] == "code"}
    sources = {shingle["name"]: shingle for shingle in found["shingles"]}
    assert sources["code"]["source"] == code
    assert (sources["picture_hash"]["form"], len(sources["picture_hash"]["source"])) == (
        "octets",
        16,
    )
    assert sources["picture_hash"]["source"] in picture["hashes"]
    assert all(finding["meaning"] for finding in found["findings"])


def test_without_the_libraries_pictures_are_not_looked_at_and_it_is_said(tmp_path: Path) -> None:
    words = ("--state", tmp_path, "--set", "reader.tessdata=/nowhere", "dissect", "--json")
    result = run(*words, GOLDEN / "mails/50-picture-and-code-are-all.eml")
    (picture,) = json.loads(result.stdout)["pictures"]
    assert (picture["looked"], picture["read"], picture["text"]) == (True, False, "")
    assert "oborona: pictures: no read without rus.traineddata" in result.stderr


def test_signatures_that_the_message_has_are_told(letter: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    add = ("--state", state, "signature", "add")
    run(
        *add,
        "shop@c.example",
        "--kind",
        "address",
        "--reason",
        "sells",
        "--owner",
        "anna",
        "--shadow",
    )
    run(*add, "words that are not there", "--reason", "x")
    told = json.loads(run("--state", state, "dissect", "--json", letter).stdout)["signatures"]
    (one,) = [one for one in told if one["flag"] != "mark"]
    assert one == {
        "id": "s1",
        "flag": "spam",
        "kind": "address",
        "where": "any",
        "value": "shop@c.example",
        "owner": "anna",
        "reason": "sells",
        "mode": "shadow",
        "score": None,
    }
    assert "address shop@c.example" in run("--state", state, "dissect", letter).stdout


def test_a_file_with_a_name_of_any_octets_is_told(letter: Path, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"m\xff.eml")
    letter.rename(odd)
    assert json.loads(run("--state", tmp_path, "dissect", "--json", odd).stdout)["file"] == str(
        tmp_path / "m\\xff.eml"
    )
