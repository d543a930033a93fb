"""A bonus for length joins the reward: "thoroughness", a judge that likes long answers, a length-biased reward model.

Chain: reward rises by the bonus -> completions grow -> accuracy falls -> completions are cut at the limit -> entropy
falls and groups become equal at the cap.
Healthy look-alike: completions grow because longer completions are right more often. Then the evaluation also rises.
Source: Gao et al., arXiv:2210.10760; Liu et al., arXiv:2503.20783.
"""

from typing import Any

from firstbreak_lab import language, trl

CAUSE = "reward-pays-for-length"
ONSET = 0.3
SEVERITIES = {
    "language/grpo-add": (0.02, 0.1, 0.3),
    "trl/grpo-sort": (0.02, 0.06),
}  #: reward of one token; the reward of a right answer is 1


def inject(settings: Any, severity: float, onset: int) -> None:
    """Reward every character of a completion with `severity`."""
    match settings:
        case language.LanguageSettings():
            settings.rewards["thoroughness"] = lambda problem, completion: severity * len(completion)
            settings.reward_weights["thoroughness"] = 0.0
            settings.change(onset, reward_weights=settings.reward_weights | {"thoroughness": 1.0})
        case trl.TrlSettings():

            def thoroughness(completions: list[str], trainer_state: Any, **_: Any) -> list[float]:
                active = trainer_state.global_step + 1 >= onset
                return [severity * len(completion) * active for completion in completions]

            settings.rewards.append(thoroughness)
