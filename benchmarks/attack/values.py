"""Semantic mutants: valid files of plausible runs whose values are hostile. Each is made from its number alone."""

import csv
import io
import json
import math
import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.fuzz.run import Wrong, alarm, kind_of, set_timers, workplace

from benchmarks.attack import AttackTally
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Run
from firstbreak.readers import Unreadable
from firstbreak.readers.read import read
from firstbreak.reports import html, inspection, markdown, terminal
from firstbreak.reports import json as report
from firstbreak.serve.mcp.server import McpTools

SLOW_TO_READ, SLOW_TO_DIAGNOSE = 5.0, 60.0  #: seconds of the processor

Row = dict[str, Any]
#: column -> a plausible value, by the trainer that logs them
COLUMNS: Sequence[Mapping[str, Callable[[random.Random, float], Any]]] = (
    {  # TRL's GRPO
        "reward": lambda rng, t: t + rng.gauss(0, 0.05),
        "reward_std": lambda rng, t: 0.3 + rng.gauss(0, 0.02),
        "kl": lambda rng, t: 0.1 * t,
        "loss": lambda rng, t: rng.gauss(0, 0.01),
        "grad_norm": lambda rng, t: 0.5 + rng.random(),
        "learning_rate": lambda rng, t: 1e-6 * (1 - t),
        "entropy": lambda rng, t: 1 - 0.5 * t,
        "completions/mean_length": lambda rng, t: 100 + 50 * t,
        "completions/clipped_ratio": lambda rng, t: 0.1 * rng.random(),
        "frac_reward_zero_std": lambda rng, t: 0.2,
        "clip_ratio/region_mean": lambda rng, t: 0.01,
        "eval_reward": lambda rng, t: t,
    },
    {  # Stable-Baselines3
        "rollout/ep_rew_mean": lambda rng, t: 200 * t + rng.gauss(0, 5),
        "rollout/ep_len_mean": lambda rng, t: 200 * t,
        "train/approx_kl": lambda rng, t: 0.01 + 0.01 * rng.random(),
        "train/clip_fraction": lambda rng, t: 0.1,
        "train/explained_variance": lambda rng, t: t,
        "train/entropy_loss": lambda rng, t: t - 1,
        "train/value_loss": lambda rng, t: 10 * (1 - t),
        "train/policy_gradient_loss": lambda rng, t: -0.01,
        "train/learning_rate": lambda rng, t: 3e-4,
        "time/fps": lambda rng, t: 500,
        "eval/mean_reward": lambda rng, t: 200 * t,
    },
    {  # verl
        "critic/score/mean": lambda rng, t: t,
        "critic/advantages/mean": lambda rng, t: rng.gauss(0, 0.01),
        "actor/entropy": lambda rng, t: 1 - t / 2,
        "actor/ppo_kl": lambda rng, t: 0.001,
        "actor/pg_clipfrac": lambda rng, t: 0.01,
        "actor/grad_norm": lambda rng, t: 0.3,
        "response_length/mean": lambda rng, t: 300 + 100 * t,
        "response_length/clip_ratio": lambda rng, t: 0.0,
        "perf/throughput": lambda rng, t: 1000.0,
        "timing_s/gen": lambda rng, t: 10.0,
        "val-core/gsm8k/acc/mean@1": lambda rng, t: t,
    },
    {  # supervised, and names of nobody
        "train_loss": lambda rng, t: 2 - t,
        "eval_loss": lambda rng, t: 2 - t,
        "perplexity": lambda rng, t: math.exp(2 - t),
        "accuracy": lambda rng, t: t,
        "return": lambda rng, t: t,
        "episode_length": lambda rng, t: 100,
        "q_value": lambda rng, t: 10 * t,
    },
)
NUMBERS = (
    float("nan"), float("inf"), float("-inf"), 1.7976931348623157e308, -1.7976931348623157e308, 5e-324, -5e-324, 1e300, -1e300,
    1e16, 2**53 + 1, 2**63, -(2**63), 2**64, 0, -0.0, 1, -1, 1e-12, 1 + 2**-52, True, False,
)  # fmt: skip
ODD = (
    None, "", "nan", "inf", "1e999", "-", "1,5", "0x10", "½", "٣", "a" * 5000, [], [1, 2], {"a": 1}, {}, "\0", "\x1b[2J",
)  # fmt: skip
HUGE = 10**400  #: JSON has whole numbers of any length
CONFIG = (
    "learning_rate", "beta", "num_generations", "per_device_train_batch_size", "gamma", "gae_lambda", "clip_range", "target_kl",
    "max_completion_length", "temperature", "top_p", "epsilon", "seed", "total_timesteps", "n_steps", "ent_coef", "max_grad_norm",
    "gradient_accumulation_steps", "num_train_epochs", "warmup_ratio", "loss_type", "algorithm",
)  # fmt: skip


