"""Training, and the way from checkpoint to ONNX file."""

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from zoo.common.compare import compare, torch_outputs
from zoo.common.golden import write_pair
from zoo.common.onnx_export import export, load_from_onnx
from zoo.listener import streams, voices
from zoo.listener.network import HIDDEN, LAYERS, OVERLAP, Listener

SETTINGS = {
    "small": {"streams": 192, "epochs": 4, "voices": 4, "per_command": 1, "per_other": 6, "batch": 16},
    "full": {"streams": 40_000, "epochs": 24, "voices": len(voices.TRAINING_VOICES), "per_command": 14, "per_other": 60, "batch": 192},
}
INPUTS = ["audio", "audio_state", "hidden_state"]
OUTPUTS = ["speech", "commands", "audio_state_out", "hidden_state_out"]
BANK = {}


def hold(bank: dict) -> None:
    BANK.update(bank)


def make_part(arguments) -> tuple:
    count, seed = arguments
    return streams.make(count, BANK, seed)[:3]


def training_set(options: dict) -> list:
    bank = voices.bank(voices.TRAINING_VOICES[: options["voices"]], options["per_command"], options["per_other"], seed=1)
    parts = 48
    with ProcessPoolExecutor(initializer=hold, initargs=(bank,)) as pool:
        made = list(pool.map(make_part, [(options["streams"] // parts, 1_000 + part) for part in range(parts)]))
    return [np.concatenate([part[index] for part in made]) for index in range(3)]


def harder(bands):
    """Another microphone: the spectrum tilts, and a stretch of it is missing."""
    batch, _, width = bands.shape
    place = torch.arange(width, device=bands.device)
    slope = torch.empty(batch, 1, 1, device=bands.device).uniform_(-0.25, 0.25)
    bands = bands + slope * (place / width - 0.5)
    first = torch.randint(0, width, (batch, 1, 1), device=bands.device)
    missing = torch.randint(0, 7, (batch, 1, 1), device=bands.device)
    return torch.where((place >= first) & (place < first + missing), bands.mean((1, 2), keepdim=True), bands)


def train(setting: str, folder: Path) -> None:
    torch.manual_seed(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    options = SETTINGS[setting]
    samples, speech, command = (torch.from_numpy(array).to(device) for array in training_set(options))
    print(f"{len(samples)} streams of {streams.SECONDS} s", flush=True)
    network = Listener().to(device)
    batch = options["batch"]
    steps = options["epochs"] * (len(samples) // batch)
    learned = [parameter for parameter in network.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=3e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps, pct_start=0.15)
    weights = torch.ones(13, device=device)
    weights[1:] = 2.0
    for epoch in range(options["epochs"]):
        order = torch.randperm(len(samples), device=device)
        total = 0.0
        for start in range(0, len(samples) - batch + 1, batch):
            rows = order[start : start + batch]
            audio = samples[rows].float() / 32768
            # Another loudness and a little hiss every time a stream comes by again.
            audio = audio * 10 ** (torch.empty(len(rows), 1, device=device).uniform_(-0.4, 0.3))
            audio = audio + torch.randn_like(audio) * 10 ** torch.empty(len(rows), 1, device=device).uniform_(-4.5, -2.7)
            # Half of the streams get another stream behind them, softly: more kinds of noise than were made.
            behind = audio.roll(1, 0).roll(37 * streams.FRAME, 1) * 10 ** torch.empty(len(rows), 1, device=device).uniform_(-2.0, -0.8)
            audio = torch.where(torch.rand(len(rows), 1, device=device) < 0.5, audio + behind, audio)
            logits = network.sequence(audio.clamp(-1, 1), harder)
            loss = functional.cross_entropy(
                logits[..., 1:].flatten(0, 1), command[rows].flatten(), weight=weights, ignore_index=streams.IGNORED
            )
            loss = loss + 0.3 * functional.binary_cross_entropy_with_logits(logits[..., 0], speech[rows].float())
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(learned, 1.0)
            optimizer.step()
            schedule.step()
            total += loss.detach()
        print(f"epoch {epoch}: loss {float(total) / (len(samples) // batch):.4f}", flush=True)
    torch.save(network.cpu().state_dict(), folder / "checkpoint.pt")


def example(rows: int) -> dict:
    generator = np.random.default_rng(3)
    return {
        "audio": generator.normal(0, 0.05, (rows, streams.FRAME)).astype(np.float32),
        "audio_state": generator.normal(0, 0.05, (rows, OVERLAP)).astype(np.float32),
        "hidden_state": generator.uniform(-0.5, 0.5, (rows, LAYERS, HIDDEN)).astype(np.float32),
    }


def same_as_sequence(network: Listener) -> None:
    """Frame by frame must give what the whole stream gives."""
    audio = torch.from_numpy(np.random.default_rng(4).normal(0, 0.05, (1, 20 * streams.FRAME)).astype(np.float32))
    state = torch.zeros(1, OVERLAP), torch.zeros(1, LAYERS, HIDDEN)
    with torch.no_grad():
        whole = torch.softmax(network.sequence(audio)[..., 1:], dim=-1)
        for frame in range(20):
            _, commands, *state = network(audio[:, frame * streams.FRAME : (frame + 1) * streams.FRAME], *state)
    difference = float((whole[:, -1] - commands).abs().max())
    if difference > 1e-4:
        raise SystemExit(f"the step differs from the sequence by {difference:.2e}")


def make_onnx(folder: Path) -> None:
    network = Listener()
    network.load_state_dict(torch.load(folder / "checkpoint.pt", weights_only=True))
    same_as_sequence(network.eval())
    path = folder / "1" / "model.onnx"
    axes = {name: {0: "batch"} for name in (*INPUTS, *OUTPUTS)}
    export(network, [torch.from_numpy(array) for array in example(2).values()], path, INPUTS, OUTPUTS, axes)
    compare(network, path, example(6), OUTPUTS)
    first = {name: array if name == "audio" else np.zeros_like(array) for name, array in example(1).items()}
    for name, inputs, note in (("first-frame", first, "noise into an empty state"), ("later-frame", example(1), "noise into a used state")):
        write_pair(folder / "golden" / f"{name}.json", "listener", 1, inputs, torch_outputs(network, inputs, OUTPUTS), note)


def restore(shipped: Path, folder: Path) -> None:
    torch.save(load_from_onnx(Listener(), shipped / "1" / "model.onnx").state_dict(), folder / "checkpoint.pt")
