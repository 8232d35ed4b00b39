"""Settings: what an admin writes into etc/oborona.toml, and what the command line puts over it.

`load_settings` gives the settings in force with the origin of each; `parse_address` reads addresses
to listen on, `parse_servers` DNS servers. The schema is in `settings`; etc/oborona.toml and
docs/operate/settings.md are written from it by `document`.
"""

from oborona.config.address import Address, InetAddress, UnixAddress, parse_address
from oborona.config.alarm import Alarm
from oborona.config.confine import Confine
from oborona.config.delivery import Delivery
from oborona.config.doors import Door, Listening, Milter, PolicyService
from oborona.config.engines import Clamd, Engine, Engines, Rspamd, SpamAssassin
from oborona.config.exim import Exim
from oborona.config.export import Export
from oborona.config.http import Http
from oborona.config.intake import Intake
from oborona.config.learning import Learning
from oborona.config.load import COMMAND_LINE, DEFAULT, Loaded, load_settings
from oborona.config.mailboxes import Mailboxes
from oborona.config.personal import Personal
from oborona.config.places import Places
from oborona.config.proxy import Proxy
from oborona.config.reader import Reader
from oborona.config.recheck import Recheck
from oborona.config.servers import Server, parse_servers
from oborona.config.settings import (
    SECTIONS,
    Cluster,
    Counters,
    Dns,
    Doors,
    Journal,
    Log,
    Paths,
    Settings,
    Site,
)
from oborona.config.spamd import Spamd
from oborona.config.worker import Work

__all__ = [
    "COMMAND_LINE",
    "DEFAULT",
    "SECTIONS",
    "Address",
    "Alarm",
    "Clamd",
    "Cluster",
    "Confine",
    "Counters",
    "Delivery",
    "Dns",
    "Door",
    "Doors",
    "Engine",
    "Engines",
    "Exim",
    "Export",
    "Http",
    "InetAddress",
    "Intake",
    "Journal",
    "Learning",
    "Listening",
    "Loaded",
    "Log",
    "Mailboxes",
    "Milter",
    "Paths",
    "Personal",
    "Places",
    "PolicyService",
    "Proxy",
    "Reader",
    "Recheck",
    "Rspamd",
    "Server",
    "Settings",
    "Site",
    "SpamAssassin",
    "Spamd",
    "UnixAddress",
    "Work",
    "load_settings",
    "parse_address",
    "parse_servers",
]
