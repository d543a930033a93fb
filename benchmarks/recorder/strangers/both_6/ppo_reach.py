"""PPO in one file (CleanRL's style) on a small environment: walk to the goal on a 7x7 board. ppo_reach.py RUN_NAME [FAULT]"""
import sys, time, dataclasses, json, os
import numpy as np, torch, torch.nn as nn, gymnasium as gym
from torch.distributions import Categorical
from torch.utils.tensorboard import SummaryWriter
import firstbreak
torch.set_num_threads(1)
run_name, fault = sys.argv[1], (sys.argv[2] if len(sys.argv) > 2 else "none")

@dataclasses.dataclass
class Args:
    seed: int = 1
    total_timesteps: int = 49152
    learning_rate: float = 1e-3
    num_envs: int = 8
    num_steps: int = 128
    anneal_lr: bool = True
    gamma: float = 0.97
    gae_lambda: float = 0.95
    num_minibatches: int = 4
    update_epochs: int = 4
    clip_coef: float = 0.2
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
args = Args()
if fault == "entropy": args.ent_coef = 1.0      # meant as the start of a schedule that was never written

class Board(gym.Env):
    def __init__(self, stale=False):
        self.observation_space = gym.spaces.Box(-1, 1, (4,), np.float32)
        self.action_space = gym.spaces.Discrete(4)
        self.stale = stale
    def _obs(self):
        if self.stale:      # the goal that is drawn at the reset comes into the observation one episode late
            return np.concatenate([self.pos / 3 - 1, self.shown / 3 - 1]).astype(np.float32)
        return np.concatenate([self.pos / 3 - 1, self.goal / 3 - 1]).astype(np.float32)
    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.shown = getattr(self, "goal", np.array([3, 3]))
        self.pos = self.np_random.integers(0, 7, 2)
        while True:
            self.goal = self.np_random.integers(0, 7, 2)
            if not (self.goal == self.pos).all(): break
        self.t = 0
        return self._obs(), {}
    def step(self, a):
        self.pos = np.clip(self.pos + np.array([(0, 1), (0, -1), (1, 0), (-1, 0)][int(a)]), 0, 6)
        self.t += 1
        done = bool((self.pos == self.goal).all())
        return self._obs(), (1.0 if done else -0.02), done, self.t >= 30, {}

def make(): return gym.wrappers.RecordEpisodeStatistics(Board(stale=fault == "stale_goal"))
class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
        self.actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 4))
    def get_value(self, x): return self.critic(x)
    def get_action_and_value(self, x, a=None):
        d = Categorical(logits=self.actor(x))
        a = d.sample() if a is None else a
        return a, d.log_prob(a), d.entropy(), self.critic(x)

def evaluate(agent, n=60):
    env, wins, rets = Board(stale=fault == "stale_goal"), 0, []
    g = torch.Generator().manual_seed(0)
    o, _ = env.reset(seed=1000)
    for i in range(n):
        R, d, tr = 0.0, False, False
        while not (d or tr):
            with torch.no_grad(): p = torch.softmax(agent.actor(torch.tensor(o)), -1)
            o, r, d, tr, _ = env.step(torch.multinomial(p, 1, generator=g).item()); R += r
        wins += d; rets.append(R); o, _ = env.reset()
    return wins / n, float(np.mean(rets))

