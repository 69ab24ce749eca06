"""What the gate looks for. A detector is the function `detect` of a module of its own, and a line here.

Reasons of one score are told in this order.
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