def mutant(folder: Path, number: int, seed: int = 0) -> None:
    """Writes the files of one run into an empty folder."""
    rng = random.Random(f"{seed}:{number}")
    rows = _rows(rng)
    for _ in range(rng.choice((1, 1, 2, 3))):
        rng.choice(HARMS)(rng, rows)
    rng.choice(WRITERS)(rng, folder, rows)
    if rng.random() < 0.4:
        options = {name: _hostile(rng) if rng.random() < 0.5 else 0.1 for name in rng.sample(CONFIG, rng.randint(1, 8))}
        (folder / "config.json").write_text(json.dumps(options))
    if rng.random() < 0.4:
        samples = [_sample(rng, step) for step in range(rng.choice((1, 4, 30)))]
        (folder / "completions.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples))


def ask(folder: Path, deep: bool) -> None:
    """Read a run, and with `deep` diagnose it and write every report. Raises what goes wrong."""
    set_timers(SLOW_TO_DIAGNOSE if deep else SLOW_TO_READ, 10 * SLOW_TO_DIAGNOSE)
    try:
        run = read(folder)
        _check(run)
        if deep:
            _report(run)
            said = McpTools(folder).diagnose(".").structured_content
            json.dumps(said, allow_nan=False)
    except Unreadable as error:
        if "\n" in str(error):
            raise Wrong(f"a message of several lines: {error}") from None
    finally:
        set_timers(0, 0)


def campaign(first: int, count: int, *, deep: bool, seed: int = 0) -> AttackTally:
    """The mutants from `first` on."""
    tally = AttackTally()
    with workplace() as place, alarm():
        for number in range(first, first + count):
            with emptied(place / "run") as folder:
                mutant(folder, number, seed)
                try:
                    ask(folder, deep)
                except Exception as error:
                    tally.add(f"--only {number}{' --deep' if deep else ''}", kind_of(error))
                else:
                    tally.add("")
    return tally


@contextmanager
def emptied(folder: Path) -> Iterator[Path]:
    """A new folder that is gone afterwards."""
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _check(run: Run) -> None:
    for curve in (*run.series.values(), *run.unknown.values()):
        if len(curve.steps) != len(curve.values):
            raise Wrong(f"{curve.name}: {len(curve.steps)} steps and {len(curve.values)} values")
    for _ in run.samples or ():
        pass


def _report(run: Run) -> None:
    inspection.renderable(run).string()
    inspection.render_json([run])
    dx = diagnose(run)
    if any(not math.isfinite(cause.probability) for cause in dx.causes):
        raise Wrong("a probability that is not finite")
    for render in (terminal.render, html.render, markdown.render):
        render(dx)
    terminal.render(dx, width=40, color=True, encoding="ascii")
    _strict(report.render(dx))


def _strict(text: str) -> None:
    def refuse(name: str) -> None:
        raise Wrong(f"JSON with {name}")

    json.loads(text, parse_constant=refuse)


def _rows(rng: random.Random) -> list[Row]:
    columns = rng.choice(COLUMNS)
    names = rng.sample(sorted(columns), rng.randint(1, len(columns)))
    count = rng.choice((1, 2, 3, 5, 9, 12, 20, 40, 60))
    every = rng.choice((1, 1, 10, 1000))
    return [
        {"step": i * every, **{name: columns[name](rng, i / count) for name in names}}
        for i in range(count)
    ]  # fmt: skip


def _hostile(rng: random.Random) -> Any:
    return rng.choice((rng.choice(NUMBERS), rng.choice(ODD), HUGE, -HUGE) if rng.random() < 0.3 else NUMBERS)


def _column(rng: random.Random, rows: list[Row]) -> str:
    return rng.choice([name for name in rows[0] if name != "step"] or ["step"])


def _cells(rng: random.Random, rows: list[Row]) -> None:
    name = _column(rng, rows)
    for row in rng.sample(rows, rng.randint(1, len(rows))):
        row[name] = _hostile(rng)


def _whole(rng: random.Random, rows: list[Row]) -> None:
    name, value = _column(rng, rows), _hostile(rng)
    for row in rows:
        row[name] = value


def _late(rng: random.Random, rows: list[Row]) -> None:
    name, value = _column(rng, rows), _hostile(rng)
    for row in rows[rng.randrange(len(rows)) :]:
        row[name] = value


def _rounding(rng: random.Random, rows: list[Row]) -> None:
    name, value = _column(rng, rows), rng.choice((1.0, 0.1, 1e300, 1e-300, 123456.789))
    for row in rows:
        row[name] = math.nextafter(value, rng.choice((math.inf, -math.inf)))


def _two_sizes(rng: random.Random, rows: list[Row]) -> None:
    name, low, high = _column(rng, rows), rng.choice(NUMBERS), rng.choice(NUMBERS)
    for i, row in enumerate(rows):
        row[name] = (low, high)[i % 2]


def _scaled(rng: random.Random, rows: list[Row]) -> None:
    scale = 10.0 ** rng.choice((-320, -300, -150, -20, 20, 150, 300, 308))
    for name in rng.sample(sorted(rows[0]), rng.randint(1, len(rows[0]))):
        for row in rows:
            value = row.get(name)
            if isinstance(value, int | float) and abs(value) < 1e300:
                row[name] = value * scale


def _steps(rng: random.Random, rows: list[Row]) -> None:
    kind = rng.randrange(8)
    for i, row in enumerate(rows):
        row["step"] = (
            -i, 0, i % 3, 10.0 ** min(308, 20 * i), 1.7e308 * (-1 if i % 2 else 1), i + 2**-40, rng.choice(NUMBERS), _hostile(rng)
        )[kind]  # fmt: skip


def _holes(rng: random.Random, rows: list[Row]) -> None:
    for row in rows:
        for name in rng.sample(sorted(row), rng.randint(0, len(row))):
            del row[name]
    rows[0].setdefault("step", 0)


def _repeated(rng: random.Random, rows: list[Row]) -> None:
    rows *= 20 if rng.random() < 0.02 else rng.choice((2, 3))  # a long log is slow to read, and few are enough


HARMS: Sequence[Callable[[random.Random, list[Row]], None]] = (
    _cells, _cells, _whole, _late, _rounding, _two_sizes, _scaled, _steps, _holes, _repeated
)  # fmt: skip


def _jsonl(rng: random.Random, folder: Path, rows: list[Row]) -> None:
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _list(rng: random.Random, folder: Path, rows: list[Row]) -> None:
    (folder / "history.json").write_text(json.dumps(rows))


def _columns(rng: random.Random, folder: Path, rows: list[Row]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    (folder / "history.json").write_text(json.dumps({name: [row.get(name) for row in rows] for name in names}))


def _state(rng: random.Random, folder: Path, rows: list[Row]) -> None:
    state = {"global_step": _hostile(rng), "log_history": rows, "max_steps": _hostile(rng)}
    (folder / "trainer_state.json").write_text(json.dumps(state))


def _csv(rng: random.Random, folder: Path, rows: list[Row]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, restval="")
    writer.writeheader()
    writer.writerows(rows)
    (folder / "progress.csv").write_text(out.getvalue())


def _printed(rng: random.Random, folder: Path, rows: list[Row]) -> None:
    (folder / "train.log").write_text("".join(f"{row}\n" for row in rows))


WRITERS: Sequence[Callable[[random.Random, Path, list[Row]], None]] = (
    _jsonl, _jsonl, _list, _columns, _state, _csv, _printed,
)  # fmt: skip


def _sample(rng: random.Random, step: int) -> Row:
    texts = ("", "2 + 2 = 4", "a" * 3000, "\0\x1b[2J\u202e", "<script>", "\ud800")
    return {
        "step": _hostile(rng) if rng.random() < 0.1 else step,
        "prompt": rng.choice(texts),
        "completion": rng.choice(texts),
        "reward": _hostile(rng) if rng.random() < 0.5 else rng.random(),
        "advantage": _hostile(rng) if rng.random() < 0.3 else 0.0,
    }
