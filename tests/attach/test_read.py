"""What is read of Postfix and Exim: values of smtpd_milters, addresses, the log."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona import state_files
from oborona.config import Settings, parse_address
from oborona.daemon import last_trouble
from oborona.desk.doctor.report import CheckState
from oborona.desk.exim import check_exim, what_to_add
from oborona.desk.postfix.instance import Smtpd
from oborona.desk.postfix.maillog import parse_log
from oborona.desk.postfix.milter_list import entries, join_entries
from oborona.desk.postfix.reach import leads_to, means, place, word_for
from tests.peers.exim import Exim
from tests.peers.exim import available as exim_available

QUEUE = Path("/var/spool/postfix")
OUTSIDE = Smtpd("smtp/inet", chroot=False, milters="", own=False)
INSIDE = OUTSIDE._replace(chroot=True)


@pytest.mark.parametrize(
    ("value", "addresses"),
    [
        ("", []),
        ("inet:127.0.0.1:8891", ["inet:127.0.0.1:8891"]),
        (
            "inet:h:1, unix:a/b  local:/c,\tinet:[::1]:2",
            ["inet:h:1", "unix:a/b", "local:/c", "inet:[::1]:2"],
        ),
        ("{ inet:h:1, default_action=accept }, {unix:a}", ["inet:h:1", "unix:a"]),
        ("$other, ${more?{a}:{b c}} inet:h:1", ["$other", "${more?{a}:{b c}}", "inet:h:1"]),
        ("{ inet:h:1, x=y", ["inet:h:1"]),
        ("} , {", ["}", ""]),
    ],
)
def test_a_value_of_smtpd_milters(value: str, addresses: list[str]) -> None:
    assert [one.address for one in entries(value)] == addresses


@given(st.text(alphabet="{}, $ab:=\t", max_size=200))
def test_whatever_a_value_holds_goes_back_as_it_came(value: str) -> None:
    found = entries(value)
    assert entries(join_entries(found)) == found or "{" in value
    assert "".join(one.text for one in found) == "".join(value.split()).replace(",", "") or any(
        letter in value for letter in "{}, \t"
    )


def test_a_huge_value_takes_no_time() -> None:
    began = time.monotonic()
    assert len(entries("inet:127.0.0.1:8891, " * 20_000)) == 20_000
    entries("{" * 20_000)
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("word", "listen", "smtpd", "leads"),
    [
        ("inet:127.0.0.1:8890", "inet:127.0.0.1:8890", INSIDE, True),
        ("inet:localhost:8890", "inet:127.0.0.1:8890", INSIDE, True),
        ("inet:127.0.0.1:8890", "inet:0.0.0.0:8890", OUTSIDE, True),
        ("inet:[::1]:8890", "inet6:8890@::1", OUTSIDE, True),
        ("inet:127.0.0.1:8891", "inet:127.0.0.1:8890", OUTSIDE, False),
        ("unix:/run/o/m.sock", "unix:/run/o/m.sock", OUTSIDE, True),
        ("unix:/run/o/m.sock", "unix:/run/o/m.sock", INSIDE, False),
        ("unix:o/m.sock", f"unix:{QUEUE}/o/m.sock", INSIDE, True),
        ("unix:o/m.sock", f"unix:{QUEUE}/o/m.sock", OUTSIDE, True),
        ("unix:/o/m.sock", f"unix:{QUEUE}/o/m.sock", INSIDE, True),
        ("unix:/o/m.sock", f"unix:{QUEUE}/o/m.sock", OUTSIDE, False),
        (f"unix:{QUEUE}/o/m.sock", f"unix:{QUEUE}/o/m.sock", INSIDE, False),
        ("unix:", "unix:/run/o/m.sock", OUTSIDE, False),
        ("$milter", "unix:/run/o/m.sock", OUTSIDE, False),
        ("inet:127.0.0.1:smtp", "inet:127.0.0.1:25", OUTSIDE, False),
    ],
)
def test_where_an_address_leads(word: str, listen: str, smtpd: Smtpd, leads: bool) -> None:
    assert leads_to(word, parse_address(listen), smtpd, QUEUE) is leads


def test_the_word_for_main_cf_is_right_in_a_chroot_and_without() -> None:
    for listen in ("inet:127.0.0.1:8890", f"unix:{QUEUE}/o/m.sock"):
        address = parse_address(listen)
        word = word_for(address, QUEUE)
        assert all(leads_to(word, address, smtpd, QUEUE) for smtpd in (INSIDE, OUTSIDE))
    assert word_for(parse_address("unix:/run/o/m.sock"), QUEUE) == "unix:/run/o/m.sock"
    assert means(f"unix:{QUEUE}/o/m.sock", parse_address(f"unix:{QUEUE}/o/m.sock"))
    assert means("unix:o/m.sock", parse_address("unix:/run/o/m.sock"))
    assert not means("unix:p/m.sock", parse_address("unix:/run/o/m.sock"))
    assert place("nonsense", OUTSIDE, QUEUE) is None


NOW = datetime.now().astimezone().replace(microsecond=0)
OLD = f"{NOW:%b} {NOW.day:>2} {NOW:%H:%M:%S}"
LINES = """\
{at} mx postfix/smtpd[1]: connect from a.example[192.0.2.1]
{at} mx postfix/smtpd[1]: 4ABC: client=a.example[192.0.2.1]
{at} mx postfix/cleanup[2]: 4ABC: message-id=<1@a.example>
{at} mx postfix/submission/smtpd[1]: 4DEF: client=b.example[192.0.2.2], sasl_username=x
{at} mx postfix/cleanup[2]: 4DEF: message-id=<>
{at} mx postfix/smtpd[1]: 4GHI: client=never-finished.example[192.0.2.3]
{at} mx postfix/pickup[1]: 4JKL: uid=0 from=<root>
{at} mx postfix/cleanup[2]: 4JKL: message-id=<local@mx>
{at} mx postfix/smtpd[1]: warning: connect to Milter service unix:/x: No such file or directory
{at} mx dovecot: lmtp(1): 4XYZ: client=no
nonsense \x00 \ufffd
"""


@pytest.mark.parametrize("at", [OLD, NOW.isoformat()], ids=["traditional", "iso"])
def test_a_log_tells_what_was_taken_and_who_was_not_reached(at: str) -> None:
    found = parse_log(LINES.format(at=at), NOW.timestamp() - 60)
    assert found.messages == {"4ABC": NOW.timestamp(), "4DEF": NOW.timestamp()}
    assert (found.away, found.away_at) == ("unix:/x: No such file or directory", NOW.timestamp())
    assert parse_log(LINES.format(at=at), NOW.timestamp() + 60).messages == {}


@given(st.text(max_size=500))
def test_no_line_of_a_log_does_harm(text: str) -> None:
    parse_log(text, 0.0)
    parse_log(f"Xyz 99 99:99:99 mx postfix/smtpd[1]: {text}", 0.0)


def test_the_last_trouble_is_kept_and_a_broken_file_is_none(tmp_path: Path) -> None:
    assert last_trouble.read_last_trouble(tmp_path) is None
    last_trouble.note_last_trouble(tmp_path, "writer", "disk\udcff is full" + "!" * 5000)
    last_trouble.note_last_trouble(tmp_path, "writer", "the disk is full")
    found = last_trouble.read_last_trouble(tmp_path)
    assert found is not None
    assert (found.process, found.why) == ("writer", "the disk is full")
    (tmp_path / state_files.LAST_TROUBLE).write_bytes(b"{")
    assert last_trouble.read_last_trouble(tmp_path) is None
    last_trouble.note_last_trouble(Path("/proc/nowhere"), "writer", "nobody is harmed")


@pytest.mark.skipif(not exim_available(), reason="needs Exim and root")
def test_an_exim_that_asks_us_is_told_from_one_that_does_not(tmp_path: Path) -> None:
    with Exim() as exim:
        command = [str(exim.program), "-C", str(exim.config)]
        report = check_exim(command, Settings())
        assert (report.state, report.words) == (
            CheckState.FAIL,
            "Exim asks us, and neither doors.exim nor doors.spamd is open",
        )
        bare = exim.root / "bare.conf"
        bare.write_text(
            f"keep_environment =\nspool_directory = {exim.root}/spool\nlog_file_path = "
            f"{exim.root}/log/%slog\nacl_smtp_rcpt = r\nbegin acl\nr:\n  accept\n"
        )
        bare.chmod(0o644)
        report = check_exim([str(exim.program), "-C", str(bare)], Settings())
        assert (report.state, report.words) == (CheckState.FAIL, "Exim does not ask us")
        report = check_exim([str(exim.program), "-C", "/nowhere"], Settings())
        assert report.state is CheckState.WARN


def test_where_a_door_listens_elsewhere_exim_is_told() -> None:
    told = what_to_add(
        msgspec.convert(
            {
                "doors": {
                    "exim": {"listen": "unix:/run/oborona/exim.sock"},
                    "spamd": {"listen": "inet:192.0.2.7:783"},
                }
            },
            Settings,
        )
    )
    assert (
        "    OBORONA_SOCKET = /run/oborona/exim.sock\n    OBORONA_SPAMD = 192.0.2.7 783\n" in told
    )
    assert told.index("OBORONA_SPAMD") < told.index(".include"), "what is defined before it stands"
    assert "listen =" not in told
