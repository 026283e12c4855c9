"""Training, and the way from checkpoint to ONNX file."""

from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from zoo.common.compare import compare, torch_outputs
from zoo.common.golden import write_pair
from zoo.common.onnx_export import export, load_from_onnx
from zoo.recommender.network import Recommender
from zoo.recommender.shop import HISTORY, Shop, histories, simulate

SETTINGS = {"small": {"shoppers": 8_000, "epochs": 10}, "full": {"shoppers": 400_000, "epochs": 14}}
INPUTS = ["items", "kinds"]
OUTPUTS = ["next_items", "scores"]


def train(setting: str, folder: Path) -> None:
    torch.manual_seed(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    options = SETTINGS[setting]
    (folder / "items.txt").write_text("".join(f"{name}\n" for name in ["(nothing)", *Shop().names]))
    parts = [simulate(min(10_000, options["shoppers"]), 1_000 + part) for part in range(max(1, options["shoppers"] // 10_000))]
    items = torch.from_numpy(np.concatenate([part[0] for part in parts])).to(device)
    kinds = torch.from_numpy(np.concatenate([part[1] for part in parts])).to(device)
    network = Recommender().to(device)
    batch = 128 if setting == "small" else 1024
    steps = options["epochs"] * (len(items) // batch)
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps)
    generator = np.random.default_rng(1)
    for epoch in range(options["epochs"]):
        order = torch.randperm(len(items), device=device)
        total = 0.0
        for start in range(0, len(items) - batch + 1, batch):
            rows = order[start : start + batch]
            # A window anywhere in the session, sometimes mostly empty, as a new shopper's is.
            first = int(generator.integers(0, items.shape[1] - HISTORY))
            x, k = items[rows, first : first + HISTORY].clone(), kinds[rows, first : first + HISTORY].clone()
            targets = items[rows, first + 1 : first + HISTORY + 1] - 1
            empty = int(generator.integers(0, HISTORY - 2)) if generator.random() < 0.5 else 0
            x[:, :empty], k[:, :empty] = 0, 0
            logits = network.logits(x, k)[:, empty:]
            loss = functional.cross_entropy(logits.flatten(0, 1), targets[:, empty:].flatten())
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.detach()
        print(f"epoch {epoch}: loss {float(total) / (len(items) // batch):.4f}", flush=True)
    torch.save(network.cpu().state_dict(), folder / "checkpoint.pt")


def make_onnx(folder: Path) -> None:
    network = Recommender()
    network.load_state_dict(torch.load(folder / "checkpoint.pt", weights_only=True))
    path = folder / "1" / "model.onnx"
    items, kinds = simulate(8, 77)
    x, k, _ = histories(items, kinds, 12)
    axes = {name: {0: "batch"} for name in (*INPUTS, *OUTPUTS)}
    export(network, [torch.from_numpy(x), torch.from_numpy(k)], path, INPUTS, OUTPUTS, axes)
    compare(network, path, {"items": x, "kinds": k}, OUTPUTS)
    for row in range(2):
        inputs = {"items": x[row : row + 1], "kinds": k[row : row + 1]}
        write_pair(
            folder / "golden" / f"shopper-{row}.json",
            "recommender",
            1,
            inputs,
            torch_outputs(network, inputs, OUTPUTS),
            "twelve events of a simulated shopper",
        )


def restore(shipped: Path, folder: Path) -> None:
    (folder / "items.txt").write_bytes((shipped / "items.txt").read_bytes())
    torch.save(load_from_onnx(Recommender(), shipped / "1" / "model.onnx").state_dict(), folder / "checkpoint.pt")
