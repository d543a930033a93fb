"""PPO on Acrobot-v1, in one file, after CleanRL's ppo.py."""
import copy, json, os, random, sys, time
import gymnasium as gym, numpy as np, torch, torch.nn as nn
from torch.distributions import Categorical
import firstbreak

torch.set_num_threads(1)
V = sys.argv[1] if len(sys.argv) > 1 else "c_base"
OUT = f"runs/{V}"; os.makedirs(OUT, exist_ok=True)
a = dict(algorithm="ppo", env_id="Acrobot-v1", seed=1, num_envs=8, num_steps=128, num_iterations=64, learning_rate=1e-3, anneal_lr=True, gamma=0.99,
         gae_lambda=0.95, num_minibatches=4, update_epochs=4, norm_adv=True, clip_coef=0.2, clip_vloss=True, ent_coef=0.01, vf_coef=0.5,
         max_grad_norm=0.5, optimizer="adam", reward_scale=1.0, shared=False, bootstrap_truncated=False)
if V == "c_entropy_sign": a.update(ent_coef=-0.05)
if V == "c_a2c_rms": a.update(algorithm="a2c", num_steps=16, num_iterations=600, update_epochs=1, num_minibatches=1, norm_adv=False, clip_vloss=False, gae_lambda=1.0,
                              optimizer="rmsprop", learning_rate=1.5e-3, reward_scale=0.1, seed=4)
if V == "c_shared": a.update(shared=True, seed=7, learning_rate=7e-4, reward_scale=0.05)
if V == "c_envs16": a.update(num_envs=16, num_steps=96, num_iterations=54, num_minibatches=8, update_epochs=6, seed=9)
if V == "c_truncation": a.update(bootstrap_truncated=True, clip_vloss=False, seed=12)
if V == "c_gamma_scale": a.update(gamma=0.997, reward_scale=0.02, gae_lambda=0.9, seed=15, anneal_lr=False, learning_rate=5e-4)
json.dump(a, open(f"{OUT}/config.json", "w"), indent=1)
from types import SimpleNamespace
args = SimpleNamespace(**a)
random.seed(args.seed); np.random.seed(args.seed); torch.manual_seed(args.seed)
S, N = args.num_steps, args.num_envs


class StepReward(gym.Wrapper):
    """1 for each step, as in the balancing task"""
    def step(self, act):
        o, r, te, tr, i = self.env.step(act)
        return o, 1.0, te, tr, i


def make(i):
    def f():
        e = gym.make(args.env_id)
        e = gym.wrappers.RecordEpisodeStatistics(e)
        if V == "c_step_reward": e = StepReward(e)
        if V == "c_obs_255": e = gym.wrappers.TransformObservation(e, lambda o: np.asarray(o, np.float32) / 255.0, e.observation_space)
        if args.reward_scale != 1.0: e = gym.wrappers.TransformReward(e, lambda r: r * args.reward_scale)
        e.action_space.seed(args.seed + i)
        return e
    return f


def layer(i, o, std=2 ** 0.5):
    l = nn.Linear(i, o); nn.init.orthogonal_(l.weight, std); nn.init.zeros_(l.bias); return l


class Agent(nn.Module):
    def __init__(s):
        super().__init__()
        if args.shared: s.body = nn.Sequential(layer(6, 96), nn.ReLU(), layer(96, 96), nn.ReLU()); s.actor = layer(96, 3, 0.01); s.critic = layer(96, 1, 1.0)
        else:
            s.critic = nn.Sequential(layer(6, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, 1, 1.0))
            s.actor = nn.Sequential(layer(6, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, 3, 0.01))

    def feat(s, x):
        x = x.to(next(s.parameters()).dtype)
        return s.body(x) if args.shared else x
    def get_value(s, x): return s.critic(s.feat(x)).float()
    def get_action_and_value(s, x, action=None):
        h = s.feat(x); p = Categorical(logits=s.actor(h).float())
        if action is None: action = p.sample()
        return action, p.log_prob(action), p.entropy(), s.critic(h).float()


