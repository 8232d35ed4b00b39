"""Flows that softflowd sends and nfcapd collects: all sums are those of the capture."""

import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from oborona.accounts.flows.addresses import AddressTable, OwnSources
from oborona.accounts.flows.flow_taker import ReadFile
from oborona.accounts.flows.measurement import FlowRules, measure
from oborona.accounts.flows.nfdump import CollectedFile, FileDamaged, NfdumpReader
from oborona.errors import OboronaError
from oborona.reputation.networks import network
from tests.accounts.flows.captured_smtp import SmtpSession, SourceSums, sums_of, write_pcap
from tests.peers.nfcapd import Nfcapd

OURS = ("192.0.2.0/24",)
VERSIONS = {
    "v5": ("-v", "5"),
    "v9": ("-v", "9", "-A", "milli"),
    "ipfix": ("-v", "10", "-A", "milli"),
}


def sessions(begin: float) -> list[SmtpSession]:
    draw = random.Random(7)
    small = [
        SmtpSession(
            "192.0.2.5", f"198.51.100.{1 + n % 150}", 20_000 + n, begin + draw.random() * 8,
            0.2 + draw.random() * 4, [draw.randrange(20, 400) for _ in range(4)],
        )
        for n in range(200)
    ]  # fmt: skip
    large = [
        SmtpSession(
            "192.0.2.6", f"198.51.100.{1 + n % 5}", 30_000 + n, begin + n * 0.1, 3, [1400] * 30
        )
        for n in range(20)
    ]
    refused = [
        SmtpSession(
            "192.0.2.7", "198.51.100.9", 40_000 + n, begin + n * 0.05, 0.3, [30], n % 2 == 0
        )
        for n in range(30)
    ]
    foreign = [SmtpSession("203.0.113.9", "192.0.2.5", 50_000, begin, 1, [500] * 3)]
    submission = [SmtpSession("192.0.2.8", "198.51.100.3", 2_000, begin, 1, [900], port=587)]
    return [*small, *large, *refused, *foreign, *submission]


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[SmtpSession]]:
    made = sessions(round(time.time()) - 20)
    path = tmp_path_factory.mktemp("capture") / "smtp.pcap"
    write_pcap(path, made)
    return path, made


@pytest.fixture(scope="module", params=VERSIONS)
def collected(
    request: pytest.FixtureRequest,
    capture: tuple[Path, list[SmtpSession]],
    tmp_path_factory: pytest.TempPathFactory,
) -> list[Path]:
    folder = tmp_path_factory.mktemp(request.param)
    with Nfcapd(folder) as collector:
        collector.export(capture[0], *VERSIONS[request.param])
    assert collector.files()
    return collector.files()


def reader(program: str = "nfdump", **limits: float) -> NfdumpReader:
    return NfdumpReader(
        program,
        seconds=limits.get("seconds", 60),
        memory=int(limits.get("memory", 1 << 30)),
        goes_on=lambda: None,
    )


def read(path: Path) -> tuple[CollectedFile, AddressTable]:
    table = AddressTable()
    return reader().read(path, table, OwnSources(map(network, OURS), table)), table


def measured(path: Path, rules: FlowRules) -> tuple[ReadFile, AddressTable]:
    file, table = read(path)
    told = measure(
        file.records, file.exporters, file.counts, rules, table,
        name=path.name, size=path.stat().st_size, received=path.stat().st_mtime, wrong=file.wrong,
    )  # fmt: skip
    return told, table


def sums(told: ReadFile, table: AddressTable) -> dict[str, SourceSums]:
    return {
        table.text_of(int(window.source[place])): SourceSums(
            packets=int(window.packets[place]),
            octets=int(window.octets[place]),
            streams=int(window.streams[place]),
            at_once=int(window.at_once[place]),
            destinations=int(window.destinations[place]),
            refused=int(window.refused[place]),
        )
        for window in told.windows
        for place in range(len(window.source))
    }


def test_the_sums_are_those_of_the_capture(
    collected: list[Path], capture: tuple[Path, list[SmtpSession]]
) -> None:
    (path,) = collected
    told, table = measured(path, FlowRules(rotation_s=60))
    expected = {source: s for source, s in sums_of(capture[1]).items() if source[:7] == "192.0.2"}
    assert sums(told, table) == expected
    assert told.wrong == 0
    (exporter,) = told.exporters
    assert exporter.exporter == "127.0.0.1"
    assert exporter.times_wrong == 0
    assert exporter.flows >= exporter.records == 251


