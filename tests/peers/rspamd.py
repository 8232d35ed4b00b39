"""A real rspamd with a few rules of its own, which asks nobody: no Redis, no DNS, no maps."""

from __future__ import annotations

import urllib.request
from typing import Final

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
worker "{worker}" {{ bind_socket = "127.0.0.1:{port}"; count = 1; {password} }}
actions {{ reject = 15; add_header = 6; greylist = 4; }}
lua = "{root}/rules.lua";
"""
RULES: Final = """
local function subject_has(word)
  return function(task)
    return (task:get_header('Subject') or ''):find(word, 1, true) ~= nil
  end
end
rspamd_config:register_symbol({ name = 'TEST_PERHAPS', score = 7.0, callback = subject_has('rspamd-perhaps') })
rspamd_config:register_symbol({ name = 'TEST_CERTAIN', score = 20.0, callback = subject_has('rspamd-certain') })
-- what it was told beside the message stands in the name of a symbol
local told = { ip = 'TOLD_IP', helo = 'TOLD_HELO', from = 'TOLD_FROM', rcpt = 'TOLD_RCPT', user = 'TOLD_USER', name = 'TOLD_NAME' }
for what, symbol in pairs(told) do
  rspamd_config:register_symbol({ name = symbol, score = 0.01, callback = function(task)
    local from = task:get_from('smtp')
    local rcpt = task:get_recipients('smtp')
    local found = {
      ip = task:get_ip():is_valid() and tostring(task:get_ip()),
      helo = task:get_helo(),
      from = from and from[1] and from[1].addr,
      rcpt = rcpt and rcpt[1] and (#rcpt .. ' ' .. rcpt[1].addr),
      user = task:get_user(),
      name = task:get_hostname(),
    }
    local wanted = task:get_header('X-Wanted-' .. what)
    return wanted ~= nil and wanted == found[what]
  end })
end
"""


class Rspamd(Daemon):
    """One rspamd with one worker.

    Args:
        password: that it asks for, as its controller alone does; empty = none.
    """

    def __init__(self, password: str = "") -> None:
        super().__init__("rspamd")
        self.port = free_port()
        self.address = f"inet:127.0.0.1:{self.port}"
        asks = f'password = "{password}"; secure_ip = "192.0.2.1";' if password else ""
        worker = "controller" if password else "normal"
        (self.root / "rspamd.conf").write_text(
            SETTINGS.format(root=self.root, port=self.port, worker=worker, password=asks)
        )
        (self.root / "rules.lua").write_text(RULES)
        (self.root / "tlds").write_text("com\norg\nexample\n")  # the real list takes it ten seconds

    def command(self) -> list[str]:
        """Return its command line."""
        return ["rspamd", "--no-fork", "--insecure", "--config", str(self.root / "rspamd.conf")]

    def answers(self) -> bool:
        """Tell whether it says pong."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/ping", timeout=5) as answer:
            return bool(answer.read().strip() == b"pong")
