"""Reads and changes the policies of namespaces. Every change is a new version that records who made it, when and
why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.signals import setting_changed
from django.db import transaction

from memory import audit
from memory.caches import Cache, for_seconds
from memory.enums import AuditEvent, GateAction
from memory.errors import InvalidInput, NotFound, PreconditionFailed
from memory.gate.fields import judge_fields
from memory.gate.judge import DEFAULT_POLICY
from memory.gate.policy import GatePolicy
from memory.governance.policy import Effective, Policy, contradictions, effective, flatten, nest
from memory.models import NamespacePolicy
from memory.models.locks import Lock, lock_in_transaction
from memory.policy_values import BY_KEY, Value
from memory.providers.chat.registry import adapter_problem, choice_problem
from memory.services.tenancy.namespaces import lock_namespace
from memory.services.tenancy.notes import clean_note
from memory.text.translatable import Sentence
from memory.text.translatable import gettext_noop as _
from memory.types import Scope

# The most mistakes of a body that are reported.
MAX_PROBLEMS = 50
MAX_REASON_CHARS = 300
_SHOWN_KEY_CHARS = 100
# The time for which a process uses the policy that it knows after another process has changed it.
KNOWN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Governing:
    """The policy of a namespace. `version` 0: the namespace sets nothing itself. `problems`: contradictory values, and
    models that it may not choose.

    Values that were set together never contradict each other, but the environment may have changed since.
    """

    effective: Effective
    overrides: Mapping[str, Value]
    version: int
    problems: Mapping[str, str]
    reason: str = ""
    updated_by: str = ""
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class InForce:
    """A namespace's policy as writes need it; `gate` is the part for the gate."""

    policy: Policy
    gate: GatePolicy


_in_force: Cache[int, InForce] = for_seconds(KNOWN_SECONDS)


def in_force(namespace_id: int) -> InForce:
    """Return the policy in force, cached for KNOWN_SECONDS, because every write needs it. See `governing`."""
    known = _in_force.get(namespace_id)
    if known is not None:
        return known
    policy = governing(namespace_id).effective.policy
    gate = GatePolicy(
        strict=policy.strict,
        worth_threshold=policy.worth_threshold,
        secrets=GateAction(policy.secrets),
        personal_data=GateAction(policy.personal_data),
        injection=GateAction(policy.injection),
    )
    return _in_force.put(namespace_id, InForce(policy, gate))


def _forget_settings(*, setting: str, **_: object) -> None:
    if setting.startswith(("MEMOS_POLICY", "MEMOS_LLM")):
        _in_force.clear()


setting_changed.connect(_forget_settings, dispatch_uid="memory.services.tenancy.policy")


def governing(namespace_id: int) -> Governing:
    """Return the policy in force in the namespace; for a missing one (0), the policy without overrides."""
    row = NamespacePolicy.objects.filter(namespace_id=namespace_id).order_by("-version").first()
    return _governing(row)


def lock_policy(namespace_id: int) -> Policy:
    """Return the namespace's policy, and keep `put_policy` from changing it until the caller's transaction ends."""
    lock_in_transaction(Lock.POLICY, namespace_id, shared=True)
    return governing(namespace_id).effective.policy


def version_of(scope: Scope, *, version: int) -> Governing:
    """Return what a former version of the namespace's policy means in today's environment. Raises NotFound."""
    if version == 0:
        return _governing(None)
    row = NamespacePolicy.objects.in_scope(scope).filter(version=version).first()
    if row is None:
        raise NotFound(
            f"The policy of {scope.namespace!r} has no version {version}; "
            f"the newest is {governing(scope.namespace_id).version}.",
            detail={"field": "version"},
        )
    return _governing(row)


def put_policy(
    scope: Scope, *, wanted: Mapping[str, Any], reason: str = "", expected: int | None = None, now: datetime
) -> Governing:
    """Replace all values that the namespace sets itself by `wanted` (nested values).

    `expected` is the version that the caller has read; None accepts any. Without a difference nothing is written.
    Raises InvalidInput, which names every wrong value, PreconditionFailed and NamespaceGone.
    """
    overrides = check_overrides(wanted, namespace_id=scope.namespace_id)
    if len(reason) > MAX_REASON_CHARS or "\0" in reason:
        problem = Sentence(_("has at most %(most)s characters and no NUL."), most=MAX_REASON_CHARS)
        raise InvalidInput(f"reason: {problem}", detail=[{"field": "reason", "problem": problem}])
    if reason:
        reason = clean_note(reason, field="reason")
    with transaction.atomic():
        # The writers of one policy wait for each other here, so versions have no gaps and none is lost.
        lock_namespace(scope)
        lock_in_transaction(Lock.POLICY, scope.namespace_id)
        before = governing(scope.namespace_id)
        if expected is not None and expected != before.version:
            raise PreconditionFailed(
                f"The policy of {scope.namespace!r} is at version {before.version}, not {expected}: "
                "read it again, and send the change with the new ETag.",
                detail={"header": "If-Match", "version": before.version},
            )
        if overrides == before.overrides:
            return before
        row = NamespacePolicy.objects.create(
            namespace_id=scope.namespace_id,
            version=before.version + 1,
            overrides=overrides,
            reason=reason,
            updated_by=scope.actor,
            updated_at=now,
        )
        after = _governing(row)
        _record_change(scope, before, after, reason=reason, now=now)
    _in_force.forget(scope.namespace_id)
    return after


