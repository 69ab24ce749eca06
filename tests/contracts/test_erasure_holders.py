"""Erasures know every table, either as a holder of memories' contents or, with a reason, as one that holds none."""

from __future__ import annotations

from django.apps import apps

from memory.models import ContextPack
from memory.services.erasure.holders import HOLD_NOTHING, HOLDERS

# The tables of Django's own applications hold logins, permissions and what staff did to which row.
APPLICATIONS = ("memory", "django_q")


def tables() -> set[str]:
    models = [
        model
        for label in APPLICATIONS
        for model in apps.get_app_config(label).get_models(include_auto_created=True)
        if not model._meta.proxy
    ]
    return {model._meta.db_table for model in models}


def test_every_table_is_a_holder_or_declared_to_hold_nothing():
    holders = [holder.name for holder in HOLDERS]
    known = [*holders, *HOLD_NOTHING]

    assert len(known) == len(set(known))
    assert set(known) == tables(), (
        "Register the table in memory/services/erasure/holders.py: in HOLDERS with how it is counted and cleared, or "
        "in HOLD_NOTHING with the reason."
    )
    assert all(HOLD_NOTHING.values())


def test_a_pack_names_every_memory_whose_text_it_holds(alice, remember):
    for number in range(8):
        remember(alice, f"Turn {number} about the harbour.", session=f"s{number % 2}")
    alice.post("/v1/query", {"namespace": "alice", "session_id": "s1", "query": "harbour", "top_k": 5})

    row = ContextPack.objects.across_namespaces().get()

    chunks = [chunk["id"] for chunk in row.pack["retrieval"]["raw_chunks"]]
    window = [message["memory_id"] for message in row.pack["working_memory"]["l1_window"]]
    assert (len(chunks), len(window)) == (5, 4)
    assert {str(identity) for identity in row.memory_ids} == {*chunks, *window}
