from __future__ import annotations

import re
import threading
from functools import cache
from typing import Any

import orjson
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.route_tags import MAKER_OF, ROUTE_TAGS

# drf-spectacular changes state that threads share when it makes its first document.
_making = threading.Lock()
_COMPONENT = re.compile(r"#/components/(\w+)/([\w.-]+)")


class OpenAPIView(SpectacularJSONAPIView):
    """Serves the OpenAPI document of MemOS's own routes, or of the routes that speak the API of `maker`."""

    maker = ""

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        name = f"memos-{self.maker}-openapi.json" if self.maker else "memos-openapi.json"
        return Response(build_document(self.maker), headers={"Content-Disposition": f'inline; filename="{name}"'})


class DocsView(SpectacularSwaggerSplitView):
    """Shows the routes of a document to try out, with links to the pages of the others."""

    template_name = "docs.html"

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        response: Response = super().get(request, *args, **kwargs)
        tags = [tag for tag in ROUTE_TAGS if tag.maker]
        response.data["document"] = self._get_schema_url(request)
        response.data["others"] = [{"maker": tag.maker, "name": tag.name} for tag in tags]
        return response


@cache
def build_document(maker: str = "") -> dict[str, Any]:
    """Return the document of MemOS's own routes, or of routes that speak the API of `maker`, with its components."""
    whole = build_whole()
    paths = {
        path: own
        for path, operations in whole["paths"].items()
        if (own := {method: one for method, one in operations.items() if _maker_of(one) == maker})
    }
    names = [tag.name for tag in ROUTE_TAGS if tag.maker == maker]
    info = {**whole["info"], "title": f"{whole['info']['title']}: the API of {', '.join(names)}"} if maker else {}
    part = {**whole, "info": info or whole["info"], "paths": paths}
    if tags := [tag for tag in whole.get("tags", ()) if MAKER_OF.get(tag["name"], "") == maker]:
        part["tags"] = tags
    return {**part, "components": _reach_components(whole["components"], paths)}


def build_whole() -> dict[str, Any]:
    """Return one document with every route. It is built once in each process."""
    with _making:
        return _build_whole()


@cache
def _build_whole() -> dict[str, Any]:
    document: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return document


def _maker_of(operation: dict[str, Any]) -> str:
    return MAKER_OF.get(operation["tags"][0], "")


def _reach_components(components: dict[str, Any], paths: dict[str, Any]) -> dict[str, Any]:
    """Return the components that the paths refer to, directly or through others, and their security schemes."""
    reached: dict[str, dict[str, Any]] = {}
    waiting = _COMPONENT.findall(orjson.dumps(paths).decode())
    while waiting:
        kind, name = waiting.pop()
        if name not in reached.setdefault(kind, {}):
            reached[kind][name] = components[kind][name]
            waiting += _COMPONENT.findall(orjson.dumps(components[kind][name]).decode())
    schemes = {
        name for path in paths.values() for one in path.values() for used in one.get("security", ()) for name in used
    }
    known = components.get("securitySchemes", {})
    ordered = {kind: dict(sorted(found.items())) for kind, found in sorted(reached.items())}
    return {**ordered, "securitySchemes": {name: known[name] for name in sorted(schemes)}}
