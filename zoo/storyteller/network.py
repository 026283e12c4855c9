"""A decoder with rotary positions, root-mean-square norms and gated feed-forward layers, and its cache as tensors."""

import math

import torch
from torch import nn

from zoo.storyteller.decoder_files import HEADS, INNER, LAYERS, WIDTH

HEAD = WIDTH // HEADS
MASKED = -1e4


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * self.weight


def turned(x, cosine, sine):
    """Rotary positions: the two halves of a head turn around each other."""
    first, second = x[..., : HEAD // 2], x[..., HEAD // 2 :]
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_attention, self.norm_feed = Norm(), Norm()
        self.query = nn.Linear(WIDTH, WIDTH, bias=False)
        self.key = nn.Linear(WIDTH, WIDTH, bias=False)
        self.value = nn.Linear(WIDTH, WIDTH, bias=False)
        self.join = nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate = nn.Linear(WIDTH, INNER, bias=False)
        self.widen = nn.Linear(WIDTH, INNER, bias=False)
        self.narrow = nn.Linear(INNER, WIDTH, bias=False)

    def heads(self, x):
        return x.reshape(x.shape[0], x.shape[1], HEADS, HEAD).transpose(1, 2)

    def forward(self, x, cosine, sine, bias, past_key, past_value):
        y = self.norm_attention(x)
        query = turned(self.heads(self.query(y)), cosine, sine)
        key = torch.cat((past_key, turned(self.heads(self.key(y)), cosine, sine)), dim=2)
        value = torch.cat((past_value, self.heads(self.value(y))), dim=2)
        weights = torch.softmax(query @ key.transpose(-1, -2) * (1 / math.sqrt(HEAD)) + bias, dim=-1)
        x = x + self.join((weights @ value).transpose(1, 2).reshape(x.shape[0], x.shape[1], WIDTH))
        y = self.norm_feed(x)
        gate = self.gate(y)
        x = x + self.narrow(gate * torch.sigmoid(gate) * self.widen(y))
        return x, key, value

    def train_forward(self, x, cosine, sine):
        """The same without a cache, through PyTorch's fused attention."""
        y = self.norm_attention(x)
        query = turned(self.heads(self.query(y)), cosine, sine)
        key = turned(self.heads(self.key(y)), cosine, sine)
        mixed = nn.functional.scaled_dot_product_attention(query, key, self.heads(self.value(y)), is_causal=True)
        x = x + self.join(mixed.transpose(1, 2).reshape(x.shape))
        y = self.norm_feed(x)
        return x + self.narrow(nn.functional.silu(self.gate(y)) * self.widen(y))


class Storyteller(nn.Module):
    def __init__(self, vocabulary: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = Norm()
        self.frequencies = nn.Parameter(10_000.0 ** -(torch.arange(0, HEAD // 2) / (HEAD // 2)), requires_grad=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                scale = 0.02 / math.sqrt(2 * LAYERS) if name.endswith(("join.weight", "narrow.weight")) else 0.02
                nn.init.normal_(parameter, std=scale)

    def angles(self, position_ids):
        turn = position_ids[:, None, :, None].to(torch.float32) * self.frequencies
        return torch.cos(turn), torch.sin(turn)

    def train_forward(self, input_ids):
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)[None]
        cosine, sine = self.angles(positions)
        x = self.embedding(input_ids)
        for layer in self.layers:
            x = layer.train_forward(x, cosine, sine)
        return self.norm(x) @ self.embedding.weight.T

    def forward(self, input_ids, attention_mask, position_ids, *past):
        total, length = attention_mask.shape[1], input_ids.shape[1]
        columns = torch.arange(total)[None, :]
        rows = torch.arange(length)[:, None] + (total - length)
        causal = (columns <= rows).to(torch.float32)[None, None]
        allowed = causal * attention_mask[:, None, None, :].to(torch.float32)
        bias = (1.0 - allowed) * MASKED
        cosine, sine = self.angles(position_ids)
        x = self.embedding(input_ids)
        present = []
        for index, layer in enumerate(self.layers):
            x, key, value = layer(x, cosine, sine, bias, past[2 * index], past[2 * index + 1])
            present += [key, value]
        return (self.norm(x) @ self.embedding.weight.T, *present)
