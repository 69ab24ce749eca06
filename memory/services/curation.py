"""What staff do to memories that are there already: archive, restore, correct. Every change says who and why."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import batched_ids
