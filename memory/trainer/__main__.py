"""`python -m memory.trainer --check` lists missing packages; `python -m memory.trainer FOLDER` trains.

FOLDER contains `request.json` (see `TrainerRequest`), `sft.jsonl`, `preference.jsonl` and `evaluation.jsonl`. Progress
is reported as JSON lines on standard output. At the end FOLDER contains `adapter/` and `result.json`, or `problem.json`
with a sentence for people.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import threading
from pathlib import Path

# Names of the modules to import, which are also those of the distributions.
NEEDED = ("torch", "transformers", "peft", "safetensors", "gguf")


def list_missing() -> list[str]:
    """Return the packages that training needs and this Python lacks."""
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


def _end_with_parent() -> None:
    """End this process when standard input is closed, by its parent or by the parent's end."""
    # This bypasses Python's buffer, whose lock this thread would hold when the interpreter ends.
    while os.read(0, 4096):
        pass
    os._exit(3)


def main(arguments: list[str]) -> int:
    """Check or train; return the exit status."""
    if arguments == ["--check"]:
        sys.stdout.write(json.dumps({"missing": list_missing()}) + "\n")
        return 0
    folder = Path(arguments[0])
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from memory.trainer.learn import TrainerProblem, train  # noqa: PLC0415 - needs torch, and --check must not

    try:
        result = train(folder)
    except TrainerProblem as problem:
        (folder / "problem.json").write_text(json.dumps({"problem": str(problem)}))
        return 2
    (folder / "result.json").write_text(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
