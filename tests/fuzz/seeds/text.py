"""Tables, JSON, configs, logs, notebooks and NumPy files."""

import io
import json

import numpy as np


def _npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def _npz(**arrays: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def _jsonl(*records: object) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


_TABLE = "<table><thead><tr><th>Step</th><th>reward</th></tr></thead><tr><td>1</td><td>0.5</td></tr></table>"
_STREAM = "{'loss': 0.5, 'epoch': 0.1}\n"
_CELLS = [{"outputs": [{"data": {"text/html": [_TABLE]}}]}, {"outputs": [{"output_type": "stream", "text": [_STREAM]}]}]
_LOG = """step:1 - actor/pg_loss:-1e-05 - critic/score/mean:np.float64(0.4)
10:00:00 SUCCESS Step 12 | 35.20s | Reward 0.4321 | Trainable 96/128 (75.0%)
{'loss': '0.01', 'reward': nan, 'epoch': 0.1}
Step 12:
{'policy/loss': '0.1234',
 'policy/kl': tensor(0.5, device='cuda:0')}
| rollout/           |          |
|    ep_rew_mean     | 21.8     |
---------------------------------
│ loss/avg │ 1.0e-02 │ kl │ nan │
========================= Step 12/1000 =========================
📊 Validation Results:
  • Accuracy: 0.51
Train:  12%|█▏  | 2/16 [00:30<03:40,  2.5s/it, act_loss=0.1]\r
global_step=30, episodic_return=[21.]
INFO - Epoch 1/3, Step 10, Loss: -0.5
\x1b[36m(TaskRunner pid=1)\x1b[0m GRPO Config: {
  "lr": 1e-05
}
"""

SEEDS = {
    "csv": [
        ("progress.csv", b"step,loss,kl\n1,0.5,\n2,nan,0.1\n3,-inf,1e-3\n"),
        ("progress.csv", b"info,it\r\n\"{'a': {'b': nan}, 'c': [1, 2]}\",1\r\n\"{'a': {'b': 2}}\",2\r\n"),
        ("case.csv", b"step,metric,value,note\nstart,loss,0.5,\nG=2,kl,0.1,x\n"),
        ("export.csv", b'"Step","r - kl","r - kl__MIN","r - kl__MAX"\n"1","0.5","0.5","0.5"\n'),
        ("run-a-tag-loss.csv", b"Wall time,Step,Value\n1.5,1,2\n"),
        ("table.tsv", b"a;b\n1,5;2\n3;4\na;b\n5;6\n"),
    ],
    "monitor": [("0.monitor.csv", b'#{"t_start": 1.5, "env_id": "A"}\nr,l,t\n1.0,10,0.5\n2.0,10,0.6\n3.0,5,0.1\n')],
    "torchrl_csv": [
        ("scalars/a/b.csv", b"0,1.5\n10,nan\n20,-inf\n"),
        ("texts/hparams0.txt", b"env: Pendulum-v1\nloss: {'gamma': 0.99, 'clip': [1, 2]}\nlr: 0.0003\n"),
    ],
    "dvclive": [("plots/metrics/a/b.tsv", b"step\ttimestamp\tb\n0\t1\t0.5\n1\t2\tnan\n")],
    "jsonl": [
        ("metrics.jsonl", _jsonl({"step": 1, "loss": float("nan"), "a": {"b": [1]}}, {"step": 2, "loss": None})),
        ("run.jsonl", _jsonl({"step": 1, "data": {"x": 1}}, {"step": 2, "data": {"x": float("inf"), "y": "NaN"}})),
        (
            "result.json",
            _jsonl({"it": 1, "config": {"lr": 0.1, "m": {"d": 1}}}, {"it": 2, "env": "Pong", "done": True}),
        ),
    ],
    "json_list": [
        (
            "pong.json",
            json.dumps([{"Iteration": i % 2, "Value": i / 2, "Agent": "AB"[i // 4]} for i in range(8)]).encode(),
        )
    ],
    "trainer_state": [
        (
            "trainer_state.json",
            b'{"global_step": 2, "log_history": [{"step": 1, "loss": NaN}, {"step": 2, "eval_loss": 1, "train_runtime": 3}]}',
        )
    ],
    "config_file": [
        ("config.yaml", b"a: &x {b: 1, c: [1, 2]}\nd:\n  <<: *x\n  e: !!python/tuple [1]\nf: 2020-01-01\ng: 1.0e-4\n"),
        ("args.yml", b"!!python/object/apply:collections.OrderedDict\n- - - lr\n    - 0.1\n  - - n\n    - null\n"),
        ("params.json", b'{"lr": 0.1, "model": {"dim": [1, 2], "x": NaN}}'),
    ],
    "context_file": [
        (
            "firstbreak-context.json",
            json.dumps(
                {"schema": "firstbreak.context/1", "config": {"lr": 0.1, "net": {"dim": [1]}}, "seeds": {"seed": 7}}
            ).encode(),
        )
    ],
    "mlflow_store": [
        ("run/meta.yaml", b"run_id: abc\nstatus: 1\nstart_time: 1700000000000\n"),
        ("run/metrics/train/loss", b"1700000000000 0.5 0\n1700000000001 nan 10\n1700000000002 -inf\n"),
        ("run/params/lr", b"0.001"),
    ],
    "console": [("train.log", _LOG.encode()), ("log.txt", _LOG.encode()[:300]), ("a.log", _LOG[:200].encode("utf-16"))],
    "notebook": [
        ("grpo.ipynb", json.dumps({"cells": _CELLS}).encode()),
        ("b.ipynb", json.dumps({"cells": _CELLS[1:]}).encode()),
    ],
    "npy": [("a.npy", _npy(np.arange(4.0))), ("b.npy", _npy(np.ones((2, 3), dtype=np.int32)))],
    "npz": [
        (
            "evaluations.npz",
            _npz(timesteps=np.arange(2), results=np.ones((2, 3)), ep_lengths=np.ones((2, 3), dtype=int)),
        )
    ],
}
