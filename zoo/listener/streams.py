"""Streams of audio as a microphone hears them: words with pauses, noise, echo and gain, with a label for every frame."""

import numpy as np

from zoo.listener.voices import RATE

FRAME = 320  # 20 ms
SECONDS = 8
FRAMES = SECONDS * RATE // FRAME
# A word is called for this long once it is over; just before that the answer may be anything.
CALL_AFTER, CALL_FRAMES, FREE_BEFORE = 2, 14, 6
IGNORED = -1


def coloured(count: int, slope: float, generator: np.random.Generator) -> np.ndarray:
    """Noise whose power falls with frequency to the power of `slope`: 0 white, 1 pink, 2 brown."""
    spectrum = generator.normal(size=count // 2 + 1) + 1j * generator.normal(size=count // 2 + 1)
    spectrum[1:] /= np.arange(1, len(spectrum)) ** (slope / 2)
    spectrum[0] = 0
    sound = np.fft.irfft(spectrum, count)
    return sound / sound.std()


def hum(count: int, generator: np.random.Generator) -> np.ndarray:
    time = np.arange(count) / RATE
    base = generator.uniform(45, 130)
    tones = sum(generator.uniform(0, 1) / k * np.sin(2 * np.pi * base * k * time + generator.uniform(0, 6)) for k in range(1, 12))
    return tones + 0.3 * coloured(count, 0, generator)


def babble(count: int, sentences: list, generator: np.random.Generator) -> np.ndarray:
    """Five people talking at once, somewhere else in the room."""
    total = np.zeros(count)
    for _ in range(5):
        sentence = sentences[generator.integers(len(sentences))]
        total += np.roll(np.resize(sentence, count), int(generator.integers(count)))
    return total


def clatter(count: int, generator: np.random.Generator) -> np.ndarray:
    """Keys, cups, footsteps: short bursts over a soft floor."""
    sound = 0.3 * coloured(count, 1, generator)
    for _ in range(generator.integers(8, 40)):
        at, length = int(generator.integers(0, count - 2000)), int(generator.integers(100, 1500))
        sound[at : at + length] += generator.normal(size=length) * np.exp(-np.arange(length) / (length / 4)) * generator.uniform(0.5, 3)
    return sound


def noise(count: int, sentences: list, generator: np.random.Generator) -> np.ndarray:
    """One kind of noise, slowly swelling and fading, of unit power."""
    kind = generator.integers(6)
    if kind < 3:
        sound = coloured(count, float(kind), generator)
    else:
        sound = (hum(count, generator), babble(count, sentences, generator), clatter(count, generator))[kind - 3]
    swell = 1 + 0.4 * np.sin(2 * np.pi * generator.uniform(0.05, 0.5) * np.arange(count) / RATE + generator.uniform(0, 6))
    sound = sound * swell
    return sound / (sound.std() + 1e-9)


def echo(samples: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """A room: the direct sound and a decaying tail of noise."""
    length = int(generator.uniform(0.03, 0.3) * RATE)
    tail = generator.normal(size=length) * np.exp(-np.arange(length) / (length / 5))
    tail *= generator.uniform(0.1, 0.5) / np.sqrt((tail**2).sum())
    tail[0] = 1.0
    size = len(samples) + length
    wet = np.fft.irfft(np.fft.rfft(samples, size) * np.fft.rfft(tail, size), size)
    return wet[: len(samples)]


def stretched(clip: np.ndarray, factor: float) -> np.ndarray:
    """Longer and deeper, or shorter and higher: as if somebody larger or smaller had spoken."""
    return np.interp(np.arange(0, len(clip) - 1, 1 / factor), np.arange(len(clip)), clip)


def compose(bank: dict, generator: np.random.Generator, signal_to_noise_db: float | None) -> tuple:
    """One stream: samples [SECONDS * RATE] in -1 to 1, speech [FRAMES], command [FRAMES], events [(word, end frame)].

    `signal_to_noise_db` None is for training: it draws one from 3 to 30 and makes every clip another throat's.
    """
    count = SECONDS * RATE
    speech = np.zeros(count)
    active = np.zeros(count, dtype=bool)
    command = np.zeros(FRAMES, dtype=np.int64)
    events = []
    at = int(generator.uniform(0.1, 1.2) * RATE)
    while True:
        is_command = generator.random() < 0.7
        word = int(generator.integers(12)) if is_command else None
        clips = bank["commands"][word] if is_command else bank["others"]
        clip = clips[generator.integers(len(clips))]
        if signal_to_noise_db is None:
            clip = stretched(clip, generator.uniform(0.86, 1.16))
        end = at + len(clip)
        if end + int(0.5 * RATE) > count:
            break
        speech[at:end] += clip * np.exp(generator.normal(0, 0.15))
        active[at:end] = True
        if is_command:
            last = end // FRAME
            command[max(0, last - FREE_BEFORE) : last + CALL_AFTER] = IGNORED
            command[last + CALL_AFTER : last + CALL_AFTER + CALL_FRAMES] = word + 1
            events.append((word, last))
        at = end + int(generator.uniform(0.45, 1.4) * RATE)
    if generator.random() < 0.5:
        speech = echo(speech, generator)
    decibels = generator.uniform(3, 30) if signal_to_noise_db is None else signal_to_noise_db
    power = np.sqrt((speech[active] ** 2).mean()) if active.any() else 1.0
    samples = speech + noise(count, bank["sentences"], generator) * power * 10 ** (-decibels / 20)
    gain = 10 ** (generator.uniform(-26, -3) / 20)
    samples = np.clip(samples / np.abs(samples).max() * gain, -1, 1)
    spoken = active.reshape(FRAMES, FRAME).mean(1) > 0.5
    return (samples * 32767).astype(np.int16), spoken.astype(np.int64), command, events


def make(count: int, bank: dict, seed: int, signal_to_noise_db: float | None = None) -> tuple:
    generator = np.random.default_rng(seed)
    made = [compose(bank, generator, signal_to_noise_db) for _ in range(count)]
    return tuple(np.stack([one[part] for one in made]) for part in range(3)) + ([one[3] for one in made],)
