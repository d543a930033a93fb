"""The training loop of the language lab: rollout, reward, advantage, update and evaluation.

A fault replaces one link of the loop. Each link is a function in an attribute of the trainer (see `Trainer`) or an option
in the settings. Everything else is the healthy code.
"""

import copy
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from firstbreak_lab.language import objective
from firstbreak_lab.language.inside import RecordedLoop, recorded
from firstbreak_lab.language.journal import Journal, share
from firstbreak_lab.language.model import Transformer, log_probs
from firstbreak_lab.language.objective import PolicyLoss
from firstbreak_lab.language.rollout import Engine, RolloutBatch, RolloutWorkers, complete, scorer
from firstbreak_lab.language.settings import LanguageSettings, mixed_rewards
from firstbreak_lab.language.warmup import warmed_up
from firstbreak_lab.memory import resident_gigabytes
from firstbreak_lab.score import FinalScores

AMPLE = 24  #: tokens: enough for any right answer with its filler


def train(settings: LanguageSettings, out: Path) -> FinalScores:
    """Train into the folder `out`."""
    torch.set_num_threads(1)
    torch.manual_seed(settings.seed)
    journal = Journal(out, settings.config())
    trainer = Trainer(settings, journal)
    for patch in settings.patches:
        patch(trainer)
    trainer.inside = recorded(trainer, out)
    for _ in range(settings.total_train_steps):
        trainer.train_step()
    journal.close()
    return FinalScores(true_score(trainer.policy, settings), trainer.reported)


def true_score(policy: Transformer, settings: LanguageSettings, n: int = 512) -> float:
    """Mean grade on held-out problems, sampled at temperature 1 with a large length limit. No fault can change this."""
    problems = settings.task.held_out(n)
    completions = complete(policy, settings.task, problems, AMPLE, 1.0, torch.Generator().manual_seed(1))
    return sum(map(settings.task.grade, problems, completions)) / n


