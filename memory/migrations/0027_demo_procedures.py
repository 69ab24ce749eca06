"""The demo's prompt and tools belong to the demo: until now every namespace was given them, and paid their tokens.

Rows that staff changed are theirs and stay shared; so does a prompt or tool of another version.
"""

from __future__ import annotations

import hashlib
import json

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

DEMO = "demo"
# SHA-256 of what was shipped, by name: version, description, text and parameters as canonical JSON.
SHIPPED = {
    "memos.answer-from-memory": "f2dc8160cbca4cf22c833c4fcccf58ff4b3eac19024310511bc9473932815325",
    "search_memory": "e01acdf5dedc4b5290cd0671bf8bb4fe4b93831832198755e559aa88db049f8b",
    "remember": "a84f2e71968fc92dc6f308969eb8870e5512d7990cf7024af5b6831652c45de6",
}


def give_to_the_demo(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Shared rows as shipped become the demo namespace's own; without one they are switched off."""
    procedures = apps.get_model("memory", "Procedure").objects
    demo = apps.get_model("memory", "Namespace").objects.filter(name=DEMO).first()
    for row in procedures.filter(namespace=None, name__in=SHIPPED):
        own = [row.version, row.description, row.text, row.parameters]
        digest = hashlib.sha256(json.dumps(own, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
        if digest != SHIPPED[row.name]:
            continue
        if demo is None:
            row.enabled = False
        elif procedures.filter(namespace=demo, kind=row.kind, name=row.name, version=row.version).exists():
            row.enabled = False
        else:
            row.namespace = demo
        row.save(update_fields=["namespace", "enabled"])


class Migration(migrations.Migration):
    dependencies = [("memory", "0026_suspected")]

    operations = [migrations.RunPython(give_to_the_demo, migrations.RunPython.noop)]
