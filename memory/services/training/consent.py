"""Decides whether a namespace's memories may be trained on: if its policy sets `training.consent`, which is false by
default, and, if it is a cube, if parametric memory is turned on."""

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
    """Return the policy's consent as of now, not as a process has cached it."""
    return governing(namespace_id).effective.policy.training_consent


def find_obstacle(namespace_id: int) -> str:
    """Return why the namespace's memories may not be trained on now; '' while they may."""
    if not has_consent(namespace_id):
        return _WITHDRAWN
    cube = Cube.objects.filter(namespace_id=namespace_id).first()
    return _TURNED_OFF if cube is not None and CubeKind.PARAMETRIC not in cube.kinds else ""


def require_consent(scope: Scope) -> None:
    """Raise Forbidden without consent, and Conflict for a cube without parametric memory; both explain the remedy."""
    if not has_consent(scope.namespace_id):
        raise Forbidden(
            f"The memories of {scope.namespace!r} may not be used for training: its policy has {KEY} false. Who may "
            'decide that sets it: PUT /v1/policy with {"policy": {"training": {"consent": true}}}.',
            detail={"policy": KEY},
        )
    cube = Cube.objects.filter(namespace_id=scope.namespace_id).first()
    if cube is not None:
        require_kind(cube, CubeKind.PARAMETRIC)
