"""A cube with a pinned memory whose prefix tests have computed by any engine."""

from __future__ import annotations

from typing import Any

import pytest

from tests.job_queue import work_off

FACT = "Priya reviews the migration before the release."
QUERY = "Who reviews the migration before the release?"


def make_cube(tenant: Any, *, kinds: tuple[str, ...] = ("textual", "activation")) -> str:
    body = {"namespace": tenant.scope.namespace, "name": "Notes", "kinds": list(kinds)}
    answer = tenant.post("/v1/cubes/register", body)
    assert answer.status_code == 201, answer.content
    return f"/v1/cubes/{answer.json()['id']}/activation"


def pin(tenant: Any, memory_id: str) -> None:
    assert tenant.post(f"/v1/memories/{memory_id}/pin", {}).status_code == 200


def files_in(folder: Any) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


@pytest.fixture
def pinned(alice, remember) -> str:
    memory_id = remember(alice, FACT, speaker="Tom")
    pin(alice, memory_id)
    return memory_id


@pytest.fixture
def path(alice) -> str:
    return make_cube(alice)


def build(tenant: Any, path: str, **fields: Any) -> dict[str, Any]:
    asked = tenant.post(path, fields)
    assert asked.status_code == 202, asked.content
    work_off()
    (cache,) = [one for one in tenant.get(path).json()["caches"] if one["form"] == fields.get("form", "answer")]
    assert cache["state"] == "ready"
    return cache
