"""SAC on Pendulum. python absl_sac.py --learning_rate=1e-3"""

from absl import app, flags
from stable_baselines3 import SAC
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import configure

FLAGS = flags.FLAGS
flags.DEFINE_string("env_name", "Pendulum-v1", "Gym environment.")
flags.DEFINE_string("save_dir", "exp/sac", "Where logs and models go.")
flags.DEFINE_integer("seed", 42, "Random seed.")
flags.DEFINE_integer("max_steps", 2000, "Environment steps.")
flags.DEFINE_float("learning_rate", 1e-3, "Learning rate of actor and critic.")
flags.DEFINE_float("discount", 0.99, "Discount.")
flags.DEFINE_float("tau", 0.005, "Target network update rate.")
flags.DEFINE_integer("batch_size", 64, "Mini-batch size.")


def main(_):
    env = make_vec_env(FLAGS.env_name, n_envs=1, seed=FLAGS.seed)
    model = SAC(
        "MlpPolicy",
        env,
        learning_rate=FLAGS.learning_rate,
        gamma=FLAGS.discount,
        tau=FLAGS.tau,
        batch_size=FLAGS.batch_size,
        learning_starts=200,
        seed=FLAGS.seed,
        device="cpu",
        policy_kwargs=dict(net_arch=[32, 32]),
    )
    model.set_logger(configure(FLAGS.save_dir, ["tensorboard"]))
    model.learn(FLAGS.max_steps, log_interval=1)
    model.save(f"{FLAGS.save_dir}/model")


if __name__ == "__main__":
    app.run(main)
