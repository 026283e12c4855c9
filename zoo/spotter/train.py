"""Training, and the way from checkpoint to ONNX file."""

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from zoo.common.compare import compare, torch_outputs
from zoo.common.golden import write_pair
from zoo.common.onnx_export import export, load_from_onnx
from zoo.spotter import scenes
from zoo.spotter.network import CELLS, STRIDE, Convolution, Spotter

SETTINGS = {
    "small": {"scenes": 480, "frames": 1, "epochs": 2, "batch": 16},
    "full": {"scenes": 48_000, "frames": 2, "epochs": 14, "batch": 128},
}
OUTPUTS = ["boxes", "classes", "scores"]


def make_part(arguments) -> tuple:
    """Frames and boxes padded to OBJECTS_MAX rows, class -1 where there is none."""
    count, frames, seed = arguments
    pictures, boxes, kinds = scenes.make(count, frames, seed)
    padded = np.zeros((len(pictures), scenes.OBJECTS_MAX, 4), np.float32)
    labels = np.full((len(pictures), scenes.OBJECTS_MAX), -1, np.int64)
    for row, (b, k) in enumerate(zip(boxes, kinds)):
        padded[row, : len(b)], labels[row, : len(k)] = b, k
    return pictures, padded, labels


def training_set(options: dict) -> list:
    parts = 48
    with ProcessPoolExecutor() as pool:
        made = list(pool.map(make_part, [(options["scenes"] // parts, options["frames"], 1_000 + part) for part in range(parts)]))
    return [np.concatenate([part[index] for part in made]) for index in range(3)]


def flipped(frames, boxes):
    """Mirror images count as new scenes."""
    mirrored = boxes.clone()
    mirrored[..., 0], mirrored[..., 2] = scenes.SIDE - boxes[..., 2], scenes.SIDE - boxes[..., 0]
    return frames.flip(2), mirrored


def targets(boxes, labels) -> tuple:
    """Heat maps with a soft hill at every centre, and the cells that must tell a box."""
    batch, device = len(boxes), boxes.device
    centre = (boxes[..., :2] + boxes[..., 2:]) / 2 / STRIDE
    cell = centre.floor().clamp(0, CELLS - 1).long()
    size = (boxes[..., 2:] - boxes[..., :2]) / STRIDE
    spread = (size.min(-1).values / 7).clamp(min=0.6)
    grid = torch.arange(CELLS, device=device).float()
    hill = torch.exp(
        -((grid[None, None, None, :] - cell[..., 0, None, None]) ** 2 + (grid[None, None, :, None] - cell[..., 1, None, None]) ** 2)
        / (2 * spread[..., None, None] ** 2)
    )
    heat = torch.zeros(batch, len(scenes.CLASSES), CELLS, CELLS, device=device)
    for index in range(labels.shape[1]):
        rows = torch.where(labels[:, index] >= 0)[0]
        kinds = labels[rows, index]
        heat[rows, kinds] = torch.maximum(heat[rows, kinds], hill[rows, index])
    return heat, cell


def loss_of(network: Spotter, frames, boxes, labels):
    heat_logits, told = network.raw(frames)
    heat, cell = targets(boxes, labels)
    chance = torch.sigmoid(heat_logits)
    positive = (heat == 1).float()
    hit = positive * (1 - chance) ** 2 * functional.logsigmoid(heat_logits)
    miss = (1 - positive) * (1 - heat) ** 4 * chance**2 * functional.logsigmoid(-heat_logits)
    count = positive.sum().clamp(min=1)
    loss = -(hit + miss).sum() / count
    rows, slots = torch.where(labels >= 0)
    wanted = boxes[rows, slots]
    total = 0.0
    # The cells next to the centre learn the box as well: a peak may fall beside it.
    for shift_x, shift_y in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)):
        x = (cell[rows, slots, 0] + shift_x).clamp(0, CELLS - 1)
        y = (cell[rows, slots, 1] + shift_y).clamp(0, CELLS - 1)
        box = told[rows, :, y, x]
        shared = (torch.minimum(box[:, 2:], wanted[:, 2:]) - torch.maximum(box[:, :2], wanted[:, :2])).clamp(min=0).prod(1)
        hull = (torch.maximum(box[:, 2:], wanted[:, 2:]) - torch.minimum(box[:, :2], wanted[:, :2])).clamp(min=0).prod(1)
        union = (box[:, 2:] - box[:, :2]).clamp(min=0).prod(1) + (wanted[:, 2:] - wanted[:, :2]).prod(1) - shared
        total = total + (1 - shared / (union + 1e-6) + (hull - union) / (hull + 1e-6)).mean()
    return loss + 0.6 * total


def train(setting: str, folder: Path) -> None:
    torch.manual_seed(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    options = SETTINGS[setting]
    frames, boxes, labels = (torch.from_numpy(array).to(device) for array in training_set(options))
    print(f"{len(frames)} frames", flush=True)
    network = Spotter().to(device)
    batch = options["batch"]
    steps = options["epochs"] * (len(frames) // batch)
    optimizer = torch.optim.AdamW([p for p in network.parameters() if p.requires_grad], lr=2e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2.5e-3, total_steps=steps, pct_start=0.1)
    for epoch in range(options["epochs"]):
        order = torch.randperm(len(frames), device=device)
        total = 0.0
        for begin in range(0, len(frames) - batch + 1, batch):
            rows = order[begin : begin + batch]
            x, b = frames[rows], boxes[rows]
            if (begin // batch + epoch) % 2:
                x, b = flipped(x, b)
            loss = loss_of(network, x, b, labels[rows])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 5.0)
            optimizer.step()
            schedule.step()
            total += loss.detach()
        print(f"epoch {epoch}: loss {float(total) / (len(frames) // batch):.4f}", flush=True)
    network.eval().cpu()
    for module in network.modules():
        if isinstance(module, Convolution):
            module.fold()
    torch.save(network.state_dict(), folder / "checkpoint.pt")


def make_onnx(folder: Path) -> None:
    network = Spotter(folded=True)
    network.load_state_dict(torch.load(folder / "checkpoint.pt", weights_only=True))
    path = folder / "1" / "model.onnx"
    frames, _, _ = scenes.make(2, 2, 77)
    axes = {name: {0: "batch"} for name in ("frame", *OUTPUTS)}
    export(network, [torch.from_numpy(frames)], path, ["frame"], OUTPUTS, axes)
    compare(network, path, {"frame": frames}, OUTPUTS)
    for row in (0, 2):
        inputs = {"frame": frames[row : row + 1]}
        write_pair(
            folder / "golden" / f"frame-{row}.json",
            "spotter",
            1,
            inputs,
            torch_outputs(network, inputs, OUTPUTS),
            "one frame of a made scene",
        )


def restore(shipped: Path, folder: Path) -> None:
    torch.save(load_from_onnx(Spotter(folded=True), shipped / "1" / "model.onnx").state_dict(), folder / "checkpoint.pt")
