"""The house stands: links, no shadowing of pymilter's extension, a wheel that holds everything (docs/adr/0001)."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINKS = sorted(path for path in (ROOT / "src/oborona").iterdir() if path.is_symlink())
CODE = [link.name for link in LINKS if any(link.glob("**/*.py"))]


def test_each_link_leads_to_the_top_level_folder_of_its_name() -> None:
    assert {"milter", "message", "policy", "counters", "reputation", "recheck"} <= set(CODE)
    for link in LINKS:
        assert link.readlink() == Path("../..") / link.name
        assert link.resolve() == ROOT / link.name


@pytest.mark.parametrize("name", CODE)
def test_no_top_level_code_folder_is_a_regular_package(name: str) -> None:
    assert not (ROOT / name / "__init__.py").exists()


@pytest.mark.parametrize("flags", [["-c"], ["-I", "-c"]], ids=["root-on-path", "isolated"])
def test_import_milter_is_the_extension_with_the_root_as_current_folder(flags: list[str]) -> None:
    program = "import milter, Milter, oborona.milter.codec as c; print(milter.__file__); print(c.__file__)"
    found = subprocess.run(
        [sys.executable, *flags, program], cwd=ROOT, check=True, capture_output=True, text=True, timeout=60
    ).stdout.splitlines()
    assert found[0].endswith(".so")
    assert Path(found[1]).resolve() == ROOT / "milter/codec.py"


def test_the_wheel_holds_every_package_and_what_an_admin_edits(tmp_path: Path) -> None:
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
            tmp_path,
            ".",
        ],
        cwd=ROOT,
        check=True,
        timeout=280,
    )
    (wheel,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    wanted = {f"oborona/{path.relative_to(ROOT)}" for name in CODE for path in (ROOT / name).glob("**/*.py")}
    wanted |= {f"oborona/{path.relative_to(ROOT)}" for path in (ROOT / "etc").glob("**/*") if path.is_file()}
    wanted |= {"oborona/py.typed", "oborona/types.py", "oborona/cli/__init__.py"}
    assert wanted <= held, sorted(wanted - held)