def take_over_history(scope: Scope, versions: Sequence[NamespacePolicy], *, reason: str, now: datetime) -> bool:
    """Give a namespace that never had a policy the `versions` of another one, as they were made; the last is in force.

    Returns False if the namespace has a policy. `reason` goes into the audit event. Values of former versions that this
    server does not know are left out, and reasons that the gate refuses are emptied. Raises InvalidInput, which names
    every wrong value of the last version.
    """
    check_overrides(nest(_drop_unknown(versions[-1].overrides)), namespace_id=scope.namespace_id)
    with transaction.atomic():
        lock_namespace(scope)
        lock_in_transaction(Lock.POLICY, scope.namespace_id)
        before = governing(scope.namespace_id)
        if before.version:
            return False
        for row in versions:
            row.overrides = flatten(nest(_drop_unknown(row.overrides)))[0]
            verdict = judge_fields({"reason": row.reason}, policy=DEFAULT_POLICY)
            row.reason = str(verdict.values["reason"]) if verdict.decision.lets_in else ""
        NamespacePolicy.objects.bulk_create(versions)
        _record_change(scope, before, _governing(versions[-1]), reason=reason, now=now)
    _in_force.forget(scope.namespace_id)
    return True


def check_overrides(wanted: Mapping[str, Any], *, namespace_id: int | None = None) -> dict[str, Value]:
    """Return the overrides in `wanted` (nested values), by key. Raises InvalidInput, which names every wrong value.

    With a namespace, this also checks that it may use the adapters of the models.
    """
    overrides, problems = flatten(wanted)
    if not problems:
        problems = contradictions(_effective(overrides).values) | _model_problems(overrides, namespace_id)
    if problems:
        detail = [
            {"field": f"policy.{key[:_SHOWN_KEY_CHARS]}", "problem": problem}
            for key, problem in list(problems.items())[:MAX_PROBLEMS]
        ]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise InvalidInput(f"{detail[0]['field']}: {detail[0]['problem']}{more}", detail=detail)
    # Keep the order of the declaration, so that equal policies are equal rows.
    return {key: overrides[key] for key in BY_KEY if key in overrides}


def propose(wanted: Mapping[str, Any]) -> Effective:
    """Return the policy of a namespace that would set `wanted`. Raises InvalidInput."""
    return _effective(check_overrides(wanted))


def _record_change(scope: Scope, before: Governing, after: Governing, *, reason: str, now: datetime) -> None:
    changed = [key for key in BY_KEY if before.effective.values[key] != after.effective.values[key]]
    audit.record(
        scope,
        AuditEvent.POLICY_CHANGE,
        subject=str(after.version),
        details={
            "reason": reason,
            "before": {"version": before.version, "overrides": nest(before.overrides)},
            "after": {"version": after.version, "overrides": nest(after.overrides)},
            "changed": {key: [before.effective.values[key], after.effective.values[key]] for key in changed},
        },
        now=now,
    )


def _drop_unknown(overrides: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in overrides.items() if key in BY_KEY}


def _governing(row: NamespacePolicy | None) -> Governing:
    if row is None:
        found = _effective({})
        return Governing(found, {}, 0, {})
    # A key that this version of MemOS does not know has no effect.
    overrides = _drop_unknown(row.overrides)
    found = _effective(overrides)
    problems = contradictions(found.values) | _model_problems(overrides, row.namespace_id)
    return Governing(found, overrides, row.version, problems, row.reason, row.updated_by, row.updated_at)


def _model_problems(overrides: Mapping[str, Value], namespace_id: int | None) -> dict[str, str]:
    """Return the models that a namespace chooses although it may not, by key, with the reasons."""
    found = {}
    for key, value in overrides.items():
        model = str(value or "") if BY_KEY[key].is_model else ""
        problem = choice_problem(model) if model else None
        if model and problem is None and namespace_id is not None:
            problem = adapter_problem(model, namespace_id)
        if problem is not None:
            found[key] = problem
    return found


def _effective(overrides: Mapping[str, Value]) -> Effective:
    return effective(settings.MEMOS_POLICY, overrides, given=settings.MEMOS_POLICY_GIVEN)
