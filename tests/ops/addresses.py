"""Every address of the console, for tests of properties that all of them share."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from memory.models import ActivationCache, Adapter, AuditLog, Entity, Job, TrainingDataset
from memory.services.cube_files import run as cube_file_run
from memory.services.cube_files.dump import DumpOptions
from memory.services.cube_files.requests import start_dump
from memory.services.cubes import create
from memory.services.entities.extract import index_pending
from memory.services.erasure import requests as erasing
from memory.services.erasure.users import erase_user
from memory.services.evaluation import judgements
from memory.services.imports.requests import ImportUpload, start_import
from memory.services.imports.uploads import start_upload
from memory.services.ingestion import file_run
from memory.services.ingestion.files import FileUpload, start_file
from memory.services.projection import fit
from memory.services.recall import probe
from memory.services.tenancy import users
from memory.services.webhooks import endpoints
from memory.types import ChangeTerms, Scope, system_access
from ops import urls
from tests.ops.conftest import NOW, World
from tests.ops.test_evaluation_page import measured

SESSION = {"ns": "harbour", "session": "night shift"}
PARAMETERS = {
    "pipeline_rows": {"stage": "linked"},
    "pipeline_condensations": SESSION,
    "session": SESSION,
    "session_reset": SESSION,
}
IN_NAMESPACE = {"entities", "entity", "entity_candidates", "decay", "decay_figures", "decay_rest", "decay_what_if",
                "map", "map_points", "map_making", "map_memory", "tree",
                "policies", "overview", "radar", "inspector",
                "namespaces"}  # fmt: skip


def trained(scope: Scope) -> dict[str, Any]:
    """Make a data set and an adapter, both unfinished, and return their parameters."""
    dataset = TrainingDataset.objects.create(namespace_id=scope.namespace_id, created_at=NOW)
    adapter = Adapter.objects.create(
        namespace_id=scope.namespace_id, name="style", dataset_id=dataset.id, created_at=NOW
    )
    return {"dataset_id": dataset.id, "adapter_id": adapter.id}


def erase_someone() -> uuid.UUID:
    """Erase a user of harbour, and return the user's id."""
    who = users.create_user(system_access("tests"), namespace="harbour", name="gone", now=NOW)
    terms = ChangeTerms(request_id="")
    erase_user(system_access("tests"), user_id=who.pk, reason="asked", confirm="gone", terms=terms, now=timezone.now())
    return who.pk


def addresses(world: World) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return every address of the console by its name, both pages and actions, with the parameters that it needs."""
    index_pending(now=NOW)
    judgements.judge(
        world.harbour, query_text="Who boards?", marks=[judgements.Mark(world.ids[0], True)], now=NOW
    )  # fmt: skip
    run = measured(world.harbour)
    job = Job.objects.create(kind="embed_pending", state="failed", error_type="Refused", error="no", finished_at=NOW)
    event = AuditLog.objects.filter(namespace_id=world.harbour.namespace_id).latest("pk")
    of_one = {"pipeline_job": {"id": job.pk}, "audit_event": {"id": event.pk}, "audit_new": {"than": event.pk}}
    fit.project(world.harbour, now=NOW)
    upload = FileUpload("tides.md", [b"# Tides\n\nThe tide turns at noon."], keep_original=True)
    given = start_file(world.harbour, upload, now=timezone.now())
    file_run.carry_out(namespace_id=given.namespace_id, file_id=given.id, now=timezone.now)
    given.refresh_from_db()
    dumped = start_dump(world.harbour, options=DumpOptions(), now=timezone.now())
    cube_file_run.carry_out_dump(namespace_id=dumped.namespace_id, file_id=dumped.id, now=timezone.now)
    named = {
        "entity_id": Entity.objects.across_namespaces().get(name="Tove").id,
        "run_id": run.pk,
        "pack_id": world.pack.pk,
        "memory_id": world.ids[0],
        "name": "harbour",
        "user_id": User.objects.get_or_create(username="someone", is_staff=True)[0].pk,
        "webhook_id": endpoints.create_webhook(
            system_access("tests"), world.harbour, url="https://example.com/", now=NOW
        )[0].pk,
        "identity": users.create_user(system_access("tests"), namespace="harbour", name="tove", now=NOW).pk,
        "cube_id": create.register_cube(system_access("tests"), namespace="harbour", name="The port's", now=NOW).pk,
        "cube_file_id": dumped.id,
        "erased_id": erase_someone(),
        "erasure_id": erasing.request(
            world.harbour, target=erasing.Target(session="no such session"), reason="asked", now=timezone.now()
        ).id,
        "import_id": start_import(
            world.harbour, ImportUpload("export.txt", [b"[2026-05-08] - The pilot boards."]), now=timezone.now()
        ).id,
        "document_key": given.document_key,
        "file_id": given.id,
        "cache_id": ActivationCache.objects.create(
            namespace_id=world.harbour.namespace_id,
            engine="llamacpp",
            model="llamacpp/m",
            model_sha256="0" * 64,
            form="answer",
            prefix_sha256="1" * 64,
            folder_id=uuid.uuid4(),
            file="memos-0.slot",
            created_at=NOW,
        ).pk,
        "upload_id": start_upload(world.harbour, name="export.zip", size=10, now=timezone.now()).id,
        "number": 0,
        **trained(world.harbour),
        "probe_id": probe.keep(world.harbour, text="pilot", settings=[probe.ProbeSetting()], now=timezone.now()).id,
    }
    found = {}
    for pattern in urls.urlpatterns:
        wanted = {name: named[name] for name in pattern.pattern.converters}
        query = {"ns": "harbour"} if pattern.name in IN_NAMESPACE else {}
        query |= PARAMETERS.get(pattern.name, {})
        query |= of_one.get(pattern.name, {})
        if pattern.name == "evaluation_compare":
            query = {"base": str(run.pk), "run": str(run.pk)}
        found[pattern.name] = reverse(f"ops:{pattern.name}", kwargs=wanted), query
    return found
