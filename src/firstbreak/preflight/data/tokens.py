"""What the model will see: the chat template, the end-of-text token, and the tokens that get loss.

For the loss the trainer itself is asked: TRL's own trainer is built around a model of a few thousand weights, and the
first batch of its own data loader is looked at. Any other trainer gives a function of (rows, tokenizer) that returns a
batch with `input_ids` and `labels`.
"""

import contextlib
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from firstbreak.model import NotApplicable, NotMeasured
from firstbreak.preflight import Answer, ReportTable, critical, notice, warning
from firstbreak.preflight.data.rows import Row
from firstbreak.readers import Unreadable
from firstbreak.values import dataclass
from firstbreak.words import percent

IGNORED = -100  #: the label of a token without loss
TRAINERS = ("sft", "dpo", "reward")
BATCH = 8  #: rows of the batch that is checked (convention)


def load(path: str) -> Any:
    """The tokenizer of a folder, of a tokenizer.json, or of a name on the hub. Raises Unreadable."""
    try:
        from transformers import AutoTokenizer, PreTrainedTokenizerFast
    except ImportError:
        raise Unreadable(path, "tokenizers need transformers", "install `firstbreak[check]`") from None
    try:
        if Path(path).is_file():
            return PreTrainedTokenizerFast(tokenizer_file=path)
        return AutoTokenizer.from_pretrained(path)
    except Exception as error:  # whatever a file, the cache and the network answer
        problem = (str(error).splitlines() or [type(error).__name__])[0]
        raise Unreadable(path, f"is no tokenizer ({problem})", "give the model's folder or tokenizer.json") from None


