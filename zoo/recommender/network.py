"""A small transformer over a shopper's events that ranks every item of the shop."""

import math

import torch
from torch import nn

from zoo.recommender.shop import HISTORY, ITEMS

WIDTH, HEADS, LAYERS, TOP = 96, 4, 2, 10


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_attention, self.norm_feed = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.mix, self.join = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.widen, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x, bias):
        batch, length, _ = x.shape
        mixed = self.mix(self.norm_attention(x)).reshape(batch, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = mixed.permute(2, 0, 3, 1, 4).unbind(0)
        weights = torch.softmax(query @ key.transpose(-1, -2) / math.sqrt(WIDTH // HEADS) + bias, dim=-1)
        x = x + self.dropout(self.join((weights @ value).transpose(1, 2).reshape(batch, length, WIDTH)))
        return x + self.dropout(self.narrow(torch.relu(self.widen(self.norm_feed(x)))))


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.item = nn.Embedding(ITEMS + 1, WIDTH)
        self.kind = nn.Embedding(4, WIDTH)
        self.position = nn.Embedding(HISTORY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.bias = nn.Parameter(torch.zeros(ITEMS))
        nn.init.normal_(self.item.weight, std=0.1)
        # Position -1 is the newest event; a later event is never seen by an earlier one.
        self.order = nn.Parameter((torch.tril(torch.ones(HISTORY, HISTORY)) - 1) * 1e4, requires_grad=False)

    def logits(self, items, kinds):
        """For every event of the history, the score of every item as the next one."""
        bias = self.order + ((items != 0).to(torch.float32)[:, None, None, :] - 1) * 1e4
        x = self.item(items) + self.kind(kinds) + self.position.weight
        for layer in self.layers:
            x = layer(x, bias)
        return self.norm(x) @ self.item.weight[1:].T + self.bias

    def forward(self, items, kinds):
        scores = torch.softmax(self.logits(items, kinds)[:, -1], dim=-1)
        best = torch.topk(scores, TOP, dim=-1)
        return best.indices + 1, best.values
