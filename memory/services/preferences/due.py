"""Queues the sessions in which to look for preferences: by the clock, so that no write waits for it."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q

from memory.enums import PreferenceReading
from memory.models import NamespacePolicy
from memory.services.facts.due import ask_to_read
from memory.services.jobs import queue
from memory.services.tenancy.policy import in_force, propose


def request_preferences(*, now: datetime) -> int:
    """Queue the sessions with new turns in which to look for preferences; return how many.

    Passes over namespaces whose policy does not want it.
    """
    own = set(NamespacePolicy.objects.across_namespaces().values_list("namespace_id", flat=True))
    wanting = [one for one in own if reading_of(one) != PreferenceReading.OFF]
    of_namespace = Q(namespace_id__in=wanting)
    if propose({}).policy.preferences != PreferenceReading.OFF:
        of_namespace |= ~Q(namespace_id__in=own)
    elif not wanting:
        return 0
    return ask_to_read(queue.READ_PREFERENCES, of_namespace, read_to="preference_turn", now=now)


def reading_of(namespace_id: int) -> PreferenceReading:
    """Return how the policy of the namespace has preferences read."""
    return PreferenceReading(in_force(namespace_id).policy.preferences)
