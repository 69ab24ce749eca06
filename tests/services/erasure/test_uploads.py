from __future__ import annotations

import threading

import pytest
from django.db import connection
from django.utils import timezone

from memory.models import Erasure, Upload, UploadPart
from memory.postgresql import reach
from memory.services.erasure import requests, run
from memory.services.erasure.requests import Target
from memory.services.imports import uploads
from memory.types import Access


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("target", [Target(whole_namespace=True), Target(session="s1")], ids=["all", "a session"])
def test_a_part_that_arrives_during_an_erasure_does_not_outlive_it(alice, remember, target):
    remember(alice, "The safe opens with zinnober.")
    scope = alice.scope
    upload = uploads.start_upload(scope, name="x.zip", size=6, now=timezone.now())
    access = Access(actor=scope.actor, namespace_ids=frozenset([scope.namespace_id]))
    is_arriving, may_end = threading.Event(), threading.Event()
    pieces = iter([b"secret"])

    def read(_: int) -> bytes:
        is_arriving.set()
        may_end.wait(20)
        return next(pieces, b"")

    def send() -> None:
        try:
            with reach.across_namespaces():
                uploads.store_part(access, upload_id=upload.id, number=0, read=read)
        finally:
            connection.close()

    sender = threading.Thread(target=send)
    sender.start()
    assert is_arriving.wait(20)
    threading.Timer(2, may_end.set).start()
    erasure = requests.request(scope, target=target, reason="gone", now=timezone.now())
    run.carry_out(namespace_id=scope.namespace_id, erasure_id=erasure.id, now=timezone.now)
    sender.join()

    assert not UploadPart.objects.filter(namespace_id=scope.namespace_id).exists()
    assert not Upload.objects.filter(namespace_id=scope.namespace_id).exists()
    assert Erasure.objects.get(namespace_id=scope.namespace_id, id=erasure.id).finished_at is not None
