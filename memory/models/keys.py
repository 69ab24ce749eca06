"""Keys that sort by time."""

import uuid
from datetime import datetime

from uuid_utils.compat import uuid7


def new_id() -> uuid.UUID:
    """A UUIDv7 (RFC 9562): unique, and later ids sort after earlier ones, also within one millisecond."""
    return uuid7()


def first_id_of(moment: datetime) -> uuid.UUID:
    """The least UUIDv7 of the millisecond of `moment`: ids made earlier sort before it."""
    return uuid.UUID(int=(int(moment.timestamp() * 1000) << 80) | (7 << 76) | (0b10 << 62))