class Trainer:
    """One run. The links of the loop are attributes with functions, which a fault can replace."""

    def __init__(self, settings: LanguageSettings, journal: Journal) -> None:
        self.settings, self.log = settings, journal
        self.version = 0  #: of the policy: the number of completed training steps
        self.reported = 0.0  #: the last evaluation

        self.policy = warmed_up(settings.task, settings.warmup_accuracy, settings.seed)
        self.reference = copy.deepcopy(self.policy).requires_grad_(False)
        self.optimizer = torch.optim.AdamW(self.policy.parameters(), lr=settings.lr, weight_decay=0.0)
        self.critic = self.policy.with_outputs(1) if settings.algorithm == "ppo" else None
        if self.critic is not None:
            self.critic_optimizer = torch.optim.AdamW(self.critic.parameters(), lr=settings.critic_lr, weight_decay=0.0)
        self.engine = Engine(self.policy, settings.seed)
        self.workers = RolloutWorkers(settings, self.engine, scorer(settings))  # draws prompts, samples, scores
        self.shuffle = torch.Generator().manual_seed(settings.seed)
        self.eval_problems = settings.task.held_out(settings.eval_problems)

        self.inside: RecordedLoop | None = None
        self.loss_mask: Callable[[RolloutBatch], Tensor] = lambda batch: batch.mask
        self.normalize_rewards: Callable[[Tensor, int], Tensor] = objective.normalize_in_group
        self.advantages: Callable[..., Tensor] = objective.gae
        self.policy_loss: Callable[..., PolicyLoss] = objective.policy_loss
        self.sync_weights: Callable[[Transformer, int], None] = self.engine.update_weights
        self.evaluated_policy: Callable[[], Transformer] = lambda: self.policy

    @property
    def step(self) -> int:
        """The current step as logged. The first step is 1."""
        return self.version + 1

    def train_step(self) -> None:
        """Collect a batch, update the policy, send the new weights to the engine, and evaluate every `eval_every` steps."""
        s, log = self.settings, self.log
        vars(s).update(s.changes.get(self.step, {}))
        if self.version == 0:
            self._evaluate()
        with log.time("rollout"):
            batch = self.workers.prepare_batch(mixed_rewards if s.dynamic_sampling else s.should_accept_fn)
        self._log_rollout(batch)
        with log.time("train_step"):
            self._update(batch)
        self.version += 1
        with log.time("update_weights"):
            self.sync_weights(self.policy, self.version)
        if self.version % s.eval_every == 0:
            with log.time("eval"):
                self._evaluate()
        log.scalar("memory.cpu", resident_gigabytes())
        log.write(self.version)

    # From a batch to an update -------------------------------------------------------------------------------------

    def _update(self, batch: RolloutBatch) -> None:
        s, log = self.settings, self.log
        mask = self.loss_mask(batch)
        with torch.no_grad():
            reference_logp, _ = log_probs(self.reference, batch.tokens, batch.prompt_length, s.temperature)
            proximal_logp = batch.behave_logp
            if s.recompute_logprob or s.use_decoupled_loss:
                proximal_logp, _ = log_probs(self.policy, batch.tokens, batch.prompt_length, s.temperature)
            values = self._values(batch) * mask if self.critic else torch.zeros_like(batch.behave_logp)

        kl_rewards = -s.kl_ctl * (proximal_logp - reference_logp) * mask
        rewards = self.normalize_rewards(batch.rewards, s.n_samples) if s.reward_norm else batch.rewards
        shaped = objective.token_rewards(rewards, kl_rewards, mask)
        raw_advantages = self.advantages(shaped, values, mask, s.discount, s.gae_lambda)
        advantages = objective.normalize(raw_advantages, mask) if s.adv_norm else raw_advantages
        returns = raw_advantages + values
        self._log_signal(batch, mask, proximal_logp - reference_logp, kl_rewards, advantages)
        if self.inside is not None:
            made = {"old_logps": proximal_logp, "ref_logps": reference_logp, "token_rewards": shaped, "values": values}
            self.inside.sampled(batch, mask, advantages=advantages, penalties=-kl_rewards, **made)

        minibatches = self._minibatches(len(batch.problems))
        for i, rows in enumerate(minibatches):
            if not mask[rows].any():  # a broken policy may generate only padding, without any token to train on
                continue
            behave_logp = batch.behave_logp[rows] if s.use_decoupled_loss else proximal_logp[rows]
            logp, entropy = log_probs(self.policy, batch.tokens[rows], batch.prompt_length, s.temperature)
            if seen := self.inside is not None and i in (0, len(minibatches) - 1):
                logp.retain_grad()
            result = self.policy_loss(
                logp,
                proximal_logp[rows],
                behave_logp,
                advantages[rows],
                mask[rows],
                eps_clip=s.eps_clip,
                decoupled=s.use_decoupled_loss,
                behave_imp_weight_cap=s.behave_imp_weight_cap,
            )
            mean_entropy = (entropy * mask[rows]).sum() / mask[rows].sum()
            self._step(self.policy, self.optimizer, result.loss - s.entropy_coef * mean_entropy, "ppo_actor/update")
            if seen and self.inside is not None:
                made = {"old_logps": proximal_logp, "ref_logps": reference_logp, "advantages": advantages, "mask": mask}
                made = {name: tensor[rows] for name, tensor in made.items()}
                self.inside.updated(batch.rows(rows), logp, i, entropies=entropy, **made)
            self._log_minibatch(i, batch.rows(rows), mask[rows], logp.detach(), proximal_logp[rows], entropy, result)
            if self.critic is not None:
                new_values = self._values(batch.rows(rows))
                loss = objective.critic_loss(new_values, values[rows], returns[rows], mask[rows], s.critic_eps_clip)
                self._step(self.critic, self.critic_optimizer, loss, "ppo_critic")
                log.scalar("ppo_critic/critic_loss/avg", loss.detach())
        if self.critic is not None:
            self._log_critic(values, returns, mask)

    def _values(self, batch: RolloutBatch) -> Tensor:
        """The critic's value before each completion token."""
        assert self.critic is not None
        values: Tensor = self.critic(batch.tokens[:, :-1])
        return values[:, batch.prompt_length - 1 :].squeeze(-1)

    def _minibatches(self, n: int) -> list[Tensor]:
        """A random partition of the sequences. A single minibatch keeps the order, so that its ratio is exactly 1."""
        if self.settings.ppo_n_minibatches == 1:
            return [torch.arange(n)]
        order = torch.randperm(n, generator=self.shuffle)
        return list(order.chunk(self.settings.ppo_n_minibatches))

    def _step(self, model: Transformer, optimizer: torch.optim.Optimizer, loss: Tensor, scope: str) -> None:
        """One optimizer step. A step with a gradient that is not finite is skipped and logged, as in AReaL."""
        s = self.settings
        lr = s.lr if model is self.policy else s.critic_lr
        for group in optimizer.param_groups:
            group["lr"] = lr * min(1.0, self.step / s.lr_warmup_steps)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), s.gradient_clipping)
        finite = bool(torch.isfinite(norm))
        if finite:
            optimizer.step()
        self.log.scalar(f"{scope}/grad_norm", norm)
        self.log.scalar(f"{scope}/update_successful", finite)
        self.log.scalar(f"{scope}/lr", optimizer.param_groups[0]["lr"])

    # Evaluation: the code of the rollouts, on held-out problems ---------------------------------

    def _evaluate(self) -> None:
        s, policy = self.settings, self.evaluated_policy()
        generator = torch.Generator().manual_seed(s.seed)

        def score(temperature: float) -> float:
            completions = complete(policy, s.task, self.eval_problems, s.max_new_tokens, temperature, generator)
            return sum(map(s.task.grade, self.eval_problems, completions)) / len(completions)

        self.reported = score(s.eval_temperature)
        self.log.scalar("eval-rollout/reward", self.reported)
        self.log.scalar("eval.accuracy@greedy", score(0.0))

    # Logging --------------------------------------------------------------------------------------------

    def _log_rollout(self, batch: RolloutBatch) -> None:
        s, log = self.settings, self.log
        mask, lengths = batch.mask, batch.lengths
        grouped = batch.rewards.view(-1, s.n_samples)
        log.scalar("rollout/reward", torch.cat(self.workers.finished_rewards).mean())
        log.scalar("filter.prompts", self.workers.finished_groups)
        log.stat("ppo_actor/task_reward", batch.rewards)
        for name, values in batch.components.items():
            log.scalar(f"reward.component.{name}.mean", values.mean())
        log.scalar("reward.group_std", grouped.std(1).mean())
        log.scalar("reward.zero_std_frac", share(grouped.amax(1) == grouped.amin(1)))
        log.stat("ppo_actor/seq_len", lengths + batch.prompt_length)
        log.scalar("length.mean", lengths.float().mean())
        log.scalar("ppo_actor/no_eos_ratios/avg", share(lengths == s.max_new_tokens))
        rewarded = batch.rewards > 0
        if rewarded.any() and not rewarded.all():
            log.scalar("ppo_actor/correct_seq_len/avg", (lengths[rewarded] + batch.prompt_length).float().mean())
            log.scalar("ppo_actor/incorrect_seq_len/avg", (lengths[~rewarded] + batch.prompt_length).float().mean())
        texts = batch.completions
        distinct = [len(set(texts[i : i + s.n_samples])) for i in range(0, len(texts), s.n_samples)]
        log.scalar("diversity.unique", sum(distinct) / len(texts))
        if (environment := s.task.environment) is not None:
            episodes = [
                environment.statistics(problem, text) for problem, text in zip(batch.problems, texts, strict=True)
            ]
            for name in episodes[0]:
                log.scalar(name, sum(episode[name] for episode in episodes) / len(episodes))
        staleness = self.version - batch.versions[mask]
        if len(staleness):  # a broken policy may generate nothing
            log.scalar("ppo_actor/update/version_stats/sample_staleness_theta_avg", staleness.float().mean())
            log.scalar("ppo_actor/update/version_stats/sample_staleness_theta_max", staleness.max())
        if self.version % s.samples_every == 0:
            self._dump(batch)

    def _dump(self, batch: RolloutBatch) -> None:
        for i in range(min(self.settings.samples_kept, len(batch.problems))):
            self.log.sample(
                step=self.step,
                prompt=batch.problems[i].prompt,
                completion=batch.completions[i],
                answer=batch.problems[i].answer,
                reward=float(batch.rewards[i]),
                rewards={name: float(values[i]) for name, values in batch.components.items()},
                truncated=not bool(batch.finished[i]),
            )

    def _log_signal(
        self, batch: RolloutBatch, mask: Tensor, log_ratio: Tensor, kl_rewards: Tensor, advantages: Tensor
    ) -> None:
        log = self.log
        log.scalar("kl.ref.k1", log_ratio[mask].mean())
        log.scalar("kl.ref.k3", ((-log_ratio).exp() - 1 + log_ratio)[mask].mean())
        log.scalar("ppo_actor/kl_rewards/avg", kl_rewards[mask].mean())
        log.stat("ppo_actor/advantages", advantages, mask)
        log.scalar("advantage.std", advantages[mask].std())
        log.scalar("advantage.abs.mean", advantages[mask].abs().mean())
        # Within a group, advantages must sum to zero. A remaining sum means that baselines and prompts do not match.
        per_sequence = (advantages * mask).sum(1) / mask.sum(1).clamp(min=1)
        per_prompt = per_sequence.view(-1, self.settings.n_samples).mean(1)
        log.scalar("advantage.of_prompt_absmax", per_prompt.abs().max())
        log.scalar("tokens.train", mask.sum())
        log.scalar("tokens.generated", batch.mask.sum())

    def _log_minibatch(
        self,
        i: int,
        batch: RolloutBatch,
        mask: Tensor,
        logp: Tensor,
        proximal: Tensor,
        entropy: Tensor,
        result: PolicyLoss,
    ) -> None:
        log, scope = self.log, "ppo_actor/update"
        ratio, log_ratio = result.ratio.detach(), (logp - proximal)
        log.stat(f"{scope}/importance_weight", ratio, mask)
        log.scalar(f"{scope}/approx_kl/avg", log_ratio[mask].mean())
        log.scalar("kl.old.k3", (log_ratio.exp() - 1 - log_ratio)[mask].mean())
        log.scalar(f"{scope}/clip_ratio/avg", share(result.clipped, mask))
        log.scalar(f"{scope}/actor_loss/avg", result.loss.detach())
        log.scalar(f"{scope}/entropy/avg", entropy.detach()[mask].mean())
        log.scalar(f"{scope}/new_logp/avg", logp[mask].mean())
        log.stat(f"{scope}/behave_imp_weight", result.behave_weight, result.kept)
        log.scalar(f"{scope}/behave_filtered_ratio/avg", share(~result.kept, mask))
        log.scalar("behave.ratio.max@uncapped", (proximal - batch.behave_logp).exp()[mask].max())
        log.scalar("behave.kl.k1", -(proximal - batch.behave_logp)[mask].mean())
        if i == 0:
            # Before the first step of an update, theta is the policy that the data claims to come from.
            log.scalar("policy.ratio.max@first_minibatch", ratio[mask].max())
            log.scalar("policy.ratio.absdev@first_minibatch", (ratio - 1)[mask].abs().mean())
            log.scalar("policy.clip_fraction@first_minibatch", share(result.clipped, mask))
        log.scalar(f"policy.ratio.mean@minibatch{i}", ratio[mask].mean())

    def _log_critic(self, values: Tensor, returns: Tensor, mask: Tensor) -> None:
        log, error = self.log, (returns - values)[mask]
        log.scalar("ppo_critic/old_value/avg", values[mask].mean())
        log.scalar("ppo_critic/target_value/avg", returns[mask].mean())
        log.scalar("value.explained_variance", 1 - error.var() / returns[mask].var().clamp(min=1e-8))