def test_packets_octets_and_streams_are_those_of_nfdump(collected: list[Path]) -> None:
    (path,) = collected
    told, table = measured(path, FlowRules(rotation_s=60))
    output = subprocess.run(
        ["nfdump", "-r", path, "-q", "-N", "-A", "srcip", "-o", "fmt:%sa,%pkt,%byt,%fl",
         "proto tcp and dst port in [25 465 587 2525] and src net 192.0.2.0/24"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    theirs = {
        source.strip(): tuple(map(int, amounts))
        for source, *amounts in (line.split(",") for line in output.splitlines() if "," in line)
    }
    ours = {source: (s.packets, s.octets, s.streams) for source, s in sums(told, table).items()}
    assert ours == theirs


def test_a_sampled_exporter_scales_packets_and_octets_alone(
    collected: list[Path], capture: tuple[Path, list[SmtpSession]]
) -> None:
    told, table = measured(collected[0], FlowRules(rates={"127.0.0.1": 100}))
    exact = sums_of(capture[1])["192.0.2.6"]
    scaled = sums(told, table)["192.0.2.6"]
    assert (scaled.packets, scaled.octets) == (100 * exact.packets, 100 * exact.octets)
    assert (scaled.streams, scaled.destinations) == (exact.streams, exact.destinations)
    assert all(window.sampled.all() for window in told.windows)


def test_exporters_that_are_not_named_are_left_out(collected: list[Path]) -> None:
    told, _ = measured(collected[0], FlowRules(believed=frozenset({"203.0.113.1"})))
    assert told.windows == []


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_file_that_was_cut_is_damaged(
    collected: list[Path], tmp_path: Path, share: float
) -> None:
    octets = collected[0].read_bytes()
    cut = tmp_path / "nfcapd.202601010000"
    cut.write_bytes(octets[: int(len(octets) * share)])
    with pytest.raises(FileDamaged):
        read(cut)


@pytest.mark.parametrize("octets", [b"", b"garbage" * 100, bytes(4096)])
def test_what_is_no_file_of_nfcapd_is_damaged(tmp_path: Path, octets: bytes) -> None:
    path = tmp_path / "nfcapd.202601010000"
    path.write_bytes(octets)
    with pytest.raises(FileDamaged):
        read(path)


def test_a_file_with_a_byte_changed_is_read_or_damaged(
    collected: list[Path], tmp_path: Path
) -> None:
    octets = bytearray(collected[0].read_bytes())
    draw = random.Random(3)
    path = tmp_path / "nfcapd.202601010000"
    for _ in range(12):
        place = draw.randrange(len(octets))
        octets[place] ^= 1 << draw.randrange(8)
        path.write_bytes(octets)
        octets[place] = collected[0].read_bytes()[place]
        try:
            file, _ = read(path)
        except FileDamaged:
            continue
        assert (file.records.octets >= 0).all()


def test_a_minute_in_which_no_exporter_said_anything_is_a_file_like_others(
    tmp_path: Path,
) -> None:
    """A collector rotates an empty file each minute, whatever the routers do."""
    with Nfcapd(tmp_path) as collector:
        pass
    (file,) = collector.files()
    table = AddressTable()
    read = reader().read(file, table, OwnSources([network(one) for one in OURS], table))
    assert (len(read.records), read.counts, read.exporters, read.wrong) == (0, {}, [], 0)


def test_no_nfdump_is_said(collected: list[Path]) -> None:
    table = AddressTable()
    with pytest.raises(OboronaError, match="can't be run"):
        reader("/nowhere/nfdump").read(collected[0], table, OwnSources([], table))


def test_an_nfdump_that_does_not_end_is_ended(tmp_path: Path) -> None:
    program = tmp_path / "nfdump"
    program.write_text("#!/bin/sh\nexec >&- 2>&-\nexec sleep 600\n")
    program.chmod(0o755)
    table = AddressTable()
    began = time.monotonic()
    with pytest.raises(FileDamaged):
        reader(str(program), seconds=1).read(tmp_path / "any", table, OwnSources([], table))
    assert time.monotonic() - began < 30


def test_the_programs_are_there() -> None:
    assert all(map(shutil.which, ("nfdump", "nfcapd", "softflowd")))
