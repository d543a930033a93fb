"""What the field's debugging guides ask for, and which part of firstbreak carries it. Made into a part of docs/coverage.md.

The guides are AReaL's "Diagnosing RL performance", the "Reinforcement learning training debug guide", and a practitioner's
description of how to read GRPO and PPO runs; each line says in our words what they say. `carriers` fails where something
that is named does not exist.
"""

from __future__ import annotations

from benchmarks.docs.markdown import table
from firstbreak.audit import metrics
from firstbreak.cli import COMMANDS
from firstbreak.cli.check import CHECKS
from firstbreak.diagnosis.catalogue import catalogue
from firstbreak.diagnosis.registry import causes, detectors

#: what a guide asks for -> what carries it, as `kind:id`
STATEMENTS: dict[str, dict[str, str]] = {
    "Asynchronous training": {
        "switch to synchronous settings where asynchrony is suspected": "experiment:synchronous cause:rollouts-too-old",
        "evaluate before training, with the training code": "command:eval detector:training-below-evaluation",
        "train on the test set to see whether rewards can rise at all": "experiment:train-on-test-set",
        "rewards do not rise there either: hyperparameters, another base, SFT first": "experiment:usual-settings experiment:sft-first",
        "they rise there only: look at the training data, filter by difficulty": "experiment:dynamic-filtering cause:prompts-too-hard",
        "reward on the test set, on all rollouts, and on what was trained on are three numbers": "command:inspect",
        "a task reward that fluctuates: a larger batch": "detector:loss-pattern",
        "importance weights average 1": "detector:importance-weight-off",
        "with one minibatch the importance weight is exactly 1": "detector:first-update-not-on-policy experiment:one-minibatch",
        "behaviour weights average 1; cap them, or take fresher data": "detector:behave-weight-off detector:staleness-uncorrected "
        "cause:behaviour-weights-uncapped experiment:process-probe",
        "more than 5 % of the sequences without an end": "detector:truncation cause:length-limit-too-short",
        "length that grows, and truncation with it": "detector:length-runaway forecast:length",
    },
    "First look": {
        "find which link broke first, before tuning anything": "command:diagnose",
        "record configuration, seed, code, checkpoint and commands": "check:context command:closeout",
        "keep training reward apart from evaluation": "detector:reward-up-evaluation-down detector:score-missing",
        "read the best, the worst and random samples": "command:audit",
        "more tool calls without a finished task": "detector:tool-calls-growing cause:reward-pays-for-calls audit:idle-calls",
        "scale the run down until it answers basic questions": "experiment:scaled-down experiment:toy-reward",
        "can the critic fit a fixed batch of rollouts?": "check:critic experiment:critic-only",
        "does the reward rank the answers to one prompt?": "detector:zero-variance-groups check:reward experiment:one-prompt",
    },
    "Environment and data": {
        "states, actions, terminations and signs are what they seem": "check:env detector:observations-off "
        "detector:actions-without-effect detector:time-limits-vary cause:observations-wrong cause:actions-not-executed "
        "cause:termination-flags-wrong cause:reward-sign-wrong",
        "actions of the wrong kind or range": "check:env",
        "padding that is learned from": "check:data",
        "tool failures that count as success": "detector:failures-pay cause:failures-graded-as-success",
        "an expert that is not clearly better than chance: do not train yet": "check:env",
        "chosen and rejected answers that are swapped": "check:data detector:preference-labels-swapped "
        "detector:reward-against-references cause:preference-data-wrong",
        "missing normalisation of observations": "check:env detector:observations-off detector:score-drops-at-once",
    },
    "Evaluation": {
        "a split for each purpose, looked at as often as that allows": "command:eval",
        "fix the whole protocol": "check:eval command:eval",
        "a score that changed because its protocol did": "detector:evaluation-protocol-shift cause:evaluation-protocol-changed",
        "an evaluation of other weights": "detector:evaluation-frozen detector:evaluation-in-steps cause:evaluation-of-stale-weights",
        "test problems in the training data": "command:eval cause:evaluation-contaminated",
        "an evaluation too small to show the gain": "detector:evaluation-noise cause:evaluation-too-small",
    },
    "Reward": {
        "all 0, all 1, or a long tail": "check:reward detector:reward-at-floor detector:reward-outlier",
        "a reward that is too sparse to be found": "cause:reward-never-found detector:reward-flat",
        "a sign that is turned": "detector:reward-range-changed cause:reward-sign-wrong",
        "little agreement with people": "check:reward command:audit",
        "reward rises, evaluation falls": "detector:reward-up-evaluation-down cause:reward-over-optimised",
        "one component that dominates": "detector:reward-proxy-only detector:reward-component-dead cause:reward-pays-for-form",
        "longer answers for their own sake": "detector:length-runaway cause:reward-pays-for-length audit:length experiment:shorter-answers",
        "right format, wrong answer": "audit:hollow-format detector:wrong-answers-paid cause:reward-pays-for-form",
        "verdicts that disagree with the reference": "detector:right-answers-unpaid detector:wrong-answers-paid cause:verdicts-noisy",
        "groups that are all right or all wrong": "detector:zero-variance-groups cause:groups-carry-no-signal",
    },
    "Policy update": {
        "divergence, clip fraction and entropy, read together": "detector:kl-spike detector:clip-fraction-high detector:entropy-collapse "
        "detector:step-too-large",
        "reward crash, divergence spike, clip fraction at a half": "cause:step-size-too-large experiment:rate-tenth",
        "fewer epochs, a target divergence, a lower rate": "experiment:one-epoch command:watch",
        "divergence rises and reward does not": "detector:kl-reward cause:drift-without-gain",
        "divergence and reward both flat: converged, or never moved": "detector:no-update cause:optimiser-not-connected",
        "a loss that swings about 0, turns its sign, doubles or halves": "detector:loss-pattern",
        "a peak and a decline: go back to the best checkpoint": "detector:score-lost command:diagnose",
        "a ratio bound that does not act": "detector:clip-never-acts cause:clip-missing",
    },
    "Critic": {
        "a value loss that does not fall": "detector:value-loss-growing cause:critic-cannot-fit",
        "explained variance below 0": "detector:critic-worse-than-mean",
        "values on another scale than returns": "detector:value-scale-mismatch detector:reward-scale-apart cause:reward-scale-wrong",
        "returns that swing with noisy advantages": "detector:score-oscillates",
        "terminal masks and bootstrapping": "detector:value-loss-vanishes cause:done-mask-wrong check:critic",
    },
    "Exploration": {
        "entropy that falls to 0 early": "detector:entropy-collapse cause:premature-convergence forecast:entropy",
        "entropy that falls because the task is solved": "detector:entropy-collapse",
        "entropy that never falls": "detector:entropy-stays-high cause:signal-too-weak",
        "a temperature that is too low": "detector:sampling-narrow cause:sampling-too-cold",
        "all outputs look the same": "detector:outputs-alike detector:samples-identical command:audit",
        "diversity of behaviour, not of tokens": "command:audit detector:outputs-alike",
    },
    "Freshness": {
        "which policy made each sample": "detector:stale-rollouts command:inspect",
        "old log-probabilities of the policy that sampled": "detector:train-inference-mismatch cause:old-log-probabilities-wrong "
        "experiment:same-tokens",
        "how many updates lie between sampling and training": "detector:stale-rollouts detector:mismatch-growing cause:weights-not-delivered",
    },
    "Numerics": {
        "gradient norms with a heavy tail": "detector:grad-norm-explosion cause:gradients-explode",
        "extreme log-probabilities": "detector:logprob-extremes",
        "overflow and skipped steps": "detector:update-skipped detector:non-finite-values cause:gradients-not-finite",
        "outliers among the rewards": "detector:reward-outlier",
        "values that explode": "detector:value-explosion",
        "stop the update and save the state before the loss is NaN": "command:watch command:replay",
    },
    "Systems": {
        "does it fit, and what uses the memory": "check:memory",
        "memory that creeps": "detector:memory-creep cause:memory-leak",
        "throughput that falls, workers that wait": "detector:throughput-drop detector:phase-imbalance cause:phases-out-of-balance",
        "generation that takes most of a step": "detector:rollout-share detector:long-tail-generation",
        "an uploader or a merger that competes for the machine": "detector:step-time-spikes cause:interference",
    },
    "Language models and agents": {
        "refusals that spread": "audit:refusal",
        "a judge that prefers a style": "command:audit check:reward",
        "text that claims what the state does not show": "audit:empty-claim cause:verifier-exploited",
        "which step of a long trajectory decided it": "command:audit",
        "tools that fail": "detector:tool-errors cause:tools-fail",
    },
    "After training": {
        "best, last and failed checkpoint, audit samples, several seeds, private set": "command:closeout",
        "several seeds before a claim": "command:compare experiment:three-seeds",
        "the realistic upside and the risk of going on": "command:diagnose forecast:score",
    },
}


def carriers(names: str) -> list[str]:
    """The carriers of one statement; raises LookupError where one does not exist."""
    known = {
        "detector": detectors(),
        "cause": causes(),
        "experiment": catalogue(),
        "command": COMMANDS,
        "check": CHECKS,
        "audit": audit_metrics(),
        "forecast": ("entropy", "length", "kl", "score"),
    }
    for name in names.split():
        kind, _, id = name.partition(":")
        if id not in known[kind]:
            raise LookupError(f"{name} does not exist")
    return names.split()


def audit_metrics() -> set[str]:
    """The side metrics of `firstbreak audit`."""
    return set(metrics.metrics())


def section() -> list[str]:
    """The lines of the page."""
    lines = [
        "## What the debugging guides ask for",
        "",
        "One line for each thing that AReaL's guide, the training debug guide and experienced practitioners tell people to look at,",
        "and what looks at it here.",
    ]
    for heading, rows in STATEMENTS.items():
        cells = [[said, ", ".join(f"`{name}`" for name in carriers(names))] for said, names in rows.items()]
        lines += ["", f"### {heading}", "", table(["asked for", "carried by"], cells)]
    return lines
