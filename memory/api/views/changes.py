from __future__ import annotations

import time

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.event_stream import Slot, give_connection_back
from memory.api.serializers.errors import ErrorSerializer
from memory.api.serializers.webhooks import ChangeListingSerializer, ChangeListSerializer
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.services.webhooks import feed
from memory.services.webhooks.endpoints import check_types
from memory.services.webhooks.events import Place
from memory.services.webhooks.feed import EventPage
from memory.services.webhooks.watch import wait_for_event
from memory.types import Scope


class ChangeViewSet(MemosViewSet):
    """The events of a namespace, for clients that poll instead of using webhooks."""

    required_scope = AccessScope.READ

    @extend_schema(
        operation_id="list_changes",
        summary="What happened since, in order and without a gap; waits for it when asked to",
        parameters=[ChangeListingSerializer],
        responses={
            200: ChangeListSerializer,
            409: OpenApiResponse(ErrorSerializer, "The cursor is of a database that was replaced by an older backup."),
        },
    )
    def show(self, request: Request) -> Response:
        values = self.valid(ChangeListingSerializer, request.query_params)
        scope, types = self.scope(values["namespace"], create=False), check_types(values["types"])
        after = feed.read_cursor(values["cursor"])
        page = feed.read(scope, after=after, types=types, limit=values["limit"])
        if not page.events and values["wait"]:
            page = self._wait(scope, page.place, types, limit=values["limit"], seconds=values["wait"])
        return Response(
            {
                "changes": [feed.to_dict(event, scope.namespace) for event in page.events],
                "next_cursor": feed.write_cursor(page.place),
                "has_more": page.has_more,
            }
        )

    def _wait(self, scope: Scope, after: Place, types: list[str], *, limit: int, seconds: int) -> EventPage:
        """Return the first page with an event, or the page at the end of the time. Raises TooManyStreams.

        It keeps no database connection while it waits.
        """
        slot, ends = Slot(self.access.actor), time.monotonic() + seconds
        page = EventPage([], after, has_more=False)
        try:
            while not page.events and (left := ends - time.monotonic()) > 0:
                give_connection_back()
                if wait_for_event(scope.namespace_id, after=page.place, seconds=left):
                    page = feed.read(scope, after=page.place, types=types, limit=limit)
        finally:
            slot.give_back()
        return page