def is_chat(value: object) -> bool:
    """Whether a value is a list of turns."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping) and "role" in value[0]


def encode(tokenizer: Any, value: object, *, generation: bool = False) -> list[int]:
    """The tokens of a text or a chat, as trainers make them."""
    if is_chat(value):
        ids = tokenizer.apply_chat_template(value, add_generation_prompt=generation, tokenize=True, return_dict=True)
        return list(ids["input_ids"])
    return list(tokenizer(str(value))["input_ids"])


# --- the template ----------------------------------------------------------------------------------------------------


def template(tokenizer: Any, rows: Sequence[Row]) -> Answer:
    """Chats need a template; a prompt must have the same tokens alone and with its answer."""
    chats = [row for row in rows if any(is_chat(value) for value in row.values())]
    if not chats:
        return NotApplicable("the data is text, not chats")
    if not getattr(tokenizer, "chat_template", None):
        return critical(
            "the data is chats, but the tokenizer has no chat template: is it the tokenizer of a base model? Set `chat_template` "
            "to the template that the model will be used with."
        )
    whole = [_turns(row) for row in chats[:BATCH]]
    try:
        return _renders(tokenizer, [t for t in whole if len(t) > 1 and t[-1].get("role") == "assistant"])
    except Exception as error:  # a template is a program
        return critical(f"the chat template fails on the data: {type(error).__name__}: {str(error).splitlines()[0]}")


def _turns(row: Row) -> list[Any]:
    if is_chat(row.get("messages")):
        return list(row["messages"])
    answer: list[Any] = next((row[name] for name in ("completion", "chosen") if is_chat(row.get(name))), [])
    return [*(row["prompt"] if is_chat(row.get("prompt")) else []), *answer]


def _renders(tokenizer: Any, chats: Sequence[list[Any]]) -> Answer:
    if not chats:
        return "the template renders"
    for turns in chats:
        alone = encode(tokenizer, turns[:-1], generation=True)
        together = encode(tokenizer, turns)
        if together[: len(alone)] != alone:
            place = next(i for i, (a, b) in enumerate(zip(alone, [*together, None], strict=False)) if a != b)
            return critical(
                f"the template gives the prompt different tokens when the answer follows: the first difference is token {place} "
                f"({tokenizer.decode(alone[place : place + 8])!r} alone, {tokenizer.decode(together[place : place + 8])!r} "
                "with the answer). The policy is trained on a different prompt than it gets at generation; correct the template."
            )
        if alone == encode(tokenizer, turns[:-1]):
            return warning(
                "the template adds no start of the assistant's turn (add_generation_prompt has no effect): the "
                "policy must write the role itself. Correct the template."
            )
    return "a prompt has the same tokens alone and with its answer"


def ends(tokenizer: Any, rows: Sequence[Row]) -> Answer:
    """Does an answer end with the token that generation stops at?"""
    if tokenizer.eos_token_id is None:
        return critical("the tokenizer has no end-of-text token: generation ends only at the limit. Set `eos_token`.")
    chats = [turns for row in rows[:BATCH] if len(turns := _turns(row)) > 1 and turns[-1].get("role") == "assistant"]
    if not chats or not getattr(tokenizer, "chat_template", None):
        return f"it is {tokenizer.eos_token!r}"
    try:
        answers = [encode(tokenizer, turns)[len(encode(tokenizer, turns[:-1], generation=True)) :] for turns in chats]
    except Exception as error:  # a template is a program
        return NotMeasured(f"the template fails: {type(error).__name__}")
    without = [ids for ids in answers if tokenizer.eos_token_id not in ids]
    if without:
        last = tokenizer.decode(without[0][-3:])
        return critical(
            f"the template ends an answer with {last!r}, but generation stops at {tokenizer.eos_token!r}: the policy "
            "never learns to write the token that stops generation. Set `eos_token` to the token that ends a turn, "
            "or correct the template."
        )
    return f"an answer ends with {tokenizer.eos_token!r}"


def specials(tokenizer: Any, rows: Sequence[Row]) -> Answer:
    """Special tokens in the text of the data: the template was applied twice, or a text ends a turn early."""
    marks = [mark for mark in tokenizer.all_special_tokens if len(mark) > 2]
    hits: dict[str, list[int]] = {}
    for i, row in enumerate(rows, 1):
        text = repr([value for value in row.values() if isinstance(value, str | list)])
        for mark in marks:
            if mark in text:
                hits.setdefault(mark, []).append(i)
    if hits:
        mark, where = max(hits.items(), key=lambda item: len(item[1]))
        return warning(
            f"{mark!r} is in the text of {len(where)} of {len(rows)} rows (first: row {where[0]}): the template was already "
            "applied, or a text ends a turn early. Remove the special token from the data.",
            rows={mark: len(where) for mark, where in hits.items()},
        )
    return "no special token is in the text of the data"


# --- the loss --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """One sequence of a batch: its tokens, which of them get loss, and which are real."""

    ids: list[int]
    loss: list[bool]
    real: list[bool]


def from_trl(trainer: str, rows: Sequence[Row], tokenizer: Any, settings: Mapping[str, Any]) -> list[Line]:
    """The first batch of TRL's own trainer, with a tiny model; None if the trainer drops all rows."""
    import trl
    from datasets import Dataset
    from transformers import LlamaConfig, LlamaForCausalLM, LlamaForSequenceClassification

    size = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "num_labels": 1}
    config = LlamaConfig(vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, **size)
    kind = LlamaForSequenceClassification if trainer == "reward" else LlamaForCausalLM
    name = {"sft": "SFT", "dpo": "DPO", "reward": "Reward"}[trainer]
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):  # trainers print
        off = dict.fromkeys(("bf16", "gradient_checkpointing"), False)
        quiet = {"report_to": "none", "use_cpu": True, "disable_tqdm": True, **off}
        options = {"output_dir": folder, "per_device_train_batch_size": BATCH, "train_sampling_strategy": "sequential"}
        built = getattr(trl, f"{name}Trainer")(
            model=kind(config),
            args=getattr(trl, f"{name}Config")(**options, **quiet, **settings),
            train_dataset=Dataset.from_list([dict(row) for row in rows[:BATCH]]),
            processing_class=tokenizer,
            **({"ref_model": kind(config)} if trainer == "dpo" else {}),
        )
        batch = next(iter(built.get_train_dataloader()), None)
        return [] if batch is None else lines(batch)


def from_function(collate: Callable[..., Any], rows: Sequence[Row], tokenizer: Any) -> list[Line]:
    """The batch that the user's function makes of the first rows."""
    return lines(collate([dict(row) for row in rows[:BATCH]], tokenizer))


