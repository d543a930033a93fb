"""What the field's debugging guides ask for, and which part of firstbreak carries it. Made into a part of docs/coverage.md.

The guides are AReaL's "Diagnosing RL performance", the "Reinforcement learning training debug guide", and a practitioner's
description of how to read GRPO and PPO runs; each line says in our words what they say. `carriers` fails where something
that is named does not exist.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import Any

from benchmarks.docs.markdown import table
from benchmarks.docs.results import result
from benchmarks.statements import suite
from firstbreak.audit import metrics, rows
from firstbreak.cli import COMMANDS
from firstbreak.cli.check import CHECKS
from firstbreak.engine.catalogue import catalogue
from firstbreak.engine.registry import causes, detectors

CURVES = "curves:"  #: before the pattern of the statements of benchmarks/statements that show a line in curves

#: what a guide asks for -> what carries it, as `kind:id`, and what shows it in curves
STATEMENTS: dict[str, dict[str, str]] = {
    "Asynchronous training": {
        "switch to synchronous settings where asynchrony is suspected": "experiment:synchronous cause:rollouts-too-old curves:asynchrony_harms_learning "
        "curves:stale_data_noisy_metrics",
        "evaluate before training, with the training code": "command:eval detector:training-below-evaluation",
        "train on the test set to see whether rewards can rise at all": "experiment:train-on-test-set curves:rewards_not_increasing curves:rewards_not_increasing_what_to_try "
        "curves:reward_no_early_improvement",
        "rewards do not rise there either: hyperparameters, another base, SFT first": "experiment:usual-settings experiment:sft-first curves:rewards_not_increasing_what_to_try "
        "curves:task_too_difficult",
        "they rise there only: look at the training data, filter by difficulty": "experiment:dynamic-filtering cause:prompts-too-hard curves:difficulty_filter",
        "reward on the test set, on all rollouts, and on what was trained on are three numbers": "command:inspect curves:evaluation_drifts_from_rollout curves:filtered_reward_drifts_from_rollout",
        "a task reward that fluctuates: a larger batch": "detector:loss-pattern curves:task_reward_*",
        "importance weights average 1": "detector:importance-weight-off curves:importance_weight_09? curves:importance_weight_105",
        "with one minibatch the importance weight is exactly 1": "detector:first-update-not-on-policy experiment:one-minibatch curves:importance_weight_*_one_minibatch",
        "behaviour weights average 1; cap them, or take fresher data": "detector:behave-weight-off detector:staleness-uncorrected cause:behaviour-weights-uncapped "
        "experiment:process-probe curves:behave_weight_*",
        "more than 5 % of the sequences without an end": "detector:truncation cause:length-limit-too-short curves:no_eos_*",
        "length that grows, and truncation with it": "detector:length-runaway forecast:length curves:seq_len_grows*",
    },
    "First look": {
        "find which link broke first, before tuning anything": "command:diagnose curves:healthy_run_is_left_alone curves:collapse_starts_in_the_policy "
        "curves:critic_breaks_then_actor",
        "record configuration, seed, code, checkpoint and commands": "check:context command:closeout",
        "keep training reward apart from evaluation": "detector:reward-up-evaluation-down detector:score-missing curves:training_reward_only "
        "curves:reward_uncorrelated_with_eval curves:reward_still_rising",
        "read the best, the worst and random samples": "command:audit curves:read_the_outputs",
        "more tool calls without a finished task": "detector:tool-calls-growing cause:reward-pays-for-calls row:tool-hacking row:repeated-calls "
        "curves:tool_calls_without_completion curves:turns_grow_without_success",
        "scale the run down until it answers basic questions": "experiment:scaled-down experiment:toy-reward",
        "can the critic fit a fixed batch of rollouts?": "check:critic experiment:critic-only",
        "does the reward rank the answers to one prompt?": "detector:zero-variance-groups check:reward experiment:one-prompt",
    },
    "Environment and data": {
        "states, actions, terminations and signs are what they seem": "check:env detector:observations-off detector:actions-without-effect detector:time-limits-vary detector:observations-constant detector:episodes-never-end "
        "cause:observations-wrong cause:actions-not-executed cause:termination-flags-wrong "
        "cause:reward-sign-wrong",
        "actions of the wrong kind or range": "check:env detector:action-range-unused",
        "padding that is learned from": "check:data",
        "tool failures that count as success": "detector:failures-pay detector:failed-calls-paid check:data cause:failures-graded-as-success",
        "an expert that is not clearly better than chance: do not train yet": "check:env",
        "chosen and rejected answers that are swapped": "check:data detector:preference-labels-swapped detector:reward-against-references "
        "cause:preference-data-wrong",
        "missing normalisation of observations": "check:env detector:observations-unscaled detector:observations-off",
    },
    "Evaluation": {
        "a split for each purpose, looked at as often as that allows": "command:eval",
        "fix the whole protocol": "check:eval command:eval",
        "a score that changed because its protocol did": "detector:evaluation-protocol-shift cause:evaluation-protocol-changed curves:eval_jumps_*",
        "an evaluation of other weights": "detector:evaluation-frozen detector:evaluation-in-steps cause:evaluation-of-stale-weights",
        "test problems in the training data": "command:eval cause:evaluation-contaminated",
        "an evaluation too small to show the gain": "detector:evaluation-noise cause:evaluation-too-small",
        "an evaluation that falls decides, not the training reward": "detector:score-lost detector:reward-up-evaluation-down command:diagnose curves:eval_decides_rollback "
        "curves:eval_drops_success_rate curves:reward_drops_eval_improves curves:reward_falls_evaluation_rises",
    },
    "Reward": {
        "all 0, all 1, or a long tail": "check:reward detector:reward-at-floor detector:reward-outlier curves:reward_almost_all_* "
        "curves:reward_long_tail_* curves:reward_missing_*",
        "a reward that is too sparse to be found": "cause:reward-never-found detector:reward-flat curves:reward_silence curves:reward_unmoved",
        "a sign that is turned": "detector:reward-range-changed cause:reward-sign-wrong curves:reward_sign_reversed "
        "curves:reward_rises_evaluation_falls",
        "little agreement with people": "check:reward command:audit",
        "reward rises, evaluation falls": "detector:reward-up-evaluation-down cause:reward-over-optimised curves:reward_up_eval_* "
        "curves:reward_overoptimised curves:pseudo_success curves:metric_masks_degradation",
        "one component that dominates": "detector:reward-proxy-only detector:reward-component-dead cause:reward-pays-for-form "
        "curves:reward_comes_from_one_part curves:penalty_eats_the_reward curves:tool_hacking",
        "longer answers for their own sake": "detector:length-runaway cause:reward-pays-for-length audit:length experiment:shorter-answers "
        "curves:length_* curves:evaluation_flat_length_grows curves:eval_length_changes_with_score "
        "curves:walkthrough_length_preference",
        "right format, wrong answer": "audit:hollow-format detector:wrong-answers-paid cause:reward-pays-for-form "
        "curves:format_up_accuracy_flat",
        "verdicts that disagree with the reference": "detector:right-answers-unpaid detector:wrong-answers-paid cause:verdicts-noisy",
        "groups that are all right or all wrong": "detector:zero-variance-groups row:equal-groups cause:groups-carry-no-signal curves:diversity_lost_in_groups "
        "curves:entropy_steady_groups_equal",
        "rewards that are mostly noise": "detector:reward-flat detector:zero-variance-groups cause:verdicts-noisy "
        "curves:reward_noise_is_the_signal curves:reward_noisy_and_rising",
    },
    "Policy update": {
        "divergence, clip fraction and entropy, read together": "detector:kl-spike detector:clip-fraction-high detector:entropy-collapse detector:step-too-large "
        "curves:clip_fraction_* curves:kl_above_twice_target curves:kl_spikes_* curves:kl_jumps_* "
        "curves:update_kl_spikes curves:collapse_before_the_reward_shows_it",
        "reward crash, divergence spike, clip fraction at a half": "cause:step-size-too-large experiment:rate-tenth curves:kl_spike_clip_half_reward_drop "
        "curves:update_kl_spike_clip_half_reward_drop curves:one_step_too_far",
        "fewer epochs, a target divergence, a lower rate": "experiment:one-epoch command:watch",
        "divergence rises and reward does not": "detector:kl-reward cause:drift-without-gain curves:kl_rising_* curves:kl_to_reference_drifts "
        "curves:risk_of_drift",
        "divergence and reward both flat: converged, or never moved": "detector:no-update cause:optimiser-not-connected curves:kl_stable_* curves:converged_no_more_steps "
        "curves:policy_walks_randomly",
        "a loss that swings about 0, turns its sign, doubles or halves": "detector:loss-pattern curves:loss_*",
        "a peak and a decline: go back to the best checkpoint": "detector:score-lost command:diagnose curves:best_checkpoint_* curves:last_is_not_best "
        "curves:reward_peak_* curves:reward_collapses",
        "a ratio bound that does not act": "detector:clip-never-acts cause:clip-missing",
    },
    "Critic": {
        "a value loss that does not fall": "detector:value-loss-growing cause:critic-cannot-fit curves:value_loss_flat* "
        "curves:critic_learning_rate_moves_value_loss",
        "explained variance below 0": "detector:critic-worse-than-mean curves:explained_variance_*",
        "values on another scale than returns": "detector:value-scale-mismatch detector:reward-scale-apart cause:reward-scale-wrong "
        "curves:value_scale_too_small curves:reward_scale_too_large",
        "returns that swing with noisy advantages": "detector:score-oscillates curves:reward_oscillates_noisy_critic",
        "terminal masks and bootstrapping": "detector:value-loss-vanishes cause:done-mask-wrong check:critic",
    },
    "Exploration": {
        "entropy that falls to 0 early": "detector:entropy-collapse cause:premature-convergence forecast:entropy curves:entropy_to_zero_fast "
        "curves:entropy_collapse_stuck curves:entropy_below_floor",
        "entropy that falls because the task is solved": "detector:entropy-collapse",
        "entropy that never falls": "detector:entropy-stays-high cause:signal-too-weak curves:entropy_stays_high curves:entropy_explodes",
        "a temperature that is too low": "detector:sampling-narrow cause:sampling-too-cold",
        "all outputs look the same": "detector:outputs-alike command:audit curves:diversity_lost "
        "curves:uniform_behaviour_high_reward",
        "diversity of behaviour, not of tokens": "row:diverse-without-progress detector:outputs-alike curves:diverse_without_progress",
        "high reward over no exploration: look for hacking": "detector:entropy-collapse cause:reward-over-optimised curves:entropy_gone_check_hacking",
    },
    "Freshness": {
        "which policy made each sample": "row:policy-versions detector:stale-rollouts",
        "old log-probabilities of the policy that sampled": "detector:train-inference-mismatch cause:old-log-probabilities-wrong experiment:same-tokens "
        "curves:old_logprobs_disagree curves:rollout_and_trainer_diverge",
        "how many updates lie between sampling and training": "detector:stale-rollouts detector:mismatch-growing cause:weights-not-delivered curves:workers_out_of_sync",
    },
    "Numerics": {
        "gradient norms with a heavy tail": "detector:grad-norm-explosion cause:gradients-explode curves:grad_norm_*",
        "extreme log-probabilities": "detector:logprob-extremes curves:logprobs_extreme",
        "overflow and skipped steps": "detector:update-skipped detector:non-finite-values cause:gradients-not-finite curves:updates_skipped "
        "curves:nan_steps curves:spikes_then_nan",
        "outliers among the rewards": "detector:reward-outlier curves:reward_outliers_min",
        "values that explode": "detector:value-explosion curves:value_explodes",
        "stop the update and save the state before the loss is NaN": "command:watch command:replay",
    },
    "Systems": {
        "does it fit, and what uses the memory": "check:memory detector:memory-phase detector:memory-tight curves:memory_close_to_the_limit curves:memory_near_capacity "
        "curves:memory_shifts_between_phases",
        "memory that creeps": "detector:memory-creep cause:memory-leak curves:memory_grows_with_length",
        "throughput that falls, workers that wait": "detector:throughput-drop detector:phase-imbalance detector:gpu-idle detector:scoring-share cause:phases-out-of-balance curves:throughput_drops_* "
        "curves:waiting_for_the_environment curves:gpu_utilization_low curves:reward_scoring_bottleneck",
        "generation that takes most of a step": "detector:rollout-share detector:long-tail-generation detector:power-low curves:generation_*",
        "an uploader or a merger that competes for the machine": "detector:step-time-spikes detector:memory-peaks cause:interference curves:background_*",
    },
    "Language models and agents": {
        "refusals that spread": "row:refusals audit:refusal curves:refusal_drift",
        "a judge that prefers a style": "row:judge-bias check:reward curves:judge_bias curves:style_changes_first",
        "text that claims what the state does not show": "row:pseudo-success audit:empty-claim",
        "incoherent text that scores well": "row:incoherent-text cause:verifier-exploited curves:incoherent_text_scores_well "
        "curves:language_ability_destroyed",
        "which step of a long trajectory decided it": "row:decisive-turn",
        "tools that fail": "detector:tool-errors row:tools-fail cause:tools-fail",
    },
    "After training": {
        "best, last and failed checkpoint, audit samples, several seeds, private set": "command:closeout",
        "several seeds before a claim": "command:compare experiment:three-seeds",
        "the realistic upside and the risk of going on": "command:diagnose forecast:score curves:upside_* curves:reward_rate_* "
        "curves:reward_flat_after_climb_noisy",
    },
}


def carriers(names: str) -> list[str]:
    """The carriers of one line; raises LookupError where one does not exist."""
    known = {
        "detector": detectors(),
        "cause": causes(),
        "experiment": catalogue(),
        "command": COMMANDS,
        "check": CHECKS,
        "audit": set(metrics.metrics()),
        "row": set(rows.rows()),
        "forecast": ("entropy", "length", "kl", "score"),
    }
    named = [name for name in names.split() if not name.startswith(CURVES)]
    for name in named:
        kind, _, id = name.partition(":")
        if id not in known[kind]:
            raise LookupError(f"{name} does not exist")
    return named


def shown(names: str) -> list[str]:
    """The ids of the statements of the suite that show one line in curves; raises LookupError where a pattern finds none."""
    found: list[str] = []
    for name in names.split():
        if name.startswith(CURVES):
            pattern = name.replace(":", ".")
            ids = fnmatch.filter(suite.statements(), pattern)
            if not ids:
                raise LookupError(f"there is no statement {pattern}")
            found += ids
    return found


def section() -> list[str]:
    """The lines of the page."""
    figures = result("statements")
    lines = [
        "## What the debugging guides ask for",
        "",
        "One line for each thing that AReaL's guide, the training debug guide and experienced practitioners tell people to look at,",
        "and what looks at it here. *Shown in curves*: of how many runs firstbreak says so, and of how many healthy look-alikes",
        "it says nothing. Each name leads to the guide's words, the generator of the runs, and the message that a user reads.",
        "*Shown on inputs*: the same for samples, checks and machines (`benchmarks/statements/carriers`).",
    ]
    for heading, asked in STATEMENTS.items():
        cells = [
            [
                said,
                ", ".join(f"`{name}`" for name in carriers(names)),
                ", ".join(_figure(figures, id_) for id_ in shown(names)),
                _on_inputs(figures, said),
            ]
            for said, names in asked.items()
        ]
        lines += [
            "",
            f"### {heading}",
            "",
            table(["asked for", "carried by", "shown in curves", "shown on inputs"], cells),
        ]
    return lines


def _figure(figures: Mapping[str, Any], id_: str) -> str:
    """A statement with its figures, as a link to its line."""
    name = id_.removeprefix("curves.")
    counts = (f"{figures[id_][side]['right']}/{figures[id_][side]['runs']}" for side in ("fires", "silent"))
    return f"[{name}](statements.md#{name}) {', '.join(counts)}"


def _on_inputs(figures: Mapping[str, Any], line: str) -> str:
    """Of how many inputs of a line what the guide says is said, and of how many look-alikes nothing; "" where there are none."""
    own = [f for id_, f in figures.items() if id_.startswith("carriers.") and f["line"] == line]
    counts = (
        f"{sum(f[side]['right'] for f in own)}/{sum(f[side]['runs'] for f in own)}" for side in ("fires", "silent")
    )
    return ", ".join(counts) if own else ""
