"""`/ops/adapters/`: staff who reach a namespace see its data sets and adapters, and change them if permitted."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from memory.models import Adapter, TrainingDataset
from memory.services.cubes.create import register_cube
from memory.services.tenancy import policy
from memory.types import system_access
from tests.ops.conftest import World, scope_of

PAGE = "/ops/adapters/"
MAY = ("memory.change_adapter",)


@pytest.fixture
def adapter(world: World) -> Adapter:
    """Make a candidate adapter of harbour and one of bakery, and return the first."""
    for name in ("bakery", "harbour"):
        scope = scope_of(name)
        dataset = TrainingDataset.objects.create(
            namespace_id=scope.namespace_id,
            created_at=timezone.now(),
            finished_at=timezone.now(),
            manifest={"files": {"sft.jsonl": {"lines": 3, "bytes": 9, "sha256": "ab"}}},
        )
        adapter = Adapter.objects.create(
            namespace_id=scope.namespace_id,
            name=f"{name}-style",
            dataset_id=dataset.id,
            state="candidate",
            metrics={"recall": 0.9, "paraphrases": 0.5, "loss_general": [3.0, 3.1]},
            files={"adapter_config.json": {"sha256": "cd" * 32, "bytes": 29}},
            served_by=["http://10.0.0.7:8000"],
            created_at=timezone.now(),
        )
    return adapter


def consent(name: str) -> None:
    scope = scope_of(name)
    policy.put_policy(scope, wanted={"training": {"consent": True}}, reason="agreed", now=timezone.now())


def text(client: Any, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())


def test_what_is_not_reached_is_not_there(grant_console, adapter):
    clerk = grant_console("bakery", permissions=MAY)
    assert "harbour-style" not in text(clerk, PAGE)
    for path in ("", "operate/"):
        send = clerk.post if path else clerk.get
        assert send(f"{PAGE}{adapter.id}/{path}", {"verb": "retire"} if path else {}).status_code == 404
    assert clerk.post(f"{PAGE}datasets/{adapter.dataset_id}/drop/").status_code == 404
    assert Adapter.objects.across_namespaces().get(id=adapter.id).state == "candidate"


def test_who_may_only_look_changes_nothing(grant_console, adapter):
    clerk = grant_console("harbour")
    shown = text(clerk, f"{PAGE}{adapter.id}/")
    assert "10.0.0.7" not in shown
    assert 'value="activate"' not in shown
    assert clerk.post(f"{PAGE}{adapter.id}/operate/", {"verb": "retire"}).status_code == 403
    assert clerk.post(f"{PAGE}export/?ns=harbour").status_code == 403


def test_what_was_measured_and_where_it_is_loaded_is_shown(grant_console, adapter):
    clerk = grant_console("harbour", permissions=MAY)
    shown = text(clerk, f"{PAGE}{adapter.id}/")
    assert "90%" in shown
    assert "does not pass" in shown
    assert "3.00 → 3.10" in shown
    assert "10.0.0.7" in shown
    assert "harbour-style" in text(clerk, f"{PAGE}?ns=harbour")


def test_a_data_set_needs_consent(grant_console, adapter):
    clerk = grant_console("harbour", permissions=MAY)
    before = TrainingDataset.objects.across_namespaces().count()
    assert "training.consent" in clerk.post(f"{PAGE}export/?ns=harbour").content.decode()
    assert TrainingDataset.objects.across_namespaces().count() == before
    consent("harbour")
    assert clerk.post(f"{PAGE}export/?ns=harbour").status_code == 302
    assert TrainingDataset.objects.across_namespaces().count() == before + 1


def test_a_cube_without_adapters_says_where_they_are_turned_on(grant_console, adapter):
    consent("harbour")
    cube = register_cube(system_access("tests"), namespace="harbour", name="The port's", now=timezone.now())
    clerk = grant_console("harbour", permissions=MAY)
    shown = text(clerk, f"{PAGE}?ns=harbour")
    assert "does not let its memories be trained on: adapters are not among" in shown
    assert f"/ops/cubes/{cube.pk}/" in shown
    assert "Make a data set" not in shown
    before = TrainingDataset.objects.across_namespaces().count()
    assert "has no parametric memory" in clerk.post(f"{PAGE}export/?ns=harbour").content.decode()
    assert TrainingDataset.objects.across_namespaces().count() == before

    cube.kinds = ["textual", "parametric"]
    cube.save()
    assert "Make a data set" in text(clerk, f"{PAGE}?ns=harbour")


def test_it_is_trained_retired_and_dropped(grant_console, adapter, settings, tmp_path):
    settings.MEMOS_ADAPTER_BASE_MODEL = str(tmp_path / "base.gguf")
    settings.MEMOS_ADAPTERS_DIR = str(tmp_path)
    consent("harbour")
    clerk = grant_console("harbour", permissions=MAY)
    training = {"dataset": str(adapter.dataset_id), "name": "letters"}
    assert clerk.post(f"{PAGE}train/?ns=harbour", training).status_code == 302
    assert Adapter.objects.across_namespaces().filter(name="letters", state="training").exists()
    assert "small letters" in clerk.post(f"{PAGE}train/?ns=harbour", training | {"name": "A B"}).content.decode()
    settings.MEMOS_ADAPTER_SERVERS = []
    clerk.post(f"{PAGE}{adapter.id}/operate/?ns=harbour", {"verb": "retire"})
    assert Adapter.objects.across_namespaces().get(id=adapter.id).state == "retired"
    clerk.post(f"{PAGE}datasets/{adapter.dataset_id}/drop/?ns=harbour")
    assert TrainingDataset.objects.across_namespaces().get(id=adapter.dataset_id).dropped_at is not None
