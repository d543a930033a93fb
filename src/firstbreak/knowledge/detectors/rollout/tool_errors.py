"""Tool calls fail.

Looks for: The share of tool calls that fail or time out: its level over the second half of the run, and whether it
grows. Or calls of which half last exactly as long as the time limit that is configured for them. Or samples in which the
policy itself writes a call and then its result, where from the start on hardly a call is executed: no stop string ends its turn.
Or samples that hold calls, where none is ever executed: the parser does not accept them.
Why: A failed call often says something about the infrastructure, not about the policy. If failed calls are scored as
wrong answers, the policy learns to avoid tools. If failed calls are scored as successes, the policy learns to make
calls fail. A result that the policy invents says nothing about the question.
False alarm: Exploration of a tool's interface at the start: the share falls when the policy learns the syntax.
Fix:
- Read ten failed calls: wrong syntax comes from the policy, time-outs and refused connections come from the infrastructure.
- Leave trajectories with infrastructure errors out of the batch instead of scoring them.
- Where results are invented, add the end of a call to the stop strings of the sampler.
Experiment: Replay fifty logged calls against the tool, without a policy. Calls that fail again are a fault of the tool.
References: https://arxiv.org/abs/2504.13958
"""

import re
from collections.abc import Mapping

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import Seen, at, critical, enough, graded, seen_in
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.onset import first_sustained, onset, since_last
from firstbreak.engine.stats.proportion import wilson
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.engine.stats.trend import trend
from firstbreak.knowledge.detectors.reward._verdicts import first
from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Run, Sample, Samples, Series, Severity
from firstbreak.patterns import pattern
from firstbreak.values import replace

FAMILIES = only(Policy.TEXT)
INVENTED = re.compile(
    r"</\w*(?:call|search|code|python|tool)\w*>\s*<(?:\w+_)?(?:response|result|output|information|observation)>"
)
#: how chat templates let a model begin a call
CALLED = pattern(
    r"<\|?tool_calls?(?:_section)?(?:_begin)?\|?>|\[TOOL_CALLS\]|<\|python_tag\|>|<function=", re.IGNORECASE
)
TIME_LIMIT = pattern(r"time_?(?:out|limit)(?:_?s(?:ec(?:onds)?)?)?$", re.IGNORECASE)
HARDLY = 0.1  #: calls of a rollout, or turns beyond the first


