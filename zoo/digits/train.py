"""Training, and the way from checkpoint to ONNX file."""

from concurrent.futures import ProcessPoolExecutor
import os
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from zoo.common.compare import compare, torch_outputs
from zoo.common.golden import write_pair
from zoo.common.onnx_export import export, load_from_onnx
from zoo.digits import data, glyphs
from zoo.digits.network import Digits, TrainableDigits

SETTINGS = {"small": {"images": 12_000, "epochs": 6}, "full": {"images": 480_000, "epochs": 14}}
OUTPUTS = ("probabilities",)


def training_glyphs() -> np.ndarray:
    """From ZOO_FONTS: a folder of fonts, or a file that a run over such a folder left (see README.md)."""
    source = Path(os.environ.get("ZOO_FONTS", "/usr/share/fonts"))
    if source.suffix == ".npz":
        return np.load(source)["glyphs"]
    files = sorted(path for path in source.rglob("*") if path.suffix.lower() in (".ttf", ".otf"))
    return glyphs.from_files(files)


def make_part(arguments):
    count, masks, seed = arguments
    return data.make(count, masks, seed)


def training_set(count: int) -> tuple:
    masks = training_glyphs()
    parts = 48
    jobs = [(count // parts, masks, 1_000 + part) for part in range(parts)]
    with ProcessPoolExecutor() as pool:
        made = list(pool.map(make_part, jobs))
    return np.concatenate([images for images, _ in made]), np.concatenate([labels for _, labels in made])


def train(setting: str, folder: Path) -> None:
    torch.manual_seed(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    options = SETTINGS[setting]
    images, labels = training_set(options["images"])
    print(f"{len(images)} training images", flush=True)
    images, labels = torch.from_numpy(images).to(device), torch.from_numpy(labels).to(device)
    network = TrainableDigits().to(device)
    batch = 256 if setting == "small" else 1024
    steps = options["epochs"] * (len(images) // batch)
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    for epoch in range(options["epochs"]):
        order = torch.randperm(len(images), device=device)
        total = 0.0
        for start in range(0, len(images) - batch + 1, batch):
            chosen = order[start : start + batch]
            loss = functional.cross_entropy(network(images[chosen]), labels[chosen], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.detach()
        print(f"epoch {epoch}: loss {float(total) / (len(images) // batch):.4f}", flush=True)
    network.eval()
    torch.save(network.cpu().folded().state_dict(), folder / "checkpoint.pt")


def examples() -> np.ndarray:
    return data.scanned_check_set()[0][:16]


def make_onnx(folder: Path) -> None:
    network = Digits()
    network.load_state_dict(torch.load(folder / "checkpoint.pt", weights_only=True))
    path = folder / "1" / "model.onnx"
    export(
        network,
        [torch.zeros(2, 1, 28, 28)],
        path,
        ["image"],
        OUTPUTS,
        {"image": {0: "batch"}, "probabilities": {0: "batch"}},
    )
    images = examples()
    compare(network, path, {"image": images}, OUTPUTS)
    for index, row in enumerate((0, 3, 6)):
        inputs = {"image": images[row : row + 1]}
        write_pair(
            folder / "golden" / f"digit-{index}.json",
            "digits",
            1,
            inputs,
            torch_outputs(network, inputs, OUTPUTS),
            f"a scanned digit of scikit-learn's set, number {row}",
        )


def restore(shipped: Path, folder: Path) -> None:
    torch.save(load_from_onnx(Digits(), shipped / "1" / "model.onnx").state_dict(), folder / "checkpoint.pt")
