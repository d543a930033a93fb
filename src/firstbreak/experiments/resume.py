"""Where an experiment starts: what sets in late is looked for from the last checkpoint before it, not from the beginning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from firstbreak.engine.diagnose import diagnose
from firstbreak.experiments.settings import Settings
from firstbreak.model import Checkpoint, Run
from firstbreak.words import number

OPTION = "resume_from"  #: what `[experiment.options]` calls the option of a trainer that is not listed here


@dataclass(frozen=True)
class Way:
    """How a trainer is told to go on from a checkpoint."""

    options: Mapping[str, str]  #: its own option -> value, with {checkpoint} where the path belongs
    counts_on: bool = True  #: whether the number of steps that it is told includes those before the checkpoint


WAYS: Mapping[str, Way] = {
    # transformers.TrainingArguments; TRL's scripts hand it to trainer.train()
    "trl": Way({"resume_from_checkpoint": "{checkpoint}"}),
    "llamafactory": Way({"resume_from_checkpoint": "{checkpoint}"}),
    # verl/trainer/config/ppo_trainer.yaml: resume_mode is auto, disable or resume_path
    "verl": Way({"trainer.resume_mode": "resume_path", "trainer.resume_from_path": "{checkpoint}"}),
    # rl_zoo3/train.py: -i, --trained-agent; `learn` counts its steps afresh
    "sb3": Way({"trained_agent": "{checkpoint}"}, counts_on=False),
}


@dataclass(frozen=True, kw_only=True)
class Start:
    """From where the trials of an experiment go on, or why they begin anew."""

    reason: str
    checkpoint: Checkpoint | None = None
    options: Mapping[str, str] | None = None  #: the trainer's own, with their values
    counts_on: bool = True

    @property
    def step(self) -> float:
        """Steps that lie behind a trial when it begins."""
        return self.checkpoint.step if self.checkpoint else 0.0

    def lengthened(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """An arm's overrides, whose number of steps is counted as this trainer counts it."""
        more = round(self.step) if self.counts_on and "total_steps" in values else 0
        return {**values, "total_steps": values["total_steps"] + more} if more else dict(values)

    def placed(self, trial: Run) -> Run:
        """A trial as it was read, its steps continued from the checkpoint where the trainer has counted afresh."""
        if not self.step or trial.first_step is None or trial.first_step >= self.step:
            return trial
        moved = {name: replace(s, steps=s.steps + self.step) for name, s in trial.series.items()}
        return replace(trial, series=moved)


ANEW = Start(reason="from the beginning")


def start_of(run: Run, settings: Settings, length: float) -> Start:
    """Where trials of `length` steps start: from the beginning where the break lies within them, or nothing better is there."""
    first = diagnose(run).first_break
    step = None if first is None else first.interval[0] if first.interval else first.step
    if step is None or step <= length:
        return ANEW
    late = f"the break is dated to step {number(step)}, later than the {number(length)} steps of a trial"
    saved = [c for c in run.checkpoints if 0 < c.step < step]
    if not saved:
        return Start(reason=f"from the beginning: {late}, and no checkpoint before it was found; it may not show")
    way = _way(run, settings)
    if way is None:
        remedy = f"name its option as {OPTION} in [experiment.options]"
        return Start(reason=f"from the beginning: {late}, and how this trainer resumes is not known ({remedy})")
    last = saved[-1]
    place = str((Path(run.path) / last.path).resolve())
    return Start(
        reason=f"from {last.path} (step {number(last.step)}): {late}",
        checkpoint=last,
        options={name: value.replace("{checkpoint}", place) for name, value in way.options.items()},
        counts_on=way.counts_on,
    )


def _way(run: Run, settings: Settings) -> Way | None:
    known = WAYS.get(run.trainer or "")
    if OPTION in settings.options:
        return Way({settings.options[OPTION]: "{checkpoint}"}, known.counts_on if known else True)
    return None if settings.complete else known
