"""A trainer that starts workers, one of which leaves its process group: what a kill has to find.

Takes the seconds that it trains for, or a file: the first time, it trains for ever, and makes the file; then it ends at once.
"""

import subprocess
import sys
import time
from pathlib import Path

sleeper = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
subprocess.Popen(sleeper)
subprocess.Popen(sleeper, start_new_session=True)
folder = Path(sys.argv[1])
(folder / "metrics.jsonl").write_text("".join(f'{{"step": {i}, "reward": {i / 10}}}\n' for i in range(5)))
if sys.argv[2].startswith("/"):
    begun = Path(sys.argv[2])
    seconds = 0.0 if begun.exists() else 600.0
    begun.touch()
else:
    seconds = float(sys.argv[2])
time.sleep(seconds)
