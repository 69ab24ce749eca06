"""Defines the manifest of a cube's file: its contents, part by part, and a signature that identifies its writer.

The signed bytes are the manifest as JSON with sorted names and no white space. It contains the SHA-256 of every part,
so the signature covers the whole file.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson
from django.conf import settings

from memory.enums import CubeSignature
from memory.errors import InvalidInput
from memory.services.imports.source import UnreadableImport
from memory.text.json_values import fault_of

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SCHEMA = "memcube/1"
MEMBER = "manifest.json"
MAX_BYTES = 1024 * 1024
# The parts in the order of writing and loading: a part comes before others that refer to it.
PARTS = (
    "policies", "sessions", "documents", "names", "memories", "links", "pairs", "summaries", "procedures", "quarantine",
    "audit",
)  # fmt: skip
# Files written before large namespaces moved to HNSW have this part; it is not loaded.
FORMER_PARTS = ("ivf_lists",)
HMAC, ED25519 = "hmac-sha256", "ed25519"
_DIGEST = re.compile(r"[0-9a-f]{64}")
_MAX_NAME_CHARS = 200
_MIN_KEY_CHARS = 16
_MOST_LEVELS = 12
# The limit of the manifest, which is stored with the load and shown in lists.
_MAX_SAID_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class PartSummary:
    """A part of the file: the number of its `lines`, their `bytes` (unpacked), and the SHA-256 (hex) of these."""

    lines: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description of a file.

    `server` identifies the secret of the server that wrote it, and `namespace_id` the namespace there: together they
    tell whether ids are a namespace's own. `model`: the embedding model of the vectors (provider, name, dimensions);
    None if the file has none. `policy`: the version in force, 0 for none. `first_at` and `last_at`: when the first and
    the last memory happened; `written_at`: when the file was made.
    """

    server: str
    namespace_id: int
    namespace: str
    written_at: str
    parts: dict[str, PartSummary]
    policy: int = 0
    model: dict[str, Any] | None = None
    chat_models: dict[str, str] = field(default_factory=dict)
    first_at: str | None = None
    last_at: str | None = None
    cube: dict[str, Any] = field(default_factory=dict)
    memos: str = ""
    schema: str = SCHEMA

    @property
    def lines(self) -> int:
        """Return the number of lines of all parts."""
        return sum(part.lines for part in self.parts.values())

    def count(self, name: str) -> int:
        """Return the number of lines of a part, 0 if the file does not have it."""
        return self.parts[name].lines if name in self.parts else 0

    def encode(self) -> bytes:
        """Return the bytes that are signed."""
        return orjson.dumps(asdict(self), option=orjson.OPT_SORT_KEYS)


def seal(manifest: Manifest) -> bytes:
    """Return the member of the file: the manifest with its signature, by Ed25519 if the server has such a key."""
    return orjson.dumps({"manifest": asdict(manifest), "signature": _sign(manifest.encode())})


def open_sealed(data: bytes) -> tuple[Manifest, CubeSignature]:
    """Return the manifest of a file, and what its signature reveals about the writer.

    Raises UnreadableImport for another schema, a manifest of another shape, and an invalid signature.
    """
    try:
        whole = orjson.loads(data)
        if fault := fault_of(whole, most_levels=_MOST_LEVELS):
            raise UnreadableImport(f"{MEMBER} {fault.problem.removesuffix('.')}: no cube's file has that.")
        manifest = _parse(whole["manifest"])
        signature = whole.get("signature") or {}
        said = orjson.dumps(whole["manifest"], option=orjson.OPT_SORT_KEYS)
        return manifest, _verify(said, signature)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UnreadableImport(
            f"{MEMBER} has not the shape of a cube's manifest: the file was changed, or another program wrote it."
        ) from None


def public_key() -> str | None:
    """Return the key that receivers add to MEMOS_CUBE_TRUSTED_KEYS to trust this server's files; None when it signs by
    HMAC."""
    key = _private_key()
    return _public_text(key.public_key()) if key else None


def _parse(value: Mapping[str, Any]) -> Manifest:
    schema = value.get("schema")
    if schema != SCHEMA:
        named = repr(schema)[:40]
        raise UnreadableImport(
            f"The file is of the schema {named}; this server reads {SCHEMA}. Dump it again with a MemOS of this "
            "version, or load it by the one that wrote it."
        )
    parts = {str(name): PartSummary(**summary) for name, summary in value["parts"].items()}
    if unknown := sorted(set(parts) - {*PARTS, *FORMER_PARTS}):
        raise UnreadableImport(f"The file has parts that {SCHEMA} does not know: {', '.join(unknown)[:200]}.")
    for name, part in parts.items():
        if not (isinstance(part.lines, int) and isinstance(part.bytes, int) and _DIGEST.fullmatch(part.sha256)):
            raise ValueError(name)
    manifest = Manifest(**{**value, "parts": parts})
    names = (manifest.server, manifest.namespace, manifest.written_at)
    if not all(isinstance(name, str) and len(name) <= _MAX_NAME_CHARS for name in names):
        raise ValueError("name")
    datetime.fromisoformat(manifest.written_at)
    if not isinstance(manifest.namespace_id, int) or not isinstance(manifest.policy, int):
        raise ValueError("namespace_id")
    if not all(isinstance(one, dict) for one in (manifest.model or {}, manifest.chat_models, manifest.cube)):
        raise ValueError("cube")
    if len(manifest.encode()) > _MAX_SAID_BYTES:
        raise ValueError("size")
    return manifest


