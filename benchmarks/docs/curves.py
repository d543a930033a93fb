"""What the guides say of curves, each with its generator, its figures, and what firstbreak says of one such run."""

from __future__ import annotations

from pathlib import Path

from benchmarks.docs.markdown import table
from benchmarks.docs.results import measured, result
from benchmarks.statements import suite
from benchmarks.statements.guides.coherent import ALONE, ASKED, ASKED_ALONE, FEW

ROOT = Path(__file__).resolve().parents[2]
SHOWN = 110  #: characters of a quote


def page() -> str:
    """docs/statements.md"""
    figures = result("statements")
    rows = []
    for id_, statement in suite.statements().items():
        if (row := figures.get(id_)) is None:
            continue
        file = Path(statement.broken.__code__.co_filename).resolve().relative_to(ROOT)
        quote = " ".join(statement.quote.replace("|", " ").split())
        rows.append(
            [
                f'<a id="{(name := id_.removeprefix("curves."))}"></a>`{name}`',
                quote if len(quote) <= SHOWN else f"{quote[:SHOWN].rsplit(' ', 1)[0]} ...",
                f"`{file.name}`",
                f"{row['fires']['right']}/{row['fires']['runs']}",
                f"{row['silent']['right']}/{row['silent']['runs']}" if row["silent"]["runs"] else "",
                row["message"].replace("|", "/"),
            ]
        )
    fires, silent = (_rate(figures[side]) for side in ("fires", "silent"))
    return "\n".join(
        [
            "# What the guides say of curves",
            "",
            "Each line is one thing that a debugging guide says of a curve. A generator in `benchmarks/statements/guides/` makes",
            "runs that show it, as logs of TRL, verl, AReaL, OpenRLHF, Stable-Baselines3, CleanRL and RLlib, with the noise of",
            "real runs, and a healthy look-alike of each. *Said* counts the runs of which firstbreak says what the guide says",
            "(the link, the action and the remedy). *Silent* counts the look-alikes of which nothing is said. The last column",
            "is the message that a user reads of one run that counts.",
            "",
            f"A decline of a score is drawn at least so large that 97 % of such declines exceed {ASKED:g} standard errors for an",
            "observer who knows its course and the noise: healthy runs of the lab show falls of up to 4.4",
            f"(`python -m benchmarks.falls`). Where at most {FEW} evaluations fall alone they show 3.1, {ASKED_ALONE:g} is",
            "asked, and the noise has to be learned from the evaluations. Where none is logged and the run is to be stopped,",
            f"at least {100 * ALONE:g} % of the gain is lost: healthy runs of the lab lose up to 44 % of it.",
            "",
            *_arguments(),
            f"Said {fires}, silent {silent}; healthy runs that were stopped: {figures['healthy_stopped']}. A seeded sample of",
            f"{figures['runs']} of {figures['grid']} runs.",
            "",
            measured(figures),
            "",
            table(["statement", "the guide's words", "generator", "said", "silent", "what firstbreak says"], rows),
        ]
    )


def _arguments() -> list[str]:
    """Where the guide is not followed to the letter, and why."""
    argued = {id_: s.argument for id_, s in suite.statements().items() if s.argument}
    return [*(f"- `{id_.removeprefix('curves.')}`: {why}" for id_, why in argued.items()), ""] if argued else []


def _rate(rate: dict[str, float]) -> str:
    return f"{100 * rate['right'] / max(1, rate['runs']):.1f} %"
