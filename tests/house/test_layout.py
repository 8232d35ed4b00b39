"""The house stands: links, no shadowing of pymilter's extension, a wheel that holds everything
(docs/adr/0001).
"""

import fcntl
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from oborona.policy.shipped_files import MANIFEST

ROOT = Path(__file__).resolve().parents[2]
LINKS = sorted(path for path in (ROOT / "src/oborona").iterdir() if path.is_symlink())
CODE = [link.name for link in LINKS if any(link.glob("**/*.py"))]


BENCH = "counter_load"  # a benchmark that ships, since `oborona counters bench` runs it


def test_each_link_leads_to_the_top_level_folder_of_its_name() -> None:
    assert set(CODE) == {"milter", "policy", "counters", "reputation", BENCH}
    for link in LINKS:
        folder = Path("benchmarks", BENCH) if link.name == BENCH else Path(link.name)
        assert link.readlink() == Path("../..") / folder
        assert link.resolve() == ROOT / folder


@pytest.mark.parametrize("name", sorted(set(CODE) - {BENCH}))
def test_no_top_level_code_folder_is_a_regular_package(name: str) -> None:
    assert not (ROOT / name / "__init__.py").exists()


def test_every_other_room_is_a_regular_package_that_says_what_it_is() -> None:
    for room in (ROOT / "src/oborona").iterdir():
        if room.is_dir() and not room.is_symlink() and room.name != "__pycache__":
            assert (room / "__init__.py").read_text().startswith('"""'), room


@pytest.mark.parametrize("flags", [["-c"], ["-I", "-c"]], ids=["root-on-path", "isolated"])
def test_import_milter_is_the_extension_with_the_root_as_current_folder(flags: list[str]) -> None:
    program = (
        "import milter, Milter, oborona.milter.codec as c; print(milter.__file__); "
        "print(c.__file__)"
    )
    found = subprocess.run(
        [sys.executable, *flags, program],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout.splitlines()
    assert found[0].endswith(".so")
    assert Path(found[1]).resolve() == ROOT / "milter/codec.py"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    with (ROOT / "pyproject.toml").open() as alone:  # setuptools builds in one folder of the tree
        fcntl.flock(alone, fcntl.LOCK_EX)
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "wheel",
                "-q",
                "--disable-pip-version-check",
                "--no-deps",
                "-w",
                folder,
                ".",
            ],
            cwd=ROOT,
            check=True,
            timeout=280,
        )
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_holds_every_package_and_what_an_admin_edits(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        f"oborona/{path.relative_to(ROOT)}"
        for name in CODE
        for path in (ROOT / name).glob("**/*.py")
    }
    wanted |= {
        f"oborona/{path.relative_to(ROOT)}"
        for path in (ROOT / "etc").glob("**/*")
        if path.is_file()
    }
    wanted |= {
        "oborona/py.typed",
        "oborona/telemetry/metrics.json",
        "oborona/types.py",
        "oborona/cli/__init__.py",
    }
    console = ROOT / "src/oborona/console"
    wanted |= {
        f"oborona/console/{path.relative_to(console)}"
        for folder in ("templates", "static", "locale")
        for path in (console / folder).rglob("*.*")
    }
    rooms = [path for path in (ROOT / "src/oborona").iterdir() if not path.is_symlink()]
    wanted |= {
        str(path.relative_to(ROOT / "src"))
        for room in rooms
        for path in (room, *room.glob("**/*.py"))
        if path.suffix == ".py"
    }
    assert wanted <= held, sorted(wanted - held)


def test_a_program_from_the_wheel_has_its_policy_with_it(wheel: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "-q",
        "--disable-pip-version-check",
        "--python",
        venv / "bin/python",
    ]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", wheel], check=True, timeout=280)
    result = subprocess.run(
        [venv / "bin/oborona", "--state", tmp_path / "state", "policy", "check"],
        env={
            "PYTHONPATH": sysconfig.get_path("purelib"),
            "PATH": os.environ["PATH"],
        },  # what it needs, and not us
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    (shipped,) = venv.glob("lib/*/site-packages/oborona/etc/policy.d")
    files = [path for path in (ROOT / "etc/policy.d").iterdir() if path.suffix in (".toml", ".lua")]
    assert f"shipped: {shipped}: {len(files)} files\n" in result.stdout
    assert {path.name for path in shipped.iterdir()} == {
        path.name for path in (ROOT / "etc/policy.d").iterdir()
    }


def test_the_table_of_files_that_ship_is_written_before_them(wheel: Path) -> None:
    """By it a folder that is being upgraded is told from one that is whole: installers write in
    this order.
    """
    names = [
        name
        for name in zipfile.ZipFile(wheel).namelist()
        if name.startswith("oborona/etc/policy.d/")
    ]
    assert names[0] == f"oborona/etc/policy.d/{MANIFEST}"
