"""Steps that tests of training repeat: consent, memories to learn from, finished exports and adapters."""

from __future__ import annotations

import json
import uuid
from typing import Any

from django.utils import timezone

from memory.enums import Feedback
from memory.models import Memory
from memory.services.memories import supersede
from memory.services.memories.feedback import give_feedback
from memory.types import system_access
from tests.job_queue import run_task

EXPORTS, ADAPTERS = "/v1/exports/training", "/v1/adapters"
ADMIN = system_access("tests")


def consent(tenant: Any, *, given: bool = True) -> None:
    body = {"namespace": tenant.scope.namespace, "policy": {"training": {"consent": given}}, "reason": "asked"}
    answer = tenant.client.put("/v1/policy", data=body, content_type="application/json")
    assert answer.status_code == 200, answer.content


def turn_on(tenant: Any, cube_id: uuid.UUID, *, on: bool = True) -> None:
    """Turn parametric memory of a cube on or off."""
    kinds = ["textual", "parametric"] if on else ["textual"]
    answer = tenant.client.patch(f"/v1/cubes/{cube_id}", data={"kinds": kinds}, content_type="application/json")
    assert answer.status_code == 200, answer.content


def mark(memory_id: str, kind: Feedback = Feedback.USEFUL) -> None:
    give_feedback(ADMIN, memory_id=uuid.UUID(memory_id), kind=kind, now=timezone.now())


def replace(older: str, newer: str) -> None:
    supersede.supersede(
        ADMIN, older_id=uuid.UUID(older), newer_id=uuid.UUID(newer), reason="it moved", now=timezone.now()
    )


def fill(tenant: Any, remember: Any) -> dict[str, str]:
    """Store memories of every origin, and return their ids by kind."""
    ids = {
        "fact": remember(tenant, "The release train leaves every second Thursday at 14:00.", speaker="Ada"),
        "question": remember(tenant, "How do we open a letter to a customer?", session="s2", speaker="Ben"),
        "answer": remember(tenant, "With the first name, then the next step.", session="s2", role="agent"),
        "old": remember(tenant, "Ada's desk is in room 17 of the old building.", session="s3", speaker="Ada"),
        "new": remember(tenant, "Ada's desk is in room 42 of the new building.", session="s3", speaker="Ada"),
    }
    for name in ("fact", "answer", "new"):
        mark(ids[name])
    replace(ids["old"], ids["new"])
    return ids


def export(tenant: Any, **options: Any) -> dict[str, Any]:
    """Make an export as the worker does; return its state."""
    answer = tenant.post(EXPORTS, {"namespace": tenant.scope.namespace, **options})
    assert answer.status_code == 200, answer.content
    run_task("export_training", tenant.scope.namespace_id, answer.json()["id"])
    return tenant.get(f"{EXPORTS}/{answer.json()['id']}").json()


def lines(tenant: Any, made: dict[str, Any], name: str) -> list[dict[str, Any]]:
    answer = tenant.get(f"{EXPORTS}/{made['id']}/{name}.jsonl")
    assert answer.status_code == 200, answer.content
    return [json.loads(line) for line in answer.getvalue().splitlines()]


def train(tenant: Any, made: dict[str, Any], *, name: str = "style", **options: Any) -> dict[str, Any]:
    """Train an adapter as the worker does; return its state."""
    body = {"namespace": tenant.scope.namespace, "name": name, "dataset_id": made["id"], **options}
    answer = tenant.post(ADAPTERS, body)
    assert answer.status_code == 200, answer.content
    run_task("train_adapter", tenant.scope.namespace_id, answer.json()["id"])
    return look(tenant, answer.json())


def look(tenant: Any, adapter: dict[str, Any]) -> dict[str, Any]:
    return tenant.get(f"{ADAPTERS}/{adapter['id']}").json()


def operate(tenant: Any, adapter: dict[str, Any], verb: str, **body: Any) -> Any:
    return tenant.post(f"{ADAPTERS}/{adapter['id']}/{verb}", body)


def erase(tenant: Any, *ids: str) -> dict[str, Any]:
    """Erase memories, and return the receipt."""
    body = {"namespace": tenant.scope.namespace, "memory_ids": list(ids), "reason": "asked by the customer"}
    answer = tenant.post("/v1/erasures", body)
    assert answer.status_code == 200, answer.content
    return carry_out(tenant, answer.json()["id"])


def carry_out(tenant: Any, erasure_id: str) -> dict[str, Any]:
    run_task("erase", tenant.scope.namespace_id, erasure_id)
    return tenant.get(f"/v1/erasures/{erasure_id}").json()


def text_of(memory_id: str) -> str:
    return Memory.objects.across_namespaces().get(pk=memory_id).text
