"""The official conformance suite of the protocol, in the newest revisions with and without a handshake."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application

from tests.api.mcp.client import NEWEST_HANDSHAKE, STATELESS
from tests.sdk.node_package import install_locked, run_program

pytestmark = pytest.mark.django_db(transaction=True)

# Release 0.1.16 knows no revision after 2025-11-25. The pinned one has its scenarios, and those of 2026-07-28.
PACKAGE = Path(__file__).with_name("conformance")
PROGRAM = "node_modules/@modelcontextprotocol/conformance/dist/index.js"

# The suite calls tools, prompts and resources of a server made for it (`test_simple_text`). MemOS fails these checks
# because it lacks those names; `test_protocol.py` and `test_official_client.py` test what it has.
_NAMES_OF_THE_SUITE = """
    json-schema-2020-12-tool-found prompts-get-embedded-resource prompts-get-simple prompts-get-with-args
    prompts-get-with-image resources-read-binary resources-read-text resources-templates-read tools-call-audio
    tools-call-embedded-resource tools-call-error tools-call-image tools-call-mixed-content tools-call-simple-text
    tools-call-with-progress
"""
# MemOS does not declare these capabilities, and answers -32601 as it must.
_NO_CAPABILITY = "completion-complete"
EXPECTED: dict[str, dict[str, str]] = {
    NEWEST_HANDSHAKE: {
        "names of the suite": _NAMES_OF_THE_SUITE,
        "a capability that is not declared": f"""
            {_NO_CAPABILITY} logging-set-level tools-call-with-logging resources-subscribe resources-unsubscribe
        """,
        "MemOS asks clients for nothing: no elicitation and no sampling": """
            elicitation-sep1034-general elicitation-sep1330-general tools-call-elicitation tools-call-sampling
        """,
        "a warning: MemOS keeps no session and has no stream of events": """
            server-sse-multiple-streams-session server-sse-polling-session
        """,
    },
    STATELESS: {
        "names of the suite": _NAMES_OF_THE_SUITE,
        "a capability that is not declared": _NO_CAPABILITY,
        "not testable, as the suite says: no tool of MemOS needs a capability, streams or logs": """
            sep-2575-server-rejects-undeclared-capability sep-2575-missing-capability-http-400
            sep-2575-http-server-no-independent-requests-on-stream sep-2575-server-no-log-without-loglevel
        """,
        "not testable, as the suite says: no tool of MemOS has an argument that is a header": """
            sep-2243-server-no-xmcp-tool sep-2243-server-decode-base64 sep-2243-server-validate-param-match
            sep-2243-server-reject-invalid-param-chars sep-2243-server-reject-param-mismatch
        """,
        "MemOS asks clients for nothing: no result requires input": """
            sep-2322-elicitation-incomplete sep-2322-list-roots-incomplete sep-2322-sampling-incomplete
            sep-2322-respect-client-capabilities sep-2322-ignore-unexpected-params
            sep-2322-missing-response-rerequests sep-2322-multi-round-r1 sep-2322-multiple-inputs-incomplete
            sep-2322-non-tool-incomplete sep-2322-request-state-incomplete sep-2322-result-type-included
            sep-2322-reject-tampered-state
        """,
    },
}
PASSED = {NEWEST_HANDSHAKE: 37, STATELESS: 92}


class _Handler(WSGIRequestHandler):
    def log_message(self, *args: Any) -> None:
        """Write nothing."""


@pytest.fixture
def url(make_tenant: Any, remember: Any) -> Iterator[str]:
    """`/mcp` for a client that sends no key, as the suite does not."""
    tenant = make_tenant("suite")
    remember(tenant, "Ann lives in Vienna.", session="first")
    application = get_wsgi_application()

    def with_key(environ: dict[str, Any], start_response: Any) -> Any:
        return application({**environ, "HTTP_AUTHORIZATION": f"Bearer {tenant.token}"}, start_response)

    server = ThreadedWSGIServer(("127.0.0.1", 0), _Handler, ipv6=False)
    server.set_app(with_key)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/mcp"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that runs the suite, by a Node.js that is new enough for it."""
    folder = install_locked(tmp_path_factory, PACKAGE)
    nodes = list(folder.glob("node_modules/node-linux-*/bin/node"))
    if not nodes:
        pytest.skip("the suite needs Node.js 22, and the lock file has it for Linux on x64 and arm64 only")
    return [str(nodes[0]), str(folder / PROGRAM), "server"]


@pytest.mark.parametrize("revision", [NEWEST_HANDSHAKE, STATELESS])
def test_no_check_fails_that_is_not_listed(url, suite, tmp_path, revision):
    """One that is listed and passes has to leave the list."""
    options = ["--url", url, "--suite", "all", "--spec-version", revision, "--output-dir", str(tmp_path)]

    done = run_program([*suite, *options], tmp_path)

    checks = [check for path in tmp_path.glob("*/checks.json") for check in json.loads(path.read_text("utf-8"))]
    failed = {check["id"]: check for check in checks if check["status"] in {"FAILURE", "WARNING"}}
    listed = {identity for identities in EXPECTED[revision].values() for identity in identities.split()}
    assert set(failed) == listed, [failed.get(identity, identity) for identity in set(failed) ^ listed]
    assert sum(check["status"] == "SUCCESS" for check in checks) == PASSED[revision], done.stdout
