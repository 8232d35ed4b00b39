"""A real rspamd as a proxy: a milter to the mail server, that has somebody else judge the messages
by HTTP.
"""

from __future__ import annotations

import socket
from typing import Final

from oborona.config.address import InetAddress
from tests.peers.daemon import Daemon
from tests.peers.ports import free_port

SETTINGS: Final = """
options {{
  pidfile = false;
  filters = "";
  url_tld = "{root}/tlds";
  cache_file = "{root}/symbols.cache";
  hs_cache_dir = "{root}/";
  tempdir = "{root}";
  rrd = "";
  history_file = "";
  local_addrs = [];
  dns {{ nameserver = ["127.0.0.1:1"]; timeout = 0.1s; retransmits = 0; }}
  control_socket = "{root}/control.sock mode=0600";
}}
logging {{ type = "console"; level = "error"; }}
actions {{ reject = 15; add_header = 6; greylist = 4; }}
worker "rspamd_proxy" {{
  bind_socket = "127.0.0.1:{port}";
  milter = yes;
  count = 1;
  timeout = 20s;
  upstream "judge" {{ default = yes; hosts = "127.0.0.1:{judge}"; }}
}}
"""


class RspamdProxy(Daemon):
    """One rspamd with one worker, which judges nothing itself.

    Args:
        judge: port of who does.
    """

    def __init__(self, judge: int) -> None:
        super().__init__("rspamd-proxy")
        self.address = InetAddress("127.0.0.1", free_port())
        (self.root / "rspamd.conf").write_text(
            SETTINGS.format(root=self.root, port=self.address.port, judge=judge)
        )
        (self.root / "tlds").write_text("com\norg\nexample\n")  # the real list takes it ten seconds

    def command(self) -> list[str]:
        """Return its command line."""
        return ["rspamd", "--no-fork", "--insecure", "--config", str(self.root / "rspamd.conf")]

    def answers(self) -> bool:
        """Tell whether it listens; who connects is served as soon as its worker is there."""
        with socket.create_connection((self.address.host, self.address.port), timeout=5):
            return True
