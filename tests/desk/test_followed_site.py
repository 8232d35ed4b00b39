"""A site that a process stays with: what changes on the disk is seen, what does not is kept."""

import threading
from pathlib import Path

import pytest

from oborona import state_files
from oborona.desk.configured_site import SiteSource
from oborona.desk.followed_site import FollowedSite
from oborona.desk.process import read_early
from oborona.errors import PolicyError
from oborona.stores.pins.store import PinStore
from oborona.stores.signatures.store import SignatureStore

RULE = """
[[rule]]
name = "FIRST"
score = 1
say = "the first"
when = 'recipients > 0'
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    folder = tmp_path / "policy.d"
    folder.mkdir()
    (folder / "50-own.toml").write_text(RULE)
    return folder


@pytest.fixture
def site(tmp_path: Path, policy: Path) -> FollowedSite:
    (tmp_path / "oborona.toml").touch()
    (tmp_path / "state").mkdir()
    overrides = {
        "paths.state": str(tmp_path / "state"),
        "paths.policy": str(policy),
        "paths.shipped_policy": "none",
    }
    notices = list[str]()
    site = FollowedSite(SiteSource(tmp_path / "oborona.toml", overrides), notices.append)
    site.notices = notices  # type: ignore[attr-defined]
    return site


def test_a_policy_that_changed_is_read_again_and_one_that_did_not_is_kept(
    site: FollowedSite, policy: Path
) -> None:
    first = site.policy()
    assert site.policy() is first
    (policy / "60-more.toml").write_text(RULE.replace("FIRST", "SECOND"))
    assert {rule.name for rule in site.policy().rules} >= {"FIRST", "SECOND"}
    (policy / "60-more.toml").write_text("[[rule]\n")
    with pytest.raises(PolicyError):
        site.policy()


def test_what_pages_take_is_read_before_it_is_asked(
    site: FollowedSite, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read() -> None:  # it gives way to all else, for good
        thread = threading.Thread(target=read_early, args=(site,))
        thread.start()
        thread.join()

    (policy / "60-more.toml").write_text("[[rule]\n")
    read()  # who asks is told
    (policy / "60-more.toml").unlink()
    read()
    monkeypatch.setattr("oborona.desk.followed_site.load_policy", None)
    assert {rule.name for rule in site.policy().rules} == {"FIRST"}


def test_signatures_are_kept_until_store_or_policy_changes(
    site: FollowedSite, policy: Path
) -> None:
    first = site.signatures()
    assert site.signatures() is first
    with SignatureStore(site.state / state_files.SIGNATURES):
        pass
    second = site.signatures()
    assert second is not first
    assert site.signatures() is second
    (policy / "60-more.toml").write_text(RULE.replace("FIRST", "SECOND"))
    assert site.signatures() is not second


def test_pins_and_the_final_model_are_kept(site: FollowedSite) -> None:
    first = site.pins()
    assert site.pins() is first
    with PinStore(site.state / state_files.PINS):
        pass
    second = site.pins()
    assert second is not first
    assert site.pins() is second
    assert site.final() is site.final()


def test_what_could_not_be_read_is_tried_again_each_time(site: FollowedSite) -> None:
    (site.state / state_files.PINS).write_bytes(b"no store" * 99)
    (site.state / state_files.FINAL_MODEL).write_bytes(b"no model")
    notices: list[str] = site.notices  # type: ignore[attr-defined]
    for times in (1, 2):
        site.pins()
        assert sum("manual overrides" in one for one in notices) == times
    site.final()
    site.final()
    assert sum("judged without it" in one for one in notices) == 1  # once, as long as it stays
