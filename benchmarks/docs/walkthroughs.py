"""The two walk-throughs of the training debug guide, and the five cells of divergence against score: really diagnosed."""

import tempfile
from io import StringIO
from pathlib import Path

from firstbreak_lab.corpus import opened
from rich.console import Console

from benchmarks.judgement.courses import Course, written
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

#: heading, how the score goes, how the divergence from the reference goes, what a practitioner makes of it
CELLS = (
    ("Divergence and score rise", "rise", "kl line", "The policy changes, and what it learns is useful: continue."),
    (
        "The divergence rises, the score is flat",
        "rise then flat",
        "kl line",
        "The policy moves away and gains nothing any more: each further step costs compute, and makes it harder to go back.",
    ),
    (
        "The divergence rises, the score falls",
        "peaked",
        "kl line",
        "The policy gets worse while it moves away: stop, and go back to the best checkpoint.",
    ),
    ("The divergence stands still, the score rises", "rise", "kl steady", "The best case, and a rare one: continue."),
    (
        "The divergence stands still, the score is flat",
        "rise then flat",
        "kl steady",
        "Training has converged: whether to stop depends on whether this score is enough.",
    ),
)


def page() -> str:
    """docs/walkthroughs.md"""
    parts = [
        "# Walk-throughs",
        "Nothing in the reports is typed. The first two are runs of the lab's corpus; their reports, of `diagnose --full`, go on "
        "with what was not measured and what was read.",
    ]
    for heading, archive, command, seen, order in EXAMPLES:
        parts += [f"## {heading}", seen, f"    {command}", f"```text\n{_report(archive)}\n```", order]
    parts += [
        "## Divergence from the reference, against the score",
        "Five drawn logs of TRL's GRPO: 200 steps of 32 prompts with 8 completions, 11 evaluations of 400 problems. Of each "
        "report: the verdict, and what to expect if the run continues.",
    ]
    for heading, score, divergence, meaning in CELLS:
        parts += [f"### {heading}", meaning, f"```text\n{_cell(score, divergence)}\n```"]
    return "\n\n".join(parts)


def _report(archive: str) -> str:
    """The report up to the parts that count checks."""
    with opened(CORPUS, archive) as (folder, _):
        return _printed(folder).partition("\nNot measured\n")[0].rstrip()


def _cell(score: str, divergence: str) -> str:
    """The first part of the report of one drawn run, and the part about its future."""
    with tempfile.TemporaryDirectory() as folder:
        text = _printed(written(Course("trl", score, score, (divergence,), 200, 11, seed=1), Path(folder)))
    verdict, _, rest = text.partition("\nThe training loop\n")
    future, _, _ = rest.partition("If the run continues\n")[2].partition("\n\n")
    return f"{verdict.rstrip()}\n\nIf the run continues\n{future}"


def _printed(folder: Path) -> str:
    text = StringIO()
    report = terminal.renderable(diagnose(read(folder)))
    Console(file=text, width=100, force_terminal=False, color_system=None).print(report)
    return "\n".join(line.rstrip() for line in text.getvalue().replace(str(folder), "run").splitlines())