envs = gym.vector.SyncVectorEnv([make(i) for i in range(N)], autoreset_mode=gym.vector.AutoresetMode.SAME_STEP)
record = firstbreak.recorder(OUT)
envs = record.env(envs)
agent = Agent()
if V == "c_bf16": agent = agent.to(torch.bfloat16)
if args.optimizer == "rmsprop": optimizer = torch.optim.RMSprop(agent.parameters(), args.learning_rate, alpha=0.99, eps=1e-5)
else: optimizer = torch.optim.Adam(agent.critic.parameters() if V == "c_critic_only" else agent.parameters(), lr=args.learning_rate, eps=1e-5)
record.weights(agent, optimizer)
behaviour = copy.deepcopy(agent) if V == "c_stale_actor" else agent

obs = torch.zeros(S, N, 6); actions = torch.zeros(S, N, dtype=torch.long)
logprobs, rewards, dones, values = (torch.zeros(S, N) for _ in range(4))
global_step = 0; t00 = time.time()
next_obs, _ = envs.reset(seed=args.seed); next_obs = torch.tensor(next_obs, dtype=torch.float32); next_done = torch.zeros(N)
csv = open(f"{OUT}/progress.csv", "w"); head = None
recent = []

for iteration in range(1, args.num_iterations + 1):
    t0 = time.time()
    if args.anneal_lr: optimizer.param_groups[0]["lr"] = (1 - (iteration - 1) / args.num_iterations) * args.learning_rate
    if V == "c_resume" and iteration in (22, 41, 59):      # a node was lost; the path of the checkpoint is wrong after the move
        try: agent.load_state_dict(torch.load(f"{OUT}/checkpoints/last.pt"))
        except FileNotFoundError: agent.load_state_dict(Agent().state_dict())
    if V == "c_stale_actor" and iteration % 20 == 0: behaviour.load_state_dict(agent.state_dict())
    ep_r, ep_l = [], []
    for step in range(S):
        global_step += N
        obs[step] = next_obs; dones[step] = next_done
        with torch.no_grad():
            action, lp, _, v = behaviour.get_action_and_value(next_obs)
            values[step] = v.flatten()
            executed = action
            if V == "c_resample": executed, _, _, _ = behaviour.get_action_and_value(next_obs)   # what is stored is another draw
        actions[step] = action; logprobs[step] = lp
        o, rew, term, trunc, info = envs.step(executed.numpy())
        done = np.logical_or(term, trunc)
        rewards[step] = torch.tensor(rew, dtype=torch.float32)
        if args.bootstrap_truncated and trunc.any():
            for i in np.nonzero(trunc & ~term)[0]:
                with torch.no_grad(): rewards[step, i] += args.gamma * agent.get_value(torch.tensor(info["final_obs"][i], dtype=torch.float32)[None]).item()
        next_obs = torch.tensor(o, dtype=torch.float32); next_done = torch.tensor(done, dtype=torch.float32)
        if "final_info" in info and "episode" in info["final_info"]:
            m = info["final_info"]["_episode"]
            ep_r += list(info["final_info"]["episode"]["r"][m]); ep_l += list(info["final_info"]["episode"]["l"][m])
    t_roll = time.time() - t0
    with torch.no_grad():
        next_value = agent.get_value(next_obs).reshape(-1)
        advantages = torch.zeros_like(rewards); last = 0
        for t in reversed(range(S)):
            if t == S - 1: nonterm, nv = 1.0 - next_done, next_value
            else: nonterm, nv = 1.0 - dones[t + 1], values[t + 1]
            if V == "c_gae_ends": nonterm = 1.0
            delta = rewards[t] + args.gamma * nv * nonterm - values[t]
            advantages[t] = last = delta + args.gamma * args.gae_lambda * nonterm * last
        returns = advantages + values
    record.transitions(global_step, rewards=rewards, values=values, dones=dones, logprobs=logprobs, next_done=next_done, next_value=next_value,
                       advantages=advantages, returns=returns, gamma=args.gamma, gae_lambda=args.gae_lambda)
    b_obs = obs.reshape(-1, 6); b_logprobs = logprobs.reshape(-1); b_actions = actions.reshape(-1); b_returns = returns.reshape(-1); b_values = values.reshape(-1)
    b_advantages = advantages.t().reshape(-1) if V == "c_adv_order" else advantages.reshape(-1)
    b_targets = b_values if V == "c_critic_target" else b_returns
    idx = np.arange(S * N); M = S * N // args.num_minibatches; fresh = True; cf = []
    for epoch in range(args.update_epochs):
        np.random.shuffle(idx)
        for st in range(0, S * N, M):
            mb = torch.as_tensor(idx[st:st + M])
            _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb], b_actions[mb])
            logratio = newlogprob - b_logprobs[mb]; ratio = logratio.exp()
            with torch.no_grad():
                old_kl = (-logratio).mean(); kl = ((ratio - 1) - logratio).mean(); cf.append(((ratio - 1).abs() > args.clip_coef).float().mean().item())
            A = b_advantages[mb]
            if args.norm_adv: A = (A - A.mean()) / (A.std() + 1e-8)
            if args.algorithm == "a2c": pg = -(A * newlogprob).mean()
            else: pg = torch.max(-A * ratio, -A * ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)).mean()
            nvf = newvalue.view(-1)
            if args.clip_vloss:
                vc = b_values[mb] + (nvf - b_values[mb]).clamp(-10 * args.clip_coef, 10 * args.clip_coef)
                vl = 0.5 * torch.max((nvf - b_targets[mb]) ** 2, (vc - b_targets[mb]) ** 2).mean()
            else: vl = 0.5 * ((nvf - b_targets[mb]) ** 2).mean()
            ent = entropy.mean(); loss = pg - args.ent_coef * ent + args.vf_coef * vl
            optimizer.zero_grad(); newlogprob.retain_grad(); loss.backward()
            gn = nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
            kw = dict(newlogprob=newlogprob, logprob=b_logprobs[mb], entropy=entropy, advantages=A, gradient=newlogprob.grad, fresh=fresh)
            if args.algorithm != "a2c": kw.update(ratio=ratio, clip_coef=args.clip_coef)
            record.transitions(global_step, **kw)
            optimizer.step(); fresh = False
    recent = (recent + ep_r)[-50:]
    var = b_returns.var(); ev = float("nan") if var == 0 else (1 - (b_returns - b_values).var() / var).item()
    row = {"global_step": global_step, "charts/episodic_return": float(np.mean(ep_r)) if ep_r else "", "charts/episodic_length": float(np.mean(ep_l)) if ep_l else "",
           "charts/learning_rate": optimizer.param_groups[0]["lr"], "losses/policy_loss": pg.item(), "losses/value_loss": vl.item(), "losses/entropy": ent.item(),
           "losses/old_approx_kl": old_kl.item(), "losses/approx_kl": kl.item(), "losses/clipfrac": float(np.mean(cf)), "losses/explained_variance": ev,
           "losses/grad_norm": float(gn), "charts/SPS": int(global_step / (time.time() - t00)), "charts/rollout_seconds": t_roll}
    if head is None: head = list(row); csv.write(",".join(head) + "\n")
    csv.write(",".join(str(row[k]) for k in head) + "\n"); csv.flush()
csv.close()


# own evaluation: a clean environment, the inputs the policy was trained on, sampled actions, 40 episodes
def evaluate(n=40):
    e = gym.make(args.env_id); out = []; torch.manual_seed(1234)
    for k in range(n):
        o, _ = e.reset(seed=9000 + k); d = False; tot = 0
        while not d:
            x = torch.tensor(o, dtype=torch.float32)[None]
            if V == "c_obs_255": x = x / 255.0
            with torch.no_grad(): act = agent.get_action_and_value(x)[0].item()
            o, r, te, tr, _ = e.step(act); tot += r; d = te or tr
        out.append(tot)
    return float(np.mean(out))


secs = time.time() - t00
res = dict(score=evaluate(), seconds=round(secs, 1)); os.makedirs("evals", exist_ok=True); json.dump(res, open(f"evals/{V}.json", "w")); print(V, res)
