from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import suppress
from typing import Any

from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memory import deadline
from memory.api.event_stream import Slot, respond, sleep_without_connection
from memory.api.memtensor import filters
from memory.api.memtensor.envelope import describe_envelope, envelop
from memory.api.memtensor.views import MemTensorViewSet
from memory.api.route_tags import MEMTENSOR
from memory.api.schema import event_stream_of
from memory.enums import AccessScope, JobPriority, JobState
from memory.errors import NotFound
from memory.services.jobs import manage
from memory.services.jobs.manage import JobFilter
from memory.services.jobs.waiting import LONGEST_WAIT_SECONDS, Waited, queue_status, to_dict, wait_for
from memory.services.memories import read
from memory.services.memories.read import MemoryFilter
from memory.text.json_values import encode

# MemTensor's names of job states.
STATUSES = {
    JobState.QUEUED: "waiting",
    JobState.RUNNING: "in_progress",
    JobState.DONE: "completed",
    JobState.FAILED: "failed",
    JobState.DISCARDED: "cancelled",
}
SHOWN_JOBS = 200
# Seconds between the events of a streamed wait.
STEP_SECONDS = 2.0
TASK_STATUSES = tuple(STATUSES.values())


class SchedulerSerializer(serializers.Serializer):
    """Query parameters. Empty ones do not narrow the result."""

    user_name = serializers.CharField(required=False, default="", allow_blank=True, max_length=128,
                                      trim_whitespace=False, help_text="A cube")  # fmt: skip
    mem_cube_id = serializers.CharField(required=False, default="", allow_blank=True, max_length=128,
                                        trim_whitespace=False, help_text="The same")  # fmt: skip


class TasksSerializer(SchedulerSerializer):
    task_id = serializers.CharField(required=False, default="", allow_blank=True, max_length=128,
                                    trim_whitespace=False,
                                    help_text="One job, or what memories were added under")  # fmt: skip
    user_id = serializers.CharField(required=False, default="", allow_blank=True, max_length=128,
                                    trim_whitespace=False, help_text="Whose those memories are")  # fmt: skip


class WaitSerializer(SchedulerSerializer):
    timeout_seconds = serializers.FloatField(required=False, default=120.0, min_value=0, max_value=LONGEST_WAIT_SECONDS)


class TaskSerializer(serializers.Serializer):
    task_id = serializers.CharField()
    status = serializers.ChoiceField(TASK_STATUSES)
    label = serializers.CharField(help_text="The kind of job")  # type: ignore[assignment]
    priority = serializers.CharField()


class TaskCountsSerializer(serializers.Serializer):
    waiting = serializers.IntegerField()
    in_progress = serializers.IntegerField()
    total = serializers.IntegerField()


class PriorityCountsSerializer(serializers.Serializer):
    priority = serializers.CharField()
    queued = serializers.IntegerField()
    running = serializers.IntegerField()
    oldest_at = serializers.DateTimeField(allow_null=True)


class AllTasksSerializer(serializers.Serializer):
    scheduler_summary = TaskCountsSerializer()
    all_tasks_summary = TaskCountsSerializer()
    priorities = PriorityCountsSerializer(many=True)
    turns = serializers.IntegerField(help_text="That wait to be read for names, or to be compared")


class TaskQueueSerializer(serializers.Serializer):
    user_name = serializers.CharField(allow_null=True)
    remaining_tasks_count = serializers.IntegerField(help_text="That wait or run")
    pending_tasks_count = serializers.IntegerField(help_text="That wait")
    running_tasks_count = serializers.IntegerField()
    priorities = PriorityCountsSerializer(many=True)


class TasksWaitedSerializer(serializers.Serializer):
    user_name = serializers.CharField(allow_null=True)
    running_tasks = serializers.IntegerField(help_text="Jobs that were left")
    remaining_turns = serializers.IntegerField(help_text="Turns that were not read or compared yet")
    waited_seconds = serializers.FloatField()
    timed_out = serializers.BooleanField()
    priorities = PriorityCountsSerializer(many=True, help_text="What is left, by priority")


