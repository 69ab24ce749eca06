"""Keys that sort by time."""

import uuid

from uuid_utils.compat import uuid7


def new_id() -> uuid.UUID:
    """A UUIDv7 (RFC 9562): unique, and later ids sort after earlier ones, also within one millisecond."""
    return uuid7()
