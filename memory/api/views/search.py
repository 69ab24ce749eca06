from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.errors import describe_error
from memory.api.responses import error_body
from memory.api.serializers.search import (
    MAX_QUESTIONS,
    FoundBatchSerializer,
    FoundSerializer,
    SearchAcrossSerializer,
    SearchBatchSerializer,
    SearchSerializer,
)
from memory.api.views.base import MemosViewSet
from memory.api.views.cubes_beside import count_cubes
from memory.enums import AccessScope
from memory.errors import MemosError
from memory.retrieval.pack import chunk
from memory.services.cubes.find import find_cubes
from memory.services.recall.search import NOTHING_FOUND, Ask, SearchResult, search
from memory.services.recall.search_across import name_owners, search_across
from memory.services.recall.search_batch import search_all
from memory.types import Scope


class SearchViewSet(MemosViewSet):
    """Finds memories, without a session or a pack."""

    required_scope = AccessScope.READ
    shared_actions = frozenset({"create"})

    @extend_schema(
        operation_id="search",
        summary="Find the memories that answer a question, without session or pack",
        request=SearchAcrossSerializer,
        responses={200: FoundSerializer},
    )
    def create(self, request: Request) -> Response:
        data: Any = request.data
        values = self.valid(SearchAcrossSerializer, data if data.get("cubes") else self.add_namespace(data))
        if values["cubes"]:
            return Response(self._search_cubes(values))
        scope = self.scope_if_there(values["namespace"])
        found = search(scope, self._ask(values)) if scope else NOTHING_FOUND
        return Response(_body(found, dry_run=values["dry_run"]))

    count_requests = staticmethod(count_cubes)

    def _ask(self, values: Mapping[str, Any]) -> Ask:
        return build_ask(values, now=self.now_in(values.get("namespace"), values["timezone"]))

    def _search_cubes(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer of a search in cubes, and in a namespace if one is named."""
        names = [cube.namespace.name for cube in find_cubes(self.access, values["cubes"])]
        if "namespace" in values and values["namespace"] not in names:
            names.insert(0, values["namespace"])
        scopes = [self.scope(name, create=False) for name in names]
        found = search_across(scopes, self._ask(values))
        owners = name_owners(found.hits)
        return {
            "hits": [
                {**chunk(one.hit), "explanation": one.explanation, **whose}
                for one, whose in zip(found.hits, owners, strict=True)
            ],
            "answerable": found.answerable,
            "dropped": found.dropped,
            "weights": found.weights,
            "milliseconds": found.milliseconds,
            "dry_run": values["dry_run"],
            "degraded": found.degraded,
        }


class SearchBatchViewSet(MemosViewSet):
    """Answers many questions at once, each as if it had been sent alone."""

    required_scope = AccessScope.READ
    shared_actions = frozenset({"create"})

    @extend_schema(
        operation_id="search_batch",
        summary="Find the memories that answer each of up to 50 questions",
        request=SearchBatchSerializer,
        responses={200: FoundBatchSerializer},
    )
    def create(self, request: Request) -> Response:
        values = self.valid(SearchBatchSerializer, request.data)
        defaults = dict(request.data).get("defaults", {})
        read = [self._read(question, defaults) for question in values["questions"]]
        asked = [(one.scope, one.ask) for one in read if isinstance(one, _Read) and one.scope]
        found = iter(search_all(asked))
        results = []
        for one in read:
            if isinstance(one, _Read):
                outcome = next(found) if one.scope else NOTHING_FOUND
                results.append(self._outcome(outcome, dry_run=one.ask.dry_run))
            else:
                results.append(self._outcome(one))
        return Response({"results": results, "degraded": []})

    @staticmethod
    def count_requests(request: Request) -> int:
        """Count each question as a request in rate limits."""
        data = request.data
        questions = data.get("questions") if isinstance(data, Mapping) else None
        return min(MAX_QUESTIONS, max(1, len(questions))) if isinstance(questions, list) else 1

    def _read(self, question: object, defaults: Mapping[str, Any]) -> _Read | Exception:
        data = {**defaults, **question} if isinstance(question, Mapping) else question
        try:
            values = self.valid(SearchSerializer, data)
            now = self.now_in(values["namespace"], values["timezone"])
            return _Read(self.scope_if_there(values["namespace"]), build_ask(values, now=now))
        except (ValidationError, MemosError) as error:
            return error

    def _outcome(self, outcome: SearchResult | Exception, *, dry_run: bool = False) -> dict[str, Any]:
        if isinstance(outcome, SearchResult):
            return {"status": 200, "found": _body(outcome, dry_run=dry_run), "error": None}
        status, code, message, detail, _ = describe_error(outcome)
        return {"status": status, "found": None, **error_body(self.request._request, code, message, detail)}


@dataclass(frozen=True, slots=True)
class _Read:
    """A valid question. `scope` is None if its namespace does not exist."""

    scope: Scope | None
    ask: Ask


def _body(found: SearchResult, *, dry_run: bool) -> dict[str, Any]:
    explained = zip(found.hits, found.explanations, strict=True)
    return {
        "hits": [{**chunk(hit), "explanation": explanation} for hit, explanation in explained],
        "answerable": found.answerable,
        "dropped": found.dropped,
        "weights": found.retrieval.weights,
        "milliseconds": found.retrieval.milliseconds,
        "dry_run": dry_run,
        "degraded": found.degraded,
    }


def build_ask(values: Mapping[str, Any], *, now: datetime) -> Ask:
    """Return the validated fields that every question has, in the form that services expect."""
    return Ask(
        text=values["query"],
        top_k=values["top_k"],
        now=now,
        where=values["filter"],
        as_of=values["as_of"],
        valid_at=values["valid_at"],
        dry_run=values.get("dry_run", True),
        show_dropped=values.get("explain", False),
        min_relevance=values.get("min_relevance") or 0.0,
    )
