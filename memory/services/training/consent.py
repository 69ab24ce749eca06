"""Whether a namespace's memories may be trained on: where its policy has `training.consent`, which is false unless
somebody sets it, and where a cube that it is has parametric memory turned on.
"""

from __future__ import annotations

from memory.enums import CubeKind
from memory.errors import Forbidden
from memory.models import Cube
from memory.services.cubes.find import require_kind
from memory.services.tenancy.policy import governing
from memory.types import Scope

KEY = "training.consent"
_WITHDRAWN = f"{KEY} of the policy is false: consent was withdrawn."
_TURNED_OFF = f"The cube has no {CubeKind.PARAMETRIC.value} memory: it was turned off."


def has_consent(namespace_id: int) -> bool:
    """As the policy is at this moment, not as a process remembers it."""
    return governing(namespace_id).effective.policy.training_consent


def find_obstacle(namespace_id: int) -> str:
    """Why memories of the namespace may be trained on no longer, at this moment; empty while they may."""
    if not has_consent(namespace_id):
        return _WITHDRAWN
    cube = Cube.objects.filter(namespace_id=namespace_id).first()
    return _TURNED_OFF if cube is not None and CubeKind.PARAMETRIC not in cube.kinds else ""


def require_consent(scope: Scope) -> None:
    """Raises Forbidden without consent, and Conflict for a cube without parametric memory; both say how it is given."""
    if not has_consent(scope.namespace_id):
        raise Forbidden(
            f"The memories of {scope.namespace!r} may not be used for training: its policy has {KEY} false. Who may "
            'decide that sets it: PUT /v1/policy with {"policy": {"training": {"consent": true}}}.',
            detail={"policy": KEY},
        )
    cube = Cube.objects.filter(namespace_id=scope.namespace_id).first()
    if cube is not None:
        require_kind(cube, CubeKind.PARAMETRIC)
