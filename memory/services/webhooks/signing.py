"""Creates secrets of webhooks, and signs messages with them as Standard Webhooks (1.0.0) specifies.

A secret is needed in clear to sign, so it is not hashed as keys are: it is encrypted (AES-256-GCM) with a key derived
from MEMOS_SECRET_KEY, for its webhook only. A copy of the database alone cannot sign anything.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import uuid
from datetime import datetime
from typing import TYPE_CHECKING

from django.conf import settings

from memory.errors import Conflict

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MARK = "whsec_"
_SECRET_BYTES, _NONCE_BYTES = 32, 12


def make_secret() -> str:
    """Create a new secret in the form that receivers' libraries take."""
    return MARK + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def encrypt(secret: str, webhook_id: uuid.UUID) -> bytes:
    """Return the secret encrypted for storage."""
    nonce = secrets.token_bytes(_NONCE_BYTES)
    raw = base64.b64decode(secret.removeprefix(MARK))
    return nonce + _cipher().encrypt(nonce, raw, webhook_id.bytes)


def sign(stored: bytes, webhook_id: uuid.UUID, *, message_id: str, at: datetime, body: bytes) -> str:
    """Return the signature of a message with a stored secret. Raises Conflict when that cannot be decrypted."""
    signed = b"%s.%d.%s" % (message_id.encode(), int(at.timestamp()), body)
    digest = hmac.new(_decrypt(stored, webhook_id), signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def _decrypt(stored: bytes, webhook_id: uuid.UUID) -> bytes:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - 7 MB, for those who have webhooks

    try:
        return _cipher().decrypt(stored[:_NONCE_BYTES], stored[_NONCE_BYTES:], webhook_id.bytes)
    except InvalidTag:
        raise Conflict(
            "The secret of this webhook was encrypted under another MEMOS_SECRET_KEY. Make a new one "
            "(POST /v1/webhooks/ID/secret), and give it to the receiver.",
            detail={"field": "secret"},
        ) from None


def _cipher() -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - as above

    return AESGCM(hashlib.sha256(b"memos.webhooks:" + settings.SECRET_KEY.encode()).digest())
