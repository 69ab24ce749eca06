"""A URLconf that repeats the request, for tests of the web server in front of the real middleware."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path

from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.urls import path, re_path
from django.views.decorators.csrf import csrf_exempt

handler400 = "memos_site.errors.bad_request"
handler404 = "memos_site.errors.not_found"
handler500 = "memos_site.errors.server_error"


def late(request: HttpRequest) -> HttpResponse:
    """Write `until`.begun, and answer once the file `until` exists."""
    until = Path(request.GET["until"])
    until.with_suffix(".begun").touch()
    while not until.exists():
        time.sleep(0.02)
    return HttpResponse("late")


def stream(request: HttpRequest) -> StreamingHttpResponse:
    """Send an event, and then nothing but empty pieces; touch the file `closed` when the stream is closed."""

    def pieces() -> Iterator[bytes]:
        try:
            yield b"data: begun\n\n"
            while True:
                yield b""
                time.sleep(0.05)
        finally:
            Path(request.GET["closed"]).touch()

    return StreamingHttpResponse(pieces(), content_type="text/event-stream")


def endless(request: HttpRequest) -> StreamingHttpResponse:
    """Send as much as the client takes; touch the file `closed` when the stream is closed."""

    def pieces() -> Iterator[bytes]:
        try:
            while True:
                yield b"x" * 1_000_000
        finally:
            Path(request.GET["closed"]).touch()

    return StreamingHttpResponse(pieces(), content_type="application/octet-stream")


@csrf_exempt
def echo(request: HttpRequest) -> JsonResponse:
    """Return the request, with the length and SHA-256 of its body."""
    return JsonResponse(
        {
            "method": request.method,
            "path": request.path,
            "script": request.META["SCRIPT_NAME"],
            "scheme": request.scheme,
            "protocol": request.META["SERVER_PROTOCOL"],
            "length": len(request.body),
            "sha256": hashlib.sha256(request.body).hexdigest(),
        }
    )


urlpatterns = [path("late", late), path("stream", stream), path("endless", endless), re_path("", echo)]
