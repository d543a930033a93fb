"""Where the trials of an experiment start. For a fault that begins late, trials resume from the last checkpoint before it.

A checkpoint contains more than the weights: its learning rate and random state would replace those of the trial, and its
history belongs to the original run. Only the steps after the checkpoint belong to the trial.
"""

import math
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from firstbreak.engine.diagnose import diagnose
from firstbreak.experiments.overrides import hooked
from firstbreak.experiments.settings import ExperimentSettings
from firstbreak.model import EMPTY, Checkpoint, Interval, Run
from firstbreak.readers.checkpoints import checkpoints_in
from firstbreak.values import dataclass, field, replace
from firstbreak.words import number

OPTION = "resume_from"  #: the key in `[experiment.options]` for a trainer that is not listed here
RATES = frozenset({"learning_rate", "value_learning_rate"})


@dataclass(frozen=True)
class ResumeMethod:
    """How a trainer resumes from a checkpoint, and what it restores."""

    options: Mapping[str, Any]  #: the trainer's option -> value, with {checkpoint} for the path
    #: whether the number of steps includes the steps before the checkpoint; None: unknown
    counts_on: bool | None = True
    whole: tuple[str, ...] = ()  #: files in the folder of a complete checkpoint
    hooked: bool = False  #: the hooks support this trainer and keep the settings of the trial
    keeps_rate: bool = False  #: the checkpoint's learning rate replaces the one of the trial, ...
    weights_only: Mapping[str, Any] = field(default_factory=lambda: EMPTY)  #: ... unless these options are set
    #: options for a start from the beginning
    without_resuming: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    not_for: frozenset[str] = frozenset()  #: algorithms that cannot be resumed


#: transformers/trainer.py saves trainer_state.json last; scheduler.pt is left out where only the model is saved
_TRANSFORMERS = ResumeMethod(
    {"resume_from_checkpoint": "{checkpoint}"},
    whole=("scheduler.pt", "trainer_state.json"),
    hooked=True,
    keeps_rate=True,
)
# Not here: OpenRLHF's --load_checkpoint (openrlhf/trainer/ray/ppo_actor.py) and AReaL's recover mode (areal/utils/recover.py)
# only resume from the latest checkpoint, in the folder into which they also save, so that a trial would overwrite the
# original checkpoints. CleanRL has no option to resume, and RLlib has no command line.
RESUME_METHODS: Mapping[str, ResumeMethod] = {
    "trl": _TRANSFORMERS,
    # llamafactory/train/ppo/trainer.py raises a ValueError with the option to resume
    "llamafactory": replace(_TRANSFORMERS, not_for=frozenset({"ppo"})),
    # verl/trainer/ppo/ray_trainer.py: resume_mode is auto (the latest, wherever it was saved), disable or resume_path; data.pt
    # is saved last. verl/utils/checkpoint/fsdp_checkpoint_manager.py loads the optimizer's and the scheduler's rates.
    "verl": ResumeMethod(
        {"trainer.resume_mode": "resume_path", "trainer.resume_from_path": "{checkpoint}"},
        whole=("actor", "data.pt"),
        keeps_rate=True,
        weights_only={"actor_rollout_ref.actor.checkpoint.load_contents": ["model"]},
        without_resuming={"trainer.resume_mode": "disable"},
    ),
    # rl_zoo3/train.py: -i, --trained-agent. rl_zoo3/exp_manager.py hands `load` the hyperparameters; `learn` counts afresh
    "sb3": ResumeMethod({"trained_agent": "{checkpoint}"}, counts_on=False, hooked=True),
}


@dataclass(frozen=True, kw_only=True)
class StartPoint:
    """Where the trials of an experiment start, and why."""

    reason: str
    checkpoint: Checkpoint | None = None
    place: str = ""  #: path of the checkpoint
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)  #: options of the trainer, with their values
    counts_on: bool | None = True
    hooked: bool = False  #: the hooks keep the settings of the trial, and log that the checkpoint was loaded
    lead: float = 0.0  #: steps from the checkpoint to the break, in addition to the trial's own steps
    #: step of the break, and the earliest one, where the trial ends before it
    missed: Interval | None = None

    @property
    def step(self) -> float:
        """The step of the checkpoint; 0 for a start from the beginning."""
        return self.checkpoint.step if self.checkpoint else 0.0

    @property
    def since(self) -> float:
        """The step of the break. Before this step, resumed trials are the same as the original run."""
        return self.step + self.lead if self.checkpoint else -math.inf

    def lengthened(self, values: Mapping[str, Any], unit: float = 1.0) -> dict[str, Any]:
        """The overrides of an arm with a number of steps that reaches the break, in the way the trainer counts steps.

        `unit`: steps of the log for each step of the trainer.

        The warm-up steps are not changed: the warm-up belongs to the original schedule, before the checkpoint.
        """
        if self.checkpoint is None:
            return dict(values)
        behind = 0.0 if self.counts_on is False else self.step
        kept = {name: value for name, value in values.items() if name != "warmup_steps"}
        return kept | {"total_steps": round(values["total_steps"] + (self.lead + behind) / unit)}

    def hook_values(self, values: Mapping[str, Any], run: Run, planned: float, other_seed: bool) -> dict[str, Any]:
        """The values for the hooks in the trainer's process: everything that must not come from the checkpoint."""
        if not self.hooked:
            return {}
        own = {run.config.keys[name]: value for name, value in values.items() if name in run.config.keys}
        state = {"checkpoint": self.place, "step": self.step, "planned": planned, "other_seed": other_seed}
        return {"resumed": state | {"options": own}}

    def placed(self, trial: Run) -> Run:
        """The trial's own part of a run. If the trainer counts steps from 0 again, the steps are shifted to continue.

        A trainer that continues the count may log the steps before the checkpoint again. They belong to the original run.
        """
        if self.checkpoint is None or trial.first_step is None:
            return trial
        if not self.counts_on and trial.first_step <= self.step:
            series = {name: replace(s, steps=s.steps + self.step) for name, s in trial.series.items()}
        else:
            series = {name: s.between(math.nextafter(self.step, math.inf)) for name, s in trial.series.items()}
        return replace(trial, series={name: s for name, s in series.items() if len(s)})


