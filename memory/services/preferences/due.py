"""Asks for sessions in which preferences are to be looked for: by the clock, so that no write waits or knows of it."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q

from memory.enums import PreferenceReading
from memory.models import NamespacePolicy
from memory.services.facts.due import ask_to_read
from memory.services.jobs import queue
from memory.services.tenancy.policy import in_force, propose


def request_preferences(*, now: datetime) -> int:
    """Queues the sessions that have new turns in which preferences are to be looked for; returns how many.

    None of a namespace whose policy does not want it.
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
    """What the policy of the namespace has read preferences."""
    return PreferenceReading(in_force(namespace_id).policy.preferences)
