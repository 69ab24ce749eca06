"""Keys that sort by time."""

import uuid
from datetime import datetime, timedelta

from uuid_utils.compat import uuid7


def new_id() -> uuid.UUID:
    """A UUIDv7 (RFC 9562): unique, and later ids sort after earlier ones, also within one millisecond."""
    return uuid7()


def first_id_of(moment: datetime) -> uuid.UUID:
    """The least UUIDv7 of the millisecond of `moment`: ids made earlier sort before it."""
    return uuid.UUID(int=(_clamp(int(moment.timestamp() * 1000)) << 80) | (7 << 76) | (0b10 << 62))


def id_after(identity: uuid.UUID, by: timedelta) -> uuid.UUID:
    """The least id of the millisecond `by` after that of `identity`, a UUIDv7; `by` may be negative."""
    return uuid.UUID(int=_clamp((identity.int >> 80) + int(by.total_seconds() * 1000)) << 80)


def _clamp(milliseconds: int) -> int:
    """The milliseconds since 1970 as the 48 bits of an id hold them: a moment before 1970 counts as its beginning."""
    return min(max(milliseconds, 0), 2**48 - 1)
