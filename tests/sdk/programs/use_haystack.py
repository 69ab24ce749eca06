"""The retriever in a pipeline, written to YAML and read again, with Haystack's filters."""

from __future__ import annotations

import os
from typing import Any

from haystack import Pipeline
from haystack.components.builders import PromptBuilder
from haystack.utils import Secret
from memos_client import MemOS
from memos_client.haystack import MemOSRetriever
from refusals import refused

MEMORIES = {
    "Priya reviews the migration.": {"project": "m1", "price": 3},
    "Tom reviews the migration plan.": {"project": "m2", "price": 10},
    "Nobody reviews the migration script.": {},
}


def is_(field: str, operator: str, value: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value}


def found(retriever: MemOSRetriever, filters: dict[str, Any] | None = None) -> set[str]:
    return {one.content.split()[0] for one in retriever.run("Who reviews the migration?", filters)["documents"]}


with MemOS() as memos:
    for text, metadata in MEMORIES.items():
        memos.remember(text, metadata=metadata, speaker="Ann")
retriever = MemOSRetriever(top_k=5)
assert found(retriever) == {"Priya", "Tom", "Nobody"}
assert found(retriever, is_("meta.project", "==", "m1")) == {"Priya"}
assert found(retriever, is_("meta.project", "!=", "m1")) == {"Tom", "Nobody"}
assert found(retriever, is_("meta.price", ">=", 4)) == {"Tom"}
assert found(retriever, is_("meta.project", "in", ["m1", "m2"])) == {"Priya", "Tom"}
assert found(retriever, is_("meta.project", "not in", ["m1"])) == {"Tom", "Nobody"}
assert found(retriever, is_("meta.speaker", "==", "Tom")) == set()
both = {"operator": "AND", "conditions": [is_("meta.speaker", "==", "Ann"), is_("meta.price", "<", 4)]}
assert found(retriever, both) == {"Priya"}
assert found(retriever, {"operator": "NOT", "conditions": [both]}) == {"Tom", "Nobody"}
assert found(retriever, {"operator": "OR", "conditions": [both, is_("meta.project", "==", "m2")]}) == {"Priya", "Tom"}
for wrong in (is_("meta.project", "like", "m"), {"operator": "XOR", "conditions": []}, {"project": "m1"}):
    assert "no filter" in str(refused(ValueError, retriever.run, "Who?", wrong))

TEMPLATE = "{% for one in documents %}{{ one.content }} {{ one.score }}{% endfor %}"
pipeline = Pipeline()
pipeline.add_component("retriever", MemOSRetriever(top_k=1, filters=is_("meta.project", "==", "m1")))
pipeline.add_component("prompt", PromptBuilder(TEMPLATE))
pipeline.connect("retriever.documents", "prompt.documents")
written = pipeline.dumps()
assert os.environ["MEMOS_API_KEY"] not in written
read = Pipeline.loads(written, allowed_modules=["memos_client.haystack"])
said = read.run({"retriever": {"query": "Who reviews the migration?"}})["prompt"]["prompt"]
assert said.startswith("Priya reviews the migration. 0."), said
own = MemOSRetriever(os.environ["MEMOS_URL"], Secret.from_token(os.environ["MEMOS_API_KEY"]), "alice")
assert len(own.run("Who reviews the migration?", top_k=2)["documents"]) == 2
