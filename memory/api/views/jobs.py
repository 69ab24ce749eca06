from __future__ import annotations

import uuid

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.cursors import write_cursor
from memory.api.serializers.jobs import (
    DiscardSerializer,
    JobListingSerializer,
    JobListSerializer,
    JobSerializer,
)
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope, JobState
from memory.services.jobs import manage


class JobViewSet(MemosViewSet):
    """Background jobs: their state, and replaying or discarding failed ones."""

    required_scope = {
        "recent": AccessScope.READ,
        "retrieve": AccessScope.READ,
        "replay": AccessScope.WRITE,
        "discard": AccessScope.WRITE,
    }
    tells_stored = frozenset({"replay", "discard"})

    @extend_schema(
        operation_id="list_jobs",
        summary="Background jobs, newest first",
        parameters=[JobListingSerializer],
        responses={200: JobListSerializer},
    )
    def recent(self, request: Request) -> Response:
        values = self.valid(JobListingSerializer, request.query_params)
        wanted = manage.JobFilter(
            namespace=values["namespace"] or None,
            kind=values["kind"] or None,
            state=JobState(values["state"]) if values["state"] else None,
            cursor=values["cursor"],
            limit=values["limit"],
        )
        rows, cursor = manage.list_jobs(self.access, wanted=wanted)
        return Response({"jobs": rows, "next_cursor": write_cursor("jobs", cursor)})

    @extend_schema(operation_id="show_job", summary="One background job", responses={200: JobSerializer})
    def retrieve(self, request: Request, job_id: uuid.UUID) -> Response:
        return Response(manage.to_dict(manage.find(self.access, job_id=job_id)))

    @extend_schema(
        operation_id="replay_job",
        summary="Queue a failed or discarded job again, with its input",
        request=None,
        responses={200: JobSerializer},
    )
    def replay(self, request: Request, job_id: uuid.UUID) -> Response:
        job = manage.replay(self.access, job_id=job_id, now=timezone.now(), request_id=self.request_id)
        return Response(manage.to_dict(job))

    @extend_schema(
        operation_id="discard_job",
        summary="Take a failed or queued job out of the way",
        request=DiscardSerializer,
        responses={200: JobSerializer},
    )
    def discard(self, request: Request, job_id: uuid.UUID) -> Response:
        reason = self.valid(DiscardSerializer, request.data)["reason"]
        job = manage.discard(self.access, job_id=job_id, reason=reason, now=timezone.now(), request_id=self.request_id)
        return Response(manage.to_dict(job))
