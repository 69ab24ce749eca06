"""Whether a namespace's memories may be trained on: `training.consent` of its policy, false unless somebody sets it."""

from __future__ import annotations

from memory.errors import Forbidden
from memory.services.tenancy.policy import governing
from memory.types import Scope

KEY = "training.consent"


def has_consent(namespace_id: int) -> bool:
    """As the policy is at this moment, not as a process remembers it."""
    return governing(namespace_id).effective.policy.training_consent


def require_consent(scope: Scope) -> None:
    """Raises Forbidden, which says how consent is given."""
    if not has_consent(scope.namespace_id):
        raise Forbidden(
            f"The memories of {scope.namespace!r} may not be used for training: its policy has {KEY} false. Who may "
            'decide that sets it: PUT /v1/policy with {"policy": {"training": {"consent": true}}}.',
            detail={"policy": KEY},
        )
