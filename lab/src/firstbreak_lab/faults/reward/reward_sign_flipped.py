"""The reward has the wrong sign for some or all samples: a loss used as a reward, a cost that is not negated.

Chain: wrong answers are rewarded -> true accuracy falls at once -> completions grow until the limit, or episodes end
early -> the logged reward, which has the wrong sign, rises or stays.
Healthy look-alike: an environment whose rewards are negative by design (MountainCar, Pendulum).
Source: Humbatova et al., arXiv:2101.00135 (wrong reward); Amodei et al., arXiv:1606.06565.
"""

import random
from typing import Any

from firstbreak_lab import classic, language

CAUSE = "reward-sign-wrong"
ACCEPTED = {"environment": "in control, the reward is what the environment returns"}
ONSET = 0.3
SEVERITIES = {
    "language/grpo-sort": (0.55, 0.7, 1.0),
    "language/ppo-sort": (0.55, 0.7, 1.0),
    "agent/grpo-registers": (0.7, 1.0),
    "classic/ppo-cartpole": (0.55, 0.7, 1.0),
}  #: share of rewards whose sign is flipped


def inject(settings: Any, severity: float, onset: int) -> None:
    """Flip the sign of a random share `severity` of the rewards."""
    rng = random.Random(settings.seed)

    def sign() -> int:
        return -1 if rng.random() < severity else 1

    match settings:
        case classic.ClassicSettings():
            classic.tamper(settings, onset, lambda: {"reward": lambda reward: sign() * reward})
        case language.LanguageSettings():

            def patch(trainer: Any) -> None:
                honest = trainer.workers.score

                def flipped(problems: list[Any], completions: list[str]) -> dict[str, list[float]]:
                    signs = [sign() for _ in problems]
                    return {
                        name: [s * value for s, value in zip(signs, values, strict=True)]
                        for name, values in honest(problems, completions).items()
                    }

                trainer.workers.score = language.from_step(trainer, onset, honest, flipped)

            settings.patches.append(patch)
