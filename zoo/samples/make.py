"""Files to send to the bundled models, from the generators of their data, and texts with their token ids.

    python -m zoo.samples.make

    three.png      a handwritten three on paper      for digits
    shapes.jpg     coloured shapes                   for spotter
    commands.wav   "left", "stop"                    for listener; needs espeak-ng
    answers.json   what the Python code of the zoo says: token ids of texts, shapes in shapes.jpg, stories; tests compare
                   the pipelines with it

Needs zoo/requirements-evaluate.txt.
"""

import json
from pathlib import Path
import wave

import numpy as np
from PIL import Image
from tokenizers import Tokenizer

from zoo.common.paths import shipped_folder
from zoo.common.session import open_session
from zoo.digits.strokes import draw
from zoo.listener.voices import RATE, speak
from zoo.sentiment.text import ids_from
from zoo.spotter.scenes import CLASSES, SIDE, clip
from zoo.storyteller.generate import generate
from zoo.storyteller.tokenizer import tokenizer_file

FOLDER = Path(__file__).resolve().parent
SHAPES_SIDE = 480

SENTENCES = [
    "The soup was wonderful.",
    "It's NOT bad at all -- I'd come again!",
    "Café, naïve, jalapeño; 42 of 7,000 (and a half)",
    "A $5 <b>deal</b> ~ x=y+z^2 `quoted` |pipe| 50% & more @home #1",
    "ΣΑΣ İstanbul ǅungla straße ẞ",
    "日本語のレビュー、とても良い。",
    "tabs\tand\nnew lines\r\nand\u00a0no-break\u2003em\u0085next\ufeffbom",
    "smile \U0001f600 and e\u0301 and \u200bzero width",
    "[PAD] in [UNK] brackets [pad]",
    "x" * 100 + " " + "y" * 101,
    "the the the " * 60,
    "unbelievably antyhing ##ing",
    "“curly” ‘quotes’ … — dash",
    "",
    "   ",
]
OPENINGS = [
    "Once upon a time",
    "Tell me a story about a fox named Mira and a kite.\n\n",
    "Mira the Fox\n\n",
    "It's what they'd said: \"we'll go\", she's sure, I'm told you're right, they've won 'tis",
    "  two spaces,   three\n\n\nlines\t\ttabs \n end ",
    "Zwölf Boxkämpfer jagen Viktor über den großen Sylter Deich.",
    "日本語 \U0001f98a fox\U0001f600\U0001f600",
    "1234567 x2y3 ½ ² Ⅷ",
    "next\u0085line\u00a0no-break\u2003em\ufeffbom \u3000 wide",
    "<|end|> stands <|end|>inside <|END|>",
    "don't CAN'T O'Neill's 'S 'll",
    "",
]


def paper_with(digit: int, generator: np.random.Generator) -> Image.Image:
    """Dark ink on light paper, off the middle, under uneven light."""
    height, width = 240, 320
    ink = np.zeros((height, width), np.float32)
    drawn = np.asarray(Image.fromarray((draw(digit, generator) * 255).astype(np.uint8)).resize((160, 160), Image.BICUBIC))
    ink[50:210, 110:270] = drawn / 255
    light = 222 + 10 * np.linspace(-1, 1, width)[None, :] - 6 * np.linspace(-1, 1, height)[:, None]
    photo = light * (1 - ink) + 45 * ink + generator.normal(0, 1, (height, width))
    return Image.fromarray(np.clip(photo, 0, 255).astype(np.uint8))


def write_commands(path: Path, words: list, generator: np.random.Generator) -> None:
    """The words with pauses between them, in a quiet room."""
    pause = np.zeros(int(0.6 * RATE), np.float32)
    spoken = [part for word in words for part in (pause, speak((word, "en-us", "f2", 150, 50)))]
    samples = np.concatenate([*spoken, pause])
    samples = samples / np.abs(samples).max() * 0.5 + generator.normal(0, 0.002, len(samples))
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())


def sentiment_tokens() -> list:
    """As the model gets them: cut at 96."""
    tokenizer = Tokenizer.from_file(str(shipped_folder("sentiment") / "tokenizer.json"))
    return [
        {"text": text, "ids": ids_from(tokenizer, [text])[0].tolist() if tokenizer.encode(text).ids else []} for text in SENTENCES
    ]


def storyteller_tokens(tokenizer: Tokenizer) -> list:
    encoded = [(text, tokenizer.encode(text, add_special_tokens=False).ids) for text in OPENINGS]
    return [{"text": text, "ids": ids, "decoded": tokenizer.decode(ids)} for text, ids in encoded]


def stories(tokenizer: Tokenizer) -> list:
    """The most probable token each time."""
    session = open_session(shipped_folder("storyteller") / "1" / "model.onnx")
    prompts = OPENINGS[:2]
    return [
        {"prompt": prompt, "text": text} for prompt, text in zip(prompts, generate(session, tokenizer, prompts, temperature=0))
    ]


def main() -> None:
    paper_with(3, np.random.default_rng(3)).save(FOLDER / "three.png", optimize=True)
    [(frame, boxes, kinds)] = clip(np.random.default_rng(37), 1)
    Image.fromarray(frame).resize((SHAPES_SIDE, SHAPES_SIDE), Image.BICUBIC).save(FOLDER / "shapes.jpg", quality=80)
    write_commands(FOLDER / "commands.wav", ["left", "stop"], np.random.default_rng(1))
    tokenizer = Tokenizer.from_file(str(tokenizer_file(shipped_folder("storyteller"))))
    answers = {
        "sentimentTokens": sentiment_tokens(),
        "storytellerTokens": storyteller_tokens(tokenizer),
        "stories": stories(tokenizer),
        "shapes": [
            {"label": CLASSES[kind], "box": (box * SHAPES_SIDE / SIDE).round(1).tolist()} for kind, box in zip(kinds, boxes.astype(float))
        ],
    }
    lists = [f' "{name}": [\n  ' + ",\n  ".join(map(json.dumps, entries)) + "\n ]" for name, entries in answers.items()]
    (FOLDER / "answers.json").write_text("{\n" + ",\n".join(lists) + "\n}\n")


if __name__ == "__main__":
    main()
