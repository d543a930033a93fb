"""A real run of skrl, as short as can be."""

import subprocess
import sys
from pathlib import Path

import pytest

from firstbreak import read

TRAIN = """if True:
    import sys, gymnasium, torch
    torch.set_num_threads(1)
    from skrl.agents.torch.ppo import PPO, PPO_CFG
    from skrl.envs.wrappers.torch import wrap_env
    from skrl.memories.torch import RandomMemory
    from skrl.models.torch import CategoricalMixin, DeterministicMixin, Model
    from skrl.trainers.torch import SequentialTrainer

    env = wrap_env(gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync"), verbose=False)
    spaces = dict(observation_space=env.observation_space, action_space=env.action_space, device="cpu")

    class Policy(CategoricalMixin, Model):
        def __init__(self):
            Model.__init__(self, **spaces)
            CategoricalMixin.__init__(self)
            self.net = torch.nn.Linear(self.num_observations, self.num_actions)

        def compute(self, inputs, role=""):
            return self.net(inputs["observations"]), {}

    class Value(DeterministicMixin, Model):
        def __init__(self):
            Model.__init__(self, **spaces)
            DeterministicMixin.__init__(self)
            self.net = torch.nn.Linear(self.num_observations, 1)

        def compute(self, inputs, role=""):
            return self.net(inputs["observations"]), {}

    cfg = PPO_CFG(rollouts=32, entropy_loss_scale=0.01)
    cfg.experiment.directory, cfg.experiment.write_interval, cfg.experiment.checkpoint_interval = sys.argv[1], 32, 0
    memory = RandomMemory(memory_size=32, num_envs=2, device="cpu")
    agent = PPO(models={"policy": Policy(), "value": Value()}, memory=memory, cfg=cfg, **spaces)
    trainer = {"timesteps": 320, "headless": True, "disable_progressbar": True}
    SequentialTrainer(env=env, agents=agent, cfg=trainer).train()
"""


@pytest.mark.trainer
def test_a_real_run_of_skrl(tmp_path: Path) -> None:
    pytest.importorskip("skrl")
    subprocess.run([sys.executable, "-c", TRAIN, tmp_path], check=True, capture_output=True)
    run = read(tmp_path)
    assert (run.trainer, run.algorithm) == ("skrl", "ppo")
    assert not run.unknown
    assert {"reward.mean", "reward.step.mean", "episode.length", "policy.loss", "value.loss"} <= run.series.keys()
    assert run.series["entropy.loss"].values.max() < 0  # minus weight times entropy
    assert run.last_step == 320
