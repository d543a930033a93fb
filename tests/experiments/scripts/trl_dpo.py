"""DPO with everything written into the script."""

import random

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, set_seed
from trl import DPOConfig, DPOTrainer

set_seed(42)
characters = ["<pad>", "<eos>", *"abcdefgh :"]
backend = Tokenizer(models.WordLevel({c: i for i, c in enumerate(characters)}, unk_token="<pad>"))
backend.pre_tokenizer = pre_tokenizers.Split("", "isolated")
tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="<pad>", eos_token="<eos>")
model = GPT2LMHeadModel(
    GPT2Config(vocab_size=len(characters), n_positions=64, n_embd=32, n_layer=2, n_head=2, eos_token_id=1)
)


def pairs(n):
    rng = random.Random(0)
    rows = [{"prompt": rng.choice("abcdefgh") + ": ", "chosen": "aaab", "rejected": "efgh"} for _ in range(n)]
    for row in rows:
        row["chosen"] = "".join(rng.choice("abc") for _ in range(4))
        row["rejected"] = "".join(rng.choice("fgh") for _ in range(4))
    return Dataset.from_list(rows)


training_args = DPOConfig(
    output_dir="dpo-tiny",
    learning_rate=1e-3,
    beta=0.1,
    max_steps=40,
    per_device_train_batch_size=16,
    logging_steps=1,
    save_steps=20,
    lr_scheduler_type="constant",
    report_to="none",
    use_cpu=True,
    bf16=False,
    disable_tqdm=True,
)
model.save_pretrained("tiny-model")
trainer = DPOTrainer(model="tiny-model", args=training_args, processing_class=tokenizer, train_dataset=pairs(256))
trainer.train()
trainer.save_state()
