"""`oborona learn` and `oborona model`: what is taught, what is told, what is refused.

The trainer here is one within the test.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from oborona import lock, state_files
from oborona.cli import main
from oborona.cli.context import CliContext
from oborona.desk.doctor.model import model
from oborona.desk.doctor.report import CheckState
from oborona.feedback.label import LabelKind
from oborona.metrics import MetricsSnapshot
from oborona.telemetry import status
from tests.feedback.words import letter, settle, trainer

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    (tmp_path / "state").mkdir()

    def call(*words: str, status: int = 0, stdin: bytes = b"") -> Result:
        settings = ["--state", str(tmp_path / "state"), "--set", "site.name=mx.test"]
        result = CliRunner().invoke(main, [*settings, *words], input=stdin, catch_exceptions=False)
        assert result.exit_code == status, result.output
        return result

    return call


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    for kind in LabelKind:
        folder = tmp_path / "mail" / kind
        folder.mkdir(parents=True)
        for number in range(25):
            (folder / f"{number:02}.eml").write_bytes(letter(number, kind))
    return tmp_path / "mail"


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def taught(run: Run, mail: Path, state: Path) -> None:
    for kind in LabelKind:
        run("learn", kind.value, str(mail / kind))
    settle(trainer(state)).close()


def test_what_was_taught_is_told_by_message_and_altogether(run: Run, mail: Path) -> None:
    found = run("learn", "spam", str(mail / "spam"))
    assert found.stdout == "25 labelled as spam\n"
    assert "no trainer runs" in found.stderr
    again = run("learn", "spam", str(mail / "spam"))
    assert again.stdout == "0 labelled as spam, 25 known before\n"
    one, total = lines(run("learn", "ham", str(mail / "spam" / "00.eml"), "--json"))
    assert (one["result"], one["instead_of"]) == ("replaced", 1)
    assert total == {"total": 1, "new": 0, "replaced": 1, "duplicate": 0, "refused": 0}


def test_one_message_comes_by_standard_input_and_a_mailbox_as_a_file(
    run: Run, tmp_path: Path
) -> None:
    assert run("learn", "ham", "-", stdin=letter(1, LabelKind.HAM)).stdout == "1 labelled as ham\n"
    box = b"".join(
        b"From a@a.example Fri Nov 20 10:00:00 2026\n"
        + letter(n, LabelKind.HAM).replace(b"\r", b"")
        + b"\n"
        for n in range(3)
    )
    (tmp_path / "box").write_bytes(box)
    assert (
        run("learn", "ham", str(tmp_path / "box")).stdout == "2 labelled as ham, 1 known before\n"
    )


def test_nothing_to_learn_is_refused_with_its_name_and_the_rest_is_learned(
    run: Run, mail: Path
) -> None:
    (mail / "spam" / "empty.eml").write_bytes(b"")
    # what lies beside messages is none
    (mail / "spam" / "notes.json").write_bytes(b'{"kind": "spam"}\n')
    found = run("learn", "spam", str(mail / "spam"), status=1)
    assert found.stdout == "25 labelled as spam, 2 refused\n"
    assert "empty.eml: there is no message in it" in found.stderr
    assert "notes.json: there is no message in it" in found.stderr


@pytest.mark.parametrize("person", ["ann", "ann@b\n.example", "a" * 300 + "@b.example"])
def test_who_is_no_person_is_refused(run: Run, mail: Path, person: str) -> None:
    assert (
        "no mail address"
        in run("learn", "spam", str(mail / "spam"), "--person", person, status=2).stderr
    )


def test_the_status_says_what_is_missing_and_who_said_what(
    run: Run, mail: Path, tmp_path: Path
) -> None:
    assert "nothing was trained yet" in run("model", "status", status=74).stderr
    run("learn", "spam", str(mail / "spam"), "--person", "Ann@b.example")
    settle(trainer(tmp_path / "state")).close()
    (found,) = lines(run("model", "status", "--json"))
    assert (found["speaks"], found["missing"]) == (False, {"spam": 0, "ham": 5})
    assert found["figures"]["persons"] == [{"person": "ann@b.example", "spam": 25, "ham": 0}]
    assert "not in use until it has learned 5 of ham more" in run("model", "status").stdout
    run("learn", "ham", str(mail / "ham"))
    settle(trainer(tmp_path / "state")).close()
    (found,) = lines(run("model", "status", "--json"))
    assert (found["speaks"], found["figures"]["agreement"]["number"]) == (True, 50)
    assert "in use" in run("model", "status").stdout


def test_a_check_of_a_message_asks_the_model(run: Run, mail: Path, tmp_path: Path) -> None:
    taught(run, mail, tmp_path / "state")
    shown = run("explain", "-v", str(mail / "spam" / "01.eml")).stdout
    assert "model.content" in shown


def test_words_are_listed_and_unlearned_by_id_person_and_time(
    run: Run, mail: Path, tmp_path: Path
) -> None:
    taught(run, mail, tmp_path / "state")
    newest, *_ = lines(run("model", "words", "--last", "3", "--json"))
    assert newest["id"] == 50
    assert newest["state"] == "learned"
    assert "learned" in run("model", "words", "--last", "50").stdout
    assert run("model", "unlearn", "1", "2", "99").stdout == "2 labels are taken back\n"
    run("learn", "spam", str(mail / "ham" / "01.eml"), "--person", "ann@b.example")
    assert lines(run("model", "unlearn", "--person", "ANN@b.example", "--json")) == [
        {"taken_back": [51]}
    ]
    assert (
        run("model", "unlearn", "--since", "1d", "3", "4", "51").stdout
        == "2 labels are taken back\n"
    )
    run("model", "unlearn", status=2)
    settle(trainer(tmp_path / "state")).close()
    (found,) = lines(run("model", "status", "--json"))
    assert found["weights"]["spam"] + found["weights"]["ham"] == 46


def test_snapshots_are_listed_and_gone_back_to(run: Run, mail: Path, tmp_path: Path) -> None:
    run("learn", "spam", str(mail / "spam" / "00.eml"))
    assert "there are none yet" in run("model", "history").stdout
    settle(trainer(tmp_path / "state")).close()
    taught(run, mail, tmp_path / "state")
    oldest = lines(run("model", "history", "--json"))[-1]
    assert (oldest["position"], oldest["why"]) == (1, "stopped")
    assert (
        run("model", "rollback", str(oldest["id"])).stdout
        == "49 labels are set aside, 0 put back\n"
    )
    settle(trainer(tmp_path / "state")).close()
    (found,) = lines(run("model", "status", "--json"))
    assert (found["weights"]["spam"], found["weights"]["ham"]) == (1, 0)
    assert "there is no snapshot 99" in run("model", "rollback", "99", status=2).stderr


def test_weights_go_from_one_site_to_another(run: Run, mail: Path, tmp_path: Path) -> None:
    taught(run, mail, tmp_path / "state")
    run("model", "export", str(tmp_path / "file"))
    other = tmp_path / "other"
    other.mkdir()

    def there(*words: str) -> Result:
        return CliRunner().invoke(main, ["--state", str(other), *words], catch_exceptions=False)

    assert there("model", "import", str(tmp_path / "file")).exit_code == 0
    settle(trainer(other)).close()
    found = json.loads(there("model", "status", "--json").stdout)
    assert (found["speaks"], found["weights"]["base_spam"], found["weights"]["spam"]) == (
        True,
        25,
        0,
    )
    (tmp_path / "file").write_bytes(b"nothing")
    refused = there("model", "import", str(tmp_path / "file"))
    assert (refused.exit_code, "no file of weights" in refused.stderr) == (74, True)
    assert there("model", "import", "--none").exit_code == 0
    settle(trainer(other)).close()
    assert json.loads(there("model", "status", "--json").stdout)["weights"]["base_spam"] == 0
    assert there("model", "import").exit_code == 2


def test_nobody_waits_for_a_trainer_that_cannot_learn(run: Run, mail: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    run("learn", "spam", str(mail / "spam"))
    trouble = "model.weights: No space left on device"
    status.write_status(
        state,
        status.TrainerStatus(pid=1, time=time.time(), metrics=MetricsSnapshot(), trouble=trouble),
    )
    with lock.hold(state / state_files.TRAINER_LOCK, "a test's trainer"):
        found = run("learn", "ham", str(mail / "ham"), "--wait", status=1)
        assert f"can't learn now ({trouble}); the labels are stored, and wait" in found.stderr
        assert "and can't learn" in run("model", "status").stdout
    settle(trainer(state)).close()
    assert [(one.what, one.state) for one in model(CliContext(None, state, ()))][1:] == [
        ("trainer", CheckState.FAIL)
    ]


def test_the_doctor_says_how_the_model_is(run: Run, mail: Path, tmp_path: Path) -> None:
    asked = CliContext(None, tmp_path / "state", ())
    assert "is not there yet" in next(model(asked)).words
    taught(run, mail, tmp_path / "state")
    first, second = model(asked)
    assert first.words.endswith("trained on 25 spam and 25 good messages")
    assert "reports wait" in second.words
    (tmp_path / "state" / "model.weights").write_bytes(b"x")
    assert "cut short" in next(model(asked)).words
