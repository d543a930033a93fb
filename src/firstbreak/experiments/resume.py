"""Where an experiment starts: what sets in late is looked for from the last checkpoint before it, not from the beginning.

A checkpoint brings back more than the weights. The learning rate and the random state that it holds would win over those
of the trial, and its history is the original's; a trial's own part is what comes after.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.read import checkpoints_in
from firstbreak.experiments.overrides import hooked
from firstbreak.experiments.settings import Settings
from firstbreak.model import EMPTY, Checkpoint, Run
from firstbreak.words import number

OPTION = "resume_from"  #: what `[experiment.options]` calls the option of a trainer that is not listed here
RATES = frozenset({"learning_rate", "value_learning_rate"})


@dataclass(frozen=True)
class Way:
    """How a trainer is told to go on from a checkpoint, and what it makes of it."""

    options: Mapping[str, Any]  #: its own option -> value, with {checkpoint} where the path belongs
    counts_on: bool | None = True  #: whether the steps it is told include those before the checkpoint; None: unknown
    whole: tuple[str, ...] = ()  #: what the folder of a checkpoint holds once it is complete
    hooked: bool = False  #: the hooks know what it is made from, and keep its trial's settings
    keeps_rate: bool = False  #: the checkpoint's learning rate wins over the one that is told, ...
    weights_only: Mapping[str, Any] = field(default_factory=lambda: EMPTY)  #: ... unless these options leave it out
    anew: Mapping[str, Any] = field(default_factory=lambda: EMPTY)  #: options without which it may go on unasked
    not_for: frozenset[str] = frozenset()  #: algorithms that it cannot resume


#: transformers/trainer.py saves trainer_state.json last; scheduler.pt is left out where only the model is saved
_TRANSFORMERS = Way(
    {"resume_from_checkpoint": "{checkpoint}"},
    whole=("scheduler.pt", "trainer_state.json"),
    hooked=True,
    keeps_rate=True,
)
# Not here: OpenRLHF's --load_checkpoint (openrlhf/trainer/ray/ppo_actor.py) and AReaL's recover mode (areal/utils/recover.py)
# know the latest checkpoint only, in the folder into which they go on saving, so that a trial would write over the
# original's. CleanRL has no option for it, and RLlib no command line.
WAYS: Mapping[str, Way] = {
    "trl": _TRANSFORMERS,
    # llamafactory/train/ppo/trainer.py raises a ValueError when it is told to resume
    "llamafactory": replace(_TRANSFORMERS, not_for=frozenset({"ppo"})),
    # verl/trainer/ppo/ray_trainer.py: resume_mode is auto (the latest, wherever it was saved), disable or resume_path; data.pt
    # is saved last. verl/utils/checkpoint/fsdp_checkpoint_manager.py loads the optimizer's and the scheduler's rates.
    "verl": Way(
        {"trainer.resume_mode": "resume_path", "trainer.resume_from_path": "{checkpoint}"},
        whole=("actor", "data.pt"),
        keeps_rate=True,
        weights_only={"actor_rollout_ref.actor.checkpoint.load_contents": ["model"]},
        anew={"trainer.resume_mode": "disable"},
    ),
    # rl_zoo3/train.py: -i, --trained-agent. rl_zoo3/exp_manager.py hands `load` the hyperparameters; `learn` counts afresh
    "sb3": Way({"trained_agent": "{checkpoint}"}, counts_on=False, hooked=True),
}


@dataclass(frozen=True, kw_only=True)
class Start:
    """From where the trials of an experiment go on, or why they begin anew."""

    reason: str
    checkpoint: Checkpoint | None = None
    place: str = ""  #: of the checkpoint
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)  #: the trainer's own, with their values
    counts_on: bool | None = True
    hooked: bool = False  #: the hooks keep the trial's settings, and say that the checkpoint was loaded
    lead: float = 0.0  #: steps from the checkpoint to the break, which a trial makes besides its own

    @property
    def step(self) -> float:
        """Steps that lie behind a trial when it begins."""
        return self.checkpoint.step if self.checkpoint else 0.0

    @property
    def since(self) -> float:
        """The step of the break, before which trials that go on from a checkpoint do what the original did."""
        return self.step + self.lead if self.checkpoint else -math.inf

    def lengthened(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """An arm's overrides, whose number of steps reaches the break and is counted as this trainer counts it.

        Its warm-up is left as it was: it belongs to the original's schedule, and lies behind.
        """
        if self.checkpoint is None:
            return dict(values)
        behind = 0.0 if self.counts_on is False else self.step
        kept = {name: value for name, value in values.items() if name != "warmup_steps"}
        return kept | {"total_steps": round(values["total_steps"] + self.lead + behind)}

    def told(self, values: Mapping[str, Any], run: Run, planned: float, other_seed: bool) -> dict[str, Any]:
        """What the hooks in the trainer's process have to know: all that must not come from the checkpoint."""
        if not self.hooked:
            return {}
        own = {run.config.keys[name]: value for name, value in values.items() if name in run.config.keys}
        state = {
            "checkpoint": self.place,
            "step": self.step,
            "planned": planned,
            "other_seed": other_seed,
            "options": own,
        }
        return {"resumed": state}

    def placed(self, trial: Run) -> Run:
        """A trial's own part of what was read, its steps continued where the trainer has counted them afresh.

        A trainer that counts on may write the history before the checkpoint once more; it is the original's.
        """
        if self.checkpoint is None or trial.first_step is None:
            return trial
        if not self.counts_on and trial.first_step <= self.step:
            series = {name: replace(s, steps=s.steps + self.step) for name, s in trial.series.items()}
        else:
            series = {name: s.between(math.nextafter(self.step, math.inf)) for name, s in trial.series.items()}
        return replace(trial, series={name: s for name, s in series.items() if len(s)})


