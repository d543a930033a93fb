"""The first minibatch of an update, as the loss has seen it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from firstbreak.live.recorder.trl.batch import ends_of
from firstbreak.live.recorder.trl.passes import PROBED, dropping, forward, rows_of_pairs
from firstbreak.values import dataclass

#: tokens of a text of the data -> tokens of its prompt, and whether it is the chosen one
Known = Mapping[tuple[int, ...], tuple[int, bool]]
#: what one pass shows, and the rows and log-probabilities with which a pass after the update is compared
Probe = tuple[list[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Minibatch:
    """What was caught of the loss, and what is known of the update."""

    trainer: Any
    tokenizer: Any
    seen: Mapping[str, Any]  #: `inputs` of the loss; `logps`, `entropies` and `gradient` of the policy's pass
    fresh: bool  #: no update since the batch was sampled
    untrained: bool  #: no update at all

    def sampled(self) -> list[dict[str, Any]]:
        """What the identities need in GRPO and RLOO; the last one is all that a measured pass needs as well."""
        inputs, trainer = self.seen["inputs"], self.trainer
        width = inputs["completion_ids"].shape[1]
        lengths = _lengths(inputs["completion_ids"], ends_of(trainer, self.tokenizer)[:-1])
        mask, logps = inputs["completion_mask"], self.seen["logps"][:, -width:]
        inside = (np.arange(width) < lengths.reshape(-1, 1)).astype(float)
        if "tool_mask" in inputs:
            inside = inside * inputs["tool_mask"].cpu().numpy()
        gradient, entropies = self.seen.get("gradient"), self.seen["entropies"]
        fresh = self.fresh
        masked = bool(getattr(trainer, "mask_truncated_completions", False))
        exempt = (mask.sum(1) == 0).float() if masked else None  # rows that are cut do not attend to themselves in TRL
        left_out = masked and bool((mask.sum(1) == 0).any())
        view: dict[str, Any] = {
            "logps": logps,
            "mask": inside,
            "fresh": fresh,
            "exact": _exact(trainer) and not left_out,
            "entropies": None if entropies is None else entropies[:, -width:],
            "ref_logps": inputs.get("ref_per_token_logps"),
            "old_logps": inputs.get("old_per_token_logps"),
            "untrained": self.untrained,
        }
        notes = [{**self._keys(inputs), "old_logps": logps, "mask": inside, "fresh": fresh}]
        if "old_logps" in inputs:  # RLOO stores the sum over a completion
            count = (mask.sum(1, keepdim=True)).clamp(min=1)
            own = (logps * mask).sum(1, keepdim=True) / count
            stored = inputs["old_logps"].reshape(-1, 1) / count
            notes.append({"logps": own, "old_logps": stored, "mask": own * 0 + 1, "fresh": fresh})
        if gradient is not None and "tool_mask" not in inputs:
            seen = {"gradient": gradient[:, -width:], "advantages": inputs["advantages"], "exempt": exempt}
            both = (
                {"logps": logps, "old_logps": inputs["old_per_token_logps"]} if "old_per_token_logps" in inputs else {}
            )
            notes.append(seen | both | {"lengths": lengths, "fresh": fresh, "tool_mask": np.ones((1, 1))})
        return [*notes, view]

    def _keys(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Prompts and completions to be compared, with a letter for each token: they are decoded only to be shown."""

        def shown(key: str) -> str:
            return str(self.tokenizer.decode([ord(letter) for letter in key], skip_special_tokens=True))

        rows = {"prompts": inputs["prompt_ids"].tolist(), "completions": inputs["completion_ids"].tolist()}
        return {name: ["".join(map(chr, row)) for row in each] for name, each in rows.items()} | {"shown": shown}

    def pairs(self, known: Known) -> list[dict[str, Any]]:
        """The same in DPO and of a reward model, whose rows are chosen texts, then rejected ones."""
        notes: list[dict[str, Any]] = []
        inputs = self.seen["inputs"]
        ids, attended = inputs["input_ids"], inputs["attention_mask"]
        sign = np.repeat([1.0, -1.0], len(ids) // 2)
        gradient = self.seen.get("gradient")
        if gradient is not None and gradient.ndim == 2:
            notes.append({"gradient": gradient, "advantages": sign})
        rows = [_text_in(known, row, self.tokenizer.pad_token_id) for row in ids.tolist()]
        found = [known.get(row) for row in rows]
        side = [np.nan if f is None else float(f[1] == (i < len(rows) // 2)) for i, f in enumerate(found)]
        view: dict[str, Any] = {
            "pair_ids": ids * attended,
            "chosen_first": np.array(side),
            "pair_mask": inputs.get("completion_mask"),
            "prompt_lengths": np.array([np.nan if f is None else float(f[0]) for f in found]),
            "text_lengths": np.array([np.nan if f is None else len(r) for r, f in zip(rows, found, strict=True)]),
        }
        logps, counted = self.seen["logps"], inputs.get("completion_mask")
        if self.untrained and counted is not None and logps.ndim == 2:
            counted = counted[:, -logps.shape[1] :]
            if counted.shape == logps.shape:
                notes.append({"pair_logps": logps, "pair_counted": counted})
        reference = getattr(self.trainer, "ref_model", None)
        if self.untrained and reference is not None and "completion_mask" in inputs:
            some = rows_of_pairs(inputs)
            mine, theirs = self._forward(self.trainer.model, some)[0], self._forward(reference, some)[0]
            notes.append({"logps": mine, "ref_logps": theirs, "mask": some["mask"], "untrained": True})
        return [*notes, view]

    def probe_sampled(self, view: Mapping[str, Any]) -> Probe:
        """A few completions before the update, in evaluation mode: best, worst, and those of the largest advantages."""
        inputs, notes = self.seen["inputs"], []
        advantages = inputs["advantages"].reshape(len(inputs["advantages"]), -1)[:, 0]
        order = advantages.abs().argsort(descending=True)
        best, worst = int(advantages.argmax()), int(advantages.argmin())
        places = list(dict.fromkeys([best, worst, *order.tolist()]))[:PROBED]
        import torch

        width = inputs["completion_ids"].shape[1]
        rows = {
            "input_ids": torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)[places],
            "attention_mask": torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)[places],
            "width": width,
        }
        logps, ends = self._forward(self.trainer.model, rows)
        mask = inputs["completion_mask"][places]
        fresh = self.fresh
        notes.append(
            {"logps": view["logps"][places], "eval_logps": logps, "mask": mask, "dropping": dropping(self.trainer)}
        )
        ended = (inputs["completion_ids"][places] == self.tokenizer.eos_token_id).any(1).float()
        notes.append({"end_logps": ends, "mask": mask, "ended": ended, "fresh": fresh and _exact(self.trainer)})
        return notes, {"rows": rows, "logps_before": logps, "mask": mask, "advantages": advantages[places]}

    def probe_pairs(self) -> Probe:
        """A few pairs before the update, in evaluation mode."""
        inputs, notes = self.seen["inputs"], []
        rows = rows_of_pairs(inputs)
        logps, _ = self._forward(self.trainer.model, rows)
        logged = self.seen["logps"]
        if "completion_mask" in inputs:
            here = logged[rows["places"]]
            notes.append({"logps": here, "eval_logps": logps, "mask": rows["mask"], "dropping": dropping(self.trainer)})
        return notes, {"rows": rows, "logps_before": logps, "mask": rows["mask"], "advantages": rows["sign"]}

    def _forward(self, model: Any, rows: Mapping[str, Any]) -> tuple[Any, Any]:
        return forward(self.trainer, self.tokenizer, model, rows)


def _lengths(ids: Any, ends: Sequence[int]) -> np.ndarray:
    """Tokens up to the first end of each row, that one included. Where there is none, all were sampled."""
    tokens = ids.cpu().numpy()
    ended = np.isin(tokens, ends)
    lengths: np.ndarray = np.where(ended.any(1), ended.argmax(1) + 1, tokens.shape[1]).astype(float)
    return lengths


def _exact(trainer: Any) -> bool:
    """Whether tokens are drawn from the policy's own distribution, as the configuration says."""
    args = trainer.args
    whole = {"top_p": (None, 1.0), "top_k": (None, 0, -1), "min_p": (None, 0.0), "repetition_penalty": (None, 1.0)}
    chosen = getattr(args, "generation_kwargs", None) or {}
    return all(getattr(args, name, None) in off for name, off in whole.items()) and not whole.keys() & chosen.keys()


def _text_in(known: Known, row: list[int], padding: int | None) -> tuple[int, ...]:
    """A row without the padding at its end, as a text of the data is known."""
    for n in range(len(row), 0, -1):
        if (text := tuple(row[:n])) in known:
            return text
        if row[n - 1] != padding:
            break
    return tuple(row)