def detect(
    tool_error_frac: Series | None = None,
    tool_failure_freq: Series | None = None,
    tool_error_count: Series | None = None,
    tool_success_freq: Series | None = None,
    tool_runtime_p50: Series | None = None,
    tool_call_freq: Series | None = None,
    turns_mean: Series | None = None,
    samples: Samples | None = None,
    trajectory: Trajectory | None = None,
    run: Run | None = None,
    *,
    high: float = at(0.2, "share", "one call in five; half where it grows, twice is critical"),
    min_points: int = at(10, "points", "with fewer points no level and no trend is known"),
) -> Finding | NotMeasured | None:
    executed = [s.finite for s in (tool_call_freq, turns_mean) if s is not None and len(s.finite)]
    if executed and samples is not None and all(_hardly(s) for s in executed):
        written = [
            INVENTED.search(_own_words(s)) is not None
            for s in first(samples)
            if s.messages or tool_call_freq is not None
        ]
        if wilson(sum(written), len(written))[0] > high:
            return _invented(executed[0], sum(written), len(written))
    if tool_call_freq is not None and samples is not None and len(tool_call_freq.finite) >= min_points:
        made = tool_call_freq.finite
        calls = [] if made.values.any() else [CALLED.search(_own_words(s)) is not None for s in first(samples)]
        if wilson(sum(calls), len(calls))[0] > high:
            return _never_executed(made, sum(calls), len(calls))
    if tool_runtime_p50 is not None and run is not None and (timed_out := _at_time_limit(run, tool_runtime_p50.finite)):
        return timed_out
    errors = tool_error_frac if tool_error_frac is not None else tool_failure_freq
    if errors is None and tool_success_freq is not None and tool_success_freq.finite.values.max(initial=0) <= 1:
        errors = replace(tool_success_freq, name="tool.failure_freq", values=1 - tool_success_freq.values)
    if errors is None and tool_error_count is not None and tool_call_freq is not None:
        errors = _per_call(tool_error_count.finite, tool_call_freq.finite)
    if errors is None:
        return NotMeasured("no share of failed tool calls is logged")
    curve = enough(errors.finite, min_points, "values of the tool error share")
    late, growing = float(np.mean(curve.tail(0.5).values)), trend(curve).rising
    if late < high / 2 or (late < high and not growing) or (trend(curve).falling and late < 2 * high):
        return None
    change = onset(curve, direction=1)
    seen = first_sustained(curve, lambda values: values >= high)
    since = change.step if change else seen
    stuck = trajectory is not None and (trajectory.lost or trajectory.kind == "flat")
    return graded(
        Severity.CRITICAL if stuck and late >= 2 * high else Severity.WARNING,
        "{late:%} of the tool calls fail{growing}: the score then depends on the tools; read ten failed calls first",
        Seen(
            metric=curve.name,
            onset=since,
            interval=change.interval if change else None if seen is None else since_last(curve, seen),
            evidence=(Evidence(text="share of failed calls", series=errors, since=since, level=high),),
        ),
        late=facts.mean(curve.tail(0.5)),
        growing=" and the share grows" if growing else "",
        confidence=Confidence.HIGH if late >= 2 * high else Confidence.MEDIUM,
    )


def _at_time_limit(run: Run, median_time: Series) -> Finding | None:
    """Half of the calls take as long as they may."""
    limits = {
        value for name, value in run.config.raw.items() if TIME_LIMIT.search(name) and isinstance(value, (int, float))
    }
    stopped = [limit for limit in limits if limit and np.mean(np.abs(median_time.values / limit - 1) < 1e-3) > 0.5]
    if not stopped:
        return None
    return critical(
        "half of the tool calls, or more, take {median}: that is the time limit in the configuration, so they end without a "
        "result; count the calls at one time against the workers of the tool",
        seen_in(median_time, "median time of a call"),
        median=facts.median(median_time),
    )


def _hardly(executed: Series) -> bool:
    """From the start: a policy that stops calling, and invents results for its reward, is not cut off too late."""
    return float(np.quantile(executed.values, 0.9)) < HARDLY + (executed.name == "turns.mean")


def _own_words(sample: Sample) -> str:
    """What the policy itself has written."""
    said = [m for m in sample.messages if isinstance(m, Mapping)]
    return "\n".join(str(m.get("content")) for m in said if m.get("role") == "assistant") if said else sample.completion


def _never_executed(made: Series, calls: int, samples: int) -> Finding:
    began = float(made.steps[0])
    return critical(
        "{calls} of {samples} texts hold a tool call, and none is executed in any of the {n} steps: the parser of the calls "
        "does not accept what the policy writes; parse one of these texts by hand",
        seen_in(made, "calls that were executed", began, (began, began)),
        calls=str(calls),
        samples=str(samples),
        n=facts.count(made),
    )


def _invented(executed: Series, written: int, samples: int) -> Finding:
    return critical(
        "{written} of {samples} texts hold a call and its result, while {name} is {late}: the policy invents the results; "
        "let the sampler stop at the end of a call",
        seen_in(executed, "calls that are executed, or turns"),
        written=str(written),
        samples=str(samples),
        name=executed.name,
        late=facts.median(executed.tail(0.25)),
    )


def _per_call(failed: Series, calls: Series) -> Series | None:
    """Failed calls over calls, where both are counts of the same steps."""
    if not np.array_equal(failed.steps, calls.steps) or not (calls.values >= np.maximum(failed.values, 1)).all():
        return None
    return replace(failed, values=failed.values / calls.values)
