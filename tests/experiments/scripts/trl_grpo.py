"""GRPO on a tiny model: python trl_grpo.py --output_dir runs/grpo --max_steps 40"""

from dataclasses import dataclass

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer, TrlParser


@dataclass
class ScriptArguments:
    letter: str = "a"
    penalize: bool = False


def main(script_args, training_args):
    torch.manual_seed(training_args.seed)
    characters = ["<pad>", "<eos>", *"abcdefgh :"]
    backend = Tokenizer(models.WordLevel({c: i for i, c in enumerate(characters)}, unk_token="<pad>"))
    backend.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="<pad>", eos_token="<eos>")
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=len(characters), n_positions=64, n_embd=32, n_layer=2, n_head=2, eos_token_id=1)
    )

    model.save_pretrained("tiny-model")

    def reward_letter(completions, **kwargs):
        sign = -1.0 if script_args.penalize else 1.0
        return [sign * c.count(script_args.letter) / 8 for c in completions]

    trainer = GRPOTrainer(
        model="tiny-model",
        reward_funcs=reward_letter,
        args=training_args,
        processing_class=tokenizer,
        train_dataset=Dataset.from_dict({"prompt": [f"{c}{d}: " for c in "abcdefgh" for d in "abcdefgh"]}),
    )
    trainer.train()
    trainer.save_model()
    trainer.save_state()


if __name__ == "__main__":
    parser = TrlParser((ScriptArguments, GRPOConfig))
    main(*parser.parse_args_and_config())
