"""Which requests may take long to answer, and so go to the process that has the streams."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

from django.conf import settings
from gunicorn.util import split_request_uri

# Answers take long when a model writes them; a stream takes as long as its client reads.
_ANSWER = re.compile(r"/v1/(?:(?:answer|chat)(?P<stream>/stream)?(?:/completions)?|responses|messages)")
_MEMTENSOR_ANSWER = re.compile(r"/product/chat/(?:complete|(?P<stream>stream))|/chat")
# Who asks for jobs to end waits for them.
_MEMTENSOR_WAITS = re.compile(r"/product/scheduler/wait(?:/stream)?")
# Who asks for changes may wait for them.
_CHANGES = "/v1/changes"
_WAITS = re.compile(r"(?:^|&)wait=(?!0*(?:&|$))")
# A file of all memories takes as long as its client reads.
_EXPORT = "/v1/memories/export"
# Which tool is called stands in the body: in a small one, which is here when the request is.
_MCP = "/mcp"
_MCP_ANSWER = re.compile(rb'"name"\s*:\s*"answer"')


class RequestLine(NamedTuple):
    """Method, path and query as the application reads them, however they are written."""

    method: bytes = b""
    path: str = ""
    query: str = ""

    @property
    def takes_long(self) -> bool:
        """Whether the answer may take long, whatever the body says."""
        if self.method != b"POST":
            return self.path == _EXPORT or (self.path == _CHANGES and _WAITS.search(self.query) is not None)
        if _MEMTENSOR_WAITS.fullmatch(self.path):
            return True
        asked = _ANSWER.fullmatch(self.path) or _MEMTENSOR_ANSWER.fullmatch(self.path)
        return bool(asked and (asked["stream"] or settings.MEMOS_LLM_ENABLED))

    @property
    def may_call_answer(self) -> bool:
        """Whether `calls_answer` is to be asked."""
        return self.method == b"POST" and self.path == _MCP and settings.MEMOS_LLM_ENABLED


def read_request_line(head: bytes) -> RequestLine:
    """The first line of a request; an empty one for a method or a target that is not looked at."""
    method, _, rest = head.partition(b"\r\n")[0].partition(b" ")
    if method not in (b"POST", b"GET", b"HEAD"):
        return RequestLine()
    try:
        target = split_request_uri(rest.partition(b" ")[0].decode("latin-1"))
    except ValueError:
        # No target: the parser refuses it.
        return RequestLine()
    return RequestLine(method, unquote(target.path), unquote(target.query))


def calls_answer(request: bytes) -> bool:
    """Whether a whole request to MCP calls the tool that answers."""
    return _MCP_ANSWER.search(request) is not None
