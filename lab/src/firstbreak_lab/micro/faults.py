"""The faults of the micro-lab: where each acts in the loop, how strong it is drawn, and which other links are accepted.

The mechanism stands in the algorithm, at the line that asks `broken("<fault>")`. A fault that the lab of real trainers has
too has the same name there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from firstbreak.model import Link

GRPO, PPO, DQN, DPO = "grpo", "ppo", "dqn", "dpo"
TOKENS, STATES, SAMPLED, ALL = (GRPO, DPO), (PPO, DQN), (GRPO, PPO), (GRPO, PPO, DQN, DPO)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault. Its severity is drawn between two bounds, evenly on a logarithmic scale; its unit is in `unit`."""

    name: str
    link: Link
    where: tuple[str, ...]  #: algorithms
    severity: tuple[float, float]
    unit: str
    accepted: tuple[Link, ...] = ()  #: links that a practitioner would accept as well
    why: str = ""  #: why they are accepted
    whole: bool = False  #: the severity is a whole number
    from_start: bool = False  #: a setting, which is wrong from the first step on

    def drawn(self, rng: np.random.Generator) -> tuple[float, float]:
        """A severity, and an onset as a share of the run."""
        low, high = np.log(self.severity)
        severity = float(np.exp(rng.uniform(low, high)))
        onset = float(rng.uniform(0.0, 0.8))
        return (float(round(severity)) if self.whole else severity), 0.0 if self.from_start else onset


ENVIRONMENT, EVALUATION, ROLLOUT, REWARD, ADVANTAGE, POLICY_UPDATE, EXPLORATION, FRESHNESS, NUMERICS, SYSTEMS = Link


def _fault(
    name: str,
    link: Link,
    where: tuple[str, ...],
    severity: tuple[float, float],
    unit: str,
    accepted: tuple[Link, ...] = (),
    why: str = "",
    *,
    whole: bool = False,
    from_start: bool = False,
) -> Fault:
    return Fault(
        name=name, link=link, where=where, severity=severity, unit=unit, accepted=accepted, why=why, whole=whole,
        from_start=from_start,
    )  # fmt: skip


_SHARE, _ON = (0.5, 1.0), (1.0, 1.0)

FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        fault.name: fault
        for fault in (
            _fault("prompts-narrow", ENVIRONMENT, TOKENS, (1, 3), "prompts", (EVALUATION, POLICY_UPDATE),
                   "training is learned by heart while the evaluation stays", whole=True),
            _fault("template-wrong", ENVIRONMENT, (GRPO,), (0.3, 0.9), "share of the features that are missing",
                   (EVALUATION, ROLLOUT), "training and evaluation no longer ask the same"),
            _fault("preference-labels-swapped", ENVIRONMENT, (DPO,), (0.4, 1.0), "share of the pairs", (REWARD,),
                   "the labels are the reward of DPO"),
            _fault("observations-incomplete", ENVIRONMENT, STATES, (0.3, 0.9), "share of the features that are zero",
                   (ADVANTAGE,), "the critic cannot tell states apart either"),
            _fault("observations-rescaled", ENVIRONMENT, STATES, (10, 1000), "times", (POLICY_UPDATE, NUMERICS, ADVANTAGE),
                   "every step moves the outputs as many times further, and the critic with them"),
            _fault("observations-offset", ENVIRONMENT, STATES, (3, 300), "added to every feature",
                   (POLICY_UPDATE, NUMERICS, ADVANTAGE), "as for the scale"),
            _fault("actions-replaced", ENVIRONMENT, STATES, (0.4, 1.0), "share of the actions", (ROLLOUT, POLICY_UPDATE),
                   "what was chosen is not what was done; it looks like a policy that fell"),
            _fault("dynamics-drift", ENVIRONMENT, STATES, (0.2, 0.7), "more slips", (ROLLOUT,), "actions have less effect"),
            _fault("episodes-never-end", ENVIRONMENT, STATES, _ON, "", (ROLLOUT, ADVANTAGE),
                   "no episode is finished and every value has another one behind it"),
            _fault("evaluation-elsewhere", EVALUATION, ALL, (0.3, 1.0), "share of other questions, or more slips",
                   (ENVIRONMENT,), "the two environments differ; which one is wrong is not logged"),
            _fault("protocol-changed", EVALUATION, (GRPO,), (1.5, 3.0), "temperature of the evaluation"),
            _fault("stale-weights", EVALUATION, ALL, _ON, "", (FRESHNESS,), "the evaluated weights are old"),
            _fault("length-limit-too-short", ROLLOUT, (GRPO,), (1, 3), "tokens", whole=True),
            _fault("eos-blocked", ROLLOUT, (GRPO,), (2, 20), "subtracted from the logit of EOS", (REWARD,),
                   "no completion ends, so none is rewarded"),
            _fault("temperature-not-in-logprob", ROLLOUT, (GRPO,), (0.3, 0.8), "temperature of the engine",
                   (FRESHNESS, EXPLORATION), "engine and trainer differ, and samples are colder"),
            _fault("top-p-truncated", ROLLOUT, (GRPO,), (0.4, 0.95), "share of the best token that is cut off",
                   (EXPLORATION, FRESHNESS), "fewer tokens are tried than the trainer assumes"),
            _fault("samples-alike", ROLLOUT, (GRPO, PPO, DQN), (2, 8), "copies", (ADVANTAGE, EXPLORATION),
                   "equal samples carry no comparison and little variety", whole=True),
            _fault("reward-sign-flipped", REWARD, (GRPO, PPO, DQN), _SHARE, "share of the rewards", (ADVANTAGE,),
                   "a wrong sign further on has the same effect"),
            _fault("reward-constant", REWARD, (GRPO, PPO, DQN), _ON, "", (ADVANTAGE,), "no comparison is left"),
            _fault("errors-count-as-success", REWARD, (GRPO,), (0.6, 1.0), "share of the verdicts", (ADVANTAGE, EVALUATION),
                   "a saturated reward leaves groups without spread, and disagrees with the evaluation"),
            _fault("reward-missing", REWARD, (GRPO,), (0.2, 0.9), "share of the steps", (NUMERICS,), "NaN in the reward"),
            _fault("verdicts-noisy", REWARD, (GRPO, PPO, DQN), (0.25, 1.0), "share of the verdicts, or noise",
                   (ADVANTAGE,), "the signal drowns before it reaches the policy"),
            _fault("answers-misaligned", REWARD, (GRPO,), (0.4, 1.0), "share of the prompts", (ENVIRONMENT,),
                   "answers belong to the data"),
            _fault("verifier-exploited", REWARD, (GRPO,), (0.6, 2.0), "reward of one first token", (EVALUATION,),
                   "the training reward and the evaluation part"),
            _fault("pays-for-length", REWARD, (GRPO,), (0.5, 4.0), "reward of the longest completion", (ROLLOUT,),
                   "completions grow to their limit"),
            _fault("pays-for-form", REWARD, (GRPO,), (0.5, 4.0), "reward of a word", (POLICY_UPDATE,),
                   "the policy follows one component"),
            _fault("scale-too-large", REWARD, STATES, (30, 3000), "times", (ADVANTAGE, NUMERICS),
                   "the critic's errors grow as much"),
            _fault("advantage-sign-flipped", ADVANTAGE, SAMPLED, _SHARE, "share", (REWARD, POLICY_UPDATE),
                   "the policy moves away from reward; the curves do not say at which sign"),
            _fault("groups-mixed", ADVANTAGE, (GRPO,), _ON, "", (REWARD,), "the comparison is with other prompts"),
            _fault("baseline-missing", ADVANTAGE, SAMPLED, (0.5, 1.0), "share of the baseline"),
            _fault("padding-in-loss", ADVANTAGE, TOKENS, _ON, "", (POLICY_UPDATE, NUMERICS),
                   "a mask is part of the loss"),
            _fault("critic-not-trained", ADVANTAGE, (PPO,), _ON, ""),
            _fault("critic-target-wrong", ADVANTAGE, STATES, _ON, ""),
            _fault("done-mask-ignored", ADVANTAGE, STATES, _ON, "", (ENVIRONMENT,), "the ends of episodes are lost"),
            _fault("horizon-too-short", ADVANTAGE, STATES, (0.1, 0.7), "discount", from_start=True),
            _fault("target-never-updated", ADVANTAGE, (DQN,), _ON, "", (FRESHNESS, POLICY_UPDATE),
                   "an old network gives the targets"),
            _fault("learning-rate-too-high", POLICY_UPDATE, ALL, (10, 300), "times", (NUMERICS,), "numbers explode"),
            _fault("updates-do-nothing", POLICY_UPDATE, ALL, (1e-5, 1e-2), "times the learning rate", (NUMERICS,),
                   "steps that are lost in rounding look the same"),
            _fault("kl-penalty-too-strong", POLICY_UPDATE, TOKENS, (3, 100), "added to beta, or times beta"),
            _fault("beta-too-small", POLICY_UPDATE, (DPO,), (1e-4, 1e-2), "times beta", from_start=True),
            _fault("no-clipping", POLICY_UPDATE, SAMPLED, (4, 16), "times as many updates of one batch",
                   (FRESHNESS,), "the batch is old after the first of them", whole=True),
            _fault("old-log-probabilities-recomputed", POLICY_UPDATE, SAMPLED, _ON, "", (FRESHNESS,),
                   "the ratio no longer says how far the policy has moved"),
            _fault("chosen-left-out", POLICY_UPDATE, (DPO,), (0.7, 2.0), "share of the push", (ADVANTAGE, ENVIRONMENT),
                   "half of the pair is masked or wrong"),
            _fault("reference-follows", POLICY_UPDATE, (DPO,), _ON, "", (FRESHNESS,), "the reference is not the one meant"),
            _fault("entropy-bonus-too-strong", EXPLORATION, SAMPLED, (0.3, 10), "coefficient", (POLICY_UPDATE,),
                   "the bonus is a part of the loss"),
            _fault("entropy-penalised", EXPLORATION, SAMPLED, (0.1, 3), "coefficient", (POLICY_UPDATE,),
                   "as for the bonus"),
            _fault("temperature-too-low", EXPLORATION, (GRPO,), (0.05, 0.4), "temperature of the engine",
                   (ROLLOUT, FRESHNESS), "temperature is a setting of the rollout; engine and trainer differ"),
            _fault("acts-greedily", EXPLORATION, (PPO,), _ON, "", (ROLLOUT, FRESHNESS), "what acts is not the policy"),
            _fault("epsilon-zero", EXPLORATION, (DQN,), _ON, "", (ROLLOUT,), "actions are chosen in the rollout",
                   from_start=True),
            _fault("epsilon-never-falls", EXPLORATION, (DQN,), (0.6, 1.0), "epsilon", (ROLLOUT,), "as for epsilon 0",
                   from_start=True),
            _fault("rollouts-too-old", FRESHNESS, SAMPLED, (4, 32), "updates", (POLICY_UPDATE,),
                   "the ratio is not 1 where the update begins", whole=True),
            _fault("weights-not-delivered", FRESHNESS, SAMPLED, _ON, "", (ROLLOUT,), "the actor does not change"),
            _fault("engine-quantised", FRESHNESS, (GRPO,), (2, 4), "bits", (ROLLOUT, NUMERICS),
                   "precision of the engine", whole=True),
            _fault("dropout-on", FRESHNESS, (GRPO,), (0.1, 0.6), "share", (POLICY_UPDATE, ROLLOUT),
                   "the updated policy is not the one that sampled; many set dropout beside the optimiser"),
            _fault("buffer-too-small", FRESHNESS, (DQN,), (8, 64), "transitions", (ROLLOUT, ADVANTAGE, EXPLORATION),
                   "few and equal transitions: variety and targets suffer", whole=True, from_start=True),
            _fault("buffer-frozen", FRESHNESS, (DQN,), _ON, "", (ROLLOUT,), "new data do not arrive"),
            _fault("updates-rounded-away", NUMERICS, ALL, (2, 6), "bits of mantissa", (POLICY_UPDATE,),
                   "small steps do nothing", whole=True),
            _fault("gradients-not-finite", NUMERICS, ALL, (1e4, 1e8), "scale of the loss", (POLICY_UPDATE,),
                   "steps are left out"),
            _fault("rollout-worker-slow", SYSTEMS, (GRPO, PPO, DQN), (1.5, 6), "times as long"),
        )
    }
)  # fmt: skip
