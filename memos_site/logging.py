"""Formats log records as one line of `key=value` each, with the id of the request."""

from __future__ import annotations

import json
import logging
import time
from contextvars import ContextVar

from memory import tracing

current_request_id: ContextVar[str] = ContextVar("current_request_id", default="")

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "request", "status_code", "taskName"}


class LineFormatter(logging.Formatter):
    """Writes `time=… level=… logger=… request_id=… event="…" extra=…`; a traceback is quoted as JSON in that line."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, object] = {
            "time": self.formatTime(record),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        if request_id := current_request_id.get():
            fields["request_id"] = request_id
        if trace_id := tracing.trace_id():
            fields["trace_id"] = trace_id
        fields["event"] = record.getMessage()
        fields |= {name: value for name, value in record.__dict__.items() if name not in _STANDARD}
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return " ".join(f"{name}={_quote(value)}" for name, value in fields.items())


def _quote(value: object) -> str:
    text = str(value)
    if text and text.isprintable() and not any(mark in text for mark in ' "=\\'):
        return text
    return json.dumps(text)
