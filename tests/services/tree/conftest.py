"""A namespace whose policy grows a tree, and the contents of a few sessions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.utils import timezone

from memory.services.tenancy.policy import put_policy
from memory.services.tree.grow import grow

# Turns of a topic share most of their words, because vectors in the tests depend on the words alone.
KILN = (
    "The stoneware kiln in the pottery studio is hot.",
    "The stoneware kiln in the pottery studio is cooling.",
    "The stoneware kiln in the pottery studio is loud.",
)
FERRY = (
    "The Lismore ferry in the old harbour is late.",
    "The Lismore ferry in the old harbour is full.",
    "The Lismore ferry in the old harbour is blue.",
)


@pytest.fixture
def wanted(alice) -> None:
    put_policy(alice.scope, wanted={"tree": "browse"}, now=timezone.now())


@pytest.fixture
def grow_tree(alice, wanted) -> Callable[[], int]:
    """Return a function that brings Alice's tree up to date with her memories."""
    return lambda: grow(alice.scope, now=timezone.now())


@pytest.fixture
def two_topics(alice, remember, grow_tree) -> list[str]:
    """Remember two topics of one session with alternating turns, and return the ids, those of the kiln first."""
    told = [(remember(alice, one), remember(alice, other)) for one, other in zip(KILN, FERRY, strict=True)]
    grow_tree()
    return [one for one, _ in told] + [other for _, other in told]
