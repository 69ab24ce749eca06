"""The JavaScript libraries match their lock, and load nothing from elsewhere."""

from __future__ import annotations

import json
import re

from tools.vendor_assets import LOCK, TARGET, differing


def test_what_is_committed_is_what_was_fetched():
    assert differing(json.loads(LOCK.read_text(encoding="utf-8"))) == []


def test_no_library_names_a_source_map_or_a_bare_import():
    for path in TARGET.rglob("*.js"):
        content = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert "sourceMappingURL" not in content, path
        assert not re.search(r"""\}\s*from\s*['"](?![./])""", content), path
