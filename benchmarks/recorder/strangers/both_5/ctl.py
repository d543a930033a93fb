"""PPO in CleanRL's style on CartPole. usage: ctl.py NAME"""
import json, os, random, sys, time
from collections import deque
import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
from gymnasium.vector import AutoresetMode
from torch.distributions.categorical import Categorical
from torch.utils.tensorboard import SummaryWriter
import firstbreak

torch.set_num_threads(1)
NAME = sys.argv[1]
DIR = f"runs/{NAME}"
os.makedirs(DIR, exist_ok=True)


class args:
    pass


ARGS = dict(env_id="CartPole-v1", seed=1, num_iterations=64, num_envs=8, num_steps=128, learning_rate=1e-3, anneal_lr=True,
            gamma=0.99, gae_lambda=0.95, num_minibatches=4, update_epochs=4, norm_adv=True, clip_coef=0.2, clip_vloss=False,
            ent_coef=0.01, vf_coef=0.5, max_grad_norm=0.5, target_kl=None, hidden=64, activation="tanh", optimizer="adam",
            norm_reward=False, obs_norm=False, bootstrap_time_limits=False, target_entropy=None)
ARGS.update({
    "ct_center": dict(norm_reward=True),
    "ct_alpha": dict(target_entropy=0.3),
    "ct_a2c": dict(num_steps=16, num_envs=16, num_iterations=300, num_minibatches=1, update_epochs=1, norm_adv=False, learning_rate=3e-3,
                   gae_lambda=1.0, optimizer="rmsprop", clip_coef=10.0),
    "ct_mc": dict(gae_lambda=1.0, norm_adv=False, anneal_lr=False, activation="relu", learning_rate=7e-4, hidden=128, clip_vloss=True),
    "ct_timelimit": dict(bootstrap_time_limits=True, num_minibatches=8, ent_coef=0.005),
    "ct_obsnorm": dict(obs_norm=True, target_kl=0.02, update_epochs=8),
}.get(NAME, {}))
for k, v in ARGS.items():
    setattr(args, k, v)
json.dump(ARGS, open(f"{DIR}/config.json", "w"), indent=1)
random.seed(args.seed); np.random.seed(args.seed); torch.manual_seed(args.seed)


class Scale(gym.ObservationWrapper):
    """observations of about unit size"""
    def __init__(self, env):
        super().__init__(env)
        if NAME == "ct_obs":
            self.scale = env.observation_space.high
        else:
            self.scale = np.array([2.4, 2.0, 0.21, 2.0], np.float32)
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (4,), np.float32)

    def observation(self, obs):
        return (obs / self.scale).astype(np.float32)


def make_env():
    return Scale(gym.wrappers.RecordEpisodeStatistics(gym.make(args.env_id)))


def layer_init(layer, std=np.sqrt(2)):
    nn.init.orthogonal_(layer.weight, std); nn.init.constant_(layer.bias, 0.0)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        act, h = (nn.Tanh if args.activation == "tanh" else nn.ReLU), args.hidden
        self.critic = nn.Sequential(layer_init(nn.Linear(4, h)), act(), layer_init(nn.Linear(h, h)), act(), layer_init(nn.Linear(h, 1), 1.0))
        self.actor = nn.Sequential(layer_init(nn.Linear(4, h)), act(), layer_init(nn.Linear(h, h)), act(), layer_init(nn.Linear(h, 2), 0.01))

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


class RunningNorm(gym.vector.VectorWrapper):
    """observations with mean 0 and variance 1, as far as is known"""
    def __init__(self, envs):
        super().__init__(envs)
        self.count, self.mean, self.m2 = 1e-4, np.zeros(4), np.ones(4) * 1e-4

    def reset(self, **kw):
        obs, info = self.env.reset(**kw)
        return self.observations(obs), info

    def step(self, actions):
        obs, *rest = self.env.step(actions)
        return self.observations(obs), *rest

    def norm(self, obs):
        return np.clip((obs - self.mean) / np.sqrt(self.m2 / self.count + 1e-8), -10, 10).astype(np.float32)

    def observations(self, obs):
        for x in np.asarray(obs, np.float64):
            self.count += 1
            d = x - self.mean
            self.mean += d / self.count
            self.m2 += d * (x - self.mean)
        return self.norm(obs)


