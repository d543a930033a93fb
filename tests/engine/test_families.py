"""Every text that a run can be shown belongs to its family: a control run hears nothing of prompts, a DQN of no clip range."""

import json as standard_json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firstbreak.engine.catalogue import catalogue, smallest
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.families import OF_LINK, Data, Family, Method, Policy, in_words
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.rank import advice
from firstbreak.engine.registry import Cause, causes
from firstbreak.model import Diagnosis, Status
from firstbreak.readers.read import read
from firstbreak.reports import html, json, markdown, terminal
from tests.lazy import lazy
from tests.make import run as made
from tests.make import some_quick

firstbreak_lab_archives = lazy("firstbreak_lab.archives")

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
CORPUS = ROOT / "corpus"


def family(policy: Policy, method: Method) -> Family:
    fresh = method in (Method.GROUP_RELATIVE, Method.ACTOR_CRITIC)
    return Family(policy=policy, policy_known=True, method=method, data=Data.ON_POLICY if fresh else Data.OFF_POLICY)


FAMILIES = [
    *(
        family(Policy.TEXT, m)
        for m in (Method.GROUP_RELATIVE, Method.ACTOR_CRITIC, Method.PREFERENCE, Method.SUPERVISED)
    ),
    *(family(Policy.CONTROL, m) for m in (Method.ACTOR_CRITIC, Method.VALUE_BASED)),
]

#: words that mean nothing in a run of this kind
OF_TEXTS = re.compile(
    r"\b(prompts?|completions?|tokens?|tools?|reference models?|group_size|group size|chat templates?|kl_coef)\b", re.I
)
OF_CONTROL = re.compile(r"\b(observations?|episodes?|action spaces?|gamma)\b", re.I)
OF_CLIPPED_POLICIES = re.compile(
    r"\b(entropy bonus(es)?|entropy_coef|clip_range|clip range|epochs_per_batch|epochs per batch)\b", re.I
)


def foreign(text: str, of: Family) -> set[str]:
    """The words of a text that mean nothing in runs of a family; an option in braces counts by its canonical name."""
    patterns = [OF_CONTROL] if of.policy is Policy.TEXT else [OF_TEXTS]
    if of.method is Method.VALUE_BASED:
        patterns.append(OF_CLIPPED_POLICIES)
    return {found[0].lower() for pattern in patterns for found in pattern.finditer(text)}


def texts(cause: Cause, of: Family) -> dict[str, str]:
    """What a report of a run of this family shows of a cause, by place."""
    fix, plan = advice(cause, of)
    shown = {"title": cause.title, "experiment text": plan} | {f"fix {i}": step for i, step in enumerate(fix, 1)}
    if (experiment := smallest(cause.experiments, cause.id, of)) is not None:
        shown |= {"if_cause": experiment.if_cause, "overrides": " ".join(experiment.overrides)}
        shown |= {"experiment": catalogue()[experiment.id].title, "measure": experiment.measure}
    return shown


def offenders(cause: Cause, of: Family) -> Iterator[str]:
    name = f"{cause.id} for {of.policy.value}/{of.method.value if of.method else '?'}"
    fix, plan = advice(cause, of)
    if not fix:
        yield f"{name}: no fix"
    if not plan:
        yield f"{name}: no text of an experiment"
    if not any(catalogue()[named].families.include(of) for named in cause.experiments):
        yield f"{name}: none of its experiments ({', '.join(cause.experiments)}) holds for this family"
    for place, text in texts(cause, of).items():
        if words := foreign(text, of):
            yield f"{name}: {place} speaks of {', '.join(sorted(words))}: {text}"


def test_every_cause_has_advice_in_the_words_of_every_family_that_it_applies_to() -> None:
    found = [
        line
        for of in FAMILIES
        for cause in causes().values()
        if OF_LINK[cause.link].include(of) and cause.families.include(of)
        for line in offenders(cause, of)
    ]
    assert not found, f"{len(found)} texts:\n" + "\n".join(found)


# --- real runs ---------------------------------------------------------------------------------------------------------

TRAINERS = ("classic-ppo", "classic-a2c", "classic-dqn", "classic-sac")


def archives(per_fault: int = 2, faults: int = 15) -> list[Path]:
    """Runs of control trainers in the corpus, of about so many faults, a few of each."""
    of_fault: dict[str, list[Path]] = {}
    for path in sorted(CORPUS.glob("*/classic-*.tar.xz")):
        of_fault.setdefault(path.parent.name, []).append(path)
    names = sorted(of_fault, key=lambda name: -len({trainer(path) for path in of_fault[name]}))
    chosen = sorted(dict.fromkeys(["untouched", *names[:faults]]) if "untouched" in of_fault else names[:faults])
    return [path for name in chosen for path in _different(of_fault[name], per_fault)]


