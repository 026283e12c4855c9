"""Training, and the way from checkpoint to ONNX file."""

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
import time

import numpy as np
from tokenizers import Tokenizer
import torch
from torch.nn import functional

from zoo.common.compare import compare, torch_outputs
from zoo.common.golden import write_pair
from zoo.common.onnx_export import export, load_from_onnx
from zoo.storyteller import corpus
from zoo.storyteller.decoder_files import write_decoder_files
from zoo.storyteller.network import HEAD, HEADS, LAYERS, Storyteller
from zoo.storyteller.tokenizer import END_ID, tokenizer_file, train_tokenizer

# Two stages: the world in all its detail, then mixed with a wider one in which anything may be asked for.
SETTINGS = {
    "small": [
        {"stories": 1_440, "epochs": 1, "batch": 12, "rate": 2e-3, "wide": 0.0},
        {"stories": 480, "epochs": 1, "batch": 12, "rate": 1e-3, "wide": 0.6},
    ],
    "full": [
        {"stories": 960_000, "epochs": 3, "batch": 256, "rate": 3e-3, "wide": 0.0},
        {"stories": 480_000, "epochs": 2, "batch": 256, "rate": 1.5e-3, "wide": 0.6},
    ],
}
LENGTH_MAX = 449
CACHE = [f"{layer}.{part}" for layer in range(LAYERS) for part in ("key", "value")]
INPUTS = ["input_ids", "attention_mask", "position_ids", *(f"past_key_values.{name}" for name in CACHE)]
OUTPUTS = ["logits", *(f"present.{name}" for name in CACHE)]


def make_part(arguments) -> list:
    count, seed, wide = arguments
    return [text for text, _, _ in corpus.stories(count, seed, wide_share=wide)]


