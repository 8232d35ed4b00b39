"""What brings a filed message back to the inbox: what was learned, by name.

Never that something was counted.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from oborona.authentication.model import AuthIdentity, AuthResult, Dmarc, Spf
from oborona.journal.entry import JournalEntry
from oborona.message.hashing import ShingleType
from oborona.policy.evidence import SenderEvidence
from oborona.policy.scan import scan
from oborona.recheck.engine.copies import NOTHING_LEARNED
from oborona.recheck.engine.model import RecheckCause
from oborona.reputation.flag import ReputationFlag as PinFlag
from oborona.reputation.pins import Pin, PinTable
from oborona.types import Action, Client, Envelope, RuleWindow
from tests.policy.test_scan_evidence import Told
from tests.recheck.engine.scene import (
    CAMPAIGN,
    NOW,
    Scene,
    another,
    letter,
    scene,
    shingle,
    written,
)

ODD = '[[rule]]\nname = "ODD"\nwhen = "recipients > 0"\nscore = {score}\n'
FADING = '[[rule]]\nname = "FADING"\nwhen = "count[From].fortnight.seen < 3"\nscore = 120\n'
KNOWN = '[[rule]]\nname = "KNOWN"\nwhen = "count[Author].earlier.ham >= 2"\nscore = -80\n'
UNRELATED = '[[rule]]\nname = "UNRELATED"\nwhen = "recipients > 900"\nscore = 5\n'
DAY_S = 86_400.0
PROVED = AuthIdentity(
    spf=Spf(result=AuthResult.PASS, domain="a.example"),
    dmarc=Dmarc(result=AuthResult.PASS, domain="a.example", spf_aligned=True),
)


async def looked_at(made: Scene, cause: RecheckCause) -> None:
    made.engine.add(cause)
    await made.look()


def because(made: Scene, entry: JournalEntry) -> list[tuple[str, str]]:
    return [(move.target, move.because) for move in made.made(entry)]


@pytest.mark.parametrize(
    "cause",
    [
        RecheckCause.POLICY,
        RecheckCause.WORD,
        RecheckCause.PARDON,
        RecheckCause.ASKED,
        RecheckCause.LATE,
        RecheckCause.PIN,
        RecheckCause.SIGNATURE,
    ],
)
async def test_counts_that_rose_bring_nothing_back(tmp_path: Path, cause: RecheckCause) -> None:
    async with scene(tmp_path, FADING) as made:
        filed = await made.deliver(letter(1, CAMPAIGN))
        assert filed.verdict is Action.SPAM
        for number in range(6):
            await made.deliver(letter(2 + number, another(number)))
        if cause is RecheckCause.POLICY:
            made.policy = written(tmp_path / "policy", FADING, UNRELATED)
            assert made.policy.version != made.judged_by.version
        await looked_at(made, cause)
        assert made.made(filed) == []


async def test_who_asks_is_told_that_nothing_was_learned(tmp_path: Path) -> None:
    async with scene(tmp_path, FADING) as made:
        filed = await made.deliver(letter(1, CAMPAIGN))
        for number in range(6):
            await made.deliver(letter(2 + number, another(number)))
        await made.journal.flush()
        taken = await made.reader.taken([filed.id])
        (found,) = await made.rescorer().again(taken, RecheckCause.ASKED, made.now)
        assert found.again is not None
        assert found.again.verdict.action is Action.ACCEPT
        assert [stay.why for stay in found.stays] == [NOTHING_LEARNED]


@pytest.mark.parametrize(
    ("pieces", "named"),
    [
        (("",), "rule ODD removed"),
        ((ODD.format(score=20),), "score of ODD 120 → 20"),
        ((ODD.format(score=120) + 'mode = "shadow"\n',), "rule ODD on trial"),
        ((ODD.format(score=120).replace("> 0", "> 7"),), "rule ODD changed"),
        (
            (
                ODD.format(score=120),
                '[[rule]]\nname = "FINE"\nwhen = "recipients > 0"\nscore = -90\n',
            ),
            "rule FINE added",
        ),
        (
            (
                ODD.format(score=120),
                (
                    '[[local_list]]\nname = "PARTNERS"\naction = "allow"\nof = '
                    '["client"]\nentries = ["198.51.100.7"]\n'
                ),
            ),
            "list PARTNERS: allow 198.51.100.7",
        ),
    ],
)
async def test_another_policy_says_what_differs(
    tmp_path: Path, pieces: tuple[str, ...], named: str
) -> None:
    async with scene(tmp_path, ODD.format(score=120)) as made:
        filed = await made.deliver(letter(1, CAMPAIGN))
        made.policy = written(tmp_path / "new", *pieces)
        await looked_at(made, RecheckCause.POLICY)
        assert because(made, filed) == [("INBOX", named)]


async def test_another_threshold_is_named(tmp_path: Path) -> None:
    async with scene(tmp_path, ODD.format(score=120)) as made:
        filed = await made.deliver(letter(1, CAMPAIGN))
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "2.toml").write_text("[verdict]\nspam_score = 150\n")
        made.policy = written(tmp_path / "new", ODD.format(score=120))
        await looked_at(made, RecheckCause.POLICY)
        assert because(made, filed) == [("INBOX", "threshold 100 → 150")]


async def test_not_spam_reports_are_counted_out(tmp_path: Path) -> None:
    rule = '[[rule]]\nname = "UNLIKED"\nwhen = "mass.pardons < 2"\nscore = 120\n'
    async with scene(tmp_path, rule) as made:
        filed = await made.deliver(letter(1, CAMPAIGN))
        other = await made.deliver(letter(2, CAMPAIGN), recipients=("eve@b.example",))
        made.say(other, 2, pardon=True)
        await made.look()
        assert because(made, filed) == [("INBOX", "2 not-spam reports")]


async def test_a_pin_is_named(tmp_path: Path) -> None:
    rule = '[[rule]]\nname = "UNPINNED"\nwhen = "repip.flag != \'good\'"\nscore = 120\n'
    async with scene(tmp_path, rule) as made:
        filed = await made.deliver(letter(1, CAMPAIGN))
        address = shingle(filed, ShingleType.CLIENT_IP)
        made.pins = PinTable(
            [
                Pin(
                    address.type,
                    address.hash,
                    "198.51.100.7",
                    PinFlag.GOOD,
                    "our partner",
                    "ann",
                    NOW,
                )
            ]
        )
        made.engine.add(RecheckCause.PIN, [address])
        await made.look()
        ((target, named),) = because(made, filed)
        assert target == "INBOX"
        assert "set to good by ann: our partner" in named


async def test_neither_the_message_nor_its_copies_are_a_past_of_their_sender(
    tmp_path: Path,
) -> None:
    """Copies that came before and after it, looked at nearly a day later: they are a day old by
    then, and no past of it all the same.
    """

    async def came(made: Scene, number: int) -> JournalEntry:
        envelope = Envelope(
            client=Client(ip="198.51.100.7"),
            helo="x.example",
            sender="ann@a.example",
            recipients=("bob@b.example",),
        )
        raw = letter(number, CAMPAIGN)
        result = await scan(
            raw,
            envelope,
            made.site,
            made.judged_by,
            Told(SenderEvidence(identity=PROVED)),
            now=made.now,
        )
        return made.journaled(result, envelope, len(raw))

    async with scene(tmp_path, ODD.format(score=120), KNOWN, window_s=2 * DAY_S) as made:
        made.judged_by = written(
            tmp_path / "mild", ODD.format(score=20), KNOWN
        )  # so that they are counted as good
        for number in range(4):
            await came(made, number)
            made.now += 60
        made.now += DAY_S / 2
        last = await came(made, 9)
        assert last.verdict is Action.ACCEPT
        made.now += 0.6 * DAY_S
        await made.journal.flush()
        (found,) = await made.rescorer().again(
            await made.reader.taken([last.id]), RecheckCause.CLOCK, made.now
        )
        assert found.again is not None
        assert found.again.facts.author == "ann@a.example"
        assert found.again.facts.known.ham(ShingleType.AUTHOR, RuleWindow.EARLIER) == 0
        assert [hit.name for hit in found.again.verdict.rules] == ["ODD"]
