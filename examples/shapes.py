#!/usr/bin/env python3
"""Draws pictures to try networks of pictures on: white shapes on black, of four classes (0 disc,
1 square, 2 triangle, 3 cross), each of a size, place and brightness of its own.

    examples/shapes.py FOLDER [--pictures 4000] [--validate 800] [--size 32] [--seed 1]

FOLDER then has four IDX files, as MNIST has them: train-images-idx3-ubyte, train-labels-idx1-ubyte,
and the same for t10k, which validates. Nothing was photographed or collected: every picture is made
here, of random numbers, and the same seed gives the same bytes. Needs Python alone.
"""
import argparse
import math
import os
import random
import struct

SHAPES = "disc", "square", "triangle", "cross"


# The distance of a point to the edge of a shape of radius r around 0, negative inside (nearly, at
# the corners). y points down.
def disc(x, y, r):
    return math.hypot(x, y) - r


def square(x, y, r):
    return max(abs(x), abs(y)) - 0.85 * r


def triangle(x, y, r):
    # Two sides of slope 2 from the top (0, -r), and the base at y = 0.8 r.
    return max((2 * abs(x) - (y + r)) / math.sqrt(5), y - 0.8 * r)


def cross(x, y, r):
    x, y = abs(x), abs(y)
    return max(max(x, y) - r, min(x, y) - 0.3 * r)


EDGES = disc, square, triangle, cross


def draw(edge, size, rng):
    """A picture: its bytes, row by row."""
    r = size * (0.2 + 0.14 * rng.random())
    free = (size / 2 - r - 1) / 2
    cx = size / 2 + free * (2 * rng.random() - 1)
    cy = size / 2 + free * (2 * rng.random() - 1)
    light = 160 + 95 * rng.random()
    pixels = bytearray(size * size)
    for y in range(max(0, int(cy - r - 1)), min(size, int(cy + r + 2))):
        for x in range(max(0, int(cx - r - 1)), min(size, int(cx + r + 2))):
            inside = 0.5 - edge(x + 0.5 - cx, y + 0.5 - cy, r)  # the share of the pixel, nearly
            pixels[y * size + x] = int(light * min(1, max(0, inside)))
    return pixels


def write(folder, part, n, size, rng):
    with open(os.path.join(folder, part + "-images-idx3-ubyte"), "wb") as images, \
            open(os.path.join(folder, part + "-labels-idx1-ubyte"), "wb") as labels:
        images.write(struct.pack(">IIII", 0x803, n, size, size))
        labels.write(struct.pack(">II", 0x801, n))
        for _ in range(n):
            label = int(len(EDGES) * rng.random())
            images.write(draw(EDGES[label], size, rng))
            labels.write(bytes([label]))


def main():
    parser = argparse.ArgumentParser(description="Draws shapes of four classes into IDX files.")
    parser.add_argument("folder")
    parser.add_argument("--pictures", type=int, default=4000, help="to learn from [4000]")
    parser.add_argument("--validate", type=int, default=800, help="to validate on [800]")
    parser.add_argument("--size", type=int, default=32, help="height and width [32]")
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    rng = random.Random(a.seed)
    write(a.folder, "train", a.pictures, a.size, rng)
    write(a.folder, "t10k", a.validate, a.size, rng)
    print(f"{a.folder}: {a.pictures} generated pictures to learn from and {a.validate} to validate "
          f"on, {a.size} x {a.size}: {', '.join(SHAPES)}")


if __name__ == "__main__":
    main()
