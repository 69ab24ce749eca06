"""Makes keys that sort by time."""

import uuid
from datetime import datetime, timedelta

from uuid_utils.compat import uuid7


def new_id() -> uuid.UUID:
    """Returns a new UUIDv7 (RFC 9562): later ids sort after earlier ones, even within one millisecond."""
    return uuid7()


def first_id_of(moment: datetime) -> uuid.UUID:
    """Returns the least UUIDv7 of the millisecond of `moment`; ids that were made earlier sort before it."""
    return uuid.UUID(int=(_clamp(int(moment.timestamp() * 1000)) << 80) | (7 << 76) | (0b10 << 62))


def id_after(identity: uuid.UUID, by: timedelta) -> uuid.UUID:
    """Returns the least id of the millisecond `by` after that of `identity`, a UUIDv7; `by` may be negative."""
    return uuid.UUID(int=_clamp((identity.int >> 80) + int(by.total_seconds() * 1000)) << 80)


def _clamp(milliseconds: int) -> int:
    """Limits milliseconds since 1970 to the 48 bits of an id; earlier times become 0."""
    return min(max(milliseconds, 0), 2**48 - 1)
