"""Draws the pictures of docs/models.md from what the shipped models answer: `python zoo/gallery.py`."""

from pathlib import Path
import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFont

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from zoo.common.paths import ROOT, shipped_folder
from zoo.common.session import open_session, run
from zoo.digits import data as digits_data
from zoo.digits import evaluate as digits_evaluate
from zoo.listener import evaluate as listener_evaluate
from zoo.listener import streams, voices
from zoo.listener.decode import words_from
from zoo.spotter import scenes

IMAGES = ROOT / "docs" / "images"
BACKGROUND, INK, GOOD, BAD, ACCENT = (18, 22, 30), (225, 230, 238), (94, 214, 150), (244, 108, 108), (255, 196, 84)
COLOURS = ((94, 214, 150), (255, 196, 84), (120, 180, 255), (244, 108, 108), (214, 150, 255), (110, 230, 230))


def font(size: int):
    return ImageFont.load_default(size)


def digits_picture() -> Image.Image:
    """Held-out digits with the answer under each; wrong ones are framed in red."""
    session = open_session(shipped_folder("digits") / "1" / "model.onnx")
    made, made_labels = digits_evaluate.held_out()
    real, real_labels = digits_data.scanned_check_set()
    picture = Image.new("RGB", (14 * 62 + 10, 6 * 82 + 50), BACKGROUND)
    canvas = ImageDraw.Draw(picture)
    for block, (title, images, labels) in enumerate(
        (("unseen fonts and drawings", made, made_labels), ("written by people", real, real_labels))
    ):
        top = block * (3 * 82 + 25)
        canvas.text((10, top + 4), title, fill=INK, font=font(14))
        answers = run(session, {"image": images[:42]})["probabilities"].argmax(1)
        for index in range(42):
            x, y = 10 + index % 14 * 62, top + 25 + index // 14 * 82
            picture.paste(Image.fromarray((images[index, 0] * 255).astype(np.uint8)).resize((56, 56), Image.BICUBIC), (x, y))
            is_right = answers[index] == labels[index]
            if not is_right:
                canvas.rectangle([x - 2, y - 2, x + 57, y + 57], outline=BAD, width=3)
            canvas.text((x + 23, y + 58), str(answers[index]), fill=GOOD if is_right else BAD, font=font(15))
    return picture


def spotter_picture() -> Image.Image:
    """Three scenes, four moments of each, with the boxes it found."""
    session = open_session(shipped_folder("spotter") / "1" / "model.onnx")
    labels = (shipped_folder("spotter") / "labels.txt").read_text().split()
    frames, _, _ = scenes.make(3, 4, 4_242)
    outputs = run(session, {"frame": frames})
    picture = Image.new("RGB", (4 * 200 + 2, 3 * 200 + 2), BACKGROUND)
    for index, frame in enumerate(frames):
        tile = Image.fromarray(frame).resize((196, 196), Image.BICUBIC)
        canvas = ImageDraw.Draw(tile)
        for box, kind, score in zip(outputs["boxes"][index], outputs["classes"][index], outputs["scores"][index]):
            if score < 0.4:
                continue
            left, top, right, bottom = (box * 196 / 128).tolist()
            canvas.rectangle([left, top, right, bottom], outline=COLOURS[kind], width=2)
            text = f"{labels[kind]} {score:.2f}"
            width = canvas.textlength(text, font=font(11))
            top = max(13, top)
            canvas.rectangle([left, top - 13, left + width + 4, top], fill=COLOURS[kind])
            canvas.text((left + 2, top - 13), text, fill=BACKGROUND, font=font(11))
        picture.paste(tile, (4 + index % 4 * 200, 4 + index // 4 * 200))
    return picture


def heat(values: np.ndarray) -> np.ndarray:
    """0 to 1 as dark blue over violet and orange to pale yellow."""
    stops = np.array([[12, 12, 36], [80, 24, 110], [190, 55, 84], [249, 142, 40], [252, 250, 190]], float)
    position = np.clip(values, 0, 1) * (len(stops) - 1)
    low = np.minimum(position.astype(int), len(stops) - 2)
    share = (position - low)[..., None]
    return (stops[low] * (1 - share) + stops[low + 1] * share).astype(np.uint8)


def listener_picture() -> Image.Image:
    """Eight seconds at 10 dB: the spectrum, what was said, and what the listener thought, frame by frame."""
    session = open_session(shipped_folder("listener") / "1" / "model.onnx")
    bank = voices.bank(voices.HELD_OUT_VOICES[:6], per_command=1, per_other=4, seed=77)
    samples, _, _, events = streams.make(1, bank, 81, 10.0)
    speech, commands = listener_evaluate.listen(session, samples)
    windows = np.lib.stride_tricks.sliding_window_view(samples[0] / 32768, 512)[::160]
    power = np.log10(np.abs(np.fft.rfft(windows * np.hanning(512)))[:, :200] ** 2 + 1e-4)
    low, high = np.quantile(power, (0.05, 0.997))
    spectrum = Image.fromarray(heat((power.T[::-1] - low) / (high - low))).resize((800, 180), Image.BILINEAR)
    picture = Image.new("RGB", (880, 420), BACKGROUND)
    picture.paste(spectrum, (70, 30))
    canvas = ImageDraw.Draw(picture)
    canvas.text((70, 8), "unseen voices in noise of 10 dB: said (above), heard (below)", fill=INK, font=font(14))
    canvas.text((4, 30), "6.2 kHz", fill=INK, font=font(11))
    canvas.text((4, 196), "0", fill=INK, font=font(11))
    for word, end in events[0]:
        canvas.text(
            (70 + end * 2 - 26, 32), voices.COMMANDS[word], fill=(255, 255, 255), font=font(15), stroke_width=2, stroke_fill=(0, 0, 0)
        )

    def curve(values, top, height, colour):
        points = [(70 + frame * 2, top + height * (1 - float(value))) for frame, value in enumerate(values)]
        canvas.line(points, fill=colour, width=2)

    for title, top in (("speech", 222), ("commands", 308)):
        canvas.text((4, top + 25), title, fill=INK, font=font(13))
        canvas.rectangle([70, top, 870, top + 70], outline=(60, 68, 84))
    curve(speech[0], 222, 70, COLOURS[2])
    for word in range(12):
        if commands[0, :, 1 + word].max() > 0.3:
            curve(commands[0, :, 1 + word], 308, 70, COLOURS[word % len(COLOURS)])
    for word, frame in words_from(commands[0]):
        canvas.text((70 + frame * 2 - 20, 384), voices.COMMANDS[word], fill=GOOD, font=font(16))
    return picture


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name, draw in (("digits", digits_picture), ("spotter", spotter_picture), ("listener", listener_picture)):
        # Few colours keep the pictures small enough for a page.
        draw().quantize(64, dither=Image.Dither.NONE).save(IMAGES / f"{name}.png", optimize=True)
        print(f"docs/images/{name}.png: {(IMAGES / f'{name}.png').stat().st_size // 1000} KB")


if __name__ == "__main__":
    main()
