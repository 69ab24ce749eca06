"""Reads an email message (EML) with its headers and body; attachments are named but not opened."""

from __future__ import annotations

import email.policy
import re
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser

from memory.parsers.encoding import decode, find_codec
from memory.parsers.refusal import FileRefused
from memory.parsers.web_page import read_html

_HEADERS = ("From", "To", "Cc", "Date")
_MAX_PARTS = 1_000
_ENCODED_WORD = re.compile(r"=\?([\w.:-]+)\?")


def read_mail(data: bytes) -> tuple[str, str, list[str]]:
    """Return the message as Markdown, its subject, and notes on how it was read."""
    message = BytesParser(policy=email.policy.default).parsebytes(data)
    assert isinstance(message, EmailMessage)
    body = message.get_body(preferencelist=("plain", "html"))
    charset = body.get_content_charset() if body is not None else None
    subject = _write_header(message, "Subject", charset)
    head = [f"{name}: {value}" for name in _HEADERS if (value := _write_header(message, name, charset))]
    attached = []
    for number, part in enumerate(message.walk()):
        if number > _MAX_PARTS:
            raise FileRefused("too_large", f"The message has more than {_MAX_PARTS} parts.")
        if part.is_attachment() and (name := part.get_filename()):
            attached.append(" ".join(name.split()))
    text, notes = _read_body(body, charset)
    lines = ["\n".join(head), text]
    if attached:
        lines.append(f"Attachments (not read): {', '.join(attached)}")
    title = f"# {subject}\n\n" if subject else ""
    return title + "\n\n".join(line for line in lines if line), subject, notes


def _write_header(message: EmailMessage, name: str, charset: str | None) -> str:
    """Return a header on one line; raw bytes, as written by old programs, are read as `charset` or guessed."""
    raw = next((value for key, value in message.raw_items() if key.lower() == name.lower()), "")
    try:
        plain = decode(raw.encode("utf-8", "surrogateescape"), declared=charset).text
        plain = _ENCODED_WORD.sub(lambda word: f"=?{find_codec(word[1]) or word[1]}?", plain)
        return " ".join(str(email.policy.default.header_factory(name, " ".join(plain.split()))).split())
    except (FileRefused, ValueError, IndexError, LookupError, AttributeError):
        # The header is malformed: the message can be read without it.
        return ""


def _read_body(body: MIMEPart | None, charset: str | None) -> tuple[str, list[str]]:
    data = body.get_payload(decode=True) if body is not None else None
    if body is None or not isinstance(data, bytes):
        return "", []
    found = decode(data, declared=charset)
    is_page = body.get_content_subtype() == "html"
    return read_html(found.text)[0] if is_page else found.text.strip(), found.notes