torch.manual_seed(args.seed); np.random.seed(args.seed)
os.makedirs(run_name, exist_ok=True)
writer = SummaryWriter(run_name)
writer.add_text("hyperparameters", "|param|value|\n|-|-|\n" + "\n".join(f"|{k}|{v}|" for k, v in vars(args).items()))
record = firstbreak.recorder(run_name)
envs = gym.vector.SyncVectorEnv([make for _ in range(args.num_envs)], autoreset_mode=gym.vector.AutoresetMode.SAME_STEP)
envs = record.env(envs)
agent = Agent()
actor_copy = Agent(); actor_copy.load_state_dict(agent.state_dict())     # what the workers use
optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
T, N = args.num_steps, args.num_envs
obs = torch.zeros(T, N, 4); actions = torch.zeros(T, N, dtype=torch.long)
logprobs, rewards, dones, values = (torch.zeros(T, N) for _ in range(4))
global_step, start = 0, time.time()
next_obs, _ = envs.reset(seed=args.seed); next_obs = torch.tensor(next_obs); next_done = torch.zeros(N)
batch = T * N; num_iterations = args.total_timesteps // batch
history = []
for iteration in range(1, num_iterations + 1):
    if args.anneal_lr:
        frac = 1.0 - (iteration - 1.0) / num_iterations
        if fault == "anneal": frac = 1.0 - global_step / (args.total_timesteps // N)     # total per environment, steps over all
        optimizer.param_groups[0]["lr"] = frac * args.learning_rate
    if fault != "stale_actor": actor_copy.load_state_dict(agent.state_dict())
    elif iteration == 1: pass                                                    # the sync is under the wrong `if`
    for step in range(T):
        global_step += N
        obs[step], dones[step] = next_obs, next_done
        with torch.no_grad():
            a, lp, _, _ = actor_copy.get_action_and_value(next_obs)
            values[step] = agent.get_value(next_obs).flatten()
        actions[step], logprobs[step] = a, lp
        next_obs, r, term, trunc, info = envs.step(a.numpy())
        rewards[step] = torch.tensor(r, dtype=torch.float32)
        next_obs, next_done = torch.tensor(next_obs), torch.tensor(np.logical_or(term, trunc), dtype=torch.float32)
        fi = info.get("final_info", info)
        if "episode" in fi:
            m = fi["_episode"]
            writer.add_scalar("charts/episodic_return", float(fi["episode"]["r"][m].mean()), global_step)
            writer.add_scalar("charts/episodic_length", float(fi["episode"]["l"][m].mean()), global_step)
    with torch.no_grad():
        next_value = agent.get_value(next_obs).flatten()
        advantages = torch.zeros_like(rewards); last = 0
        for t in (range(T) if fault == "forward_gae" else reversed(range(T))):
            nn_ = 1 - (next_done if t == T - 1 else dones[t + 1])
            nv = next_value if t == T - 1 else values[t + 1]
            delta = rewards[t] + args.gamma * nv * nn_ - values[t]
            advantages[t] = last = delta + args.gamma * args.gae_lambda * nn_ * last
        returns = advantages + values
    record.transitions(global_step, rewards=rewards, values=values, dones=dones, logprobs=logprobs, actions=actions,
        next_done=next_done, next_value=next_value, advantages=advantages, returns=returns, gamma=args.gamma, gae_lambda=args.gae_lambda)
    b_obs, b_act, b_lp = obs.reshape(-1, 4), actions.reshape(-1), logprobs.reshape(-1)
    b_adv, b_ret, b_val = advantages.reshape(-1), returns.reshape(-1), values.reshape(-1)
    fresh, clipfracs = True, []
    for epoch in range(args.update_epochs):
        inds = np.random.permutation(batch)
        for s in range(0, batch, batch // args.num_minibatches):
            mb = inds[s:s + batch // args.num_minibatches]
            _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb], b_act[mb])
            logratio = newlogprob - b_lp[mb]; ratio = logratio.exp()
            with torch.no_grad():
                old_approx_kl = (-logratio).mean(); approx_kl = ((ratio - 1) - logratio).mean()
                clipfracs.append(((ratio - 1).abs() > args.clip_coef).float().mean().item())
            mb_adv = b_adv[mb]; mb_adv = (mb_adv - mb_adv.mean()) / (mb_adv.std() + 1e-8)
            pg_loss = torch.max(-mb_adv * ratio, -mb_adv * torch.clamp(ratio, 1 - args.clip_coef, 1 + args.clip_coef)).mean()
            v_loss = 0.5 * ((newvalue.flatten() - b_ret[mb]) ** 2).mean()
            loss = pg_loss - args.ent_coef * entropy.mean() + args.vf_coef * v_loss
            optimizer.zero_grad(); newlogprob.retain_grad(); loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
            record.transitions(global_step, newlogprob=newlogprob, logprob=b_lp[mb], ratio=ratio, entropy=entropy,
                advantages=mb_adv, gradient=newlogprob.grad, clip_coef=args.clip_coef, fresh=fresh)
            optimizer.step(); fresh = False
    ev = 1 - ((b_ret - b_val).var() / b_ret.var()).item()
    for k, v in {"charts/learning_rate": optimizer.param_groups[0]["lr"], "losses/value_loss": v_loss.item(), "losses/policy_loss": pg_loss.item(),
                 "losses/entropy": entropy.mean().item(), "losses/old_approx_kl": old_approx_kl.item(), "losses/approx_kl": approx_kl.item(),
                 "losses/clipfrac": float(np.mean(clipfracs)), "losses/explained_variance": ev, "charts/SPS": int(global_step / (time.time() - start))}.items():
        writer.add_scalar(k, v, global_step)
    if iteration % 4 == 0 or iteration == 1:
        w, R = evaluate(agent); history.append((w, R))
        writer.add_scalar("eval/success_rate", w, global_step); writer.add_scalar("eval/mean_return", R, global_step)
writer.close()
print("RESULT", run_name, fault, "success", [round(h[0], 2) for h in history], "return", round(history[0][1], 2), "->", round(history[-1][1], 2), f"{time.time()-start:.0f}s")
