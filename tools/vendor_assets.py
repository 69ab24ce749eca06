"""Fetches the JavaScript libraries in `vendor.lock.json` and writes the needed files into ops/static.

    python tools/vendor_assets.py            fetch, check the sha512 of each package, write the files and their hashes
    python tools/vendor_assets.py --check    only compare the files that are there with their hashes; needs no network

Packages come through `npm pack`, so a mirror in the npm configuration is used. The files are committed, so MemOS itself
never runs this. Source map comments are removed: the maps are not shipped, and the storage of hashed static files
refuses references to missing files. `rewrite` replaces bare imports, for which a browser would need an inline import
map.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "tools" / "vendor.lock.json"
TARGET = ROOT / "ops" / "static" / "ops" / "vendor"
_SOURCE_MAP = re.compile(rb"\n?//[#@] sourceMappingURL=\S+\s*\Z")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare what is committed with its hashes")
    arguments = parser.parse_args()
    lock: list[dict[str, Any]] = json.loads(LOCK.read_text(encoding="utf-8"))
    if arguments.check:
        wrong = differing(lock)
        print("\n".join(wrong) or "The vendored files are as their lock says.")
        return 1 if wrong else 0
    for package in lock:
        vendor(package)
    LOCK.write_text(json.dumps(lock, indent=2) + "\n", encoding="utf-8")
    return 0


def folder_of(package: dict[str, Any]) -> Path:
    return TARGET / f"{package['name'].removesuffix('.org')}-{package['version']}"


def differing(lock: list[dict[str, Any]]) -> list[str]:
    """List the files that differ from the lock: missing, changed, or in no package."""
    wanted = {
        folder_of(package) / file["to"]: file.get("sha256", "never vendored")
        for package in lock
        for file in package["files"]
    }
    there = {path for path in TARGET.rglob("*") if path.is_file()}
    wrong = [f"{path.relative_to(ROOT)}: not in tools/vendor.lock.json" for path in sorted(there - set(wanted))]
    for path, sha256 in wanted.items():
        if path not in there:
            wrong.append(f"{path.relative_to(ROOT)}: missing")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
            wrong.append(f"{path.relative_to(ROOT)}: changed; run python tools/vendor_assets.py")
    return wrong


def vendor(package: dict[str, Any]) -> None:
    """Write the package's files and record their hashes in `package`."""
    with tempfile.TemporaryDirectory() as folder:
        name = f"{package['name']}@{package['version']}"
        subprocess.run(["npm", "pack", "--silent", name], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        [archive] = Path(folder).glob("*.tgz")
        found = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if found != package["integrity"]:
            sys.exit(f"{name}: the package has {found}, the lock names {package['integrity']}: nothing was written")
        with tarfile.open(archive) as members:
            for file in package["files"]:
                member = members.extractfile(f"package/{file['from']}")
                if member is None:
                    sys.exit(f"{name} has no file {file['from']}")
                content = _SOURCE_MAP.sub(b"\n", member.read())
                for old, new in file.get("rewrite", {}).items():
                    if old.encode() not in content:
                        sys.exit(f"{name}: {file['from']} does not hold {old!r}")
                    content = content.replace(old.encode(), new.encode())
                target = folder_of(package) / file["to"]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                file["sha256"] = hashlib.sha256(content).hexdigest()
                print(f"{target.relative_to(ROOT)}: {len(content):,} bytes")


if __name__ == "__main__":
    sys.exit(main())
