"""Shares one TLS context among HTTP clients, each of which would read the certificate authorities again (60 ms)."""

from __future__ import annotations

import ssl
from functools import cache

import httpx2


@cache
def tls_context() -> ssl.SSLContext:
    """Returns the context that httpx makes by default. Threads may share it."""
    return httpx2.create_ssl_context()
