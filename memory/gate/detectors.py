"""Lists the detectors of the gate: each is the function `detect` of a module, and a line here.

Reasons with equal scores are reported in this order.
"""

from __future__ import annotations

from memory.gate import binary, contradictions, personal_data, secrets, steering
from memory.gate.findings import Detector

DETECTORS: tuple[Detector, ...] = (
    secrets.detect,
    personal_data.detect,
    steering.detect,
    contradictions.detect,
    binary.detect,
)
