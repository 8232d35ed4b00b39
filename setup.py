"""The native core (docs/adr/0063-a-native-core.md); all else is in pyproject.toml."""

from pathlib import Path

from setuptools import Extension, setup

CORE = Path("src/oborona/core")

setup(
    ext_modules=[
        Extension(
            "oborona._core",
            sorted(map(str, CORE.glob("*.c"))),
            depends=sorted(map(str, CORE.glob("*.h"))),
            extra_compile_args=["-O2", "-Wall", "-Wextra", "-fvisibility=hidden"],
            optional=True,  # where it can't be built its twins in Python do the same
        )
    ]
)
