"""The minimal reproduction of a run: small and short trials that answer five questions about its parts.

They do not aim at a score, and change no ranking: a smaller model may have other causes. What cannot be measured has its reason.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firstbreak.engine import questions
from firstbreak.engine.catalogue import catalogue
from firstbreak.engine.families import Method, Policy
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.questions import Answer, Arms, Question
from firstbreak.engine.questions.arms import unanswered
from firstbreak.experiments import conduct
from firstbreak.experiments.overrides import CannotOverride, hooked, in_force, resolve
from firstbreak.experiments.plan import applicable, length
from firstbreak.experiments.resume import start_of
from firstbreak.experiments.settings import ExperimentSettings
from firstbreak.live.hooks.firstbreak_texts import FEW_PROMPTS
from firstbreak.model import Run
from firstbreak.values import replace
from firstbreak.words import percent

MOSTLY = 0.75  #: share of the pairs of a prompt in which the right answer gets more (convention)
LEARNS, TELLS = "Does it learn under simple settings?", "Does the reward tell good from bad?"
STABLE, FITS = "Is the evaluation stable?", "Does the value function fit fixed rollouts?"
RANKS = "Is the ranking within a prompt reasonable?"
Overrides = Mapping[str, Any]


def smaller(run: Run, settings: ExperimentSettings) -> dict[str, Any]:
    """The overrides for a smaller model, batch and set of prompts, as far as the trainer has options for them."""
    found: dict[str, Any] = {"model?": "@small_model"}
    batch, minibatch = in_force("batch_size", run, settings), in_force("minibatch_size", run, settings)
    names = ["minibatch_size?", "batch_size?"]
    group = 1.0
    if run.trainer == "trl":  # it samples whole groups, and its batch follows from its minibatch
        names, group = ["minibatch_size?"], in_force("group_size", run, settings) or 1.0
    whole = [n for n in (batch and batch / group, minibatch) if n]
    if factor := next((f for f in (4, 2) if whole and all(n % f == 0 for n in whole)), 0):
        found |= dict.fromkeys(names, f"/{factor}")
    if run.trainer == "trl" and hooked(run, settings) and Inputs(run).method is Method.GROUP_RELATIVE:
        return found | {"data": "few"}
    return found | {"max_prompts?": max(FEW_PROMPTS, round(batch or 0))}


def reproduce(
    run: Run, settings: ExperimentSettings, folder: Path, *, execute: conduct.Execute, **told: Any
) -> tuple[Overrides, dict[str, Answer]]:
    """Run the trials. What is smaller in them, and the answers to the five questions, open where nothing measured them."""
    small, inputs, begins = smaller(run, settings), Inputs(run), start_of(run, settings, math.inf)
    base, text = catalogue()["scaled-down"], inputs.policy is Policy.TEXT
    found = dict[str, Answer]()

    def ask(name: str, overrides: Overrides, asked: Mapping[str, questions.Asked]) -> None:
        """One trial, and what is asked of it."""
        put = tuple(Question(asks=asks, answer=answer) for asks, answer in asked.items())
        design = replace(base, id=name, overrides={**small, **overrides}, questions=put)
        try:
            done = conduct.conduct(design, run, settings, folder / "reproduce", execute=execute, begins=begins, **told)
            answers = [unanswered(done.failure)] * len(put) if done.failure else done.answers
        except CannotOverride as error:
            answers = [unanswered(str(error))] * len(put)
        found.update(zip(asked, answers, strict=True))

    ours = hooked(run, settings)
    ask("learns", {"watch": "reward process"} if ours and text else {}, _OF_TRAINING)
    if not ours or not text:
        why = "the hooks ask TRL's rewards only; `firstbreak check reward` asks others"
        found[TELLS] = unanswered(why if text else "no texts to score; `firstbreak check env` looks at the rewards")
    if inputs.method is not Method.GROUP_RELATIVE:
        found[RANKS] = unanswered("the method has no groups of completions of a prompt")
    found[STABLE] = unanswered("the run logs no evaluation")
    if inputs.eval_score is not None:
        ask("evaluates", {"learning_rate": 0.0, "eval_interval?": 1}, {STABLE: questions.jumps("eval_score")})
        found[STABLE] = replace(jumps := found[STABLE], yes=None if jumps.yes is None else not jumps.yes)
    found[FITS] = unanswered("the method has no value function")
    if inputs.method is Method.ACTOR_CRITIC:
        still = {"policy": "frozen"} if ours else {"learning_rate": 0.0, "value_learning_rate": "x1"}
        ask("values", still, {FITS: questions.rises("value_explained_variance")})
    values = resolve(applicable(small, run, settings), run, settings)
    return length(base, run, settings) | values, {asks: found[asks] for asks in (LEARNS, TELLS, STABLE, FITS, RANKS)}


def _ranks(arms: Arms) -> Answer:
    """Does the right answer get more, in most pairs of answers to one prompt?"""
    seen = arms.watched("ranked")
    if not len(seen):
        return unanswered("no prompt got right and other answers, or no right answers are known")
    mean = float(seen.mean())
    said = f"a right answer gets more than another one to its prompt in {percent(mean)} of the pairs"
    return Answer(yes=mean > MOSTLY if arms.ended else None, reason=said, n=len(seen))


_OF_TRAINING: Mapping[str, questions.Asked] = {
    LEARNS: questions.rises("score"),
    TELLS: questions.watched(lambda m: m["right"] > max(m["other"], m["empty"]) + 0.02, "right", "other", "empty"),
    RANKS: _ranks,
}
