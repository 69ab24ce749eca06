"""Writes the bill of materials (CycloneDX 1.6, JSON) of the packages that MemOS runs on (tools/licences.py).

    python tools/sbom.py sbom.json            (make sbom)

cyclonedx-bom describes the whole virtual environment. Packages that only tests and linters need are left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from licences import ROOT, licences


def bill() -> dict[str, Any]:
    """Return the bill of materials. Its root component is MemOS, as named in pyproject.toml."""
    command = [sys.executable, "-m", "cyclonedx_py", "environment", "--spec-version", "1.6", "--output-format", "JSON",
               "--output-reproducible", "--no-validate", "--pyproject", str(ROOT / "pyproject.toml"),
               sys.executable]  # fmt: skip
    made = subprocess.run(command, check=True, capture_output=True, text=True)
    whole: dict[str, Any] = json.loads(made.stdout)
    kept = {one.package for one in licences()}
    components = [one for one in whole["components"] if one["name"].lower().replace("_", "-").replace(".", "-") in kept]
    references = {one["bom-ref"] for one in components} | {whole["metadata"]["component"]["bom-ref"]}
    root = whole["metadata"]["component"]["bom-ref"]
    dependencies = [
        {**one, "dependsOn": [needed for needed in one.get("dependsOn", []) if needed in references]}
        for one in whole["dependencies"]
        if one["ref"] in references and one["ref"] != root
    ]
    needed = {reference for one in dependencies for reference in one["dependsOn"]}
    # MemOS itself needs every package that no other one needs.
    dependencies.append({"ref": root, "dependsOn": sorted(references - needed - {root})})
    return {**whole, "components": components, "dependencies": dependencies}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path, help="the file to write")
    target: Path = parser.parse_args().target
    made = bill()
    target.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    print(f"{target}: {len(made['components'])} components")


if __name__ == "__main__":
    main()