def training_texts(count: int, first_seed: int, wide: float) -> list:
    parts = 48
    with ProcessPoolExecutor() as pool:
        return sum(pool.map(make_part, [(count // parts, first_seed + part, wide) for part in range(parts)]), [])


def batches(lengths: np.ndarray, batch: int, generator: np.random.Generator) -> list:
    """Stories of like length side by side, in random order, so that little is padding."""
    order = generator.permutation(len(lengths))
    chunks = [order[start : start + 64 * batch] for start in range(0, len(order), 64 * batch)]
    found = []
    for chunk in chunks:
        chunk = chunk[np.argsort(lengths[chunk], kind="stable")]
        found += [chunk[start : start + batch] for start in range(0, len(chunk) - batch + 1, batch)]
    generator.shuffle(found)
    return found


def token_rows(tokenizer: Tokenizer, texts: list) -> tuple:
    """Ids [stories, LENGTH_MAX] with -1 behind the end, and the length of each story."""
    rows = [[END_ID, *encoding.ids, END_ID][:LENGTH_MAX] for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]
    ids = np.full((len(rows), LENGTH_MAX), -1, dtype=np.int16)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
    return ids, np.array([len(row) for row in rows])


def train(setting: str, folder: Path) -> None:
    """Stage after stage; one whose checkpoint lies in the folder already is not trained again."""
    network = None
    for stage, options in enumerate(SETTINGS[setting], start=1):
        checkpoint = folder / f"checkpoint-{stage}.pt"
        if not checkpoint.exists():
            texts = training_texts(options["stories"], 1 + 100 * (stage - 1), options["wide"])
            if stage == 1:
                tokenizer_file(folder).parent.mkdir(parents=True, exist_ok=True)
                train_tokenizer(texts[:40_000]).save(str(tokenizer_file(folder)))
            tokenizer = Tokenizer.from_file(str(tokenizer_file(folder)))
            network = network or Storyteller(tokenizer.get_vocab_size())
            ids, lengths = token_rows(tokenizer, texts)
            del texts
            fit(network, ids, lengths, options)
            torch.save(network.cpu().state_dict(), checkpoint)
        else:
            network = Storyteller(Tokenizer.from_file(str(tokenizer_file(folder))).get_vocab_size())
            network.load_state_dict(torch.load(checkpoint, weights_only=True))
    torch.save(network.cpu().state_dict(), folder / "checkpoint.pt")


def fit(network: Storyteller, ids: np.ndarray, lengths: np.ndarray, options: dict) -> None:
    torch.manual_seed(1)
    generator = np.random.default_rng(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network.to(device)
    ids = torch.from_numpy(ids).to(device)
    print(
        f"{len(ids)} stories, {lengths.sum() / 1e6:.1f} M tokens, {sum(p.numel() for p in network.parameters()) / 1e6:.2f} M parameters",
        flush=True,
    )
    forward = network.train_forward
    if device == "cuda":
        torch.set_float32_matmul_precision("high")
        forward = torch.compile(forward, dynamic=True)
    matrices = [parameter for parameter in network.parameters() if parameter.dim() == 2]
    others = [parameter for parameter in network.parameters() if parameter.dim() != 2 and parameter.requires_grad]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=options["rate"], betas=(0.9, 0.95), fused=device == "cuda")
    steps = options["epochs"] * len(batches(lengths, options["batch"], np.random.default_rng(2)))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, options["rate"], total_steps=steps + 1, pct_start=0.03, cycle_momentum=False)
    step, total, began = 0, 0.0, time.time()
    for _ in range(options["epochs"]):
        for chosen in batches(lengths, options["batch"], generator):
            # Widths in steps of 32 keep the kernels on aligned shapes.
            width = min(LENGTH_MAX, -(-(int(lengths[chosen].max()) - 1) // 32) * 32 + 1)
            block = ids[torch.from_numpy(chosen).to(device)][:, :width].long()
            targets = block[:, 1:]
            with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
                logits = forward(block[:, :-1].clamp(min=0))
            loss = functional.cross_entropy(logits.float().flatten(0, 1), targets.flatten(), ignore_index=-1)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.detach()
            step += 1
            if step % 200 == 0 or step == steps:
                print(f"step {step}/{steps}: loss {float(total) / min(200, step):.4f}, {time.time() - began:.0f} s", flush=True)
                total = 0.0


def example(tokenizer: Tokenizer, past: int) -> dict:
    """Two rows, the second left-padded, with `past` tokens already in the cache."""
    text = tokenizer.encode("Once upon a time there was a little fox named Mira.", add_special_tokens=False).ids
    inputs = {
        "input_ids": np.array([text[:3], [END_ID, *text[4:6]]], dtype=np.int64),
        "attention_mask": np.array([[1] * (past + 3), [0] + [1] * (past + 2)], dtype=np.int64),
        "position_ids": np.array([[past, past + 1, past + 2], [max(past - 1, 0), past, past + 1]], dtype=np.int64),
    }
    generator = np.random.default_rng(3)
    for name in CACHE:
        inputs[f"past_key_values.{name}"] = generator.normal(0, 1, (2, HEADS, past, HEAD)).astype(np.float32)
    return inputs


def make_onnx(folder: Path) -> None:
    tokenizer = Tokenizer.from_file(str(tokenizer_file(folder)))
    network = Storyteller(tokenizer.get_vocab_size())
    network.load_state_dict(torch.load(folder / "checkpoint.pt", weights_only=True))
    axes = {name: {0: "batch", 1: "sequence"} for name in ("input_ids", "position_ids", "logits")}
    axes["attention_mask"] = {0: "batch", 1: "total"}
    axes.update({name: {0: "batch", 2: "past"} for name in INPUTS[3:]})
    axes.update({name: {0: "batch", 2: "total"} for name in OUTPUTS[1:]})
    path = folder / "1" / "model.onnx"
    export(network, [torch.from_numpy(array) for array in example(tokenizer, 4).values()], path, INPUTS, OUTPUTS, axes)
    write_decoder_files(path.parent)
    for past in (0, 2, 40):
        compare(network, path, example(tokenizer, past), OUTPUTS)
    for past, note in ((0, "the first tokens of a story, no past"), (2, "one token after a cache of two")):
        inputs = {name: array[:1] for name, array in example(tokenizer, past).items()}
        if past:
            inputs["input_ids"], inputs["position_ids"] = inputs["input_ids"][:, :1], inputs["position_ids"][:, :1]
            inputs["attention_mask"] = inputs["attention_mask"][:, : past + 1]
        write_pair(folder / "golden" / f"past-{past}.json", "storyteller", 1, inputs, torch_outputs(network, inputs, OUTPUTS), note)


def restore(shipped: Path, folder: Path) -> None:
    tokenizer_file(folder).parent.mkdir(parents=True, exist_ok=True)
    tokenizer_file(folder).write_bytes(tokenizer_file(shipped).read_bytes())
    vocabulary = Tokenizer.from_file(str(tokenizer_file(shipped))).get_vocab_size()
    network = load_from_onnx(Storyteller(vocabulary), shipped / "1" / "model.onnx")
    torch.save(network.state_dict(), folder / "checkpoint.pt")
