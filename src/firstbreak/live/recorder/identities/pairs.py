"""A pair has two texts, the chosen one first, and its prompt is no part of the loss."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading


def measure(
    pair_ids: np.ndarray,
    chosen_first: np.ndarray | None = None,
    pair_mask: np.ndarray | None = None,
    prompt_lengths: np.ndarray | None = None,
    text_lengths: np.ndarray | None = None,
) -> Mapping[str, Reading]:
    """`pair_ids` (2 n, T): n chosen texts, then n rejected ones, as tokens. NaN where a row of the data was not found.

    `chosen_first` (2 n,): 1 where a text stands on the side that the data give it; `pair_mask` (2 n, T): 1 where a token counts
    in the loss; `prompt_lengths`, `text_lengths` (2 n,): tokens of the prompt, and of prompt and text.
    """
    n = len(pair_ids) // 2
    equal = (pair_ids[:n] == pair_ids[n:]).all(1)
    found: dict[str, Reading] = {"pairs_equal": float(equal.mean())}
    if equal.mean() > 0.5:
        found["pairs_equal"] = float(equal.mean()), f"pair {int(np.argmax(equal))}: chosen and rejected are one text"
    if chosen_first is not None and np.isfinite(chosen_first).any():
        swapped = chosen_first == 0
        share = float(swapped.sum() / np.isfinite(chosen_first).sum())
        said = f"pair {int(np.argmax(swapped)) % n}: the rejected text of the data is used as the chosen one"
        found["pairs_swapped"] = (share, said) if share > 0.5 else share
    if pair_mask is not None and prompt_lengths is not None and text_lengths is not None:
        known = np.isfinite(prompt_lengths) & (pair_mask.sum(1) > 0)
        at = np.arange(pair_mask.shape[1])
        outside = (at < np.nan_to_num(prompt_lengths).reshape(-1, 1)) | (
            at >= np.nan_to_num(text_lengths, nan=1e9).reshape(-1, 1)
        )
        wrong = (pair_mask != 0) & outside & known.reshape(-1, 1)
        if known.any():
            share = float(wrong.sum() / (pair_mask != 0)[known].sum())
            i, t = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
            said = f"row {i}: token {t} counts in the loss, and is of the prompt or after the end"
            found["mask_extra"] = (share, said) if share > 0 else share
    return found
