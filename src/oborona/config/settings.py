"""The settings of etc/oborona.toml: one Struct per section, and the only list of them.

Name, type, range, default, unit (in the name) and meaning stand here once; the reader, the sample
file etc/oborona.toml and docs/operate/settings.md come from it. Changing policy (scores, rules)
needs no setting: see docs/policy/policy.md.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from oborona.config.address import parse_address
from oborona.config.addresses import AddressesSettings
from oborona.config.alarm import AlarmSettings
from oborona.config.confinement import ConfinementSettings
from oborona.config.console import ConsoleSettings
from oborona.config.delivery import DeliverySettings
from oborona.config.doors import MilterSettings, PolicyServiceSettings, check_networks
from oborona.config.engines import EnginesSettings
from oborona.config.eventlog import EventLogSettings
from oborona.config.exim import EximSettings
from oborona.config.export import ExportSettings
from oborona.config.feed import FeedSettings
from oborona.config.final_trainer import FinalTrainingSettings
from oborona.config.flows import FlowSettings
from oborona.config.geoip import GeoIpSettings
from oborona.config.headers import HeaderSettings
from oborona.config.http import HttpSettings
from oborona.config.inspector import InspectorSettings
from oborona.config.intake import IntakeSettings
from oborona.config.learning import LearningSettings
from oborona.config.mailboxes import MailboxSettings
from oborona.config.metrics import MetricsSettings
from oborona.config.personal import PersonalSettings
from oborona.config.proxy import ProxySettings
from oborona.config.reader import ReaderSettings
from oborona.config.recheck import RecheckSettings
from oborona.config.resolvers import EXAMPLES, parse_servers
from oborona.config.spamd import SpamdSettings
from oborona.config.worker import WorkerSettings
from oborona.errors import ConfigError

PACKAGED_POLICY: Final = "package"
NO_POLICY: Final = "none"


def _nodes(value: str) -> None:
    for part in value.split():
        try:
            parse_address(f"inet:{part}")
        except ConfigError:
            raise ValueError(f"{part!r} is no node; write HOST:PORT") from None


def _regions(value: str) -> None:
    if not value:
        return
    from phonenumbers import SUPPORTED_REGIONS  # noqa: PLC0415 - a large table, for those who name a country

    for part in value.split():
        if part not in SUPPORTED_REGIONS:
            raise ValueError(
                f"{part!r} is no country with telephones; write its two capital letters"
            )


def _servers(value: str) -> None:
    try:
        parse_servers(value)
    except ConfigError as fault:
        raise ValueError(fault.problem) from None


class SiteSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Who we are, as others see it."""

    name: Annotated[
        str,
        Meta(
            pattern=r"\A[A-Za-z0-9]?[A-Za-z0-9.-]*\Z",
            max_length=253,
            description="Names this site in Authentication-Results (its authserv-id). Empty: the "
            "host's own name; where that has no domain, what the"
            " mail server calls itself to a milter.",
            extra={"allowed": 'a host name, or ""'},
        ),
    ] = ""
    contact: Annotated[
        str,
        Meta(
            pattern=r"\A[!-$&-~]*\Z",  # a percent sign means something to libmilter
            max_length=200,
            description=(
                "Where people whose mail was refused may ask: a URL or a mail address, shown "
                "in refusals."
            ),
            extra={"allowed": 'a URL or mail address in ASCII without spaces and %, or ""'},
        ),
    ] = ""

    networks: Annotated[
        str,
        Meta(
            max_length=4096,
            description="Networks of our own machines and people, with spaces between: no DNS "
            "list, SPF, DMARC or"
            " reputation stands in their way. Loopback and private addresses always are.",
            extra={
                "allowed": 'such as "192.0.2.0/24 2001:db8::/32", or ""',
                "check": check_networks,
            },
        ),
    ] = ""
    regions: Annotated[
        str,
        Meta(
            max_length=200,
            description=(
                "Countries whose telephone numbers are found in mail without a + in front, "
                "our own first."
            ),
            extra={
                "allowed": 'two-letter codes with spaces between, such as "RU DE", or ""',
                "check": _regions,
            },
        ),
    ] = ""
    submission_ports: Annotated[
        str,
        Meta(
            pattern=r"\A[0-9 ]*\Z",
            max_length=200,
            description="Ports where our own people hand in mail, with spaces between. Whoever "
            "comes there is judged as our own, login"
            " or not: only ports where the mail server lets nobody in without a login.",
            extra={"allowed": 'port numbers with spaces between, or ""'},
        ),
    ] = "465 587"


class PathSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where things lie. Relative paths count from the folder of the settings file."""

    state: Annotated[
        str,
        Meta(
            pattern=r"\A[^\x00-\x1f\x7f]+\Z",
            max_length=4096,
            description="Folder of counters and journal.",
            extra={"allowed": "a path"},
        ),
    ] = "/var/lib/oborona"
    policy: Annotated[
        str,
        Meta(
            pattern=r"\A[^\x00-\x1f\x7f]+\Z",
            max_length=4096,
            description=(
                "Folder of the site's own policy files; it may be missing, or empty. What is "
                "in it wins over the policy that ships."
            ),
            extra={"allowed": "a path"},
        ),
    ] = "policy.d"
    event_logs: Annotated[
        str,
        Meta(
            pattern=r"\A[^\x00-\x1f\x7f]+\Z",
            max_length=4096,
            description=(
                "Folder of the event logs that others write, a file each "
                "(docs/operate/eventlog.md); it may be missing, or empty."
            ),
            extra={"allowed": "a path"},
        ),
    ] = "eventlog.d"
    event_readers: Annotated[
        str,
        Meta(
            pattern=r"\A[^\x00-\x1f\x7f]+\Z",
            max_length=4096,
            description=(
                "Folder of those who may read event logs, a file each "
                "(docs/operate/eventlog.md); it may be missing, or empty."
            ),
            extra={"allowed": "a path"},
        ),
    ] = "eventlog-readers.d"
    shipped_policy: Annotated[
        str,
        Meta(
            pattern=r"\A[^\x00-\x1f\x7f]+\Z",
            max_length=4096,
            description="The policy that is read before that: the one that ships with this "
            "program, another folder (a copy that is to stay as it"
            " is through upgrades), or none.",
            extra={"allowed": f'"{PACKAGED_POLICY}", "{NO_POLICY}", or a path'},
        ),
    ] = PACKAGED_POLICY


class DnsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Who is asked about names: recursive resolvers, best one on this machine
    (docs/operate/dns.md).
    """

    servers: Annotated[
        str,
        Meta(
            max_length=1000,
            description="Their addresses with spaces between, in the order in which they are "
            "asked. Empty: those that"
            " /etc/resolv.conf names when we start.",
            extra={"allowed": f'{EXAMPLES}, several with spaces between, or ""', "check": _servers},
        ),
    ] = ""
    timeout_s: Annotated[
        float,
        Meta(
            ge=0.05,
            le=30,
            description=(
                "A question ends within this, all servers and tries together; then nothing is "
                "known."
            ),
        ),
    ] = 2.0
    message_questions: Annotated[
        int,
        Meta(
            ge=0,
            le=10_000,
            description="Questions that one message may cost for SPF, as many for DNS lists, for "
            "keys and policies, and for ARC"
            " seals; those whose answer is at hand are free.",
        ),
    ] = 200
    message_s: Annotated[
        float,
        Meta(
            ge=0,
            le=19,
            description="Time that each of these may wait for the DNS altogether, all of them at "
            "once; less than"
            " `command_deadline_s` and `deadline_s` of [worker].",
        ),
    ] = 4.0
    cache_entries: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000_000,
            description="Answers that each worker keeps, for at most five minutes; one of more "
            "than a kilobyte counts"
            " as several.",
        ),
    ] = 10_000


class CounterSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Windowed counts of the pieces of messages."""

    store: Annotated[
        Literal["lmdb", "cluster"],
        Meta(
            description=(
                "Where they are kept: on this machine, or in a cluster of Redis, Valkey or "
                "Kvrocks that several share."
            )
        ),
    ] = "lmdb"
    flush_s: Annotated[
        float, Meta(ge=0.01, le=10, description="Workers hand over what they counted this often.")
    ] = 0.1
    durability: Annotated[
        Literal["second", "commit", "none"],
        Meta(
            description="What a power failure leaves of what was counted: all but the last "
            "second; all that was"
            " handed over; or what the kernel happened to have written."
        ),
    ] = "second"
    doorkeeper_mib: Annotated[
        int,
        Meta(
            ge=0,
            le=16_384,
            description="Memory for shingles seen once, in MiB, rounded down to a power of two: "
            "they need no record. 16"
            " hold four million; 0: all get records. A cluster has room for them in its pages: "
            "there any other number is"
            " the same.",
        ),
    ] = 16
    map_mib: Annotated[
        int,
        Meta(
            ge=1,
            le=1_048_576,
            description="First size of the store's map, in MiB; it grows by itself.",
        ),
    ] = 64


class ClusterSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster of counters, if they are kept in one."""

    nodes: Annotated[
        str,
        Meta(
            max_length=4096,
            description="Some of its nodes, with spaces between; they name the others.",
            extra={"allowed": 'HOST:PORT, several with spaces between, or ""', "check": _nodes},
        ),
    ] = ""
    user: Annotated[
        str,
        Meta(
            max_length=256, description="Whom to log in as. Empty: the default user of the nodes."
        ),
    ] = ""
    password_file: Annotated[
        str,
        Meta(
            max_length=4096,
            pattern=r"\A(/[^\x00-\x1f\x7f]+)?\Z",
            description="File that holds the password and nothing else. Empty: none is asked for.",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    certificates: Annotated[
        str,
        Meta(
            max_length=4096,
            pattern=r"\A(/[^\x00-\x1f\x7f]+)?\Z",
            description="File of the certificates that vouch for the nodes, for TLS. Empty: no TLS.",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    deadline_s: Annotated[
        float,
        Meta(
            ge=0.001,
            le=10,
            description="A scan waits so long for counts, then goes on with those it has.",
        ),
    ] = 0.05
    stale_s: Annotated[
        float,
        Meta(ge=0, le=60, description="A worker asks for the same counts again after this long."),
    ] = 0.2


class JournalSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The record of every verdict."""

    batch_s: Annotated[
        float, Meta(ge=0.01, le=60, description="Verdicts are written together this often.")
    ] = 0.25
    retention_hours: Annotated[
        float,
        Meta(
            ge=1,
            le=87_600,
            description="Verdicts older than this are dropped; 336 hours are two weeks.",
        ),
    ] = 336.0
    max_rows: Annotated[
        int,
        Meta(
            ge=1000,
            le=1_000_000_000,
            description="Beyond this many verdicts the oldest are dropped.",
        ),
    ] = 5_000_000
    evidence_hours: Annotated[
        float,
        Meta(
            ge=1,
            le=87_600,
            description="What a verdict rested on is dropped after this, which is nine tenths of "
            "the file; the verdict stays. Replays,"
            " `explain`, `reputation forgive` and names in `reputation top` reach back no "
            "further. At least as long as recheck.window_hours.",
        ),
    ] = 336.0
    refused_hours: Annotated[
        float,
        Meta(
            ge=1,
            le=8_760,
            description="References of what was refused before its content have an answer this "
            "long (`explain`, `find`); beyond max_rows of them the oldest are dropped.",
        ),
    ] = 72.0
    index_mib: Annotated[
        int,
        Meta(
            ge=16,
            le=1_048_576,
            description=(
                "The index that finds similar recent messages takes this much on the disk at "
                "most; beyond, the oldest hours are dropped."
            ),
        ),
    ] = 8192


class LogSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is logged, to standard error, and how long the audit log keeps acts."""

    level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(description="The least important lines that are logged."),
    ] = "info"
    format: Annotated[
        Literal["text", "json"], Meta(description="One line of key=value pairs, or of JSON.")
    ] = "text"
    audit_days: Annotated[
        float,
        Meta(
            ge=1,
            le=36_500,
            description="Who did what to this site (`oborona audit`) is forgotten after so long; "
            "how much was forgotten stays known.",
        ),
    ] = 400.0


class DoorsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Every way in which a worker is asked; each is closed or open by itself."""

    milter: MilterSettings = MilterSettings()
    policy_service: PolicyServiceSettings = PolicyServiceSettings()
    exim: EximSettings = EximSettings()
    spamd: SpamdSettings = SpamdSettings()
    http: HttpSettings = HttpSettings()
    proxy: ProxySettings = ProxySettings()
    delivery: DeliverySettings = DeliverySettings()


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All sections."""

    site: SiteSettings = SiteSettings()
    paths: PathSettings = PathSettings()
    worker: WorkerSettings = WorkerSettings()
    headers: HeaderSettings = HeaderSettings()
    doors: DoorsSettings = DoorsSettings()
    engines: EnginesSettings = EnginesSettings()
    dns: DnsSettings = DnsSettings()
    counters: CounterSettings = CounterSettings()
    cluster: ClusterSettings = ClusterSettings()
    journal: JournalSettings = JournalSettings()
    reader: ReaderSettings = ReaderSettings()
    learning: LearningSettings = LearningSettings()
    final_training: FinalTrainingSettings = FinalTrainingSettings()
    personal: PersonalSettings = PersonalSettings()
    intake: IntakeSettings = IntakeSettings()
    places: GeoIpSettings = GeoIpSettings()
    feed: FeedSettings = FeedSettings()
    alarm: AlarmSettings = AlarmSettings()
    recheck: RecheckSettings = RecheckSettings()
    mailboxes: MailboxSettings = MailboxSettings()
    export: ExportSettings = ExportSettings()
    flows: FlowSettings = FlowSettings()
    eventlog: EventLogSettings = EventLogSettings()
    inspector: InspectorSettings = InspectorSettings()
    addresses: AddressesSettings = AddressesSettings()
    console: ConsoleSettings = ConsoleSettings()
    confine: ConfinementSettings = ConfinementSettings()
    log: LogSettings = LogSettings()
    metrics: MetricsSettings = MetricsSettings()


GROUPS: Final[dict[str, type[msgspec.Struct]]] = {
    "doors": DoorsSettings,
    "engines": EnginesSettings,
}  # a section [doors.x] for each member
SECTIONS: Final[dict[str, type[msgspec.Struct]]] = {
    "site": SiteSettings,
    "paths": PathSettings,
    "worker": WorkerSettings,
    "headers": HeaderSettings,
    **{f"doors.{door.name}": door.type for door in msgspec.structs.fields(DoorsSettings)},
    **{f"engines.{engine.name}": engine.type for engine in msgspec.structs.fields(EnginesSettings)},
    "dns": DnsSettings,
    "counters": CounterSettings,
    "cluster": ClusterSettings,
    "journal": JournalSettings,
    "reader": ReaderSettings,
    "learning": LearningSettings,
    "final_training": FinalTrainingSettings,
    "personal": PersonalSettings,
    "intake": IntakeSettings,
    "places": GeoIpSettings,
    "feed": FeedSettings,
    "alarm": AlarmSettings,
    "recheck": RecheckSettings,
    "mailboxes": MailboxSettings,
    "export": ExportSettings,
    "flows": FlowSettings,
    "eventlog": EventLogSettings,
    "inspector": InspectorSettings,
    "addresses": AddressesSettings,
    "console": ConsoleSettings,
    "confine": ConfinementSettings,
    "log": LogSettings,
    "metrics": MetricsSettings,
}