FROM_THE_BEGINNING = StartPoint(reason="from the beginning")


def start_of(run: Run, settings: ExperimentSettings, length: float, changed: Collection[str] = ()) -> StartPoint:
    """Where trials of `length` steps start. From the beginning if the break is within `length`, or if no checkpoint fits.

    `changed`: the hyperparameters that the experiment overrides.
    """
    method = _method(run, settings)
    first = diagnose(run).first_break
    if first is None or first.step is None or first.step <= length:
        return _from_the_beginning(method)
    earliest = first.interval[0] if first.interval else first.step
    dated = f"step {number(first.step)}" + (f" ({number(earliest)} at the earliest)" if earliest < first.step else "")
    late = f"the break is at {dated}, later than the {number(length)} steps of a trial"
    missed = first.step, earliest
    log = Path(run.path)
    folder = settings.checkpoints or (log if log.is_dir() else log.parent)
    saved = [c for c in checkpoints_in(folder) if 0 < c.step < earliest]

    def stay(why: str) -> StartPoint:
        return _from_the_beginning(method, f"{late}, and {why}", missed)

    if not saved:
        remedy = "set `checkpoints` in [experiment] to their folder"
        return stay(f"{folder} has no checkpoint before it ({remedy}); it may not occur in the trials")
    if method is None:
        remedy = f"set {OPTION} in [experiment.options] to its option"
        return stay(f"the option of this trainer to resume is not known ({remedy})")
    last = next((c for c in reversed(saved) if _is_whole(folder / c.path, method)), None)
    if last is None:
        return stay(f"none of the {len(saved)} checkpoints before it is complete; it may not occur in the trials")
    inside = method.hooked and hooked(run, settings)
    keeps_rate = method.keeps_rate and not RATES.isdisjoint(changed) and not inside
    if keeps_rate and not method.weights_only:
        remedy = "set hooks = true in [experiment]"
        return stay(f"this trainer would use the checkpoint's learning rate ({remedy})")
    place = str((folder / last.path).resolve())
    options = {**method.options, **(method.weights_only if keeps_rate else EMPTY)}
    lead = max(0.0, min(first.step - last.step, (settings.limits.steps or math.inf) - length))
    end = number(last.step + lead + length)
    cut = f"; limits.steps ends the trial at step {end}" if lead < first.step - last.step else ""
    return StartPoint(
        reason=f"from {last.path} (step {number(last.step)}) to step {end}: {late}{cut}",
        checkpoint=last,
        place=place,
        options={n: v.replace("{checkpoint}", place) if isinstance(v, str) else v for n, v in options.items()},
        counts_on=method.counts_on,
        hooked=inside,
        lead=lead,
    )


def _from_the_beginning(method: ResumeMethod | None, why: str = "", missed: Interval | None = None) -> StartPoint:
    reason = f"{FROM_THE_BEGINNING.reason}: {why}" if why else FROM_THE_BEGINNING.reason
    return StartPoint(reason=reason, options=method.without_resuming if method else EMPTY, missed=missed)


def _is_whole(place: Path, method: ResumeMethod) -> bool:
    """Whether a checkpoint is complete. A trainer that was killed while saving leaves an incomplete one."""
    if place.is_dir():
        return any(place.iterdir()) and all((place / name).exists() for name in method.whole)
    if method.whole:  # a file with such a name, where a folder is expected
        return False
    return zipfile.is_zipfile(place) if place.suffix == ".zip" else place.stat().st_size > 0


def _method(run: Run, settings: ExperimentSettings) -> ResumeMethod | None:
    known = RESUME_METHODS.get(run.trainer or "")
    if OPTION in settings.options:
        return replace(known or ResumeMethod({}, counts_on=None), options={settings.options[OPTION]: "{checkpoint}"})
    return None if settings.complete or known is None or run.algorithm in known.not_for else known
