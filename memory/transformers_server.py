"""Serves the models of the provider `hf` on a listening socket, as a separate process that `make run` starts on demand.

    python -m memory.transformers_server --check             lists missing packages as JSON
    python -m memory.transformers_server DESCRIPTOR SECONDS  serves the socket until SECONDS pass without a request

It imports nothing of MemOS, and needs the packages in `requirements-hf.txt`, possibly in another environment. It
answers nothing but chat completions, one after the other, with the code of `transformers serve`. It reads only the text
of a request and the fields in `TAKEN`, and serves only callers with the password in MEMOS_HF_PASSWORD.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import importlib.util
import json
import os
import socket
import sys
import time
import uuid
from typing import Any

NEEDED = ("torch", "transformers", "accelerate", "fastapi", "uvicorn", "openai", "pydantic", "gguf")
# Other fields have no effect there, or reach files and addresses, like `generation_config` and images.
TAKEN = (
    "model",
    "messages",
    "stream",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "stop",
    "seed",
    "tools",
)
USER = "memos"


def list_missing() -> list[str]:
    """Return the packages that serving needs and this Python lacks."""
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


class _Watched:
    """Passes ASGI requests on to an application, and knows how long it has been idle."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._open = 0
        self._since = time.monotonic()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._open += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._open -= 1
            self._since = time.monotonic()

    def is_idle_for(self, seconds: float) -> bool:
        return not self._open and time.monotonic() - self._since >= seconds


def _check_messages(messages: Any) -> None:
    """Raise ValueError for parts other than text: the model would read files and addresses that they name."""
    if not isinstance(messages, list) or not all(isinstance(one, dict) and "role" in one for one in messages):
        raise ValueError("messages must be a list of objects with a role.")
    for message in messages:
        content = message.get("content")
        for part in content if isinstance(content, list) else []:
            if not isinstance(part, dict) or not isinstance(part.get("text"), str):
                raise ValueError("The provider hf takes text only: a message has a part that is none.")


def _build_app(password: str) -> _Watched:
    from starlette.applications import Starlette  # noqa: PLC0415 - in another environment, like all below
    from starlette.exceptions import HTTPException  # noqa: PLC0415
    from starlette.requests import Request  # noqa: PLC0415
    from starlette.responses import JSONResponse, Response  # noqa: PLC0415
    from starlette.routing import Route  # noqa: PLC0415
    from transformers.cli.serving.chat_completion import ChatCompletionHandler  # noqa: PLC0415
    from transformers.cli.serving.model_manager import ModelManager  # noqa: PLC0415
    from transformers.cli.serving.utils import GenerationState  # noqa: PLC0415

    # The process ends when it is idle; until then it keeps models loaded.
    handler = ChatCompletionHandler(ModelManager(model_timeout=-1), GenerationState())
    wanted = "Basic " + base64.b64encode(f"{USER}:{password}".encode()).decode()

    def refuse(status: int, code: str, message: str) -> Response:
        return JSONResponse({"error": {"message": message, "type": code, "param": None, "code": code}}, status)

    async def complete(request: Request) -> Response:
        if not hmac.compare_digest(request.headers.get("authorization", ""), wanted):
            return refuse(401, "invalid_api_key", "The password is wrong.")
        said = await request.json()
        body = {name: said[name] for name in TAKEN if said.get(name) is not None}
        try:
            _check_messages(body.get("messages"))
            answer: Response = await handler.handle_request(body, str(uuid.uuid4()))
        except HTTPException as refusal:
            return refuse(refusal.status_code, "invalid_request_error", str(refusal.detail))
        except OSError as error:
            return refuse(404, "model_not_found", f"The model cannot be loaded: {error}")
        except Exception as error:
            # A template or a model may raise anything, and the caller gets to read it.
            status = 400 if isinstance(error, ValueError) or type(error).__name__ == "TemplateError" else 500
            return refuse(status, "transformers_error", f"{type(error).__name__}: {error}")
        return answer

    return _Watched(Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])]))


def serve(listener: socket.socket, *, idle_seconds: float, password: str) -> None:
    """Answer connections, and return after `idle_seconds` without a request."""
    import uvicorn  # noqa: PLC0415

    app = _build_app(password)
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", access_log=False, timeout_graceful_shutdown=1))

    async def end_when_idle() -> None:
        while not app.is_idle_for(idle_seconds):
            await asyncio.sleep(min(idle_seconds, 1.0))
        server.should_exit = True

    async def run() -> None:
        watch = asyncio.create_task(end_when_idle())
        await server.serve([listener])
        watch.cancel()

    asyncio.run(run())


def main(arguments: list[str]) -> int:
    """Check or serve; return the exit status."""
    missing = list_missing()
    if arguments == ["--check"]:
        sys.stdout.write(json.dumps({"missing": missing}) + "\n")
        return 0
    descriptor, seconds = arguments
    listener = socket.socket(fileno=int(descriptor))
    serve(listener, idle_seconds=float(seconds), password=os.environ["MEMOS_HF_PASSWORD"])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
