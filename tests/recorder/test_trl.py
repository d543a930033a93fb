"""The recorder in TRL's own trainers: it changes nothing, sees sound runs as sound, and proves what a script does wrong."""

import random
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import firstbreak
from firstbreak.live.recorder.batch import BatchRecorder
from firstbreak.live.recorder.data import prompts_of
from tests.lazy import lazy

torch = lazy("torch")
transformers = lazy("transformers")
language = lazy("tests.guard.language")

pytestmark = pytest.mark.trainer

ROOT = Path(__file__).parents[2]
SECRET = "hf_" + "a1B2" * 8


@pytest.fixture(autouse=True)
def quiet(recwarn: Any) -> None:
    torch.set_num_threads(1)


def recorded(
    folder: Path, kind: str = "grpo", change: Callable[[Any], None] = lambda trainer: None, **options: Any
) -> Any:
    """A run of three updates with the recorder, read again."""
    built = language.trainer(folder, kind, max_steps=3, **options)
    change(built)
    built.add_callback(firstbreak.recorder())
    built.train()
    built.state.save_to_json(str(Path(built.args.output_dir) / "trainer_state.json"))
    return firstbreak.read(built.args.output_dir)


def proofs(run: Any) -> dict[str, str]:
    """Detector -> text, of the identities that failed."""
    found = ((o.detector, o.finding) for o in firstbreak.check(run) if "proof" in o.roles and o.finding is not None)
    return {detector: str(finding.message) for detector, finding in found}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["grpo", "rloo", "dpo"])
def test_weights_and_random_numbers_are_the_same_bit_for_bit(tmp_path: Path, kind: str) -> None:
    def trained(*callbacks: Any) -> tuple[list[bytes], Any]:
        built = language.trainer(tmp_path, kind, max_steps=3)
        for callback in callbacks:
            built.add_callback(callback)
        built.train()
        drawn = random.random(), float(np.random.rand()), float(torch.rand(1))
        return [p.detach().numpy().tobytes() for p in built.model.parameters()], drawn

    assert trained() == trained(firstbreak.recorder())


def checked(built: Any) -> None:
    """A reward that reads the answer: the share of digits that stand at their place."""

    def places(completions: list[str], answer: list[str], **_: Any) -> list[float]:
        return [
            sum(a == b for a, b in zip(c, r, strict=False)) / len(r) for c, r in zip(completions, answer, strict=True)
        ]

    if hasattr(built, "reward_funcs"):
        built.reward_funcs = [places]


@pytest.mark.parametrize("kind", ["grpo", "rloo", "dpo"])
def test_a_sound_run_is_measured_and_proves_nothing(tmp_path: Path, kind: str) -> None:
    run = recorded(tmp_path, kind, checked)
    measured = {name for name in run.series if name.startswith("proof.")}
    assert {"proof.gradient_turned", "proof.step_gain", "proof.untrained", "proof.dropout"} <= measured
    if kind != "dpo":
        assert {"proof.advantage_error", "proof.mask_extra", "proof.ratio_first", "proof.group_mixed"} & measured
    assert proofs(run) == {}


def negate_advantages(built: Any) -> None:
    generate = built._generate_and_score_completions

    def negated(inputs: Any) -> Any:
        made = generate(inputs)
        return {**made, "advantages": -made["advantages"]}

    built._generate_and_score_completions = negated


def negate_loss(built: Any) -> None:
    compute = built.compute_loss
    built.compute_loss = lambda *given, **options: -compute(*given, **options)


def fill_mask(built: Any) -> None:
    generate = built._generate_and_score_completions

    def filled(inputs: Any) -> Any:
        made = generate(inputs)
        return {**made, "completion_mask": torch.ones_like(made["completion_mask"])}

    built._generate_and_score_completions = filled


def freeze(built: Any) -> None:
    first = built.model.transformer.wpe.weight
    built.optimizer = torch.optim.AdamW([first], lr=1e-3)


def share_reference(built: Any) -> None:
    built.ref_model = built.model


