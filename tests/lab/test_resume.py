"""A benchmark that was interrupted goes on, and does not trust what other code has made."""

import json
from pathlib import Path
from typing import Any

from benchmarks.resume import kept


def test_a_measurement_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    kept(path, [1, 2], as_row, 1)
    size = path.stat().st_size
    rows = kept(path, [1, 2, 3], as_row, 1)
    assert [row["id"] for row in rows] == ["1", "2", "3"]
    assert path.read_text()[:size].count("\n") == 3
    path.write_text(json.dumps({"made from": "other code"}) + "\n" + json.dumps({"id": "1", "old": True}) + "\n")
    assert "old" not in kept(path, [1], as_row, 1)[0]


def as_row(job: int) -> dict[str, Any]:
    return {"id": str(job)}