ANEW = Start(reason="from the beginning")


def start_of(run: Run, settings: Settings, length: float, changed: Collection[str] = ()) -> Start:
    """Where trials of `length` steps start: from the beginning where the break lies within them, or nothing better is there.

    `changed`: the hyperparameters that the experiment overrides.
    """
    way = _way(run, settings)
    first = diagnose(run).first_break
    if first is None or first.step is None or first.step <= length:
        return _anew(way)
    earliest = first.interval[0] if first.interval else first.step
    dated = f"step {number(first.step)}" + (f" ({number(earliest)} at the earliest)" if earliest < first.step else "")
    late = f"the break is dated to {dated}, later than the {number(length)} steps of a trial"
    folder = _folder(run, settings)
    saved = [c for c in checkpoints_in(folder) if 0 < c.step < earliest]
    if not saved:
        remedy = "name their folder as `checkpoints` in [experiment] if they are elsewhere"
        return _anew(way, f"{late}, and no checkpoint before it is in {folder} ({remedy}); it may not show")
    if way is None:
        remedy = f"name its option as {OPTION} in [experiment.options]"
        return _anew(way, f"{late}, and how this trainer resumes is not known ({remedy})")
    last = next((c for c in reversed(saved) if _is_whole(folder / c.path, way)), None)
    if last is None:
        return _anew(way, f"{late}, and none of the {len(saved)} checkpoints before it is complete; it may not show")
    inside = way.hooked and hooked(run, settings)
    keeps_rate = way.keeps_rate and not RATES.isdisjoint(changed) and not inside
    if keeps_rate and not way.weights_only:
        remedy = "hooks = true in [experiment] lets it take another"
        return _anew(way, f"{late}, and this trainer would go on with the checkpoint's learning rate ({remedy})")
    place = str((folder / last.path).resolve())
    told = {**way.options, **(way.weights_only if keeps_rate else EMPTY)}
    lead = max(0.0, min(first.step - last.step, (settings.limits.steps or math.inf) - length))
    end = number(last.step + lead + length)
    cut = f"; limits.steps ends it at step {end}" if lead < first.step - last.step else ""
    return Start(
        reason=f"from {last.path} (step {number(last.step)}) to step {end}: {late}{cut}",
        checkpoint=last,
        place=place,
        options={n: v.replace("{checkpoint}", place) if isinstance(v, str) else v for n, v in told.items()},
        counts_on=way.counts_on,
        hooked=inside,
        lead=lead,
    )


def _anew(way: Way | None, why: str = "") -> Start:
    reason = f"{ANEW.reason}: {why}" if why else ANEW.reason
    return Start(reason=reason, options=way.anew if way else EMPTY)


def _folder(run: Run, settings: Settings) -> Path:
    """Where the original's checkpoints lie: as the user says, or where its log does."""
    place = Path(run.path)
    return settings.checkpoints or (place if place.is_dir() else place.parent)


def _is_whole(place: Path, way: Way) -> bool:
    """Whether a checkpoint was saved to its end: a trainer that was killed meanwhile leaves half of one behind."""
    if place.is_dir():
        return any(place.iterdir()) and all((place / name).exists() for name in way.whole)
    if way.whole:  # a file of the like name inside of a folder
        return False
    return zipfile.is_zipfile(place) if place.suffix == ".zip" else place.stat().st_size > 0


def _way(run: Run, settings: Settings) -> Way | None:
    known = WAYS.get(run.trainer or "")
    if OPTION in settings.options:
        return replace(known or Way({}, counts_on=None), options={settings.options[OPTION]: "{checkpoint}"})
    return None if settings.complete or known is None or run.algorithm in known.not_for else known
