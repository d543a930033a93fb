"""The minimal reproduction of a run: small and short trials that answer five questions about its parts.

They do not aim at a score, and change no ranking: a smaller model may have other causes. What cannot be measured has its reason.
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from firstbreak.engine import questions
from firstbreak.engine.catalogue import Design, catalogue
from firstbreak.engine.families import Method, Policy
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.questions import Answer, Arms, Question
from firstbreak.experiments import conduct
from firstbreak.experiments.overrides import CannotOverride, hooked, in_force, resolve
from firstbreak.experiments.plan import applicable, length
from firstbreak.experiments.resume import start_of
from firstbreak.experiments.settings import ExperimentSettings
from firstbreak.live.hooks.firstbreak_texts import FEW_PROMPTS
from firstbreak.model import Run
from firstbreak.values import dataclass, replace
from firstbreak.words import percent

MOSTLY = 0.75  #: share of the pairs of a prompt in which the right answer gets more (convention)
Overrides = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """What the trials change, and the five answers: question -> answer, open where nothing measured it."""

    small: Overrides
    answers: Mapping[str, Answer]


def smaller(run: Run, settings: ExperimentSettings) -> Overrides:
    """A smaller model, batch and set of prompts, and fewer steps, as far as the trainer has options for them."""
    found: dict[str, Any] = {"model?": "@small_model"}
    batch, minibatch = in_force("batch_size", run, settings), in_force("minibatch_size", run, settings)
    group = in_force("group_size", run, settings) if run.trainer == "trl" else 1  # it samples whole groups
    whole = [n for n in (batch and batch / (group or 1), minibatch) if n]
    factor = next((f for f in (4, 2) if whole and all(n % f == 0 for n in whole)), 0)
    if factor:  # TRL's batch follows from its minibatch
        names = ["minibatch_size?"] if run.trainer == "trl" else ["minibatch_size?", "batch_size?"]
        found |= dict.fromkeys(names, f"/{factor}")
    if run.trainer == "trl" and hooked(run, settings) and Inputs(run).method is Method.GROUP_RELATIVE:
        return found | {"data": "few"}
    return found | {"max_prompts?": max(FEW_PROMPTS, round(batch or 0))}


def reproduce(
    run: Run, settings: ExperimentSettings, folder: Path, *, execute: conduct.Execute, **told: Callable[..., None]
) -> Reproduction:
    """Run the trials, and answer the five questions. Finished trials in this folder are not run again."""
    small, inputs, begins = smaller(run, settings), Inputs(run), start_of(run, settings, math.inf)
    watch = {"watch": "reward process"} if hooked(run, settings) and inputs.policy is Policy.TEXT else {}
    learning = _design("learns", {**small, **watch}, [questions.rises("score"), _tells_apart, _ranks])
    still = {**small, "learning_rate": 0.0, "eval_interval?": 1}
    evaluating = _design("evaluates", still, [questions.jumps("eval_score")])
    frozen = {"policy": "frozen"} if hooked(run, settings) else {"learning_rate": 0.0, "value_learning_rate": "x1"}
    critic = _design("values", {**small, **frozen}, [questions.rises("value_explained_variance")])

    def answers(design: Design, lacking: str = "") -> list[Answer]:
        if lacking:
            return [Answer(yes=None, reason=lacking)] * len(design.questions)
        try:
            done = conduct.conduct(design, run, settings, folder / "reproduce", execute=execute, begins=begins, **told)
        except CannotOverride as error:
            return [Answer(yes=None, reason=str(error))] * len(design.questions)
        return [a if not done.failure else replace(a, reason=done.failure) for a in done.answers]

    learns, tells, ranks = answers(learning)
    if not watch:
        why = "the hooks score known answers for TRL's GRPO and RLOO only; `firstbreak check reward` scores them here"
        text = inputs.policy is Policy.TEXT
        tells = Answer(
            yes=None, reason=why if text else "no texts to score; `firstbreak check env` looks at the rewards"
        )
    if inputs.method is not Method.GROUP_RELATIVE:
        ranks = Answer(yes=None, reason="the method has no groups of completions of a prompt")
    (jumps,) = answers(evaluating, "" if inputs.eval_score is not None else "the run logs no evaluation")
    stable = replace(jumps, yes=None if jumps.yes is None else not jumps.yes)
    has_critic = inputs.method is Method.ACTOR_CRITIC
    (fits,) = answers(critic, "" if has_critic else "the method has no value function")
    told_of = {
        "Does it learn under simple settings?": learns,
        "Does the reward tell good from bad?": tells,
        "Is the evaluation stable?": stable,
        "Does the value function fit fixed rollouts?": fits,
        "Is the ranking within a prompt reasonable?": ranks,
    }
    values = resolve(applicable(small, run, settings), run, settings)
    return Reproduction(small={**length(learning, run, settings), **values}, answers=told_of)


def _design(name: str, overrides: Overrides, asked: list[questions.Asked]) -> Design:
    """A trial of the reproduction, a tenth of the run long."""
    base = catalogue()["scaled-down"]
    return replace(base, id=name, overrides=overrides, questions=tuple(Question(asks=name, answer=a) for a in asked))


def _right_earns_more(mean: Mapping[str, float]) -> bool:
    return mean["right"] > max(mean["other"], mean["empty"]) + 0.02


_tells_apart = questions.watched(_right_earns_more, "right", "other", "empty")


def _ranks(arms: Arms) -> Answer:
    seen = arms.watched("ranked")
    if not len(seen):
        none = "no prompt got right and other answers, or the data set holds no right answers, or no hooks compare them"
        return Answer(yes=None, reason=none)
    mean = float(seen.mean())
    said = f"a right answer gets more than another one to its prompt in {percent(mean)} of the pairs"
    return Answer(yes=mean > MOSTLY if arms.ended else None, reason=said, n=len(seen))
