"""One screen: forty lines and four hundred words at most, the first action in the first ten lines, the rest named."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from firstbreak import dialects
from firstbreak.cli import app
from firstbreak.cli.demo import RUN
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.families import Family, Method, Policy
from firstbreak.engine.inputs import DERIVED, Inputs
from firstbreak.model import Diagnosis, Link, Severity
from firstbreak.readers.read import read
from firstbreak.reports import brief, content, screen, terminal
from firstbreak.reports.text import shorter
from firstbreak.words import link_word, percent
from tests.every import every
from tests.make import learning, noise
from tests.make import run as of
from tests.reports import fixtures
from tests.there import there

DATA = Path(__file__).parent.parent / "data"
SHIPPED = [RUN, *sorted(DATA.iterdir())]
MOST_LINES, MOST_WORDS, ACTION_BY = 40, 400, 10
#: what only a run of a language model has, and what no run has that is not one of preference pairs
OF_TEXT = re.compile(r"completion|prompt|preference|held-out pair|zero-variance", re.IGNORECASE)
OF_ALL_FORMATS = ("along a line", "95 % range", "in nats", "preference pairs")


def fits(dx: Diagnosis) -> None:
    shown = screen.render(dx, width=80)
    lines = shown.split("\n")
    assert len(lines) <= MOST_LINES
    assert len(shown.split()) <= MOST_WORDS
    assert next(i for i, line in enumerate(lines, 1) if line.startswith("Do this first:")) <= ACTION_BY
    assert max(map(len, lines)) <= 80
    assert not re.search(r"(?<![\w.,/@=-])\d{6,}(?![\w./])", shown), "a long number"
    assert not [words for words in OF_ALL_FORMATS if words in shown]
    if Inputs(dx.run).policy is Policy.CONTROL:
        assert not OF_TEXT.search(shown)


def tells(dx: Diagnosis) -> None:
    """The verdict, every link, the worst finding, and how many more there are."""
    shown = screen.render(dx, width=100)
    assert content.ACTION_WORD[content.mark(dx.verdict)].upper() in shown
    assert all(link_word(link) in shown for link in dx.links)
    serious = [o for o in dx.findings if o.finding is not None and o.finding.severity is not Severity.NOTICE]
    assert bool(serious) == any(o.detector in shown for o in serious)
    more = len(dx.findings) - len(brief.findings(dx))
    assert ("more finding" in shown) == bool(more)
    assert len(re.findall(r"^.{12} *[─━▲]{20,}$", shown, re.MULTILINE)) <= 1, "one curve with axes"


def test_every_report_fits_on_one_screen(calm: Diagnosis) -> None:
    fits(calm)
    tells(calm)


def test_what_a_log_names_fills_no_screen() -> None:
    # only numbers: what a failed assertion shows of these names no terminal can encode
    short, long = (len(kind.render(fixtures.hostile(), width=80).split("\n")) for kind in (screen, terminal))
    assert short <= 50
    assert long > 100


def one(path: Path) -> None:
    dx = diagnose(read(path))
    fits(dx)
    tells(dx)


def test_shipped_runs_fit_on_one_screen() -> None:
    every(SHIPPED, one, name=lambda p: p.name)


@pytest.mark.thorough
def test_published_runs_fit_on_one_screen(shared: Path) -> None:
    runs = sorted(path for path in (shared / "runs").iterdir() if path.is_dir())
    assert len(runs) >= 41
    every(runs, one, name=lambda p: p.name)


def test_the_finding_of_the_first_break_comes_first() -> None:
    dx = diagnose(read(RUN))
    assert dx.first_break is not None
    assert brief.findings(dx)[0].link in dx.first_break.links


def test_each_cause_stands_once_and_without_nats() -> None:
    dx = diagnose(read(RUN))
    shown = " ".join(screen.render(dx, width=100).split())
    asked = [cause.title.lower() for cause in (dx.causes[0], *(cause for cause, _ in brief.causes(dx)))]
    assert [shown.lower().count(title) for title in asked] == [1] * len(asked)
    assert "nats" not in shown


def test_a_wide_screen_has_the_score_beside_the_first_curve() -> None:
    dx = diagnose(read(RUN))
    finding = there(brief.findings(dx)[0].finding)
    captions = [brief.caption(one) for one in (brief.curve(dx, finding), brief.score(dx)) if one is not None]
    rows = {width: screen.render(dx, width=width).split("\n") for width in (100, 140)}
    assert [any(all(c in row for c in captions) for row in rows[width]) for width in (100, 140)] == [False, True]
    assert max(map(len, rows[140])) <= 140


def test_what_to_do_first_is_said_once() -> None:
    made = of({"reward.zero_std_frac": [0.9] * 60, "reward.mean": noise(60, 0.02) + 0.3}, algorithm="grpo")
    dx = diagnose(made)
    assert "in most of these groups" in dx.verdict.do_first
    shown = " ".join(screen.render(dx, width=100).split())
    assert shown.count("in most of these groups") == 1
    assert "in most of these groups" in " ".join(
        terminal.render(dx, width=100).partition("zero-variance-groups")[2].split()
    )


def test_what_to_log_is_an_option_that_this_algorithm_has() -> None:
    logged = brief.to_log(diagnose(of({"reward.mean": learning(60)}, trainer="sb3", algorithm="dqn")))
    assert logged
    assert all(name.split(".")[0] not in ("alpha", "kl", "grad") for name, _ in logged)
    assert dialects.how_to_log("sb3", "alpha")
    assert not dialects.option_to_log("sb3", "alpha")


def test_a_healthy_run_has_its_score_and_no_causes() -> None:
    shown = screen.render(fixtures.healthy())
    assert "the score" in shown
    assert "Cause " not in shown
    assert "explain" not in shown


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("at environment step 4571136 of 23885000", "at environment step 4.57M of 23.9M"),
        ("311296 tokens, 99999 before", "311K tokens, 99999 before"),
        ("999999.7 and 1999.5", "1M and 1999.5"),
        ("go back to `ppo_4000000_steps.zip` at 4000000", "go back to `ppo_4000000_steps.zip` at 4M"),
        (
            "checkpoint-200000, seed=1234567, a/1234567/b, 0.123456789",
            "checkpoint-200000, seed=1234567, a/1234567/b, 0.123456789",
        ),
        ("20260101000000000000 is no number of steps", "20260101000000000000 is no number of steps"),
    ],
)
def test_long_numbers_are_short_and_names_stay(long: str, short: str) -> None:
    assert shorter(long) == short


def test_a_long_text_ends_at_a_clause() -> None:
    assert brief.clipped("one two three, four five six", 5) == "one two three ..."
    assert brief.clipped("one two three", 3) == "one two three"
    assert len(brief.clipped("x" * 1000, 10)) <= brief.LONGEST


def run(*arguments: str, **environment: str) -> str:
    done = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "80", **environment})
    assert done.exit_code in (0, 1), done.output
    return done.output.rstrip("\n")


def test_diagnose_prints_one_screen_and_all_of_it_with_full() -> None:
    dx = diagnose(read(RUN))
    assert run("diagnose", str(RUN)) == screen.render(dx)
    assert run("diagnose", str(RUN), "--full") == terminal.render(dx)
    assert run("demo") == screen.render(dx)


def test_a_pipe_is_as_wide_as_columns_and_coloured_where_it_is_forced() -> None:
    dx = diagnose(read(RUN))
    assert run("diagnose", str(RUN), COLUMNS="120") == screen.render(dx, width=120)
    forced = run("diagnose", str(RUN), FORCE_COLOR="1")
    assert "\x1b[1;7;31m" in forced
    assert "31m" not in run("diagnose", str(RUN), FORCE_COLOR="1", NO_COLOR="1")


def test_explain_with_a_run_shows_one_finding_with_its_evidence() -> None:
    dx = diagnose(read(RUN))
    outcome = dx.findings[0]
    assert outcome.finding is not None
    shown = run("explain", str(RUN), outcome.detector)
    assert " ".join(outcome.finding.message.split()) in " ".join(shown.split())
    assert shown.count("▲") >= len([e for e in content.exhibits(dx, outcome.finding) if e.onset is not None])
    assert dx.causes[0].title in shown
    assert all(o.detector not in shown for o in dx.findings[1:])


def test_explain_with_a_run_shows_one_cause_with_its_evidence_and_its_fix() -> None:
    cause = diagnose(read(RUN)).causes[0]
    shown = " ".join(run("explain", str(RUN), cause.id).split())
    assert f"{percent(cause.probability)} {cause.title}" in shown
    assert all(w.finding in shown for w in cause.evidence if abs(w.weight) > 1 and w.kind != "prior")
    assert all(" ".join(fix.split()) in shown for fix in cause.fix)


def test_explain_with_a_run_says_what_a_check_that_found_nothing_lacks() -> None:
    dx = diagnose(read(RUN))
    outcome = next(o for o in dx.outcomes if o.status == "not_measured" and o.note)
    assert " ".join(outcome.note.split()) in " ".join(run("explain", str(RUN), outcome.detector).split())


def test_explain_with_a_run_alone_lists_what_can_be_explained_of_it() -> None:
    dx = diagnose(read(RUN))
    shown = run("explain", str(RUN))
    assert all(name in shown for name in (*(o.detector for o in dx.findings), dx.causes[0].id, *Link))
    assert all(len(run("explain", str(RUN), name)) > 100 for name in (dx.findings[-1].detector, "policy update"))
    assert CliRunner().invoke(app, ["explain", "no-such-run"]).exit_code != 0


def test_a_link_of_a_run_is_explained_by_what_was_found_of_it() -> None:
    dx = diagnose(read(RUN))
    shown = run("explain", str(RUN), "reward")
    assert "reward: broken" in shown
    assert [o.detector in shown for o in dx.findings] == [o.link is Link.REWARD for o in dx.findings]
    assert "freshness: not measured" in run("explain", str(RUN), "freshness")


def test_explain_with_a_run_names_what_there_is() -> None:
    done = CliRunner().invoke(app, ["explain", str(RUN), "no-such-name"])
    assert "no finding or cause of that name" in str(done.exception)
    assert diagnose(read(RUN)).findings[0].detector in str(done.exception)
    assert CliRunner().invoke(app, ["explain", str(RUN), "a", "b"]).exit_code == 2


@pytest.mark.parametrize(
    ("policy", "method", "said"),
    [
        (Policy.CONTROL, Method.ACTOR_CRITIC, "Log an evaluation in a separate environment."),
        (Policy.TEXT, Method.GROUP_RELATIVE, "Log an evaluation on held-out prompts."),
        (Policy.TEXT, Method.PREFERENCE, "It is the share of held-out pairs that are ordered right."),
    ],
)
def test_what_is_missing_is_said_in_the_words_of_the_family(policy: Policy, method: Method, said: str) -> None:
    missing = DERIVED["eval_score"].missing(Family(policy=policy, policy_known=True, method=method, data=None))
    assert said in missing
    assert ("pairs" in missing) == (method is Method.PREFERENCE)
    assert ("prompts" in missing) == (policy is Policy.TEXT)


def test_a_control_run_speaks_of_its_return() -> None:
    of_control = run("diagnose", str(DATA / "sb3_ppo_learning_rate"), "--fail-on", "never")
    assert "training reward" not in of_control
    assert "training reward" in run("diagnose", str(RUN), "--fail-on", "never")
