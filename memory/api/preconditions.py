"""ETags of memories, and the If-Match header (RFC 9110, sections 8.8.3 and 13.1.1)."""

from __future__ import annotations

import re

from django.utils.http import parse_etags
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from memory.types import ChangeTerms, Idempotency

IF_MATCH = OpenApiParameter(
    "If-Match",
    {"type": "string", "pattern": r'^(\*|"[0-9]{1,9}")$'},
    OpenApiParameter.HEADER,
    description="The ETag that was read: changed since, the answer is 412 and nothing is done. Left out: done anyway.",
)
ETAG = OpenApiParameter(
    "ETag",
    {"type": "string"},
    OpenApiParameter.HEADER,
    response=[200],
    description="Its present revision, for `If-Match`",
)
_REVISION = re.compile(r'"(\d{1,9})"', re.ASCII)


def etag(revision: int) -> str:
    """Return the strong ETag of a memory's revision."""
    return f'"{revision}"'


def terms_of(request: Request, *, idempotency: Idempotency | None) -> ChangeTerms:
    """Return the terms of a request's change. Raises ValidationError for a malformed If-Match."""
    request_id = getattr(request._request, "request_id", "")
    header = request.headers.get("If-Match")
    if header is None or header.strip() == "*":
        return ChangeTerms(None, idempotency, request_id)
    tags = parse_etags(header)
    if not tags:
        raise ValidationError({"If-Match": 'must be the ETag of an answer, in its quotes, as in "3".'})
    # Weak tags and tags of other resources never match.
    revisions = frozenset(int(match[1]) for tag in tags if (match := _REVISION.fullmatch(tag)))
    return ChangeTerms(revisions, idempotency, request_id)
