"""Images of digits, 28 x 28, light ink on dark, as strong warps of glyphs and drawings; and the real check set."""

import numpy as np

from zoo.digits.strokes import SIDE, draw

SIZE = 28


def bilinear(mask: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Samples a mask at fractional positions; outside it is dark."""
    height, width = mask.shape
    top, left = np.floor(rows).astype(int), np.floor(columns).astype(int)
    down, right = rows - top, columns - left

    def at(y, x):
        inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
        return np.where(inside, mask[np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)], 0.0)

    upper = at(top, left) * (1 - right) + at(top, left + 1) * right
    lower = at(top + 1, left) * (1 - right) + at(top + 1, left + 1) * right
    return upper * (1 - down) + lower * down


def resize(image: np.ndarray, height: int, width: int) -> np.ndarray:
    """Bilinear, with pixel centres aligned."""
    rows = (np.arange(height) + 0.5) * image.shape[0] / height - 0.5
    columns = (np.arange(width) + 0.5) * image.shape[1] / width - 0.5
    rows = np.clip(rows, 0, image.shape[0] - 1)
    columns = np.clip(columns, 0, image.shape[1] - 1)
    return bilinear(image, *np.meshgrid(rows, columns, indexing="ij"))


def frame(ink: np.ndarray, box: float = 20.0) -> np.ndarray:
    """Crops to the ink and lays it, its longer side `box` pixels, in the middle of a 28 x 28 image."""
    lit = ink > 0.15 * max(ink.max(), 1e-6)
    ys, xs = np.where(lit.any(1))[0], np.where(lit.any(0))[0]
    if len(ys) == 0:
        return np.zeros((SIZE, SIZE), dtype=np.float32)
    crop = ink[ys[0] : ys[-1] + 1, xs[0] : xs[-1] + 1]
    ratio = box / max(crop.shape)
    height = max(1, min(SIZE, round(crop.shape[0] * ratio)))
    width = max(1, min(SIZE, round(crop.shape[1] * ratio)))
    # Averaging pairs first keeps thin strokes when a large crop shrinks to less than half.
    while crop.shape[0] >= 2 * height and crop.shape[1] >= 2 * width:
        even = crop[: crop.shape[0] // 2 * 2, : crop.shape[1] // 2 * 2]
        crop = even.reshape(even.shape[0] // 2, 2, even.shape[1] // 2, 2).mean((1, 3))
    small = resize(crop, height, width)
    image = np.zeros((SIZE, SIZE), dtype=np.float32)
    top, left = (SIZE - height) // 2, (SIZE - width) // 2
    image[top : top + height, left : left + width] = small
    return image


def warp(mask: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Turns, leans, bends and ripples a mask."""
    side = SIDE * 5 // 4
    y, x = np.meshgrid(np.linspace(-0.625, 0.625, side), np.linspace(-0.625, 0.625, side), indexing="ij")
    turn = generator.normal(0, 0.16)
    lean = generator.normal(0, 0.22)
    squeeze = np.exp(generator.normal(0, 0.18))
    bend_x, bend_y = generator.normal(0, 0.2, 2)
    u = x * squeeze + lean * y + bend_x * y * y
    v = y + bend_y * x * x
    u, v = u * np.cos(turn) - v * np.sin(turn), u * np.sin(turn) + v * np.cos(turn)
    strength = generator.uniform(0, 0.035)
    for _ in range(3):
        wave_x, wave_y = generator.normal(0, 5, 2)
        phase = generator.uniform(0, 6.28, 2)
        u = u + strength * np.sin(wave_x * x + wave_y * y + phase[0])
        v = v + strength * np.sin(wave_y * x - wave_x * y + phase[1])
    return bilinear(mask, (v + 0.5) * SIDE - 0.5, (u + 0.5) * SIDE - 0.5)


def thicken(mask: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Makes the pen fatter or thinner by a pixel or two of the mask."""
    for _ in range(generator.integers(0, 3)):
        grown = np.stack([mask, np.roll(mask, 1, 0), np.roll(mask, -1, 0), np.roll(mask, 1, 1), np.roll(mask, -1, 1)])
        changed = grown.max(0) if generator.random() < 0.7 else grown.min(0)
        # A hairline that erosion would break stays as it is.
        if changed.sum() > 0.6 * mask.sum():
            mask = changed
    return mask


def scanned_coarsely(image: np.ndarray) -> np.ndarray:
    """What a coarse scan leaves: the ink averaged over 8 x 8 cells and drawn large again."""
    lit = image > 0.15
    ys, xs = np.where(lit.any(1))[0], np.where(lit.any(0))[0]
    crop = image[ys[0] : ys[-1] + 1, xs[0] : xs[-1] + 1]
    wide = resize(crop, 32, max(8, min(32, round(32 * crop.shape[1] / crop.shape[0] / 4) * 4)))
    cells = wide.reshape(8, 4, wide.shape[1] // 4, 4).mean((1, 3))
    return frame(resize(np.round(cells * 16) / 16, 64, cells.shape[1] * 8))


def picture(mask: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    warped = warp(thicken(mask, generator), generator)
    image = frame(warped, generator.uniform(17, 22))
    if image.max() < 0.2:
        image = frame(mask)
    if generator.random() < 0.3:
        image = scanned_coarsely(image)
    image = np.roll(image, tuple(generator.integers(-2, 3, 2)), (0, 1))
    if generator.random() < 0.3:
        image = (image + np.roll(image, 1, 0) + np.roll(image, 1, 1) + np.roll(image, (1, 1), (0, 1))) / 4
    image = image / max(image.max(), 1e-6) * generator.uniform(0.6, 1.0)
    if generator.random() < 0.25:
        # A slip of the pen, or a crease.
        start, end = generator.uniform(0, SIZE, 2), generator.uniform(0, SIZE, 2)
        for t in np.linspace(0, generator.uniform(0.1, 0.4), 12):
            y, x = (start + (end - start) * t).astype(int)
            image[min(y, SIZE - 1), min(x, SIZE - 1)] = generator.uniform(0.3, 0.9)
    image = image + generator.normal(0, generator.uniform(0, 0.1), image.shape)
    return np.clip(image, 0, 1).astype(np.float32)


def make(count: int, glyphs: np.ndarray, seed: int, drawn_share: float = 0.5) -> tuple:
    """Images [count, 1, 28, 28] and their digits; `glyphs` [fonts, 10, 64, 64] uint8."""
    generator = np.random.default_rng(seed)
    images = np.empty((count, 1, SIZE, SIZE), dtype=np.float32)
    labels = generator.integers(0, 10, count)
    for index, digit in enumerate(labels):
        if generator.random() < drawn_share:
            mask = draw(int(digit), generator)
        else:
            mask = glyphs[generator.integers(len(glyphs)), digit].astype(np.float32) / 255
        images[index, 0] = picture(mask, generator)
    return images, labels.astype(np.int64)


def scanned_check_set() -> tuple:
    """scikit-learn's 1,797 digits, written by people and scanned to 8 x 8, brought to 28 x 28 by `frame`."""
    from sklearn.datasets import load_digits

    bundled = load_digits()
    images = np.stack([frame(resize(image / 16, 64, 64)) for image in bundled.images])
    return np.clip(images, 0, 1)[:, None].astype(np.float32), bundled.target.astype(np.int64)