@pytest.mark.parametrize(
    ("kind", "change", "detector", "place"),
    [
        ("grpo", negate_advantages, "advantages-negated", "prompt 'sort:"),
        ("rloo", negate_advantages, "advantages-negated", "prompt 'sort:"),
        ("grpo", negate_loss, "loss-turned-round", "row "),
        ("dpo", negate_loss, "loss-turned-round", "row "),
        ("grpo", fill_mask, "other-tokens-in-loss", "token "),
        ("grpo", freeze, "weights-left-out", "transformer."),
        ("grpo", share_reference, "reference-is-policy", "weight"),
    ],
)
def test_a_fault_of_the_script_is_proved_by_one_update(
    tmp_path: Path, kind: str, change: Callable[[Any], None], detector: str, place: str
) -> None:
    found = proofs(recorded(tmp_path, kind, change))
    assert "Proved at step 1" in found[detector]
    assert place in found[detector]


def move_rows(built: Any) -> None:
    """Sorts the batch by length, and forgets the advantages."""
    generate = built._generate_and_score_completions

    def moved(inputs: Any) -> Any:
        made = generate(inputs)
        order = made["completion_mask"].sum(1).argsort()
        rows = ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask")
        return {key: value[order] if key in rows else value for key, value in made.items()}

    built._generate_and_score_completions = moved


def test_rows_that_leave_their_advantages_behind_are_proved_and_no_mask_is_blamed(tmp_path: Path) -> None:
    found = proofs(recorded(tmp_path, "grpo", move_rows))
    assert "its tokens are another row's since they were scored" in found["advantages-of-other-rows-used"]
    assert not {"other-tokens-in-loss", "sampled-tokens-left-out"} & found.keys()


@cache
def take_back() -> Any:
    class TakeBack(transformers.TrainerCallback):
        """Loads what the model was before the training, after each step."""

        def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **given: Any) -> None:
            self.first = deepcopy(model.state_dict())

        def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **given: Any) -> None:
            model.load_state_dict(self.first)

    return TakeBack


def test_weights_that_a_callback_takes_back_are_proved(tmp_path: Path) -> None:
    found = proofs(recorded(tmp_path, "grpo", lambda built: built.add_callback(take_back()())))
    assert "after update 1 the weights are again those after update 0" in found["old-weights-loaded"]


def test_a_clip_range_above_all_rewards_is_proved(tmp_path: Path) -> None:
    def clipped(built: Any) -> None:
        checked(built)
        built.reward_clip_range = (2.0, 10.0)

    assert "are all 2 after clipping" in proofs(recorded(tmp_path, "rloo", clipped))["rewards-clipped-away"]


def test_prompts_that_are_cut_stand_beside_several_answers(tmp_path: Path) -> None:
    def cut(built: Any) -> None:
        built.train_dataset = built.train_dataset.map(lambda row: {"prompt": row["prompt"][:6]})

    assert "repeated prompts, such as 'sort:" in proofs(recorded(tmp_path, "grpo", cut))["prompt-with-several-answers"]


def test_rows_that_repeat_with_a_period_are_counted_as_they_are() -> None:
    from datasets import Dataset

    data = Dataset.from_list([{"prompt": f"what comes after {i}"} for i in range(8)] * 256)
    assert len(set(prompts_of(data, None) or [])) == 8


class Tokenizer:
    """What TRL asks of one to apply a template."""

    chat_template = "..."

    def apply_chat_template(self, messages: list[dict[str, str]], **_: Any) -> str:
        return f"<user>{messages[0]['content']}<assistant>"


def conversations(n: int) -> Any:
    from datasets import Dataset

    return Dataset.from_list([{"prompt": [{"role": "user", "content": f"what comes after {i}"}]} for i in range(n)])


def test_a_conversation_is_compared_in_its_template() -> None:
    asked = [f"what comes after {i}" for i in range(40)]
    given = {"training_prompts": asked, "evaluation_prompts": prompts_of(conversations(40), Tokenizer())}
    assert BatchRecorder(None).measure(1, given)["prompt_unlike"] == 1


