"""A bonus for length joins the reward: "thoroughness", a judge that likes long answers, a length-biased reward model.

Chain: reward rises by the bonus -> completions grow -> accuracy falls -> completions are cut at the limit -> entropy
falls and groups become equal at the cap.
Healthy look-alike: completions grow because longer ones are right more often; then the evaluation rises with them.
Source: Gao et al., arXiv:2210.10760; Liu et al., arXiv:2503.20783.
"""

from __future__ import annotations

from typing import Any

from firstbreak.lab import language, trl

CAUSE = "reward-pays-for-length"
ONSET = 0.3
SEVERITIES = {
    "language/grpo-add": (0.02, 0.1, 0.3),
    "trl/grpo-sort": (0.02, 0.06),
}  #: reward of one token; a right answer earns 1


def inject(settings: Any, severity: float, onset: int) -> None:
    """Pay `severity` for every character of a completion."""
    match settings:
        case language.Settings():
            settings.rewards["thoroughness"] = lambda problem, completion: severity * len(completion)
            settings.reward_weights["thoroughness"] = 0.0
            settings.change(onset, reward_weights=settings.reward_weights | {"thoroughness": 1.0})
        case trl.Settings():

            def thoroughness(completions: list[str], trainer_state: Any, **_: Any) -> list[float]:
                pays = trainer_state.global_step + 1 >= onset
                return [severity * len(completion) * pays for completion in completions]

            settings.rewards.append(thoroughness)
