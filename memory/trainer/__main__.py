"""`python -m memory.trainer --check` says what is missing; `python -m memory.trainer FOLDER` trains what it names.

FOLDER has `request.json` (see `TrainerRequest`), `sft.jsonl`, `preference.jsonl` and `evaluation.jsonl`. Lines of JSON
on standard output say how far it is. In the end FOLDER has `adapter/` and `result.json`, or `problem.json` with a
sentence for people.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import threading
from pathlib import Path

# What is imported by name, and the distribution that has it.
NEEDED = ("torch", "transformers", "peft", "safetensors", "gguf")


def list_missing() -> list[str]:
    """The packages that training needs and this Python does not have."""
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


def _end_with_parent() -> None:
    """Ends this process once standard input is closed: by its parent, or by the parent's end."""
    # Past Python's buffer, whose lock this thread would hold when the interpreter ends.
    while os.read(0, 4096):
        pass
    os._exit(3)


def main(arguments: list[str]) -> int:
    """Checks or trains; the exit status."""
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
