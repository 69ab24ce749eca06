from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from ops.views import errors, overview


@pytest.mark.parametrize("path", ["/ops/nothing/", "/admin/nothing/"])
def test_what_is_not_there_is_said_in_the_frame(staff, path):
    response = staff.get(path)
    page = response.content.decode()
    assert response.status_code == 404
    assert "Nothing is here" in page
    assert 'href="/ops/pipeline/"' in page
    assert " style=" not in page
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]


def test_others_see_no_frame(db):
    client = Client()
    client.force_login(User.objects.create_user("guest"))
    page = client.get("/ops/nothing/").content.decode()
    assert "Nothing is here" in page
    assert "side-nav" not in page


def test_a_stale_form_is_explained(db):
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("root"))
    response = client.post("/ops/map/draw/")
    assert response.status_code == 403
    assert "The form was not accepted" in response.content.decode()


def test_a_refused_deed_is_explained(staff, rf):
    request = rf.get("/admin/")
    request.user = User.objects.get(username="ann")
    response = errors.forbidden(request)
    assert response.status_code == 403
    assert "You may not do this" in response.content.decode()


def test_a_failure_has_its_request_id_and_asks_no_database(staff, monkeypatch):
    def fails(*_):
        raise RuntimeError

    monkeypatch.setattr(overview, "_board", fails)
    staff.raise_request_exception = False
    response = staff.get("/ops/")
    page = response.content.decode()
    assert response.status_code == 500
    assert "MemOS failed to answer" in page
    assert response.headers["X-Request-ID"] in page
    assert "side-nav" not in page
