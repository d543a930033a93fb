"""A trainer that starts workers, one of which leaves its process group: what a kill has to find."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

sleeper = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
subprocess.Popen(sleeper)
subprocess.Popen(sleeper, start_new_session=True)
folder = Path(sys.argv[1])
(folder / "metrics.jsonl").write_text("".join(f'{{"step": {i}, "reward": {i / 10}}}\n' for i in range(5)))
time.sleep(float(sys.argv[2]))
