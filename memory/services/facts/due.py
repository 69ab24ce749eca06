"""Queues the sessions in which to look for facts: by the clock, so that no write waits for it."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.fields.json import KeyTextTransform

from memory.enums import Extraction
from memory.kinds import SESSION_PREFIX
from memory.models import Job, NamespacePolicy, Session
from memory.providers.llm_facts import find_fact_reader
from memory.services.jobs import queue
from memory.services.tenancy.policy import in_force, propose

# This many new turns are enough; fewer wait until the session has been quiet for a while.
ENOUGH_TURNS = 8
QUIET = timedelta(seconds=60)
# The pause of a session whose job was given up, unless a person replays the job before.
PAUSE = timedelta(hours=6)
# The most sessions that one run queues, newest messages first.
AT_ONCE = 20


def request_facts(*, now: datetime) -> int:
    """Queue the sessions with new turns in which to look for facts; return how many.

    Queues none without a configured model, and none of a namespace whose policy does not want facts.
    """
    if find_fact_reader() is None:
        return 0
    own = set(NamespacePolicy.objects.across_namespaces().values_list("namespace_id", flat=True))
    wanting = [one for one in own if wants_facts(one)]
    of_namespace = Q(namespace_id__in=wanting)
    if propose({}).policy.extract == Extraction.FACTS:
        of_namespace |= ~Q(namespace_id__in=own)
    elif not wanting:
        return 0
    return ask_to_read(queue.EXTRACT, of_namespace, read_to="extracted_turn", now=now)


def ask_to_read(kind: queue.Kind, of_namespace: Q, *, read_to: str, now: datetime) -> int:
    """Queue a job of `kind` for sessions with new turns, newest first; return for how many.

    `of_namespace`: the condition on their namespace; `read_to`: the column with the last turn that was read.
    """
    enough = Q(message_count__gte=F(read_to) + ENOUGH_TURNS) | Q(last_message_at__lt=now - QUIET)
    jobs = Job.objects.failed().annotate(of_session=KeyTextTransform(1, "arguments"))
    given_up = jobs.filter(
        namespace_id=OuterRef("namespace_id"), kind=kind.name, of_session=OuterRef("name"), finished_at__gt=now - PAUSE
    )
    sessions = Session.objects.across_namespaces().filter(of_namespace, enough, message_count__gt=F(read_to))
    waiting = sessions.exclude(name__startswith=SESSION_PREFIX).exclude(Exists(given_up)).order_by("-last_message_at")
    asked = list(waiting.values_list("namespace_id", "name")[:AT_ONCE])
    for namespace_id, session in asked:
        with transaction.atomic():
            queue.enqueue(kind, namespace_id, session)
    return len(asked)


def wants_facts(namespace_id: int) -> bool:
    """Return whether the policy of the namespace wants facts."""
    return in_force(namespace_id).policy.extract == Extraction.FACTS
