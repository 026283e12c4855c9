"""Short clips of coloured shapes that move, turn and hide behind each other over textured backgrounds."""

from dataclasses import dataclass
import math

import numpy as np
from PIL import Image, ImageDraw

SIDE = 128
CLASSES = ("circle", "square", "triangle", "star", "ring", "cross")
OBJECTS_MAX = 6
# An object of which less than this share can be seen is not asked for.
VISIBLE_MIN = 0.4
SCALE = 2  # drawn larger and shrunk, so that edges are smooth


@dataclass
class Mover:
    kind: int
    x: float
    y: float
    radius: float
    angle: float
    step_x: float
    step_y: float
    spin: float
    growth: float
    colour: tuple
    edge: tuple | None

    def advance(self) -> None:
        self.x, self.y, self.angle = self.x + self.step_x, self.y + self.step_y, self.angle + self.spin
        self.radius = min(34.0, max(8.0, self.radius * self.growth))
        if not 4 < self.x < SIDE - 4:
            self.step_x = -self.step_x
        if not 4 < self.y < SIDE - 4:
            self.step_y = -self.step_y


def outline(kind: int, x: float, y: float, radius: float, angle: float) -> list:
    """Corner points of the shapes that have corners."""
    if CLASSES[kind] == "square":
        turns, radii = [angle + math.pi / 4 + k * math.pi / 2 for k in range(4)], [radius] * 4
    elif CLASSES[kind] == "triangle":
        turns, radii = [angle + k * 2 * math.pi / 3 for k in range(3)], [radius] * 3
    elif CLASSES[kind] == "star":
        turns, radii = [angle + k * math.pi / 5 for k in range(10)], [radius, radius * 0.42] * 5
    else:  # cross
        arm, inner = math.atan2(0.3, 1), 0.3 * math.sqrt(2)
        turns, radii = [], []
        for k in range(4):
            base = angle + k * math.pi / 2
            turns += [base - arm, base + arm, base + math.pi / 4]
            radii += [radius, radius, radius * inner]
    return [(x + r * math.cos(t), y + r * math.sin(t)) for t, r in zip(turns, radii)]


def mask_of(mover: Mover) -> Image.Image:
    mask = Image.new("L", (SIDE * SCALE, SIDE * SCALE), 0)
    canvas = ImageDraw.Draw(mask)
    x, y, radius = mover.x * SCALE, mover.y * SCALE, mover.radius * SCALE
    if CLASSES[mover.kind] in ("circle", "ring"):
        canvas.ellipse([x - radius, y - radius, x + radius, y + radius], fill=255)
        if CLASSES[mover.kind] == "ring":
            hole = radius * 0.55
            canvas.ellipse([x - hole, y - hole, x + hole, y + hole], fill=0)
    else:
        canvas.polygon(outline(mover.kind, x, y, radius, mover.angle), fill=255)
    return mask


def texture(generator: np.random.Generator) -> np.ndarray:
    """A background: coarse to fine noise between two colours, perhaps with stripes. [SIDE, SIDE, 3] 0 to 255."""
    field = np.zeros((SIDE, SIDE))
    for cells, weight in ((3, 1.0), (8, 0.6), (20, 0.35), (64, 0.2)):
        coarse = Image.fromarray((generator.random((cells, cells)) * 255).astype(np.uint8))
        field += weight * generator.uniform(0.2, 1) * np.asarray(coarse.resize((SIDE, SIDE), Image.BICUBIC), dtype=float) / 255
    if generator.random() < 0.4:
        y, x = np.mgrid[0:SIDE, 0:SIDE]
        turn, pitch = generator.uniform(0, math.pi), generator.uniform(0.15, 0.9)
        field += generator.uniform(0.1, 0.6) * np.sin(pitch * (x * math.cos(turn) + y * math.sin(turn)))
    field = (field - field.min()) / (np.ptp(field) + 1e-6)
    first, second = generator.uniform(0, 255, 3), generator.uniform(0, 255, 3)
    return first + (second - first) * field[..., None]


