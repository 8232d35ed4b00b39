"""`oborona policy stats`: what rules did to the journal's messages."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.journaled import LINKS, LOTTERY, LUNCH, WORDS, journal, policy, run


def test_hits_shares_and_what_hangs_on_a_rule(tmp_path: Path) -> None:
    shadow = '[[rule]]\nname = "TRIAL"\nwhen = "links == 0"\nscore = 150\nmode = "shadow"\n'
    silent = '[[rule]]\nname = "SILENT"\nwhen = "links > 99"\nscore = 1\n'
    folder, state = policy(tmp_path / "policy", LINKS, WORDS, shadow, silent), tmp_path / "state"
    journal(state, folder, [LUNCH, LOTTERY, LOTTERY])
    found = json.loads(run(state, folder, "policy", "stats", "--json").stdout)
    assert (found["messages"], found["verdicts"]) == (3, {"accept": 1, "spam": 2})
    assert found["would"] == {"accept → spam": 1}
    links, words, trial = (found["rules"][name] for name in ("LINKS", "WORDS", "TRIAL"))
    assert (links["hits"], links["decided"], links["alone"]) == (2, 2, 2)
    assert (words["hits"], words["decided"], words["alone"]) == (2, 0, 2)
    assert (trial["hits"], trial["shadow"], trial["alone"]) == (1, 1, 0)
    assert words["verdicts"] == {"spam": 2}
    assert found["rules"]["SILENT"]["hits"] == 0
    shown = run(state, folder, "policy", "stats").stdout
    assert "(TRIAL)" in shown
    assert "with all in shadow mode live: accept → spam 1" in shown
    assert (
        json.loads(run(state, folder, "policy", "stats", "--since", "1m", "--json").stdout)[
            "messages"
        ]
        == 0
    )