def lines(batch: Mapping[str, Any]) -> list[Line]:
    """The sequences of a batch: `labels` say where there is loss, or a mask of the completion does.

    Raises KeyError where the batch has neither.
    """
    ids = batch["input_ids"].tolist()
    real = batch["attention_mask"].tolist() if "attention_mask" in batch else [[1] * len(row) for row in ids]
    if "labels" in batch:
        loss = [[label != IGNORED for label in row] for row in batch["labels"].tolist()]
    elif "completion_mask" in batch:
        loss = [[bool(m) for m in row] for row in batch["completion_mask"].tolist()]
    else:  # a reward model reads the last token
        loss = [[i == max(j for j, r in enumerate(row) if r) for i in range(len(row))] for row in real]
    return [Line(*parts) for parts in zip(ids, loss, [[bool(r) for r in row] for row in real], strict=True)]


def masked(found: Sequence[Line], tokenizer: Any, trainer: str) -> Answer:
    """Is the loss on the answers and their end, and not on padding?"""
    if trainer == "reward":
        return NotApplicable("a reward model is trained on its score at the last token")
    if not found:
        return critical(
            "the trainer drops every row: after truncation to its limit nothing of the answers is left. Raise its max_length."
        )
    silent = [i for i, line in enumerate(found) if not any(line.loss)]
    if silent:
        return critical(
            f"no token gets loss in {len(silent)} of {len(found)} sequences (first: sequence {silent[0]}): the answer is cut, "
            "or the mask does not find the answer. Raise the length limit, or correct the response template.",
            sequences=silent,
        )
    padded = [i for i, line in enumerate(found) if any(a and not b for a, b in zip(line.loss, line.real, strict=True))]
    if padded:
        return critical(f"padding gets loss in {len(padded)} of {len(found)} sequences: set its labels to {IGNORED}.")
    real = sum(sum(line.real) for line in found)
    share = sum(sum(line.loss) for line in found) / real
    unended = [
        i for i, line in enumerate(found) if (tokenizer.eos_token_id, True) not in zip(line.ids, line.loss, strict=True)
    ]
    said = f"{percent(share)} of {real} tokens get loss"
    if len(unended) == len(found):
        return critical(
            f"{said}, but no end-of-text token ({tokenizer.eos_token!r}): the model never learns to stop. Append the token to "
            "the answers, and use a different padding token."
        )
    if unended:
        return warning(
            f"{said}, but no end-of-text token in {len(unended)} of {len(found)} sequences: cut answers teach the model not to "
            "stop. Raise the length limit, or remove the long rows.",
            sequences=unended,
        )
    if all(all(a or not b for a, b in zip(line.loss, line.real, strict=True)) for line in found):
        return notice(f"{said}: the loss covers prompts as well as answers. Mask the prompts unless this is intended.")
    return said


def starts_twice(found: Sequence[Line], tokenizer: Any) -> Answer:
    """A beginning-of-text token from the template, and one more from the tokenizer."""
    start = tokenizer.bos_token_id
    if start is None:
        return NotApplicable("the tokenizer has no beginning-of-text token")
    twice = sum([t for t, r in zip(line.ids, line.real, strict=True) if r][:2] == [start, start] for line in found)
    if twice:
        return warning(
            f"{twice} of {len(found)} sequences begin with {tokenizer.bos_token!r} twice: the template writes it and the "
            "tokenizer adds it. Remove it from one of them."
        )
    return None


def shown(found: Sequence[Line], tokenizer: Any, most: int = 2) -> list[ReportTable]:
    """The tokens of the first sequences, in runs with and without loss."""
    tables = []
    for i, line in enumerate(found[:most]):
        rows = []
        marks = [("loss" if a else "-") if b else "padding" for a, b in zip(line.loss, line.real, strict=True)]
        place = 0
        for mark, group in groupby(marks):
            count = len(list(group))
            text = tokenizer.decode(line.ids[place : place + count])
            rows.append((mark, str(count), text if len(text) <= 160 else f"{text[:100]} ... {text[-50:]}"))
            place += count
        cells = tuple((repr(text)[1:-1], count, mark) for mark, count, text in rows)
        title = f"Which tokens get loss (sequence {i})"
        tables.append(ReportTable(title=title, columns=("text", "tokens", ""), rows=cells))
    return tables
