"""The model that comes with Oborona adds to the rules, as far as the policy and the site's own mail
allow; the file that ships sees what is known here.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from benchmarks.clean_facts import is_clean, is_clean_mark
from oborona import state_files
from oborona.counters.memory import MemoryCounters
from oborona.message.shingles import Hasher
from oborona.policy.evidence import NoInquiry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.policy.models.content.calibration import Calibration
from oborona.policy.models.final.choice import FinalChoice, ShippedStanding, encode_choice
from oborona.policy.models.final.features import NAME, SHIPPED
from oborona.policy.models.final.file import MAX_OCTETS, TrainedModel, decode, encode, version
from oborona.policy.models.final.model import Forest
from oborona.policy.models.final.summary import TrainingSummary
from oborona.policy.scan import ScanSite, scan
from oborona.stores.final_model import SHIPPED_FILE, FollowedFinalModel
from oborona.types import Envelope, RuleHit, RuleMode
from tests.policy.models.final.made import trees

ROOT = Path(__file__).resolve().parents[2]
ADDS = TrainedModel(  # 3 log-odds for HTML: 75 points
    features=("html",),
    trees=trees([[0]], [[0.5]], [[-3.0, 3.0]]),
    calibration=Calibration(),
    policy="abc",
    trained_at=1.7e9,
    summary=TrainingSummary(),
    points=25.0,
)
STANDS = msgspec.structs.replace(ADDS, points=0.0, trees=trees([[0]], [[0.5]], [[-3.0, 5.0]]))
HTML = b"From: ann@a.example\r\nContent-Type: text/html\r\n\r\n<p>a few words of a letter</p>\r\n"
TEXT = b"From: ann@a.example\r\n\r\na few words of a letter\r\n"
RULE = "[[rule]]\nname = 'SIXTY'\nwhen = 'links >= 0'\nscore = 60\nsay = 'x'\n"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / state_files.FINAL_SHIPPED).write_bytes(encode(ADDS))
    return tmp_path / "state"


def chosen(state: Path, **fields: object) -> None:
    choice = FinalChoice(shipped_version=version(encode(ADDS)), **fields)  # type: ignore[arg-type]
    (state / state_files.FINAL_CHOICE).write_bytes(encode_choice(choice))


async def judged(state: Path, policy: str, raw: bytes = HTML) -> dict[str, RuleHit]:
    """Return the hits on a message, by name."""
    folder = state.parent / "policy.d"
    folder.mkdir(exist_ok=True)
    (folder / "one.toml").write_text(policy)
    followed = FollowedFinalModel.of_site(state, SCHEMA)
    followed.look()
    assert followed.error is None
    site = ScanSite(
        name="mx.example", hasher=Hasher(b"k" * 32), counters=MemoryCounters(), final=followed
    )
    found = await scan(raw, Envelope(), site, load_policy(folder, SCHEMA), NoInquiry(), now=1.7e9)
    return {hit.name: hit for hit in found.verdict.rules}


async def test_it_adds_up_to_its_cap_and_takes_nothing(state: Path) -> None:
    hit = (await judged(state, RULE))[SHIPPED]
    assert (hit.mode, hit.score) == (RuleMode.LIVE, 50)
    assert SHIPPED not in await judged(state, RULE, TEXT)
    cap = "[final]\nshipped_points = 20\n"
    assert (await judged(state, RULE + cap))[SHIPPED].score == 20


async def test_without_points_it_is_in_shadow_and_tells_what_it_would_add(state: Path) -> None:
    hit = (await judged(state, RULE + "[final]\nshipped_points = 0\n"))[SHIPPED]
    assert (hit.mode, hit.score) == (RuleMode.SHADOW, 50)


async def test_confirmed_it_may_add_more_and_refuted_it_is_in_shadow(state: Path) -> None:
    chosen(state, shipped=ShippedStanding.CONFIRMED)
    assert (await judged(state, RULE))[SHIPPED].score == 75
    chosen(state, shipped=ShippedStanding.REFUTED)
    assert (await judged(state, RULE))[SHIPPED].mode is RuleMode.SHADOW


async def test_what_was_said_of_another_version_is_not_said_of_this(state: Path) -> None:
    choice = FinalChoice(shipped_version="another", shipped=ShippedStanding.REFUTED)
    (state / state_files.FINAL_CHOICE).write_bytes(encode_choice(choice))
    assert (await judged(state, RULE))[SHIPPED].score == 50


async def test_the_sites_own_takes_its_place_when_it_was_found_better(state: Path) -> None:
    (state / state_files.FINAL_MODEL).write_bytes(encode(STANDS))
    hits = await judged(state, RULE)
    assert (hits[SHIPPED].mode, hits[NAME].mode) == (RuleMode.LIVE, RuleMode.SHADOW)
    chosen(state, own=version(encode(STANDS)))
    hits = await judged(state, RULE)
    assert (SHIPPED in hits, hits[NAME].mode) == (False, RuleMode.LIVE)
    hits = await judged(state, RULE + "[final]\nmode = 'shadow'\n")
    assert (hits[SHIPPED].mode, hits[NAME].mode) == (RuleMode.LIVE, RuleMode.SHADOW)


async def test_beside_a_decision_of_the_site_it_says_nothing(state: Path) -> None:
    assert SHIPPED not in await judged(state, RULE.replace("60", "100"))
    assert SHIPPED not in await judged(state, RULE.replace("60", "-100"))


BROKEN = {
    "cut": encode(ADDS)[:-40],
    "empty": b"",
    "too large": bytes(MAX_OCTETS + 1),
    "one that stands alone": encode(STANDS),
    "of other facts": encode(msgspec.structs.replace(ADDS, features=("text.wonders",))),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_leaves_what_was_in_use(state: Path, kind: str) -> None:
    followed = FollowedFinalModel.of_site(state, SCHEMA)
    followed.look()
    before = followed.in_use
    (state / state_files.FINAL_SHIPPED).write_bytes(BROKEN[kind])
    assert followed.look()
    assert (followed.in_use, followed.error is not None) == (before, True)
    (state / state_files.FINAL_SHIPPED).unlink()
    assert followed.look()
    assert followed.error is None
    assert followed.in_use[1] == version(SHIPPED_FILE.read_bytes())


@pytest.mark.parametrize("octets", [b"", b"{", b"[]", b"\xff", b'{"own": 3}', b" " * (65 << 10)])
def test_a_broken_choice_leaves_what_was_said(state: Path, octets: bytes) -> None:
    chosen(state, shipped=ShippedStanding.CONFIRMED)
    followed = FollowedFinalModel.of_site(state, SCHEMA)
    followed.look()
    (state / state_files.FINAL_CHOICE).write_bytes(octets)
    assert followed.look()
    assert (followed.standing, followed.error is None) == (ShippedStanding.CONFIRMED, False)


def test_one_that_adds_is_no_model_of_the_sites_own(state: Path) -> None:
    (state / state_files.FINAL_MODEL).write_bytes(encode(ADDS))
    followed = FollowedFinalModel.of_site(state, SCHEMA)
    followed.look()
    assert (followed.forest, "adds to the rules" in str(followed.error)) == (None, True)


def test_the_file_that_ships_sees_clean_facts_of_the_shipped_policy_alone() -> None:
    shipped = decode(SHIPPED_FILE.read_bytes())
    Forest(shipped, SCHEMA)
    policy = load_policy(ROOT / "etc/policy.d", SCHEMA)
    rules = {f"rule {rule.name}" for rule in policy.rules}
    asked = [name for name in shipped.features if name.startswith("rule ")]
    assert asked
    assert set(asked) <= rules
    for name in shipped.features:
        marked = name.startswith(("rule ", "found(")) or " == " in name or " in " in name
        assert is_clean_mark(name) if marked else is_clean(name)
    assert shipped.points > 0
    assert (shipped.summary.spam > 1000, shipped.summary.ham > 1000) == (True, True)
