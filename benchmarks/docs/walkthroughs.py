"""The two walk-throughs of the training debug guide, on runs of the lab: a page made by really diagnosing them."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from firstbreak_lab.corpus import opened
from rich.console import Console

from firstbreak.engine.diagnose import diagnose
from firstbreak.readers.read import read
from firstbreak.reports import terminal

CORPUS = Path(__file__).resolve().parents[2] / "corpus"

#: heading, archive of the corpus, command that makes such a run, what one sees, how the guide's order finds it
EXAMPLES = (
    (
        "Reward rises, the benchmark is flat, outputs get longer",
        "pays-for-length/trl-grpo-sort-0.06-0.tar.xz",
        "firstbreak lab run pays-for-length --base trl/grpo-sort --severity 0.06 --seed 0 -o run",
        "A GRPO run of TRL on a sorting task. From step 21 on, a second reward function pays for every token. The training "
        "reward rises, which is what one watches; completions grow into the length limit; the share of right answers falls.",
        "The guide asks for the evaluation protocol first, then for samples, for the parts of the reward, for divergence and "
        "entropy, then for a short run with the length taken out of the reward, and for a decision: if the reward drops and "
        "the held-out score rises, the old reward was wrong. The report below has the parts of the reward and the order of "
        "onsets; `firstbreak audit` reads the samples; `firstbreak experiment run shorter-answers` is the short run.",
    ),
    (
        "Reward crashes, the divergence spikes, the clip fraction jumps",
        "learning-rate-too-high/classic-ppo-cartpole-100-0.tar.xz",
        "firstbreak lab run learning-rate-too-high --base classic/ppo-cartpole --severity 100 --seed 0 -o run",
        "A PPO run of Stable-Baselines3 that balances a pole. At 45 % of the run a restart multiplies the learning rate by 100. "
        "The divergence of one update and the clip fraction jump at that step, and the return is lost.",
        "The guide suspects the size of the updates first: go back to the last healthy checkpoint, lower the learning rate, "
        "use fewer epochs, stop the epochs of an update at a target divergence, check the normalisation of advantages and the "
        "scale of rewards. `firstbreak watch` and the Guard do the third while the run goes on; "
        "`firstbreak experiment run rate-tenth` is the short run that proves it.",
    ),
)


def page() -> str:
    """docs/walkthroughs.md"""
    lines = [
        "# Two walk-throughs",
        "",
        "Made by `make docs` from runs of the lab's corpus; nothing in the reports is typed. The reports go on with what was",
        "not measured and what was read.",
    ]
    for heading, archive, command, seen, order in EXAMPLES:
        lines += [
            "",
            f"## {heading}",
            "",
            seen,
            "",
            f"    {command}",
            "",
            "```text",
            *_report(archive),
            "```",
            "",
            order,
        ]
    return "\n".join(lines)


def _report(archive: str) -> list[str]:
    """The report up to the parts that count checks: a new check must not change this page."""
    with opened(CORPUS, archive) as (folder, _):
        run = read(folder)
        text = StringIO()
        Console(file=text, width=100, force_terminal=False, color_system=None).print(terminal.renderable(diagnose(run)))
    shown, _, _ = text.getvalue().replace(str(folder), "run").partition("\nNot measured\n")
    return [line.rstrip() for line in shown.splitlines()]
