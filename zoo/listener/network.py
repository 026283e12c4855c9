"""A recurrent listener: 20 ms in, a mel spectrum inside the graph, two recurrent layers, answers and new state out."""

import math

import numpy as np
import torch
from torch import nn

from zoo.listener.streams import FRAME
from zoo.listener.voices import RATE

WINDOW, BANDS, HIDDEN, LAYERS, CLASSES = 512, 40, 192, 2, 13
OVERLAP = WINDOW - FRAME


def mel_filters() -> torch.Tensor:
    """Triangles evenly spaced on the mel scale from 60 to 7,600 Hz: [bins, BANDS]."""

    def mel(hertz):
        return 2595 * math.log10(1 + hertz / 700)

    points = 700 * (10 ** (np.linspace(mel(60), mel(7_600), BANDS + 2) / 2595) - 1)
    bins = np.arange(WINDOW // 2 + 1) * RATE / WINDOW
    left, centre, right = points[:-2], points[1:-1], points[2:]
    rising = (bins[:, None] - left) / (centre - left)
    falling = (right - bins[:, None]) / (right - centre)
    return torch.from_numpy(np.maximum(0, np.minimum(rising, falling)).astype(np.float32))


def fourier() -> torch.Tensor:
    """A windowed Fourier transform as one matrix, cosines then sines: [WINDOW, 2 * bins]."""
    time, bins = np.arange(WINDOW), np.arange(WINDOW // 2 + 1)
    angle = 2 * np.pi * time[:, None] * bins[None] / WINDOW
    shape = np.hanning(WINDOW + 1)[:-1, None]
    return torch.from_numpy(np.concatenate([np.cos(angle) * shape, -np.sin(angle) * shape], axis=1).astype(np.float32))


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.fourier = nn.Parameter(fourier(), requires_grad=False)
        self.mel = nn.Parameter(mel_filters(), requires_grad=False)
        self.enter = nn.Linear(BANDS, 96)
        self.recurrent = nn.GRU(96, HIDDEN, LAYERS, batch_first=True, dropout=0.2)
        self.leave = nn.Linear(HIDDEN, 1 + CLASSES)
        self.dropout = nn.Dropout(0.2)

    def bands(self, windows):
        """Samples [..., WINDOW] to centred log mel powers [..., BANDS]."""
        spectrum = windows @ self.fourier
        real, imaginary = spectrum[..., : WINDOW // 2 + 1], spectrum[..., WINDOW // 2 + 1 :]
        return (torch.log((real * real + imaginary * imaginary) @ self.mel + 1e-4) + 1.0) * 0.25

    def sequence(self, samples, change=None):
        """Training: whole streams [batch, samples] to logits [batch, frames, 14], the same as step by step.

        `change` may alter the bands, to make the training harder than life.
        """
        padded = nn.functional.pad(samples, (OVERLAP, 0))
        bands = self.bands(padded.unfold(1, WINDOW, FRAME))
        if change is not None:
            bands = change(bands)
        return self.leave(self.dropout(self.recurrent(torch.relu(self.enter(bands)))[0]))

    def cell(self, layer: int, x, hidden):
        weights = [getattr(self.recurrent, f"{name}_l{layer}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        new = x @ weights[0].T + weights[2]
        old = hidden @ weights[1].T + weights[3]
        reset = torch.sigmoid(new[:, :HIDDEN] + old[:, :HIDDEN])
        keep = torch.sigmoid(new[:, HIDDEN : 2 * HIDDEN] + old[:, HIDDEN : 2 * HIDDEN])
        fresh = torch.tanh(new[:, 2 * HIDDEN :] + reset * old[:, 2 * HIDDEN :])
        return (1 - keep) * fresh + keep * hidden

    def forward(self, audio, audio_state, hidden_state):
        window = torch.cat((audio_state, audio), dim=1)
        x = torch.relu(self.enter(self.bands(window)))
        states = []
        for layer in range(LAYERS):
            x = self.cell(layer, x, hidden_state[:, layer])
            states.append(x)
        answer = self.leave(x)
        speech, commands = torch.sigmoid(answer[:, :1]), torch.softmax(answer[:, 1:], dim=-1)
        return speech, commands, window[:, -OVERLAP:], torch.stack(states, dim=1)
