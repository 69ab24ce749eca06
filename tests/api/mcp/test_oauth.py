"""OAuth tokens at `/mcp`: signed with real keys, which a server on this machine lists."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from django.test import Client
from mcp.client.auth.utils import extract_resource_metadata_from_www_auth
from mcp.shared.auth import ProtectedResourceMetadata

from memory import caches
from memory.api.mcp import issuer_keys
from memory.checks import check_oauth
from memory.models import AuditLog, Memory
from tests.api.mcp.client import ask, converse, post, standalone, use, work
from tests.api.mcp.issuer import (
    AUDIENCE,
    EC_KEY,
    JWKS,
    OPENID,
    OTHER_RSA_KEY,
    RFC_8414,
    RSA_KEY,
    Issuer,
    as_jwk,
    serving_issuer,
)

pytestmark = pytest.mark.django_db

METADATA = "/.well-known/oauth-protected-resource"


@pytest.fixture
def issuer(settings: Any) -> Iterator[Issuer]:
    """The issuer that is configured."""
    with serving_issuer() as served:
        settings.MEMOS_OAUTH_ISSUER = served.url
        settings.MEMOS_OAUTH_AUDIENCE = AUDIENCE
        yield served


def bearer(token: str) -> Client:
    return Client(headers={"Authorization": f"Bearer {token}"})


def refusal(token: str) -> Any:
    """The answer to a request with a token that is not taken."""
    answer = post(bearer(token), *standalone("tools/list"))
    assert answer.status_code == 401, answer.content
    assert 'error="invalid_token"' in answer["WWW-Authenticate"]
    assert answer.json()["error"]["code"] == "not_authenticated"
    return answer


def test_the_metadata_say_who_issues_tokens(client, issuer):
    for path in (METADATA, f"{METADATA}/mcp"):
        told = client.get(path)
        assert told.status_code == 200
        read = ProtectedResourceMetadata.model_validate(told.json())
        assert str(read.resource) == AUDIENCE
        assert [str(one).rstrip("/") for one in read.authorization_servers] == [issuer.url]
        assert read.scopes_supported == ["memos:read", "memos:write", "memos:admin"]
    assert client.post(METADATA).status_code == 405


def test_who_is_refused_is_told_where_the_metadata_are(client, issuer):
    answer = post(client, *standalone("tools/list"))

    assert answer.status_code == 401
    # The official client parses the header.
    response = httpx2.Response(401, headers={"WWW-Authenticate": answer["WWW-Authenticate"]})
    assert extract_resource_metadata_from_www_auth(response) == f"http://127.0.0.1:8000{METADATA}/mcp"
    assert "invalid_token" not in answer["WWW-Authenticate"]


def test_a_token_opens_what_it_names(issuer, alice, bob, remember):
    remember(bob, "Bob's door is green.")
    ann = bearer(issuer.sign())

    added = work(ann, "add_memory", text="Ann's door is blue.")
    found = work(ann, "search_memories", query="Which door is blue?")

    assert [one["memory_id"] for one in found["memories"]] == added["memory_ids"]
    assert set(AuditLog.objects.in_scope(alice.scope).values_list("actor", flat=True)) == {"oauth:ann"}
    assert use(ann, "search_memories", query="door", namespace="bob")["isError"]
    assert issuer.asked == [OPENID, JWKS]


def test_a_token_is_for_this_door_alone(issuer, alice):
    assert bearer(issuer.sign()).get("/v1/ops/stats").status_code == 401


def test_api_keys_open_it_still(issuer, alice):
    assert len(ask(alice.client, "tools/list")["tools"]) == 8
    assert issuer.asked == []


@pytest.mark.parametrize(
    ("scopes", "tools"),
    [
        ({"scope": "memos:read"}, 5),
        ({"scope": "memos:write"}, 3),
        ({"scope": None, "scp": ["memos:read", "memos:write"]}, 8),
        ({"scope": "read write admin"}, 0),
        ({"scope": "memos:read,memos:write"}, 0),
        ({"scope": None}, 0),
        ({"scope": 5}, 0),
        ({"scope": ["memos:read", 5, None]}, 5),
    ],
)
def test_its_scopes_decide_what_is_listed(issuer, alice, scopes, tools):
    assert len(ask(bearer(issuer.sign(**scopes)), "tools/list")["tools"]) == tools


@pytest.mark.parametrize("names", [None, [], "", ["nobody"], ["alice\0"], 5, {"alice": True}, ["Alice"], ["*"]])
def test_without_a_namespace_that_is_there_it_reaches_nothing(issuer, alice, remember, names):
    remember(alice, "Alice's door is blue.")
    ann = bearer(issuer.sign(memos_namespaces=names))

    for given in ({}, {"namespace": "alice"}, {"namespace": "new"}):
        assert use(ann, "search_memories", query="door", **given)["isError"]
        assert use(ann, "add_memory", text="door", **given)["isError"]
    assert Memory.objects.across_namespaces().count() == 1


def test_its_namespaces_may_be_words(issuer, alice, bob, remember, settings):
    remember(bob, "Bob's door is green.")
    settings.MEMOS_OAUTH_NAMESPACES_CLAIM = "tenants"
    ann = bearer(issuer.sign(tenants="alice bob"))

    assert len(work(ann, "search_memories", query="door", namespace="bob")["memories"]) == 1


@pytest.mark.parametrize(
    ("claims", "says"),
    [
        ({"aud": "https://other.example/mcp"}, "Audience"),
        ({"aud": None}, "aud"),
        ({"aud": [f"{AUDIENCE}/x", "y"]}, "Audience"),
        ({"iss": "https://evil.example"}, "issuer"),
        ({"iss": None}, "iss"),
        ({"exp": int(time.time()) - 3600}, "expired"),
        ({"exp": None}, "exp"),
        ({"exp": "soon"}, "exp"),
        ({"nbf": int(time.time()) + 3600}, "not yet valid"),
        ({"sub": None}, "sub"),
        ({"sub": 5}, "ubject"),
    ],
)
def test_a_claim_that_is_wrong_is_named(issuer, alice, claims, says):
    message = refusal(issuer.sign(**claims)).json()["error"]["message"]

    assert says in message
    assert issuer.url in message


def test_what_is_signed_otherwise_is_refused(issuer, alice):
    public = RSA_KEY.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    good = issuer.sign()
    head, body, signature = good.split(".")
    unsigned = base64.urlsafe_b64encode(json.dumps({"alg": "none", "typ": "JWT"}).encode()).rstrip(b"=").decode()
    confused = base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "kid": "k1"}).encode()).rstrip(b"=").decode()
    mac = base64.urlsafe_b64encode(hashlib.sha256(public).digest()).rstrip(b"=").decode()
    forged = base64.urlsafe_b64encode(
        json.dumps({**jwt.decode(good, options={"verify_signature": False}), "sub": "eve"}).encode()
    ).rstrip(b"=").decode()  # fmt: skip

    for token in (
        issuer.sign(OTHER_RSA_KEY),
        issuer.sign(alg="RS512"),
        issuer.sign(alg="PS256"),
        issuer.sign(EC_KEY, alg="ES256"),
        f"{unsigned}.{body}.",
        f"{confused}.{body}.{mac}",
        f"{head}.{forged}.{signature}",
        f"{head}.{body}.",
        f"{head}.{body}",
        "a.b.c",
        "..",
        "x" * 9000,
    ):
        refusal(token)
    # A key in the token itself, or a URL of keys in it, is ignored.
    brought = jwt.encode(
        jwt.decode(good, options={"verify_signature": False}),
        OTHER_RSA_KEY,
        algorithm="RS256",
        headers={"kid": "k1", "jwk": as_jwk(OTHER_RSA_KEY), "jku": "http://127.0.0.1:9/jwks"},
    )
    refusal(brought)


def test_keys_that_are_not_listed_do_not_make_us_ask_again_and_again(issuer, alice):
    for number in range(5):
        assert "does not list" in refusal(issuer.sign(kid=f"other{number}")).json()["error"]["message"]
    assert issuer.asked == [OPENID, JWKS]
    assert len(ask(bearer(issuer.sign()), "tools/list")["tools"]) == 8


def test_a_key_that_is_listed_later_is_found(issuer, alice):
    refusal(issuer.sign(OTHER_RSA_KEY, kid="k2"))
    issuer.list_keys(as_jwk(RSA_KEY, kid="k1"), as_jwk(OTHER_RSA_KEY, kid="k2"))
    issuer_keys._asked.clear()

    assert ask(bearer(issuer.sign(OTHER_RSA_KEY, kid="k2")), "tools/list")["tools"]


def test_only_keys_that_sign_are_taken(issuer, alice):
    issuer.list_keys(
        {"kty": "unknown", "kid": "k0"},
        {"kty": "oct", "kid": "k1", "k": "c2VjcmV0", "alg": "HS256"},
        as_jwk(RSA_KEY, kid="k2", use="enc"),
        as_jwk(EC_KEY, kid="k3", alg="ES256"),
    )

    assert ask(bearer(issuer.sign(EC_KEY, kid="k3", alg="ES256")), "tools/list")["tools"]
    for kid in ("k0", "k1", "k2", None):
        caches.forget_all()
        if kid is None:
            issuer.list_keys(as_jwk(RSA_KEY), as_jwk(EC_KEY, kid="k3"))
        refusal(issuer.sign(kid=kid))


def test_an_only_key_needs_no_id(issuer, alice):
    issuer.list_keys(as_jwk(RSA_KEY))

    assert ask(bearer(issuer.sign(kid=None)), "tools/list")["tools"]


def test_metadata_are_found_as_rfc_8414_has_it_too(issuer, alice):
    issuer.pages[RFC_8414] = issuer.pages.pop(OPENID)

    assert ask(bearer(issuer.sign()), "tools/list")["tools"]


def test_a_setting_may_say_where_the_keys_are(issuer, alice, settings):
    settings.MEMOS_OAUTH_JWKS_URL = f"{issuer.url}{JWKS}"

    assert ask(bearer(issuer.sign()), "tools/list")["tools"]
    assert issuer.asked == [JWKS]


@pytest.mark.parametrize(
    ("path", "page"),
    [
        (OPENID, 404),
        (OPENID, 500),
        (OPENID, 302),
        (OPENID, {"issuer": "https://evil.example", "jwks_uri": "https://evil.example/jwks"}),
        (OPENID, {"jwks_uri": f"http://127.0.0.1/{JWKS}"}),
        (OPENID, "no issuer"),
        (JWKS, 500),
        (JWKS, 302),
        (JWKS, b"{"),
        (JWKS, []),
        (JWKS, b" " * 300_000),
    ],
)
def test_an_issuer_that_does_not_tell_its_keys_is_a_503_and_found_again(issuer, alice, path, page):
    former = issuer.pages[path]
    issuer.pages[path] = page

    for _ in range(2):
        answer = post(bearer(issuer.sign()), *standalone("tools/list"))
        assert answer.status_code == 503, answer.content
        assert answer.json()["error"]["code"] == "issuer_unavailable"
        assert int(answer["Retry-After"]) > 0
    # The second token caused no request.
    assert issuer.asked.count(OPENID) == 1

    issuer.pages[path] = former
    issuer_keys._asked.clear()
    assert ask(bearer(issuer.sign()), "tools/list")["tools"]


def test_a_subject_of_odd_characters_is_named_by_its_hash(issuer, alice):
    subject = "Ann\n <script> " + "x" * 300
    work(bearer(issuer.sign(sub=subject)), "add_memory", text="hello there")

    [actor] = set(AuditLog.objects.in_scope(alice.scope).values_list("actor", flat=True))
    assert actor == f"oauth:{hashlib.sha256(subject.encode()).hexdigest()}"


def test_the_limit_of_requests_holds_for_each_subject(issuer, alice, settings):
    settings.MEMOS_RATE_LIMIT_PER_MINUTE = 2
    # Not those of other tests: a process counts a minute.
    ann, ben = bearer(issuer.sign(sub="ann of the limit")), bearer(issuer.sign(sub="ben of the limit"))

    assert [post(ann, *standalone("tools/list")).status_code for _ in range(3)] == [200, 200, 429]
    assert post(ben, *standalone("tools/list")).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_the_official_client_comes_in_with_a_token(issuer, live_server, alice):
    async def talk(client: Any) -> Any:
        return await client.call_tool("add_memory", {"text": "Ann's door is blue."})

    assert not converse(f"{live_server.url}/mcp", issuer.sign(), talk).is_error


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"MEMOS_OAUTH_ISSUER": "http://login.example.com"}, "MEMOS_OAUTH_ISSUER"),
        ({"MEMOS_OAUTH_ISSUER": "login.example.com"}, "MEMOS_OAUTH_ISSUER"),
        ({"MEMOS_OAUTH_ISSUER": "https://["}, "MEMOS_OAUTH_ISSUER"),
        ({"MEMOS_OAUTH_AUDIENCE": ""}, "MEMOS_OAUTH_AUDIENCE"),
        ({"MEMOS_OAUTH_JWKS_URL": "file:///keys"}, "MEMOS_OAUTH_JWKS_URL"),
    ],
)
def test_settings_that_would_let_strangers_in_are_errors(settings, changes, name):
    settings.MEMOS_OAUTH_ISSUER = "https://login.example.com"
    settings.MEMOS_OAUTH_AUDIENCE = "https://memos.example.com/mcp"
    assert check_oauth(None) == []

    for setting, value in changes.items():
        setattr(settings, setting, value)
    assert any(name in error.msg for error in check_oauth(None))
