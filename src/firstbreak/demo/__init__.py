"""The run that `firstbreak demo` diagnoses: made by a real trainer, and broken on purpose.

`RUN` holds what trl's GRPOTrainer left behind after 160 steps on a tiny language model that sorts digits. At step
`ONSET` somebody "improved" the reward with a bonus for thoroughness, which pays for length. The reward has never been
better, and the model no longer answers anything. `python -m firstbreak.demo.make` trains it again.
"""

from __future__ import annotations

from pathlib import Path

RUN = Path(__file__).parent / "run"
ONSET = 60
