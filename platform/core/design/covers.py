"""Covers and colours made from names; the same name always gets the same."""

import io
import random
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PIL import Image, ImageDraw

HUES: Final = 6  # .hue-0 to .hue-5 in tokens.css
WIDTH, HEIGHT = 480, 160
BARS, GAP = 15, 6
LOWEST, HIGHEST = 18, 128
ARC, SCALE = 14, 4  # width of an arc in units of the drawing; pixels of a unit, before edges are smoothed
TOKENS: Final = Path(__file__).parents[2] / "static/podium/tokens.css"


def colour_number(name: str) -> int:
    """Number of the colours that go with a name."""
    return zlib.crc32(name.encode()) % HUES


def name_initials(name: str) -> str:
    """The one or two letters that stand for a person or a team."""
    words = re.findall(r"\w+", name)
    return "".join(word[0] for word in words[:2]).upper() or "?"


@dataclass(frozen=True)
class Bar:
    """One column of a cover; `kind` is how it is coloured."""

    x: int
    y: int
    height: int
    kind: str


@dataclass(frozen=True)
class Cover:
    """Columns like those of the sign, before arcs around one point. Sizes are in units of the drawing."""

    width: int
    height: int
    bar_width: int
    bars: list[Bar]
    centre: int
    radii: list[int]


def make_cover(name: str) -> Cover:
    """The cover of a competition by its slug."""
    numbers = random.Random(name)
    heights = _walk(numbers)
    bar_width = WIDTH // BARS - GAP
    bars = [
        Bar(
            x=number * (bar_width + GAP),
            y=HEIGHT - height,
            height=height,
            kind="best" if height == max(heights) else "high" if height > 70 else "low",
        )
        for number, height in enumerate(heights)
    ]
    first = numbers.randrange(40, 80)
    radii = [first + step * 34 for step in range(3)]
    return Cover(WIDTH, HEIGHT, bar_width, bars, numbers.randrange(WIDTH // 4, WIDTH), radii)


def draw_cover(name: str) -> bytes:
    """The same cover as a PNG, for programs that show no SVG."""
    cover, (ground, soft, strong, best) = make_cover(name), _colours(colour_number(name))
    image = Image.new("RGB", (cover.width * SCALE, cover.height * SCALE), ground)
    draw = ImageDraw.Draw(image)
    for radius in cover.radii:
        draw.circle((cover.centre * SCALE, cover.height * SCALE), radius * SCALE, outline=soft, width=ARC * SCALE)
    colours = {"low": soft, "high": strong, "best": best}
    for bar in cover.bars:
        right, bottom = bar.x + cover.bar_width, bar.y + bar.height
        box = tuple(edge * SCALE for edge in (bar.x, bar.y, right, bottom))
        draw.rounded_rectangle(box, radius=3 * SCALE, fill=colours[bar.kind])
    written = io.BytesIO()
    image.reduce(2).save(written, "PNG", optimize=True)
    return written.getvalue()


def _colours(number: int) -> list[str]:
    """The colours of a hue, from the stylesheet: ground, arcs, higher bars, the highest one."""
    (line,) = (line for line in TOKENS.read_text().splitlines() if line.startswith(f".hue-{number} "))
    return re.findall(r"--cover(?:-\d)?: (#[0-9a-f]{6});", line)


def _walk(numbers: random.Random) -> list[int]:
    """Heights that rise and fall by steps; only one is the highest."""
    height, heights = numbers.randrange(LOWEST, 70), []
    for _ in range(BARS):
        height = min(max(height + numbers.randrange(-34, 38), LOWEST), HIGHEST)
        heights.append(height)
    heights[heights.index(max(heights))] += 12
    return heights
