"""What the debugging guide says of the pitfalls of RLHF and agentic RL."""

from __future__ import annotations

import numpy as np

from benchmarks.statements.guides.debug_shapes import (
    ACTS,
    GUIDE,
    Edited,
    learned,
    learning,
    learning_run,
    longer_and_better,
    ramp,
)
from benchmarks.statements.statement import Curves, statement
from benchmarks.statements.worlds import World
from firstbreak.model import Link

PITFALLS = f"{GUIDE}, Additional pitfalls in RLHF and agentic RL"
HACKING = f"{GUIDE}, Reward hacking"


@statement(
    id="curves.length_inflation",
    guide=f"{GUIDE}, During training",
    quote="| Response length inflation | check length preference |",
    needs=("length.mean", "reward.mean"),
    links=(Link.ROLLOUT, Link.REWARD),
    actions=ACTS,
    says=(r"(?i)length|longer|shorter",),
    healthy=longer_and_better,
)
def length_inflation(world: World) -> Curves:
    """Completions get longer all the time, the reward creeps up with them, and the evaluation stays where it was."""
    run = Edited(world)
    run.reward(0.4 * world.x)
    run.lengths(1 + world.between(0.6, 2.5) * world.x)
    run.evaluation(0.0)
    return run.curves


@statement(
    id="curves.length_above_twice_baseline",
    guide=HACKING,
    quote='if item["response_len"] > item["baseline_len"] * 2:',
    needs=("length.mean", "reward.mean", "eval.reward"),
    links=(Link.ROLLOUT, Link.REWARD, Link.EVALUATION),
    actions=ACTS,
    says=(r"(?i)length|longer|shorter",),
    healthy=longer_and_better,
)
def length_above_twice_baseline(world: World) -> Curves:
    """Within a quarter of the run the completions become more than twice as long; the evaluation declines."""
    run = Edited(world)
    jump = ramp(world, world.onset(0.25, 0.5), 0.25)
    run.reward(0.3 * learned(world) + 0.7 * jump)
    run.lengths(1 + world.between(1.15, 3.0) * jump)
    run.evaluation(0.3 * learned(world) - world.between(0.1, 0.6) * jump)
    return run.curves


@statement(
    id="curves.length_preference",
    guide=PITFALLS,
    quote="| RLHF | Length preference | responses get longer but information density drops |",
    needs=("length.mean", "reward.mean", "eval.reward", "kl.ref"),
    links=(Link.ROLLOUT, Link.REWARD, Link.EVALUATION),
    actions=ACTS,
    says=(r"(?i)length|longer|shorter",),
    healthy=longer_and_better,
)
def length_preference(world: World) -> Curves:
    """Reward and length rise together, entropy and evaluation fall a little: longer, emptier answers."""
    run = Edited(world)
    rise = learned(world, 0.6)
    run.reward(1.1 * rise)
    run.lengths(1 + world.between(0.5, 2.0) * rise)
    run.evaluation(-world.between(0.1, 0.6) * rise)
    run.scale(("policy.entropy",), 1 - 0.3 * rise)
    run.scale(run.kls("kl.ref"), 1 + 2 * rise)
    return run.curves


def _shorter_and_better(world: World) -> Curves:
    run = learning(world)
    run.lengths(1 - world.rng.uniform(0.1, 0.3) * learned(world, 0.3))
    return run.curves


@statement(
    id="curves.refusal_drift",
    guide=PITFALLS,
    quote="| RLHF | Refusal drift | safety reward too strong, model over-refuses |",
    needs=("reward.mean", "length.mean", "eval.reward", "policy.entropy"),
    links=(Link.REWARD, Link.ROLLOUT, Link.EXPLORATION, Link.EVALUATION),
    actions=ACTS,
    says=(r"(?i)refus|sample|completions|short|hack",),
    healthy=_shorter_and_better,
)
def refusal_drift(world: World) -> Curves:
    """Answers shrink to one short sentence that the reward pays for, and the evaluation is lost."""
    run = Edited(world)
    drift = ramp(world, world.onset(0.2, 0.4), 0.4)
    run.reward(0.3 * learned(world) + 0.8 * drift)
    run.lengths(1 - world.between(0.6, 0.92) * drift)
    run.put("length.min", run.start("length.min") * (1 - 0.8 * drift))
    run.evaluation(0.3 * learned(world) - world.between(0.4, 1.2) * drift)
    for signal in ("policy.entropy", "policy.entropy_proxy"):
        run.scale((signal,), 1 - world.between(0.5, 0.9) * drift)
    run.scale(run.kls("kl.ref"), 1 + 4 * drift)
    return run.curves


@statement(
    id="curves.judge_bias",
    guide=PITFALLS,
    quote="| RLHF | Judge bias | LLM judge prefers a certain writing style |",
    needs=("reward.mean", "eval.reward", "policy.entropy"),
    links=(Link.REWARD, Link.EVALUATION, Link.EXPLORATION),
    actions=ACTS,
    says=(r"(?i)judge|style|sample|hack|held.?out|proxy",),
    healthy=learning_run,
)
def judge_bias(world: World) -> Curves:
    """The reward rises early and fast, the entropy falls with it, and the evaluation loses ground slowly."""
    run = Edited(world)
    run.reward(1.4 * learned(world, 0.15))
    for signal in ("policy.entropy", "policy.entropy_proxy"):
        run.put(signal, run.start(signal) * (1 - 0.6 * learned(world, 0.2)))
    run.evaluation(-world.between(0.1, 0.6) * learned(world, 0.5))
    run.scale(run.kls("kl.ref"), 1 + 2 * learned(world, 0.2))
    return run.curves


