"""What the verdicts say, and whether they contradict themselves."""

from collections.abc import Iterator
from typing import Any

from benchmarks.docs.markdown import percent, table
from benchmarks.docs.results import measured, result
from benchmarks.judgement.contradictions import RULES

SWEEPS = {
    "peak_rollback": "evaluation and reward .25, .70, .38: told to go back",
    "rise_rising": "evaluation .30 to .60 in seven checks: called rising",
    "flat_moved": "a flat evaluation: called rising or falling",
    "straight_converged": "a straight rise: called converged or a plateau",
    "kl_flat_spoken": "KL grows 800 times, flat score: spoken of, and not as a low risk",
}
CHANGES = {
    "reward_x1000": "rewards 1000 times as large",
    "reward_plus_100": "rewards larger by 100",
    "rows_twice": "every row twice",
    "rows_shuffled": "rows in another order",
    "backup": "a copy of the run in `backup/`",
    "cut_5_percent": "the last 5 % cut off",
}


def page() -> str:
    """docs/judgement.md"""
    figures = result("judgement")
    lines = ["# Whether the verdicts hold together", "", measured(figures)]
    lines += ["Where a share stands, only this part of the full size was measured.", ""]
    for part in (_answers, _sweeps, _contradictions, _metamorphic):
        lines += part(figures)
    return "\n".join(lines)


def _share(figures: dict[str, Any], part: str) -> str:
    share = figures["share"].get(part, 1.0)
    return "" if share == 1.0 else f" (share {share:g})"


def _answers(figures: dict[str, Any]) -> Iterator[str]:
    rows = []
    if said := figures.get("said"):
        rows += [
            (f"logs with a known answer, {part} right", f"{said[part]} of {said['n']}")
            for part in ("state", "link", "action")
        ]
        rows += [("all three right", f"{said['right']} of {said['n']}")]
        rows += [("a phrase that is false there is printed", f"{said['false_phrase_printed']} of {said['n']}")]
    if peers := figures.get("peers"):
        rows += [
            ("runs of two other tools: first link right", f"{percent(peers['first_link_right'])} of {peers['n_runs']}")
        ]
        rows += [("their healthy runs: stopped or called broken", f"{peers['healthy_accused']} of {peers['healthy']}")]
    if healthy := figures.get("healthy"):
        rows += [
            (
                f"healthy runs of the population{_share(figures, 'healthy')}: stopped",
                f"{healthy['stopped']} of {healthy['n']}",
            )
        ]
        rows += [("called broken", f"{healthy['broken']} of {healthy['n']}")]
    yield from ("## Right answers", "")
    yield "Whether a report says, in any words, what it has to say of a log is judged by a reader, and not counted here."
    yield from ("", table(["", ""], rows), "")


def _sweeps(figures: dict[str, Any]) -> Iterator[str]:
    if sweeps := figures.get("sweeps"):
        yield from (
            "## Sweeps",
            "",
            "Curves are drawn sample by sample: 32 prompts, 8 completions each, evaluations of 400 problems.",
            "",
        )
        yield from (
            table(["", f"of {sweeps['of']} seeds"], [(words, sweeps[key]) for key, words in SWEEPS.items()]),
            "",
        )


def _contradictions(figures: dict[str, Any]) -> Iterator[str]:
    if found := figures.get("contradictions"):
        yield from ("## Contradictions", "")
        yield "Each rule reads the printed text, the JSON and the exit code of one report, and nothing else. "
        drawn = f"{found['courses']:,} drawn courses{_share(figures, 'contradictions')}"
        yield f"Of {drawn} (score, signs, trainer) {found['courses_with_one']} have a report"
        yield "that contradicts itself."
        rows = [((rule.__doc__ or "").splitlines()[0], found["rules"].get(rule.__name__, 0)) for rule in RULES]
        yield from ("", table(["rule", "courses that break it"], rows), "")


def _metamorphic(figures: dict[str, Any]) -> Iterator[str]:
    if pairs := figures.get("metamorphic"):
        yield from (
            "## Changes that mean nothing",
            "",
            "Published runs: in how many does the action or the first link change?",
            "",
        )
        yield from (
            table(["", "changed", "of"], [(words, pairs[key], pairs[f"{key}_n"]) for key, words in CHANGES.items()]),
            "",
        )
