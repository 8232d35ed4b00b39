"""Settings: what an admin writes into etc/oborona.toml, and what the command line puts over it.

`load_settings` gives the settings in force with the origin of each; `parse_address` reads addresses
to listen on, `parse_servers` DNS servers. The schema is in `settings`; etc/oborona.toml and
docs/operate/settings.md are written from it by `document`.
"""

from oborona.config.address import Address, InetAddress, UnixAddress, parse_address
from oborona.config.alarm import AlarmSettings
from oborona.config.confinement import ConfinementSettings
from oborona.config.console import ConsoleSettings
from oborona.config.delivery import DeliverySettings
from oborona.config.doors import DoorSettings, ListenSettings, MilterSettings, PolicyServiceSettings
from oborona.config.engines import (
    ClamdSettings,
    EngineSettings,
    EnginesSettings,
    RspamdSettings,
    SpamAssassinSettings,
)
from oborona.config.exim import EximSettings
from oborona.config.export import ExportSettings
from oborona.config.geoip import GeoIpSettings
from oborona.config.http import HttpSettings
from oborona.config.intake import IntakeSettings
from oborona.config.learning import LearningSettings
from oborona.config.load import COMMAND_LINE, DEFAULT, LoadedSettings, load_settings
from oborona.config.mailboxes import MailboxSettings
from oborona.config.personal import PersonalSettings
from oborona.config.proxy import ProxySettings
from oborona.config.reader import ReaderSettings
from oborona.config.recheck import RecheckSettings
from oborona.config.resolvers import ResolverAddress, parse_servers
from oborona.config.settings import (
    SECTIONS,
    ClusterSettings,
    CounterSettings,
    DnsSettings,
    DoorsSettings,
    JournalSettings,
    LogSettings,
    PathSettings,
    Settings,
    SiteSettings,
)
from oborona.config.spamd import SpamdSettings
from oborona.config.worker import WorkerSettings

__all__ = [
    "COMMAND_LINE",
    "DEFAULT",
    "SECTIONS",
    "Address",
    "AlarmSettings",
    "ClamdSettings",
    "ClusterSettings",
    "ConfinementSettings",
    "ConsoleSettings",
    "CounterSettings",
    "DeliverySettings",
    "DnsSettings",
    "DoorSettings",
    "DoorsSettings",
    "EngineSettings",
    "EnginesSettings",
    "EximSettings",
    "ExportSettings",
    "GeoIpSettings",
    "HttpSettings",
    "InetAddress",
    "IntakeSettings",
    "JournalSettings",
    "LearningSettings",
    "ListenSettings",
    "LoadedSettings",
    "LogSettings",
    "MailboxSettings",
    "MilterSettings",
    "PathSettings",
    "PersonalSettings",
    "PolicyServiceSettings",
    "ProxySettings",
    "ReaderSettings",
    "RecheckSettings",
    "ResolverAddress",
    "RspamdSettings",
    "Settings",
    "SiteSettings",
    "SpamAssassinSettings",
    "SpamdSettings",
    "UnixAddress",
    "WorkerSettings",
    "load_settings",
    "parse_address",
    "parse_servers",
]
