"""`trainer_state.json` of the Hugging Face Trainer: the `log_history`, written whole at every save.

Training and evaluation entries of one step are separate. The last entry of a finished run (`train_runtime`,
`train_loss`, ...) is a summary of the run and no point of a curve. Source: transformers/trainer_callback.py
"""

from pathlib import Path
from typing import Any

from firstbreak.readers import Recording, Unreadable
from firstbreak.readers._columns import Columns, as_float, under_its_set
from firstbreak.readers._json import loads, sound_elements
from firstbreak.readers.opening import read_whole

DESCRIPTION = "trainer_state.json of the Hugging Face Trainer (TRL, LLaMA-Factory, axolotl)"
PRIORITY = 10
# What the run has reached; everything else at the top of the state is a setting.
_REACHED = frozenset(
    {"global_step", "epoch", "num_input_tokens_seen", "total_flos"}
    | {"best_metric", "best_global_step", "best_model_checkpoint"}
)
MAX_BYTES = 1 << 28


def sniff(path: Path, head: bytes) -> bool:
    """The file's own name, or its key `log_history`."""
    return path.name == "trainer_state.json" or (head.lstrip().startswith(b"{") and b'"log_history"' in head)


def read(path: Path, resume: Any = None) -> Recording:
    """The whole history each time: the Trainer rewrites the file."""
    data = read_whole(path, MAX_BYTES)
    if not data.strip():
        raise Unreadable(path, "is empty", "wait for the Trainer's first save")
    state, damage, cut = _state(path, data)
    columns = Columns(quoted=True)
    notes = []
    for entry in state["log_history"]:
        if not isinstance(entry, dict) or not isinstance(entry.get("step"), (int, float)):
            continue
        if "train_runtime" in entry:
            notes.append("summary of the run: " + ", ".join(f"{k}={v}" for k, v in entry.items() if k != "step"))
            continue
        for name, value in under_its_set(entry).items():
            if name != "step":
                columns.add_object(name, entry["step"], value)
    step = state.get("global_step")
    return Recording(
        format="trainer_state",
        curves=columns.curves(),
        nulls=columns.nulls(),
        indexed_by="step",
        config={k: v for k, v in state.items() if isinstance(v, (int, float, str)) and k not in _REACHED},
        order=as_float(step) if isinstance(step, (int, float)) else 0.0,  # later checkpoints hold the longer history
        damage=damage,
        cut=cut,
        notes=notes + columns.notes(),
    )


def _state(path: Path, data: bytes) -> tuple[dict[str, Any], list[str], bool]:
    """The state, what was lost of it, and whether its end was: every whole entry is kept."""
    try:
        state = loads(data)
    except ValueError:
        text = data.decode("utf-8", "replace")
        start = text.find("[", text.find('"log_history"'))
        held = '"log_history"' in text and start >= 0
        entries, damage, cut = sound_elements(text, start, "entry") if held else ([], [], True)
        if not entries:
            raise Unreadable(path, "is cut or being rewritten", "try again when the Trainer has saved") from None
        return {"log_history": entries}, damage, cut
    if not isinstance(state, dict) or not isinstance(state.get("log_history"), list):
        raise Unreadable(path, "has no log_history", "give the trainer_state.json of a checkpoint folder")
    return state, [], False