def start(generator: np.random.Generator, background: np.ndarray) -> Mover:
    x, y = generator.uniform(8, SIDE - 8, 2)
    around = background[max(0, int(y) - 8) : int(y) + 8, max(0, int(x) - 8) : int(x) + 8].mean((0, 1))
    colour = generator.uniform(0, 255, 3)
    while np.abs(colour - around).sum() < 130:
        colour = generator.uniform(0, 255, 3)
    edge = tuple(generator.integers(0, 255, 3).tolist()) if generator.random() < 0.3 else None
    return Mover(
        int(generator.integers(len(CLASSES))),
        x,
        y,
        generator.uniform(9, 30),
        generator.uniform(0, 6.28),
        *generator.normal(0, 3, 2),
        generator.normal(0, 0.12),
        math.exp(generator.normal(0, 0.02)),
        tuple(colour.tolist()),
        edge,
    )


def render(movers: list, bars: list, background: np.ndarray, generator: np.random.Generator) -> tuple:
    """One frame [SIDE, SIDE, 3] uint8, boxes [n, 4] as x1 y1 x2 y2 in pixels, and classes [n]."""
    frame = background.copy()
    masks = []
    for mover in movers:
        mask = mask_of(mover)
        cover = np.asarray(mask.resize((SIDE, SIDE), Image.BOX), dtype=float)[..., None] / 255
        shade = 1 + 0.15 * math.sin(mover.angle) * (np.mgrid[0:SIDE, 0:SIDE][1][..., None] - mover.x) / mover.radius
        paint = np.clip(np.array(mover.colour) * shade, 0, 255)
        frame = frame * (1 - cover) + paint * cover
        if mover.edge is not None:
            rim = cover * (1 - np.roll(cover, 1, 0) * np.roll(cover, -1, 0) * np.roll(cover, 1, 1) * np.roll(cover, -1, 1))
            frame = frame * (1 - rim) + np.array(mover.edge) * rim
        masks = [(other, seen * (cover[..., 0] < 0.5)) for other, seen in masks]
        masks.append((mover, cover[..., 0] > 0.5))
    if bars:
        picture = Image.fromarray(np.zeros((SIDE, SIDE), dtype=np.uint8))
        for ends, colour, width in bars:
            picture.paste(0, (0, 0, SIDE, SIDE))
            ImageDraw.Draw(picture).line(ends, fill=255, width=width)
            cover = np.asarray(picture) > 0
            frame[cover] = colour
            masks = [(mover, seen & ~cover) for mover, seen in masks]
    boxes, kinds = [], []
    for mover, seen in masks:
        whole = np.asarray(mask_of(mover).resize((SIDE, SIDE), Image.BOX)) > 127
        # Shares are of the whole shape, the part outside the frame included.
        area = (np.asarray(mask_of(Mover(**{**mover.__dict__, "x": SIDE / 2, "y": SIDE / 2})).resize((SIDE, SIDE), Image.BOX)) > 127).sum()
        if seen.sum() < VISIBLE_MIN * area:
            continue
        ys, xs = np.where(whole.any(1))[0], np.where(whole.any(0))[0]
        boxes.append([xs[0], ys[0], xs[-1] + 1, ys[-1] + 1])
        kinds.append(mover.kind)
    light = generator.uniform(0.7, 1.15)
    frame = frame * light + generator.normal(0, generator.uniform(0, 12), frame.shape)
    return np.clip(frame, 0, 255).astype(np.uint8), np.array(boxes, dtype=np.float32).reshape(-1, 4), np.array(kinds, dtype=np.int64)


def clip(generator: np.random.Generator, frames: int, stride: int = 1) -> list:
    """`frames` frames of one scene, `stride` steps of motion apart."""
    background = texture(generator)
    movers = [start(generator, background) for _ in range(generator.integers(1, OBJECTS_MAX + 1))]
    bars = [
        (
            [tuple(generator.uniform(0, SIDE, 2).tolist()), tuple(generator.uniform(0, SIDE, 2).tolist())],
            generator.integers(0, 255, 3),
            int(generator.integers(2, 9)),
        )
        for _ in range(generator.integers(0, 3))
    ]
    made = []
    for _ in range(frames):
        made.append(render(movers, bars, background, generator))
        for _ in range(stride):
            for mover in movers:
                mover.advance()
    return made


def make(scenes: int, frames: int, seed: int) -> tuple:
    """Frames [n, SIDE, SIDE, 3] uint8, and lists of boxes and classes."""
    generator = np.random.default_rng(seed)
    made = [frame for _ in range(scenes) for frame in clip(generator, frames, stride=4)]
    return np.stack([frame for frame, _, _ in made]), [boxes for _, boxes, _ in made], [kinds for _, _, kinds in made]
