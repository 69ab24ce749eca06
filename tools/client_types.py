#!/usr/bin/env python
"""Writes the types of the Python client from the published schema.

.venv/bin/python tools/own_schema.py > schema.json
.venv/bin/python tools/client_types.py schema.json sdk/python/src/memos_client/types.py
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GENERATOR = ROOT / ".venv-clients" / "bin" / "datamodel-codegen"
OPTIONS = (
    "--input-file-type=openapi --output-model-type=typing.TypedDict --target-python-version=3.11 "
    "--use-standard-collections --use-union-operator --strict-nullable --no-use-closed-typed-dict --disable-timestamp "
    "--formatters=builtin --use-double-quotes"
).split()
_HEAD = '"""The answers of MemOS, as its schema describes them. Made by tools/client_types.py."""\n\n'


def main() -> None:
    schema, target = map(Path, sys.argv[1:])
    if not GENERATOR.exists():
        sys.exit("datamodel-code-generator is not installed: make install-clients")
    subprocess.run([str(GENERATOR), f"--input={schema}", f"--output={target}", *OPTIONS], check=True)
    lines = target.read_text(encoding="utf-8").splitlines(keepends=True)
    target.write_text(_HEAD + "".join(line for line in lines if not line.startswith("#")).lstrip(), encoding="utf-8")


if __name__ == "__main__":
    main()
