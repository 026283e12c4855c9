"""Version 1 averages word vectors and cannot see order; version 2 is a small transformer that can."""

import math

import torch
from torch import nn

from zoo.sentiment.text import LENGTH_MAX


class BagOfWords(nn.Module):
    """Version 1."""

    def __init__(self, vocabulary: int, width: int = 32):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.classes = nn.Linear(width, 3)

    def logits(self, input_ids):
        mask = (input_ids != 0).to(torch.float32)
        total = (self.embedding(input_ids) * mask[:, :, None]).sum(1)
        return self.classes(total / mask.sum(1, keepdim=True).clamp(min=1.0))

    def forward(self, input_ids):
        return torch.softmax(self.logits(input_ids), dim=-1)


class Layer(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm_attention = nn.LayerNorm(width)
        self.mix = nn.Linear(width, 3 * width)
        self.join = nn.Linear(width, width)
        self.norm_feed = nn.LayerNorm(width)
        self.widen = nn.Linear(width, 3 * width)
        self.narrow = nn.Linear(3 * width, width)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x, bias):
        batch, length, width = x.shape
        size = width // self.heads
        mixed = self.mix(self.norm_attention(x)).reshape(batch, length, 3, self.heads, size)
        query, key, value = mixed.permute(2, 0, 3, 1, 4).unbind(0)
        weights = torch.softmax(query @ key.transpose(-1, -2) / math.sqrt(size) + bias, dim=-1)
        joined = (weights @ value).transpose(1, 2).reshape(batch, length, width)
        x = x + self.dropout(self.join(joined))
        return x + self.dropout(self.narrow(torch.relu(self.widen(self.norm_feed(x)))))


class Transformer(nn.Module):
    """Version 2."""

    def __init__(self, vocabulary: int, width: int = 96, layers: int = 3, heads: int = 4):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(LENGTH_MAX, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.classes = nn.Linear(width, 3)

    def logits(self, input_ids):
        mask = (input_ids != 0).to(torch.float32)
        bias = (mask[:, None, None, :] - 1.0) * 1e4
        x = self.embedding(input_ids) + self.position.weight[: input_ids.shape[1]]
        for layer in self.layers:
            x = layer(x, bias)
        total = (self.norm(x) * mask[:, :, None]).sum(1)
        return self.classes(total / mask.sum(1, keepdim=True).clamp(min=1.0))

    def forward(self, input_ids):
        return torch.softmax(self.logits(input_ids), dim=-1)
