from common import *
from transformers import Qwen2Config, Qwen2ForCausalLM
WORDS = [str(d) for d in range(10)] + "user assistant system what comes after before number is tell me please answer : well so hmm the think just which".split()
SPEC = ["<|endoftext|>", "<unk>", "<|im_start|>", "<|im_end|>"]
def tokenizer(eos="<|im_end|>"):
    return word_tokenizer(WORDS, SPEC, eos, "<|endoftext|>", CHAT)
FORMS = ["what comes {r} {d}", "tell me what comes {r} {d} please", "which number is {r} {d}", "number {r} {d}"]
def items():
    out = []
    for f in FORMS:
        for d in range(10):
            for r, k in (("after", 1), ("before", -1)):
                out.append((f.format(r=r, d=d), str((d + k) % 10)))
    return out
def base_model():
    path = f"{HERE}/base_digits"
    if os.path.exists(path): return Qwen2ForCausalLM.from_pretrained(path, dtype=torch.float32)
    set_seed(5); tok = tokenizer()
    cfg = Qwen2Config(vocab_size=len(tok), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                      max_position_embeddings=128, eos_token_id=tok.convert_tokens_to_ids("<|im_end|>"), pad_token_id=tok.pad_token_id, bos_token_id=None, tie_word_embeddings=False)
    m = Qwen2ForCausalLM(cfg); it = items()
    def s():
        q, a = random.choice(it)
        if random.random() > .35: a = str(random.randrange(10))
        fill = "".join(random.choice(["well ", "so ", "hmm ", "the "]) for _ in range(random.choice([0, 0, 1, 2])))
        return tok.apply_chat_template([{"role": "user", "content": q}], add_generation_prompt=True, tokenize=False), f"{fill}answer : {a} <|im_end|>"
    print("pretrain loss", pretrain(m, tok, s, 900))
    m.save_pretrained(path); return m
def score(model):
    tok = tokenizer(); it = items()
    texts = [tok.apply_chat_template([{"role": "user", "content": q}], add_generation_prompt=True, tokenize=False) for q, _ in it]
    state = torch.get_rng_state(); torch.manual_seed(0)
    got = answers(model, tok, texts * 2, [tok.convert_tokens_to_ids("<|im_end|>")], sample=True)
    torch.set_rng_state(state)
    return round(sum(g.strip().endswith(f"answer : {a}") for g, (_, a) in zip(got, it * 2)) / len(it) / 2, 3)
