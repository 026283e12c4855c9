"""Makes a large model with random weights, for benches and GPU runs. Never committed.

    python -m zoo.big_shapes.make resnet50 FOLDER
    python -m zoo.big_shapes.make bert FOLDER
    python -m zoo.big_shapes.make llama FOLDER --parameters 125M      (or 1B, 7B, ...)

FOLDER becomes a model repository: FOLDER/NAME/1/model.onnx.
"""

import argparse
from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from zoo.big_shapes import shapes

HEAD = 64
VOCABULARY = 32_000
UNITS = {"K": 1e3, "M": 1e6, "B": 1e9}


def parameters_from(text: str) -> float:
    unit = UNITS.get(text[-1:].upper())
    try:
        wanted = float(text[:-1]) * unit if unit else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of parameters; write 125M or 1.3B") from None
    if not 5e6 <= wanted <= 1e11:
        raise argparse.ArgumentTypeError(f"{text!r} is out of range; ask for 5M to 100B")
    return wanted


def llama_size(wanted: float) -> dict:
    """Layers and width whose decoder comes closest to the wanted number of parameters: about one layer for every 96 of width."""
    sizes = []
    for width in range(2 * HEAD, 16_384, HEAD):
        inner = round(width * 8 / 3 / 64) * 64
        for layers in {max(2, round(width / ratio)) for ratio in (64, 96, 128)}:
            count = VOCABULARY * width + layers * (4 * width * width + 3 * width * inner)
            sizes.append((abs(count - wanted), layers, width, inner))
    _, layers, width, inner = min(sizes)
    return {"layers": layers, "width": width, "count": width // HEAD, "inner": inner, "vocabulary": VOCABULARY}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("shape", choices=("resnet50", "bert", "llama"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--parameters", type=parameters_from, default=parameters_from("125M"), help="of the llama shape only (125M)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.shape == "resnet50":
        graph = shapes.resnet50(options.seed)
    elif options.shape == "bert":
        graph = shapes.bert(options.seed)
    else:
        graph = shapes.llama(options.seed, **llama_size(options.parameters))
    graph.save(options.folder / options.shape / "1" / "model.onnx")


if __name__ == "__main__":
    main()
