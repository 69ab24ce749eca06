"""/guide/: the built site under the policy of all pages; without it, a page that tells how to build it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from tests.docs.pages import ROOT

SITE = ROOT / "site"
built = pytest.mark.skipif(not (SITE / "index.html").exists(), reason="the site is not built: make guide")


@pytest.fixture
def site(tmp_path: Path, settings) -> Path:
    root = tmp_path / "site"
    (root / "start").mkdir(parents=True)
    (root / "index.html").write_text("<h1>Home</h1>", encoding="utf-8")
    (root / "start" / "index.html").write_text("<h1>Start</h1>", encoding="utf-8")
    (root / "scope.js").write_text("1", encoding="utf-8")
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    settings.GUIDE_DIR = root
    return root


def body(path: str) -> bytes:
    answer = Client().get(path)
    assert answer.status_code == 200
    return b"".join(answer.streaming_content)


def test_pages_and_files_are_served(site):
    assert body("/guide/") == b"<h1>Home</h1>"
    assert body("/guide/start/") == b"<h1>Start</h1>"
    assert Client().get("/guide/scope.js").headers["Content-Type"].startswith("text/javascript")
    assert Client().get("/guide/start").headers["Location"] == "/guide/start/"


@pytest.mark.parametrize("path", ["nothing", "nothing/", "../secret", "..%2fsecret", "%2e%2e/folder", "/etc"])
def test_what_is_not_in_the_site_is_not_there(site, path):
    assert Client().get(f"/guide/{path}").status_code == 404


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_the_guide_is_only_read(site, method):
    assert getattr(Client(), method)("/guide/").status_code == 405


def test_without_the_site_the_page_says_how_to_build_it(settings, tmp_path):
    settings.GUIDE_DIR = tmp_path
    for path in ("/guide/", "/guide/start/"):
        answer = Client().get(path)
        assert answer.status_code == 404
        assert "make guide" in answer.content.decode()
        assert 'href="/docs"' in answer.content.decode()


@pytest.mark.parametrize("is_built", [True, False])
def test_the_policy_is_that_of_all_pages(site, settings, tmp_path, is_built):
    if not is_built:
        settings.GUIDE_DIR = tmp_path / "elsewhere"

    policy = Client().get("/guide/").headers["Content-Security-Policy"]
    assert policy == Client().get("/docs").headers["Content-Security-Policy"]
    assert "unsafe" not in policy


@built
def test_no_built_page_has_anything_inline_or_from_elsewhere():
    pages = list(SITE.rglob("*.html"))
    assert len(pages) > 100
    for page in pages:
        html = page.read_text("utf-8")
        scripts = re.findall(r"<script([^>]*)>", html)
        assert all("src=" in one or 'type="application/json"' in one for one in scripts), page
        tags = re.findall(r"<[a-z][^>]*>", html)
        assert not [tag for tag in tags if re.search(r"\s(?:style|on\w+)=", tag) or tag.startswith("<style")], page
        loaded = [tag for tag in tags if tag.startswith(("<script", "<link", "<img", "<iframe"))]
        assert not [tag for tag in loaded if re.search(r"""(?:src|href)=["']?(?:https?:)?//""", tag)], page


@built
def test_every_route_has_its_fields_in_the_built_site():
    listed = (SITE / "reference" / "routes" / "index.html").read_text("utf-8")
    for route in ("POST /v1/query", "PATCH /v1/memories/{memory_id}", "GET /health/ready"):
        assert route in listed


def test_the_site_is_where_make_guide_builds_it():
    assert settings.GUIDE_DIR == SITE
    assert "site_dir: site" in (ROOT / "mkdocs.yml").read_text("utf-8")


@pytest.mark.parametrize("name", ["Makefile", "Dockerfile"])
def test_the_build_counts_warnings(name):
    """With --quiet, mkdocs drops the warnings for which --strict would fail."""
    (build,) = re.findall(r"mkdocs build .*", (ROOT / name).read_text("utf-8"))
    assert "--strict" in build
    assert "--quiet" not in build
