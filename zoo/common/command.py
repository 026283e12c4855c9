"""The one command every model has: `python -m zoo.NAME STEP... --setting small|full`."""

import argparse
from dataclasses import dataclass
from pathlib import Path
import random
import shutil
import time
from collections.abc import Callable

import numpy as np

from zoo.common import card
from zoo.common.paths import shipped_folder, work_folder

STEPS = ("train", "export", "evaluate", "publish")


@dataclass(frozen=True)
class Recipe:
    """How one model is made. Folders given to the steps are laid out like the folder in `models`."""

    name: str
    #: Makes the data, trains, and leaves checkpoints in the folder.
    train: Callable[[str, Path], None]
    #: Checkpoint to ONNX, compared with PyTorch; also writes the golden pairs.
    export: Callable[[Path], None]
    #: Held-out data anew, metrics from the ONNX files alone (no PyTorch).
    evaluate: Callable[[Path], list]
    #: Puts the weights of shipped ONNX files back into checkpoints, for `verify`.
    restore: Callable[[Path, Path], None]
    #: What `publish` copies besides `*/model.onnx` and `golden/`.
    extras: tuple = ()


def publish(recipe: Recipe, folder: Path) -> None:
    target = shipped_folder(recipe.name)
    for source in sorted(folder.glob("[0-9]*/model.onnx")):
        version = target / source.parent.name
        version.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, version / "model.onnx")
    shutil.rmtree(target / "golden", ignore_errors=True)
    shutil.copytree(folder / "golden", target / "golden")
    for extra in recipe.extras:
        shutil.copyfile(folder / extra, target / extra)


def main(recipe: Recipe) -> None:
    parser = argparse.ArgumentParser(prog=f"python -m zoo.{recipe.name}")
    parser.add_argument("steps", nargs="+", choices=(*STEPS, "all", "verify"))
    parser.add_argument("--setting", choices=("small", "full"), default="small")
    options = parser.parse_args()
    folder = work_folder(recipe.name, options.setting)
    steps = ["train", "export", "evaluate"] if "all" in options.steps else options.steps
    for step in steps:
        began = time.time()
        random.seed(1)
        np.random.seed(1)
        print(f"== {recipe.name}: {step} ({options.setting})", flush=True)
        if step == "train":
            recipe.train(options.setting, folder)
        elif step == "export":
            recipe.export(folder)
        elif step == "evaluate":
            for metric in recipe.evaluate(folder):
                print(f"{metric.name}: {metric.value:.4f} ({metric.bar}) {metric.note}")
        elif step == "publish":
            publish(recipe, folder)
            card.write_table(shipped_folder(recipe.name) / "README.md", recipe.evaluate(shipped_folder(recipe.name)))
        elif step == "verify":
            verify(recipe)
        print(f"== {recipe.name}: {step} took {time.time() - began:.0f} s", flush=True)


def verify(recipe: Recipe) -> None:
    """Exports the shipped weights once more: the bytes must come out the same."""
    shipped = shipped_folder(recipe.name)
    folder = work_folder(recipe.name, "verify")
    recipe.restore(shipped, folder)
    recipe.export(folder)
    for file in sorted(shipped.glob("[0-9]*/model.onnx")):
        again = folder / file.relative_to(shipped)
        same = again.read_bytes() == file.read_bytes()
        print(f"{file.relative_to(shipped.parent)}: {'same bytes' if same else 'DIFFERENT bytes'}")
        if not same:
            raise SystemExit("the shipped file does not come out of its own weights byte for byte")
