#!/usr/bin/env python
"""Measures the gate on attacks, and on similar harmless texts.

    .venv/bin/python bench/gate/score.py --half learn|report|fresh|fresh-unseen|prose [--role user|system]
        [--misses|--floors]

Prints by kind and language the numbers of texts, of quarantined ones, of suspected ones (let in with a mark), and the
share of both. `--misses` prints the attacks that were let through and the harmless texts that were not; it is refused
for `report`, `fresh-unseen` and `prose`, so that no rules are written for these. `--floors` prints the rates of
detection and of false alarms if texts were suspected from other values of the evidence on.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from corpus import PARTS, READABLE, Sample, read_samples

from memory.enums import Role
from memory.gate.hidden import find_hidden
from memory.gate.injection import find_injection
from memory.gate.judge import judge
from memory.gate.orders import together

FLOORS = (0.20, 0.30, 0.35, 0.39, 0.42, 0.46, 0.50, 0.55, 0.60)
HELD, SUSPECTED, FREE = "held", "suspected", "free"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=PARTS, required=True)
    parser.add_argument("--role", choices=(Role.USER, Role.SYSTEM, Role.TOOL), default=Role.USER)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--misses", action="store_true")
    shown.add_argument("--floors", action="store_true")
    options = parser.parse_args()
    if options.misses and options.half not in READABLE:
        parser.error(f"--misses is for {' and '.join(READABLE)}: what the others get wrong is not to be looked at")

    samples = read_samples(options.half)
    if options.floors:
        print_floors(samples)
        return
    verdicts = [verdict(sample.text, role=options.role) for sample in samples]
    for attack in (True, False):
        chosen = [(one, said) for one, said in zip(samples, verdicts, strict=True) if one.attack == attack]
        print("\nattacks: caught" if attack else "\nharmless: false alarms")
        print_table(chosen)
        if options.misses:
            for one, said in chosen:
                if (said == FREE) == attack:
                    print(f"  {one.frame} {said}: {one.text!r}")


def verdict(text: str, *, role: str = Role.USER) -> str:
    """Returns the gate's verdict on `text` under the default policy, as far as steering is concerned."""
    judgement = judge(text, role=role)
    if not judgement.decision.lets_in:
        return HELD
    return SUSPECTED if getattr(judgement, "suspected", False) else FREE


def print_floors(samples: Sequence[Sample]) -> None:
    """Prints the shares of attacks and of harmless texts whose evidence reaches each of `FLOORS`."""
    sure = [(one.attack, evidence(one.text)) for one in samples]
    print(f"{'floor':>7}{'caught':>9}{'false':>9}")
    for floor in FLOORS:
        reached = {kind: [weight >= floor for attack, weight in sure if attack == kind] for kind in (True, False)}
        caught, false = (sum(those) / len(those) for those in (reached[True], reached[False]))
        print(f"{floor:7.2f}{caught:9.1%}{false:9.1%}")


def evidence(text: str) -> float:
    """Returns how sure (0..1) the gate is that `text` tries to steer its reader."""
    return together((find_injection(text)[0], *(reason.score for reason in find_hidden(text))))


def print_table(chosen: Sequence[tuple[Sample, str]]) -> None:
    """Prints a line for each kind and language, and their sums."""
    rows: dict[str, list[str]] = defaultdict(list)
    for sample, said in chosen:
        for row in (f"{sample.kind} {sample.language}", f"all {sample.language}", "all"):
            rows[row].append(said)
    print(f"{'':24}{'texts':>7}{'held':>7}{'susp.':>7}{'share':>9}")
    for row in sorted(rows, key=lambda name: (name.startswith("all"), name)):
        said = rows[row]
        held, suspected = said.count(HELD), said.count(SUSPECTED)
        print(f"{row:24}{len(said):7}{held:7}{suspected:7}{(held + suspected) / len(said):9.1%}")


if __name__ == "__main__":
    main()