def test_a_template_that_cannot_be_applied_leaves_the_texts(caplog: pytest.LogCaptureFixture) -> None:
    class Strict(Tokenizer):
        def apply_chat_template(self, messages: list[dict[str, str]], **_: Any) -> str:
            raise ValueError("tools are needed")

    assert prompts_of(conversations(2), Strict()) == ["what comes after 0", "what comes after 1"]
    assert "tools are needed" in caplog.text


def test_what_the_trainer_would_not_write_is_kept(tmp_path: Path) -> None:
    built = language.trainer(tmp_path, "rloo", max_steps=2, model_init_kwargs={"token": SECRET})
    built.add_callback(firstbreak.recorder())
    built.train()
    run = firstbreak.read(built.args.output_dir)
    assert "reward.mean" in run.series
    assert run.algorithm == "rloo"
    assert run.config.number("learning_rate") == built.args.learning_rate
    kept = Path(built.args.output_dir, "recorder_arguments.json").read_text()
    assert not [name for name in run.config.raw if name.endswith("_dir")]
    assert SECRET not in kept


def test_the_report_names_the_proof_first(tmp_path: Path) -> None:
    found = firstbreak.diagnose(recorded(tmp_path, "grpo", negate_loss))
    assert found.first_break is not None
    assert (found.first_break.link, found.first_break.step) == ("policy_update", 1.0)
    assert found.causes[0].id == "loss-sign-wrong"
    assert found.causes[0].probability > 0.95


def test_an_error_in_the_recorder_never_reaches_training(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    built = language.trainer(tmp_path, max_steps=2)
    record = firstbreak.recorder()
    record.measure = lambda *given: 1 / 0
    built.add_callback(record)
    built.train()
    assert built.state.global_step == 2
    assert caplog.text.count("ZeroDivisionError") == 1


@pytest.mark.thorough
def test_what_was_measured_survives_a_kill(tmp_path: Path) -> None:
    script = f"""
        import os, signal
        import firstbreak
        from transformers import TrainerCallback
        from tests.guard.language import trainer
        from pathlib import Path

        class Kill(TrainerCallback):
            def on_step_end(self, args, state, control, **given):
                if state.global_step == 2:
                    os.kill(os.getpid(), signal.SIGKILL)

        built = trainer(Path({str(tmp_path)!r}), max_steps=3)
        built.add_callback(firstbreak.recorder())
        built.add_callback(Kill())
        built.train()
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], cwd=ROOT, capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()[-2000:]
    run = firstbreak.read(tmp_path / "out" / "recorder.jsonl")
    assert run.series["proof.advantage_error"].steps.tolist() == [1.0, 2.0]


def test_the_trainer_of_the_library_passes_every_event_to_it(tmp_path: Path) -> None:
    """The recorder is no subclass of the library's callback, whose import takes seconds in a loop of one's own."""
    record = firstbreak.recorder()
    events = [name for name in dir(transformers.Trainer) + dir(type(record)) if name.startswith("on_")]
    assert all(callable(getattr(record, name)) for name in [*events, "on_epoch_begin", "on_predict"])
    with pytest.raises(AttributeError):
        getattr(record, "no_event")  # noqa: B009


def switch_off(built: Any) -> None:
    """Samples without the adapter."""
    generate = built._generate_single_turn

    def plain(*given: Any, **options: Any) -> Any:
        with built.accelerator.unwrap_model(built.model).disable_adapter():
            return generate(*given, **options)

    built._generate_single_turn = plain


@pytest.mark.parametrize(("change", "elsewhere"), [(lambda built: None, 0.0), (switch_off, 1.0)])
def test_samples_of_an_adapter_that_is_switched_off_are_another_models(
    tmp_path: Path, change: Callable[[Any], None], elsewhere: float
) -> None:
    lora = pytest.importorskip("peft").LoraConfig(r=8, target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True)
    run = recorded(tmp_path, "grpo", change, adapter=lora)
    assert set(run.series["proof.sampled_elsewhere"].values) == {elsewhere}
