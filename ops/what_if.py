"""Policy values to try out, given in the address before they are saved: `?said=90&floor=0.1`."""

from __future__ import annotations

import math
from collections.abc import Mapping

from memory.governance.policy import Policy, nest
from memory.policy_values import BY_KEY, Value
from memory.services.tenancy.policy import Governing, propose

# Names in the address, and the keys of the policy.
FIELDS = {
    "said": "decay.half_life_days.said",
    "answered": "decay.half_life_days.answered",
    "episode": "decay.half_life_days.episode",
    "document": "decay.half_life_days.document",
    "floor": "decay.floor",
    "ttl": "ttl_days",
}


def read_changes(governing: Governing, given: Mapping[str, str]) -> dict[str, Value]:
    """Return the values of `given` that differ from those in force, by key. Values that are not numbers are ignored."""
    changed: dict[str, Value] = {}
    for name, key in FIELDS.items():
        try:
            number = float(given.get(name, ""))
        except ValueError:
            continue
        if not math.isfinite(number):
            continue
        value: Value = number if BY_KEY[key].fractional or number != int(number) else int(number)
        if value != governing.effective.values[key]:
            changed[key] = value
    return changed


def policy_with(governing: Governing, changed: Mapping[str, Value]) -> Policy:
    """Return the policy that would be in force with these values. Raises InvalidInput."""
    return propose(merge_overrides(governing, changed)).policy if changed else governing.effective.policy


def merge_overrides(governing: Governing, changed: Mapping[str, Value]) -> dict[str, object]:
    """Return the namespace's overrides with these values, in the nested form in which a policy is saved."""
    return nest({**governing.overrides, **changed})