def trainer(path: Path) -> str:
    return next((name for name in TRAINERS if path.name.startswith(name)), "")


def _different(paths: list[Path], n: int) -> list[Path]:
    """So many of them, of as many trainers as possible."""
    firsts = list({trainer(path): path for path in reversed(paths)}.values())
    return sorted([*firsts, *(path for path in paths if path not in firsts)][:n])


def unpacked(path: Path, folder: Path) -> Path:
    if path.is_dir():
        return path
    firstbreak_lab_archives.unpack(path, folder)
    return folder


_UNREAD = r'<(style|script|svg)\b.*?</\1>|<section[^>]*class="names".*?</section>|<[^>]+>'


def shown(dx: Diagnosis) -> dict[str, str]:
    """Every report of a diagnosis, and its verdict, without the pages of the reference that HTML folds in for every kind of run.

    A check that does not apply may name what it is for.
    """
    verdict, payload = dx.verdict, standard_json.loads(json.render(dx))
    payload["outcomes"] = [o for o in payload["outcomes"] if o["status"] != Status.NOT_APPLICABLE]
    return {
        "verdict": " ".join((verdict.summary, verdict.upside, verdict.risk, verdict.do_first)),
        "terminal": terminal.render(dx, color=False),
        "markdown": markdown.render(dx),
        "html": re.sub(_UNREAD, "\n", html.render(dx), flags=re.S),
        "json": " \n".join(prose(payload)),
    }


def prose(value: Any) -> Iterator[str]:
    """The sentences of a JSON report: names of metrics, files and options are no sentences."""
    match value:
        case str() if " " in value:
            yield value
        case list():
            for item in value:
                yield from prose(item)
        case dict():
            for item in value.values():
                yield from prose(item)


def own_names(dx: Diagnosis) -> set[str]:
    """What the run itself calls its metrics, and where it lies."""
    return {dx.run.path, *(s.raw for s in dx.run.series.values()), *dx.run.unknown}


def without(text: str, names: list[str]) -> str:
    """The text without these names, where they stand as words of their own."""
    for name in names:
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", text)
    return text


CONTROL_RUNS = [*sorted(DATA.glob("sb3_ppo_*")), *archives()]


@pytest.mark.parametrize(
    "path", some_quick(CONTROL_RUNS, 6), ids=lambda p: f"{p.parent.name}-{p.name.removesuffix('.tar.xz')}"
)
def test_no_report_of_a_control_run_speaks_of_texts_and_none_of_a_value_based_run_of_a_clip(
    path: Path, tmp_path: Path
) -> None:
    run = read(unpacked(path, tmp_path))
    dx = diagnose(run)
    value_based = trainer(path) in ("classic-dqn", "classic-sac")
    of = family(Policy.CONTROL, Method.VALUE_BASED if value_based else Method.ACTOR_CRITIC)
    names = sorted(filter(None, own_names(dx)), key=len, reverse=True)
    found = [
        f"{place}: {', '.join(sorted(words))}: {line.strip()}"
        for place, text in shown(dx).items()
        for line in without(text, names).splitlines()
        if (words := foreign(line, of))
    ]
    assert not found, f"{len(found)} lines:\n" + "\n".join(dict.fromkeys(found))


def test_a_trainer_of_language_models_trains_policies_that_write_text_whatever_was_logged() -> None:
    curves = {"reward.mean": [0.1, 0.2], "policy.entropy": [1.0, 0.9]}
    assert Inputs(made(curves, algorithm="ppo", trainer="trl")).policy is Policy.TEXT
    assert Inputs(made(curves, algorithm="ppo", trainer="sb3")).policy is Policy.CONTROL


def test_a_page_for_every_run_says_in_words_for_which_a_line_holds() -> None:
    text = "Look.\n- text, actor_critic, group_relative: Compare.\n- value_based: Ask.\ncontrol: Watch it."
    assert in_words(text).splitlines() == [
        "Look.",
        "- For policies that write text, for methods that compare the samples of a prompt or "
        "for methods with an actor and a critic on fresh data: Compare.",
        "- For methods that learn action values: Ask.",
        "For policies that act in an environment: Watch it.",
    ]