def _tools(run: Edited, calls: np.ndarray | float) -> None:
    """Tool calls of a rollout, `calls` (n,), as each of the trainers counts them."""
    run.add("tool.call_freq", calls, 0.08)
    run.add("tool.failure_freq", 0.05, 0.01)
    run.curves["tool.failure_freq"] = np.clip(run.curves["tool.failure_freq"], 0, 1)


def _needs_its_tools(world: World) -> Curves:
    run = learning(world)
    _tools(run, 1.5 + world.rng.uniform(0.5, 1.5) * learned(world, 0.4))
    return run.curves


@statement(
    id="curves.tool_hacking",
    guide=PITFALLS,
    quote="| Agentic RL | Tool hacking | repeatedly calling tools to inflate process scores |",
    needs=("tool.call_freq", "reward.mean", "eval.reward"),
    links=(Link.ROLLOUT, Link.REWARD, Link.EVALUATION),
    actions=ACTS,
    says=(r"(?i)tool",),
    healthy=_needs_its_tools,
)
def tool_hacking(world: World) -> Curves:
    """Tool calls grow to several times their number, the reward with them, and the evaluation stays flat."""
    run = Edited(world)
    rise = learned(world, 0.6)
    run.reward(rise)
    run.evaluation(0.0)
    _tools(run, 1.5 * (1 + world.between(1.0, 6.0) * rise))
    run.lengths(1 + 0.4 * rise)
    return run.curves


@statement(
    id="curves.tool_calls_without_completion",
    guide=f"{GUIDE}, Inspect model output samples",
    quote="it may also appear as increased tool call counts without the final environment state actually completing the task.",
    needs=("tool.call_freq", "reward.mean"),
    links=(Link.ROLLOUT, Link.REWARD),
    actions=ACTS,
    says=(r"(?i)tool",),
    healthy=_needs_its_tools,
)
def tool_calls_without_completion(world: World) -> Curves:
    """Tool calls multiply from some step on, while reward and evaluation stay where they were."""
    run = Edited(world)
    run.score(0.0)
    _tools(run, 1.5 * (1 + world.between(1.5, 8.0) * ramp(world, world.onset(0.2, 0.4), 0.4)))
    return run.curves


def _more_turns_more_success(world: World) -> Curves:
    run = learning(world)
    run.add("turns.mean", 3 + world.rng.uniform(0.5, 2) * learned(world, 0.4), 0.1)
    return run.curves


@statement(
    id="curves.turns_grow_without_success",
    guide=PITFALLS,
    quote="it must examine environment state, whether tool calls are legal, step count, cost, and failure recovery ability.",
    needs=("turns.mean", "reward.mean", "eval.reward"),
    links=(Link.ROLLOUT, Link.REWARD, Link.EVALUATION),
    actions=ACTS,
    says=(r"(?i)turn|step count|tool",),
    healthy=_more_turns_more_success,
)
def turns_grow_without_success(world: World) -> Curves:
    """Rollouts take ever more turns; the training reward rises a little, the evaluation falls."""
    run = Edited(world)
    run.reward(0.4 * world.x)
    run.evaluation(-world.between(0.1, 0.5) * world.x)
    run.add("turns.mean", 3 * (1 + world.between(1.0, 5.0) * world.x), 0.1)
    return run.curves


def _done_and_checked(world: World) -> Curves:
    run = learning(world)
    _claims(run, said=0.3 + 0.6 * learned(world, 0.3), done=0.15 + 0.6 * learned(world, 0.35))
    return run.curves


@statement(
    id="curves.pseudo_success",
    guide=PITFALLS,
    quote="| Agentic RL | Pseudo-success states | text says done, but environment state unchanged |",
    needs=("reward.mean", "reward.component.env_state.mean", "eval.reward"),
    links=(Link.REWARD, Link.EVALUATION),
    actions=ACTS,
    says=(r"(?i)component|reward function|env_state|sample|hack|state",),
    healthy=_done_and_checked,
)
def pseudo_success(world: World) -> Curves:
    """The reward for saying so rises, the one that looks at the environment's state stays, and so does the evaluation."""
    run = Edited(world)
    rise = learned(world, 0.4)
    run.evaluation(0.0)
    _claims(run, said=0.3 + world.between(0.3, 0.65) * rise, done=np.full(world.n, 0.15))
    return run.curves


def _claims(run: Edited, *, said: np.ndarray, done: np.ndarray) -> None:
    """One reward function that reads the text, one that looks at the state, and their sum."""
    for name, mean in (("claims_done", said), ("env_state", done)):
        signal = f"reward.component.{name}.mean"
        run.add(signal, mean, 0.02)
        run.curves[signal] = np.clip(run.curves[signal], 0, 1)
    run.without("reward.component.accuracy_reward")
    for signal in ("reward.mean", "reward.shaped.mean"):
        total = run.curves["reward.component.claims_done.mean"] + run.curves["reward.component.env_state.mean"]
        run.exact(signal, total)


@statement(
    id="curves.style_changes_first",
    guide=f"{GUIDE}, Inspect model output samples",
    quote="longer responses, more complex formatting, more polite language, but lower information density.",
    needs=("length.mean", "reward.mean", "eval.reward", "policy.entropy"),
    links=(Link.REWARD, Link.ROLLOUT, Link.EVALUATION),
    actions=ACTS,
    says=(r"(?i)sample|length|style|hack",),
    healthy=longer_and_better,
)
def style_changes_first(world: World) -> Curves:
    """Length rises and entropy falls from early on; the reward follows, the evaluation does not."""
    run = Edited(world)
    early, late = learned(world, 0.2), learned(world, 0.7)
    run.lengths(1 + world.between(0.5, 1.8) * early)
    run.scale(("policy.entropy",), 1 - 0.4 * early)
    run.reward(late)
    run.evaluation(-0.15 * late)
    return run.curves