def _sign(said: bytes) -> dict[str, str]:
    """Return the signature for receivers, and `own`: a sum that only this server can make and check, whatever keys it
    shares."""
    own, key = _sum(_own_secret(), said), _private_key()
    if key is not None:
        value = base64.b64encode(key.sign(said)).decode()
        return {"algorithm": ED25519, "key": _public_text(key.public_key()), "value": value, "own": own}
    secret = _read_secret()
    return {"algorithm": HMAC, "key": _mark_of(secret), "value": _sum(secret, said), "own": own}


def _verify(said: bytes, signature: Mapping[str, Any]) -> CubeSignature:
    found = _verify_sender(said, signature)
    if found != CubeSignature.TRUSTED:
        return found
    # A server that shares a key with this one is a known sender, but cannot make `own`. Older files do not have it:
    # without a shared key, only this server can have signed them.
    is_shared = str(signature.get("algorithm")) != HMAC or bool(settings.MEMOS_CUBE_KEY)
    is_own = not is_shared or _is_sum(str(signature.get("own", "")), _own_secret(), said)
    return CubeSignature.OWN if is_own else found


def _verify_sender(said: bytes, signature: Mapping[str, Any]) -> CubeSignature:
    algorithm, key, value = (str(signature.get(name, "")) for name in ("algorithm", "key", "value"))
    if not algorithm:
        return CubeSignature.NONE
    if algorithm == HMAC:
        secret = _read_secret()
        if key != _mark_of(secret):
            return CubeSignature.UNKNOWN
        if _is_sum(value, secret, said):
            return CubeSignature.TRUSTED
        raise _error_of_signature()
    if algorithm == ED25519:
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - 7 MB, for those who have keys
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - as above

        try:
            public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key, validate=True))
            public.verify(base64.b64decode(value, validate=True), said)
        except (ValueError, InvalidSignature):
            raise _error_of_signature() from None
        is_known = key == public_key() or key in settings.MEMOS_CUBE_TRUSTED_KEYS
        return CubeSignature.TRUSTED if is_known else CubeSignature.UNKNOWN
    raise UnreadableImport(f"The file is signed by {algorithm[:40]!r}; this server knows {HMAC} and {ED25519}.")


def _sum(secret: bytes, said: bytes) -> str:
    return hmac.new(secret, said, hashlib.sha256).hexdigest()


def _is_sum(value: str, secret: bytes, said: bytes) -> bool:
    return hmac.compare_digest(value.encode(), _sum(secret, said).encode())


def _error_of_signature() -> UnreadableImport:
    return UnreadableImport(
        "The signature of the file does not hold: it was changed after it was written. Get it again from its sender."
    )


def _read_secret() -> bytes:
    """Return MEMOS_CUBE_KEY, which servers may share, or this server's own key."""
    if settings.MEMOS_CUBE_KEY and len(settings.MEMOS_CUBE_KEY) < _MIN_KEY_CHARS:
        raise InvalidInput(f"MEMOS_CUBE_KEY has fewer than {_MIN_KEY_CHARS} characters and can be guessed.")
    given = settings.MEMOS_CUBE_KEY or settings.MEMOS_KEY_PEPPER
    return hmac.new(given.encode(), b"memos.cubes: manifest", hashlib.sha256).digest()


def _own_secret() -> bytes:
    """Return a key that no setting shared with other servers reveals."""
    return hmac.new(settings.MEMOS_KEY_PEPPER.encode(), b"memos.cubes: written here", hashlib.sha256).digest()


def _mark_of(secret: bytes) -> str:
    return hashlib.sha256(b"which key" + secret).hexdigest()[:16]


def _private_key() -> Ed25519PrivateKey | None:
    given = settings.MEMOS_CUBE_SIGNING_KEY
    if not given:
        return None
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - as above

    try:
        return Ed25519PrivateKey.from_private_bytes(base64.b64decode(given, validate=True))
    except ValueError:
        raise InvalidInput("MEMOS_CUBE_SIGNING_KEY is no Ed25519 key: it is 32 bytes in base64.") from None


def _public_text(key: Ed25519PublicKey) -> str:
    return base64.b64encode(key.public_bytes_raw()).decode()
