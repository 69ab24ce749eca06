"""A message (EML): who, when, what about, and what it says. Attachments are named, and not opened."""

from __future__ import annotations

import email.policy
from email.message import EmailMessage
from email.parser import BytesParser

from memory.parsers.refusal import FileRefused
from memory.parsers.web_page import read_html

_HEADERS = ("From", "To", "Cc", "Date")
_MAX_PARTS = 1_000


def read_mail(data: bytes) -> tuple[str, str]:
    """The message as Markdown, and its subject."""
    message = BytesParser(policy=email.policy.default).parsebytes(data)
    assert isinstance(message, EmailMessage)
    subject = _write_header(message, "Subject")
    head = [f"{name}: {value}" for name in _HEADERS if (value := _write_header(message, name))]
    attached = []
    for number, part in enumerate(message.walk()):
        if number > _MAX_PARTS:
            raise FileRefused("too_large", f"The message has more than {_MAX_PARTS} parts.")
        if part.is_attachment() and (name := part.get_filename()):
            attached.append(" ".join(name.split()))
    lines = ["\n".join(head), _read_body(message)]
    if attached:
        lines.append(f"Attachments (not read): {', '.join(attached)}")
    title = f"# {subject}\n\n" if subject else ""
    return title + "\n\n".join(line for line in lines if line), subject


def _write_header(message: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(message.get(name, "")).split())
    except (ValueError, IndexError, LookupError, AttributeError):
        # What a header says is no header: the message may be read without it.
        return ""


def _read_body(message: EmailMessage) -> str:
    body = message.get_body(preferencelist=("plain", "html"))
    if body is None:
        return ""
    try:
        text = body.get_content()
    except (LookupError, UnicodeError, ValueError, KeyError) as error:
        raise FileRefused("encoding", f"The message's text cannot be decoded: {type(error).__name__}.") from None
    if not isinstance(text, str):
        return ""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return read_html(text)[0] if body.get_content_subtype() == "html" else text.strip()