record = firstbreak.recorder(DIR)
envs = gym.vector.SyncVectorEnv([make_env for _ in range(args.num_envs)], autoreset_mode=AutoresetMode.SAME_STEP)
if args.obs_norm:
    envs = norm = RunningNorm(envs)
envs = record.env(envs)
agent = Agent()
if args.optimizer == "adam":
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
else:
    optimizer = torch.optim.RMSprop(agent.parameters(), lr=args.learning_rate, alpha=0.99, eps=1e-5)
record.weights(agent, optimizer)
writer = SummaryWriter(DIR)
T, n = args.num_steps, args.num_envs
batch_size = T * n
mb_size = batch_size // args.num_minibatches
log_alpha = float(np.log(args.ent_coef)) if args.target_entropy else None
ent_coef = args.ent_coef
buffers = deque(maxlen=8)       # the last rollouts
recent = deque(maxlen=20)
global_step, n_updates, t_start = 0, 0, time.time()
next_obs, _ = envs.reset(seed=args.seed)
next_obs, next_done = torch.as_tensor(next_obs, dtype=torch.float32), torch.zeros(n)

for iteration in range(1, args.num_iterations + 1):
    if args.anneal_lr:
        done_part = n_updates if NAME == "ct_anneal" else iteration - 1
        optimizer.param_groups[0]["lr"] = (1.0 - done_part / args.num_iterations) * args.learning_rate
    obs, actions = torch.zeros(T, n, 4), torch.zeros(T, n)
    logprobs, rewards, dones, values = (torch.zeros(T, n) for _ in range(4))
    for step in range(T):
        global_step += n
        obs[step], dones[step] = next_obs, next_done
        with torch.no_grad():
            if NAME == "ct_lateobs":
                action, logprob, _, value = agent.get_action_and_value(obs[step - 1])
            else:
                action, logprob, _, value = agent.get_action_and_value(next_obs)
        values[step], actions[step], logprobs[step] = value.flatten(), action, logprob
        o, r, term, trunc, info = envs.step(action.numpy())
        r = np.asarray(r, np.float32)
        if args.bootstrap_time_limits and trunc.any():
            for i in np.nonzero(trunc & ~term)[0]:
                with torch.no_grad():
                    final = torch.as_tensor(info["final_obs"][i], dtype=torch.float32)
                    r[i] += args.gamma * agent.get_value(final).item()
        rewards[step] = torch.as_tensor(r)
        next_obs = torch.as_tensor(o, dtype=torch.float32)
        next_done = torch.as_tensor(np.logical_or(term, trunc), dtype=torch.float32)
        fi = info.get("final_info")
        if fi is not None and "episode" in fi:
            for i in np.nonzero(fi["_episode"])[0]:
                recent.append((float(fi["episode"]["r"][i]), int(fi["episode"]["l"][i])))
                writer.add_scalar("charts/episodic_return", recent[-1][0], global_step)
                writer.add_scalar("charts/episodic_length", recent[-1][1], global_step)
    raw_reward_mean = rewards.mean().item()
    if args.norm_reward:
        rewards = (rewards - rewards.mean()) / (rewards.std() + 1e-8)

    with torch.no_grad():
        next_value = agent.get_value(next_obs).flatten()
        advantages = torch.zeros_like(rewards)
        last = 0
        for t in reversed(range(T)):
            nonterminal = 1.0 - (next_done if t == T - 1 else dones[t + 1])
            nextvalues = next_value if t == T - 1 else values[t + 1]
            delta = rewards[t] + args.gamma * nextvalues * nonterminal - values[t]
            advantages[t] = last = delta + args.gamma * args.gae_lambda * nonterminal * last
        returns = advantages + values

    buffers.append((obs, actions, logprobs, rewards, dones, values, next_done, next_value, advantages, returns))
    batch = buffers[0] if NAME == "ct_buffer" else buffers[-1]
    (obs, actions, logprobs, rewards, dones, values, b_next_done, b_next_value, advantages, returns) = batch
    record.transitions(global_step, rewards=rewards, values=values, dones=dones, logprobs=logprobs, actions=actions,
                       next_done=b_next_done, next_value=b_next_value, advantages=advantages, returns=returns,
                       gamma=args.gamma, gae_lambda=args.gae_lambda)
    b_obs, b_actions, b_logprobs = obs.reshape(-1, 4), actions.reshape(-1), logprobs.reshape(-1)
    b_advantages, b_returns, b_values = advantages.reshape(-1), returns.reshape(-1), values.reshape(-1)

    fresh, clipfracs, inds = True, [], np.arange(batch_size)
    for epoch in range(args.update_epochs):
        np.random.shuffle(inds)
        for s in range(0, batch_size, mb_size):
            mb = inds[s:s + mb_size]
            _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb], b_actions[mb])
            logratio = newlogprob - b_logprobs[mb]
            ratio = logratio.exp()
            newlogprob.retain_grad()
            with torch.no_grad():
                old_kl, kl = (-logratio).mean(), ((ratio - 1) - logratio).mean()
                clipfracs.append(((ratio - 1).abs() > args.clip_coef).float().mean().item())
            mb_adv = b_advantages[mb]
            if args.norm_adv:
                mb_adv = (mb_adv - mb_adv.mean()) / (mb_adv.std() + 1e-8)
            pg_loss = torch.max(-mb_adv * ratio, -mb_adv * ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)).mean()
            if NAME != "ct_vshape":
                newvalue = newvalue.view(-1)
            v_loss = (newvalue - b_returns[mb]) ** 2
            if args.clip_vloss:
                v_clipped = b_values[mb] + (newvalue - b_values[mb]).clamp(-20, 20)
                v_loss = torch.max(v_loss, (v_clipped - b_returns[mb]) ** 2)
            v_loss = 0.5 * v_loss.mean()
            ent = entropy.mean()
            if args.target_entropy:
                log_alpha = min(log_alpha + 0.02 * (ent.item() - args.target_entropy), 5.0)
                ent_coef = float(np.exp(log_alpha))
            loss = pg_loss - ent_coef * ent + args.vf_coef * v_loss
            optimizer.zero_grad()
            loss.backward()
            record.transitions(global_step, newlogprob=newlogprob, logprob=b_logprobs[mb], ratio=ratio, entropy=entropy,
                               advantages=mb_adv, gradient=newlogprob.grad, clip_coef=args.clip_coef, fresh=fresh)
            gn = nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
            optimizer.step()
            n_updates += 1
            fresh = False
        if args.target_kl is not None and kl > args.target_kl:
            break
    y, yp = b_returns.numpy(), b_values.numpy()
    ev = float("nan") if y.var() == 0 else 1 - (y - yp).var() / y.var()
    for k, v in {"charts/learning_rate": optimizer.param_groups[0]["lr"], "losses/value_loss": v_loss.item(),
                 "losses/policy_loss": pg_loss.item(), "losses/entropy": ent.item(), "losses/old_approx_kl": old_kl.item(),
                 "losses/approx_kl": kl.item(), "losses/clipfrac": float(np.mean(clipfracs)), "losses/grad_norm": float(gn),
                 "losses/explained_variance": float(ev), "losses/ent_coef": ent_coef, "charts/reward_mean": raw_reward_mean,
                 "losses/returns_mean": float(y.mean()), "losses/advantages_mean": b_advantages.mean().item(),
                 "losses/advantages_std": b_advantages.std().item(), "losses/values_mean": float(yp.mean()),
                 "charts/SPS": global_step / (time.time() - t_start)}.items():
        writer.add_scalar(k, v, global_step)
    if recent:
        writer.add_scalar("charts/mean_return_20", np.mean([x[0] for x in recent]), global_step)
writer.close()
envs.close()


@torch.no_grad()
def evaluate(greedy, episodes=16):
    out = []
    for e in range(episodes):
        env = make_env()
        o, _ = env.reset(seed=10_000 + e)
        total, end = 0.0, False
        while not end:
            x = torch.as_tensor(norm.norm(o) if args.obs_norm else o, dtype=torch.float32)
            logits = agent.actor(x)
            a = logits.argmax() if greedy else Categorical(logits=logits).sample()
            o, r, term, trunc, _ = env.step(int(a))
            total += r
            end = term or trunc
        out.append(total)
    return float(np.mean(out))


res = dict(seconds=time.time() - t_start, greedy=evaluate(True), sampled=evaluate(False), steps=global_step)
print(NAME, {k: round(v, 3) for k, v in res.items()})
json.dump(res, open(f"evals/{NAME}.json", "w"))
