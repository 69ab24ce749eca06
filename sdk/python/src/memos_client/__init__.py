"""The Python client of MemOS, the memory server for AI agents.

from memos_client import MemOS

memos = MemOS("http://127.0.0.1:8000", key, namespace="alice")
memos.remember("I moved to Lisbon in May.")
memos.recall("Where does she live?")["hits"]
"""

from memos_client.async_client import AsyncMemOS
from memos_client.client import MemOS
from memos_client.errors import (
    APIError,
    ChangedByGate,
    Conflict,
    ConnectionFailed,
    Forbidden,
    InvalidRequest,
    MemOSError,
    NotAuthenticated,
    NotFound,
    NotKept,
    RateLimited,
    ServerFailed,
)

__all__ = [
    "APIError",
    "AsyncMemOS",
    "ChangedByGate",
    "Conflict",
    "ConnectionFailed",
    "Forbidden",
    "InvalidRequest",
    "MemOS",
    "MemOSError",
    "NotAuthenticated",
    "NotFound",
    "NotKept",
    "RateLimited",
    "ServerFailed",
]
