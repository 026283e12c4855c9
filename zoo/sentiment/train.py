"""Training of both versions, and the way from checkpoint to ONNX file."""

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
import torch
from torch.nn import functional

from zoo.common.compare import compare, torch_outputs
from zoo.common.golden import write_pair
from zoo.common.onnx_export import export, load_from_onnx
from zoo.sentiment import data
from zoo.sentiment.network import BagOfWords, Transformer
from zoo.sentiment.text import ids_from, train_tokenizer

SETTINGS = {"small": {"reviews": 24_000, "epochs": 3}, "full": {"reviews": 600_000, "epochs": 8}}
VERSIONS = {"1": BagOfWords, "2": Transformer}
OUTPUTS = ("probabilities",)


def make_part(arguments):
    return data.make(*arguments)


def training_set(count: int) -> tuple:
    parts = 16
    with ProcessPoolExecutor() as pool:
        made = list(pool.map(make_part, [(count // parts, 1_000 + part) for part in range(parts)]))
    return sum((texts for texts, _ in made), []), sum((labels for _, labels in made), [])


def fit(network, ids, labels, epochs: int, batch: int, rate: float):
    steps = epochs * (len(ids) // batch)
    optimizer = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=0.1)
    for epoch in range(epochs):
        order = torch.randperm(len(ids), device=ids.device)
        total = 0.0
        for start in range(0, len(ids) - batch + 1, batch):
            chosen = order[start : start + batch]
            rows = ids[chosen]
            # Some words go missing, so that the model does not lean on any single one.
            rows = torch.where((torch.rand(rows.shape, device=rows.device) < 0.03) & (rows != 0), 1, rows)
            loss = functional.cross_entropy(network.logits(rows), labels[chosen], label_smoothing=0.03)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.detach()
        print(f"epoch {epoch}: loss {float(total) / (len(ids) // batch):.4f}", flush=True)


def train(setting: str, folder: Path) -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    options = SETTINGS[setting]
    texts, labels = training_set(options["reviews"])
    tokenizer = train_tokenizer(texts[:60_000])
    tokenizer.save(str(folder / "tokenizer.json"))
    ids = torch.from_numpy(ids_from(tokenizer, texts)).to(device)
    labels = torch.tensor(labels, device=device)
    for version, kind in VERSIONS.items():
        torch.manual_seed(1)
        network = kind(tokenizer.get_vocab_size()).to(device)
        fit(network, ids, labels, options["epochs"], 128 if setting == "small" else 512, 5e-3 if version == "1" else 1e-3)
        torch.save(network.cpu().state_dict(), folder / f"checkpoint-{version}.pt")


EXAMPLES = [
    "The soup was not good, but the waiter was wonderful.",
    "I expected the film to be boring, and I was mistaken.",
    "Oh great, another phone with a broken charger.",
    "The hotel is average, neither good nor bad.",
]


def make_onnx(folder: Path) -> None:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    ids = ids_from(tokenizer, EXAMPLES, length=24)
    for version, kind in VERSIONS.items():
        network = kind(tokenizer.get_vocab_size())
        network.load_state_dict(torch.load(folder / f"checkpoint-{version}.pt", weights_only=True))
        path = folder / version / "model.onnx"
        axes = {"input_ids": {0: "batch", 1: "length"}, "probabilities": {0: "batch"}}
        export(network, [torch.from_numpy(ids)], path, ["input_ids"], OUTPUTS, axes)
        compare(network, path, {"input_ids": ids}, OUTPUTS)
        # More padding must not change an answer.
        compare(network, path, {"input_ids": np.pad(ids, ((0, 0), (0, 40)))}, OUTPUTS)
        for index in range(2):
            inputs = {"input_ids": ids[index : index + 1]}
            outputs = torch_outputs(network, inputs, OUTPUTS)
            write_pair(folder / "golden" / f"version-{version}-{index}.json", "sentiment", int(version), inputs, outputs, EXAMPLES[index])


def restore(shipped: Path, folder: Path) -> None:
    (folder / "tokenizer.json").write_bytes((shipped / "tokenizer.json").read_bytes())
    vocabulary = Tokenizer.from_file(str(shipped / "tokenizer.json")).get_vocab_size()
    for version, kind in VERSIONS.items():
        network = load_from_onnx(kind(vocabulary), shipped / version / "model.onnx")
        torch.save(network.state_dict(), folder / f"checkpoint-{version}.pt")
