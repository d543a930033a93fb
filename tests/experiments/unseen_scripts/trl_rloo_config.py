"""python trl_rloo_config.py --config rloo_config.yaml"""

from dataclasses import dataclass, field

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import RLOOConfig, RLOOTrainer, TrlParser


@dataclass
class DataArguments:
    n_prompts: int = field(default=64, metadata={"help": "number of prompts"})
    target: str = field(default="c", metadata={"help": "letter that is paid for"})


def tokenizer_and_model():
    vocabulary = ["<pad>", "<eos>", *"abcdefgh :"]
    backend = Tokenizer(models.WordLevel({c: i for i, c in enumerate(vocabulary)}, unk_token="<pad>"))
    backend.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="<pad>", eos_token="<eos>")
    config = GPT2Config(vocab_size=len(vocabulary), n_positions=48, n_embd=32, n_layer=1, n_head=2, eos_token_id=1)
    GPT2LMHeadModel(config).save_pretrained("tiny-rloo")
    return tokenizer, "tiny-rloo"


if __name__ == "__main__":
    parser = TrlParser((DataArguments, RLOOConfig))
    data_args, training_args = parser.parse_args_and_config()
    torch.manual_seed(training_args.seed)
    tokenizer, model = tokenizer_and_model()

    def letter_reward(completions, **kwargs):
        return [text.count(data_args.target) / 8 for text in completions]

    trainer = RLOOTrainer(
        model=model,
        reward_funcs=letter_reward,
        args=training_args,
        train_dataset=Dataset.from_dict({"prompt": [f"{i % 8}: ".replace(str(i % 8), "abcdefgh"[i % 8]) for i in range(data_args.n_prompts)]}),
        processing_class=tokenizer,
    )
    trainer.train()
    trainer.save_model(training_args.output_dir)
    trainer.save_state()
