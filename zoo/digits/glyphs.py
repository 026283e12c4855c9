"""Digits as fonts draw them: every font's ten digits as masks.

Training fonts come from a folder (the Debian packages in fonts.txt, unpacked anywhere); the held-out fonts come from
the `font-*` packages on PyPI and belong to families the training never saw.
"""

import importlib.util
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from zoo.digits.strokes import SIDE

HELD_OUT_PACKAGES = (
    "font_amatic_sc",
    "font_caladea",
    "font_fredoka_one",
    "font_hanken_grotesk",
    "font_intuitive",
    "font_lato",
    "font_manrope",
    "font_roboto",
    "font_source_sans_pro",
    "font_source_serif_pro",
)


def glyphs_of(file: Path) -> np.ndarray | None:
    """Ten masks, or None for a font without ordinary digits."""
    masks = []
    try:
        font = ImageFont.truetype(str(file), 52)
        for digit in range(10):
            image = Image.new("L", (4 * SIDE, 4 * SIDE), 0)
            ImageDraw.Draw(image).text((2 * SIDE, 2 * SIDE), str(digit), font=font, fill=255, anchor="mm")
            box = image.getbbox()
            if box is None:
                return None
            glyph = image.crop(box)
            ratio = 0.7 * SIDE / max(glyph.size)
            glyph = glyph.resize([max(1, round(length * ratio)) for length in glyph.size], Image.LANCZOS)
            square = Image.new("L", (SIDE, SIDE), 0)
            square.paste(glyph, ((SIDE - glyph.width) // 2, (SIDE - glyph.height) // 2))
            masks.append(np.asarray(square))
    except OSError:
        return None
    masks = np.stack(masks)
    # A font that draws every missing digit as the same box teaches nothing.
    if min(np.abs(masks[a].astype(int) - masks[b]).mean() for a in range(10) for b in range(a)) < 4:
        return None
    return masks


def from_files(files: list) -> np.ndarray:
    found = [glyphs for file in files if (glyphs := glyphs_of(file)) is not None]
    if not found:
        raise SystemExit("no font with digits was found; see zoo/digits/fonts.txt for the packages to unpack")
    return np.stack(found)


def held_out_files() -> list:
    files = []
    for package in HELD_OUT_PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            raise SystemExit(f"the package {package} is missing; install zoo/requirements-evaluate.txt")
        folder = Path(spec.origin).parent
        files += sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".ttf", ".otf"))
    return files