@extend_schema(tags=[MEMTENSOR.name])
class MemTensorSchedulerViewSet(MemTensorViewSet):
    """Background jobs, as MemTensor's scheduler reports them."""

    required_scope = AccessScope.READ
    shared_actions = frozenset({"all_status", "status", "queue", "wait", "wait_stream"})

    @extend_schema(
        operation_id="memtensor_scheduler_allstatus",
        summary="How many jobs wait and run",
        parameters=[SchedulerSerializer],
        responses={200: describe_envelope("AllTasks", AllTasksSerializer())},
    )
    def all_status(self, request: Request) -> Response:
        _, namespaces = self._cube(self.valid(SchedulerSerializer, request.query_params))
        found = queue_status(self.access, namespaces=namespaces)
        told = to_dict(found)
        counts: Counter[str] = Counter()
        for jobs in found.by_priority.values():
            counts.update({"waiting": jobs.queued, "in_progress": jobs.running, "total": jobs.total})
        summary = {name: counts[name] for name in ("waiting", "in_progress", "total")}
        data = {"scheduler_summary": summary, "all_tasks_summary": summary}
        return envelop({**data, "priorities": told["priorities"], "turns": told["turns"]}, "Summary of the jobs.")

    @extend_schema(
        operation_id="memtensor_scheduler_status",
        summary="The newest jobs, or one",
        parameters=[TasksSerializer],
        responses={200: describe_envelope("Tasks", TaskSerializer(many=True))},
    )
    def status(self, request: Request) -> Response:
        values = self.valid(TasksSerializer, request.query_params)
        if values["task_id"]:
            return envelop([self._find_task(values["task_id"], values)], "The job.")
        _, namespaces = self._cube(values)
        wanted = JobFilter(namespace=namespaces[0] if namespaces else None, limit=SHOWN_JOBS)
        rows, _ = manage.list_jobs(self.access, wanted=wanted)
        return envelop([_tell(row) for row in rows], f"The newest {SHOWN_JOBS} jobs at most.")

    @extend_schema(
        operation_id="memtensor_scheduler_task_queue_status",
        summary="What waits, by priority",
        parameters=[SchedulerSerializer],
        responses={200: describe_envelope("TaskQueue", TaskQueueSerializer())},
    )
    def queue(self, request: Request) -> Response:
        cube, namespaces = self._cube(self.valid(SchedulerSerializer, request.query_params))
        found = queue_status(self.access, namespaces=namespaces)
        jobs = found.by_priority.values()
        data = {
            "user_name": cube,
            "remaining_tasks_count": found.total,
            "pending_tasks_count": sum(one.queued for one in jobs),
            "running_tasks_count": sum(one.running for one in jobs),
            "priorities": to_dict(found)["priorities"],
        }
        return envelop(data, "Status of the queue.")

    @extend_schema(
        operation_id="memtensor_scheduler_wait",
        summary="Wait until nothing of a cube waits any more",
        request=None,
        parameters=[WaitSerializer],
        responses={200: describe_envelope("TasksWaited", TasksWaitedSerializer())},
    )
    def wait(self, request: Request) -> Response:
        values = self.valid(WaitSerializer, request.query_params)
        cube, namespaces = self._cube(values)
        # Looked up first, so that an unknown namespace is refused before the wait begins.
        queue_status(self.access, namespaces=namespaces)
        with Slot(self.access.actor), deadline.without_limit():
            waited = wait_for(
                self.access, namespaces=namespaces, seconds=values["timeout_seconds"], sleep=sleep_without_connection
            )
        data = {
            "user_name": cube,
            "running_tasks": waited.jobs,
            "remaining_turns": waited.turns,
            "waited_seconds": round(waited.seconds, 3),
            "timed_out": not waited.is_idle,
            "priorities": to_dict(queue_status(self.access, namespaces=namespaces))["priorities"],
        }
        return envelop(data, "idle" if waited.is_idle else "timeout")

    @extend_schema(
        operation_id="memtensor_scheduler_wait_stream",
        summary="The same, with a word every two seconds",
        request=None,
        parameters=[WaitSerializer],
        responses=event_stream_of(
            "Lines `data:` with {user_name, active_tasks, remaining_turns, elapsed_seconds, status: running, idle or "
            "timeout, timed_out}; the last is idle or timeout, or has an `error`."
        ),
    )
    def wait_stream(self, request: Request) -> StreamingHttpResponse:
        values = self.valid(WaitSerializer, request.query_params)
        cube, namespaces = self._cube(values)
        queue_status(self.access, namespaces=namespaces)
        slot = Slot(self.access.actor)
        events = self._wait(cube, namespaces, values["timeout_seconds"])
        return respond(request._request, events, slot, write=_write_line)

    def _wait(
        self, cube: str | None, namespaces: list[str] | None, seconds: float
    ) -> Generator[tuple[str, Any] | None]:
        began = time.monotonic()
        while True:
            left = max(seconds - (time.monotonic() - began), 0.0)
            waited = wait_for(
                self.access, namespaces=namespaces, seconds=min(left, STEP_SECONDS), sleep=sleep_without_connection
            )
            is_over = time.monotonic() - began >= seconds
            status = "idle" if waited.is_idle else "timeout" if is_over else "running"
            yield status, _tell_wait(cube, waited, status, time.monotonic() - began)
            if status != "running":
                return

    def _find_task(self, task_id: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the job, or the client's own task under which memories were added. Raises NotFound."""
        with suppress(ValueError, NotFound):
            return _tell(manage.to_dict(manage.find(self.access, job_id=uuid.UUID(task_id))))
        cube = values["user_name"] or values["mem_cube_id"]
        reached = self.reach([cube] if cube else [], values["user_id"])
        of_user = filters.hold_user(values["user_id"]) if values["user_id"] else None
        where = filters.join(of_user, filters.hold_task(task_id))
        for place in self.find_places(reached):
            _, count = read.list_slice(
                place.scope, wanted=MemoryFilter(limit=1), offset=0, now=timezone.now(), where=where
            )
            if count:
                # These memories could be found as soon as the request that added them was answered.
                status, label = STATUSES[JobState.DONE], "add"
                return {"task_id": task_id, "status": status, "label": label, "priority": JobPriority.INTERACTIVE.label}
        raise NotFound(
            f"There is no job {task_id!r} that this key reaches, and no memory that was added under that task_id.",
            detail={"field": "task_id"},
        )

    def _cube(self, values: dict[str, Any]) -> tuple[str | None, list[str] | None]:
        """Return the cube's name and its namespaces; both are None for all that the key reaches. Raises NotFound."""
        cube = values["user_name"] or values["mem_cube_id"] or None
        if cube is None:
            return None, None
        places = self.find_places(self.reach([cube], cube))
        return cube, [place.scope.namespace for place in places]


def _tell(job: dict[str, Any]) -> dict[str, Any]:
    return {
        "task_id": job["id"],
        "status": STATUSES[JobState(job["state"])],
        "label": job["kind"],
        "priority": job["priority"],
    }


def _tell_wait(cube: str | None, waited: Waited, status: str, seconds: float) -> dict[str, Any]:
    return {
        "user_name": cube,
        "active_tasks": waited.jobs,
        "remaining_turns": waited.turns,
        "elapsed_seconds": round(seconds, 3),
        "status": status,
        "timed_out": status == "timeout",
    }


def _write_line(number: int, name: str, data: Any) -> bytes:
    return b"data: %s\n\n" % encode(data)
