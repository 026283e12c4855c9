"""A one-stage detector: a small pyramid, a heat map of centres per class, and the box around each centre.

The choice of the best peaks is part of the graph: a centre counts if it is the maximum of its neighbourhood.
"""

import torch
from torch import nn

from zoo.spotter.scenes import CLASSES, SIDE

STRIDE = 4
CELLS = SIDE // STRIDE
DETECTIONS = 20
SCORE_MIN = 0.1


class Convolution(nn.Module):
    """With batch norm while training; `fold` moves the norm into the weights."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1, folded: bool = False):
        super().__init__()
        self.plain = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1)
        self.norm = None if folded else nn.BatchNorm2d(outputs)

    def forward(self, x):
        x = self.plain(x)
        return torch.relu(x if self.norm is None else self.norm(x))

    def fold(self) -> None:
        norm = self.norm
        with torch.no_grad():
            factor = norm.weight / torch.sqrt(norm.running_var + norm.eps)
            self.plain.weight.mul_(factor[:, None, None, None])
            self.plain.bias.sub_(norm.running_mean).mul_(factor).add_(norm.bias)
        self.norm = None


class Spotter(nn.Module):
    def __init__(self, folded: bool = False):
        super().__init__()

        def block(*sizes, stride=1):
            first = Convolution(sizes[0], sizes[1], stride, folded)
            return nn.Sequential(first, *(Convolution(a, b, 1, folded) for a, b in zip(sizes[1:], sizes[2:])))

        self.stem = block(3, 24, stride=2)
        self.quarter = block(24, 48, 48, stride=2)
        self.eighth = block(48, 80, 80, stride=2)
        self.sixteenth = block(80, 112, 112, stride=2)
        self.join_eighth = block(112 + 80, 80)
        self.join_quarter = block(80 + 48, 64, 64)
        self.heat = nn.Conv2d(64, len(CLASSES), 1)
        self.sides = nn.Conv2d(64, 4, 1)
        nn.init.constant_(self.heat.bias, -4.0)
        ys, xs = torch.meshgrid(torch.arange(CELLS) + 0.5, torch.arange(CELLS) + 0.5, indexing="ij")
        self.centres = nn.Parameter(torch.stack([xs, ys], 0).float() * STRIDE, requires_grad=False)

    def raw(self, frame):
        """Logits of the heat maps [batch, classes, cells, cells] and boxes [batch, 4, cells, cells] in pixels."""
        x = frame.permute(0, 3, 1, 2).to(torch.float32) / 127.5 - 1.0
        quarter = self.quarter(self.stem(x))
        eighth = self.eighth(quarter)
        x = nn.functional.interpolate(self.sixteenth(eighth), scale_factor=2.0, mode="nearest")
        x = nn.functional.interpolate(self.join_eighth(torch.cat((x, eighth), 1)), scale_factor=2.0, mode="nearest")
        x = self.join_quarter(torch.cat((x, quarter), 1))
        sides = torch.exp(self.sides(x).clamp(-4, 5)) * STRIDE
        boxes = torch.cat((self.centres - sides[:, :2], self.centres + sides[:, 2:]), 1)
        return self.heat(x), boxes

    def forward(self, frame):
        heat, boxes = self.raw(frame)
        heat = torch.sigmoid(heat)
        peak = (torch.max_pool2d(heat, 3, stride=1, padding=1) == heat).to(torch.float32)
        scores, places = torch.topk((heat * peak).flatten(1), DETECTIONS, dim=1)
        kept = (scores > SCORE_MIN).to(torch.float32)
        cells = CELLS * CELLS
        classes = torch.div(places, cells, rounding_mode="floor")
        cell = places - classes * cells
        chosen = torch.gather(boxes.flatten(2).transpose(1, 2), 1, cell[:, :, None].expand(-1, -1, 4))
        # Rows beyond the last detection are all zero with class -1, so that no row depends on ties near nothing.
        classes = (classes + 1) * kept.to(torch.int64) - 1
        return chosen.clamp(0, SIDE) * kept[:, :, None], classes, scores * kept
