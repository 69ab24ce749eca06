"""An issuer of OAuth tokens with real keys, and a server on this machine that lists them."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

OPENID, RFC_8414, JWKS = "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server", "/jwks"
AUDIENCE = "http://127.0.0.1:8000/mcp"
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def as_jwk(key: Any, **fields: Any) -> dict[str, Any]:
    """The public half as issuers list it."""
    algorithm = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
    return {**json.loads(algorithm.to_jwk(key.public_key())), "use": "sig", **fields}


@dataclass
class Issuer:
    """A fake issuer. `pages` are answers by path, where a number is a status; `asked` are the requested paths."""

    url: str
    pages: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def list_keys(self, *keys: dict[str, Any]) -> None:
        self.pages[JWKS] = {"keys": list(keys)}

    def sign(self, key: Any = RSA_KEY, *, kid: str | None = "k1", alg: str = "RS256", **claims: Any) -> str:
        """A token that is valid but for what `claims` say otherwise; None leaves a claim out."""
        now = int(time.time())
        all_claims = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "ann",
            "iat": now,
            "exp": now + 600,
            "scope": "memos:read memos:write openid",
            "memos_namespaces": ["alice"],
            **claims,
        }
        named = {name: value for name, value in all_claims.items() if value is not None}
        return jwt.encode(named, key, algorithm=alg, headers={"kid": kid} if kid else None)


@contextlib.contextmanager
def serving_issuer() -> Iterator[Issuer]:
    """An issuer that lists one RSA key, k1."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.asked.append(self.path)
            page = issuer.pages.get(self.path, 404)
            status = page if isinstance(page, int) else 200
            body = b"" if isinstance(page, int) else page if isinstance(page, bytes) else json.dumps(page).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", f"{issuer.url}{JWKS}")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    issuer = Issuer(f"http://127.0.0.1:{server.server_port}")
    issuer.pages[OPENID] = {"issuer": issuer.url, "jwks_uri": f"{issuer.url}{JWKS}"}
    issuer.list_keys(as_jwk(RSA_KEY, kid="k1", alg="RS256"))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
