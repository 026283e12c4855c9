"""Spoken words from espeak-ng: many voices, accents, speeds and pitches, brought to 16 kHz."""

from concurrent.futures import ThreadPoolExecutor
import os
import shutil
import subprocess
import wave
import io

import numpy as np

RATE = 16_000
COMMANDS = ("yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go", "play", "pause")
# Words that are no commands, some of them close to one.
OTHERS = (
    "yesterday",
    "nose",
    "upper",
    "town",
    "lift",
    "write-off",
    "honest",
    "often",
    "stock",
    "gold",
    "plane",
    "paper",
    "table",
    "river",
    "window",
    "music",
    "orange",
    "seven",
    "garden",
    "letter",
    "morning",
    "simple",
    "question",
    "hello",
    "water",
    "people",
    "station",
    "yellow",
    "number",
    "under",
    "dawn",
    "leaf",
    "bright",
    "offer",
    "story",
    "goat",
    "place",
    "porch",
    "camera",
    "engine",
    "winter",
    "kitchen",
    "market",
    "doctor",
    "coffee",
    "pencil",
    "summer",
    "tiger",
    "basket",
    "island",
    "never",
    "lamp",
    "right angle",
    "next day",
)
SENTENCES = (
    "the quick brown fox jumps over the lazy dog",
    "we will meet again on the other side of the river",
    "please put the kettle on the table",
    "nobody knows how long the winter is going to be",
    "she sells sea shells by the sea shore",
    "I think that the train will be late again",
)
ACCENTS = ("en-us", "en-gb", "en-gb-x-rp", "en-gb-scotland", "en-029", "en-gb-x-gbclan", "en-gb-x-gbcwmd")
TRAINING_VOICES = (
    "adam",
    "Alex",
    "Andrea",
    "Andy",
    "antonio",
    "aunty",
    "benjamin",
    "boris",
    "caleb",
    "Denis",
    "Diogo",
    "ed",
    "edward",
    "f1",
    "f2",
    "f4",
    "Gene",
    "grandma",
    "grandpa",
    "Henrique",
    "Hugo",
    "iven",
    "iven2",
    "iven3",
    "Jacky",
    "john",
    "klatt",
    "klatt2",
    "klatt4",
    "Lee",
    "m1",
    "m2",
    "m4",
    "m5",
    "m7",
    "m8",
    "marcelo",
    "Marco",
    "Mario",
    "max",
    "michel",
    "miguel",
    "Mike",
    "Nguyen",
    "norbert",
    "paul",
    "pedro",
    "quincy",
    "rob",
    "sandro",
    "shelby",
    "steph",
    "steph2",
    "travis",
    "victor",
    "zac",
)
HELD_OUT_VOICES = (
    "Alicia",
    "Annie",
    "anika",
    "belinda",
    "david",
    "edward2",
    "f3",
    "f5",
    "Gene2",
    "gustave",
    "klatt3",
    "linda",
    "m3",
    "m6",
    "Michael",
    "pablo",
    "robert",
    "steph3",
)
CLIP_SECONDS_MAX = 1.2


def command_line() -> list:
    """ZOO_ESPEAK may name a folder with the program, its libraries and its data; otherwise the installed one is used."""
    folder = os.environ.get("ZOO_ESPEAK")
    if folder:
        return [f"{folder}/espeak-ng", f"--path={folder}"]
    if shutil.which("espeak-ng") is None:
        raise SystemExit("espeak-ng is missing; install the Debian package of that name")
    return ["espeak-ng"]


def resample(samples: np.ndarray, rate: int) -> np.ndarray:
    """By cutting the spectrum: nothing above the new half rate remains to fold back."""
    wanted = int(round(len(samples) * RATE / rate))
    spectrum = np.fft.rfft(samples)[: wanted // 2 + 1]
    return np.fft.irfft(spectrum, wanted) * (wanted / len(samples))


def trim(samples: np.ndarray) -> np.ndarray:
    """Cuts what is 45 dB below the loudest 10 ms at either end."""
    blocks = len(samples) // 160
    power = (samples[: blocks * 160].reshape(blocks, 160) ** 2).mean(1)
    loud = np.where(power > power.max() * 10**-4.5)[0]
    return samples[loud[0] * 160 : (loud[-1] + 1) * 160]


def speak(request: tuple) -> np.ndarray:
    """(text, accent, voice, words a minute, pitch) to samples of unit power while there is speech."""
    text, accent, voice, speed, pitch = request
    folder = os.environ.get("ZOO_ESPEAK")
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{folder}/lib"} if folder else None
    command = [*command_line(), "-v", f"{accent}+{voice}", "-s", str(speed), "-p", str(pitch), "--stdout", text]
    sound = subprocess.run(command, capture_output=True, check=True, env=environment).stdout
    with wave.open(io.BytesIO(sound)) as file:
        rate = file.getframerate()
    samples = np.frombuffer(sound[44:], dtype="<i2").astype(np.float64) / 32768
    samples = trim(resample(samples, rate))
    return (samples / np.sqrt((samples**2).mean() + 1e-12)).astype(np.float32)


def bank(voices: tuple, per_command: int, per_other: int, seed: int) -> dict:
    """Clips by kind: twelve lists of commands, a list of other words, a list of sentences for babble."""
    generator = np.random.default_rng(seed)

    def request(text, voice):
        return (text, ACCENTS[generator.integers(len(ACCENTS))], voice, int(generator.integers(125, 215)), int(generator.integers(20, 80)))

    wanted = [request(word, voice) for word in COMMANDS for voice in voices for _ in range(per_command)]
    others = [request(OTHERS[generator.integers(len(OTHERS))], voice) for voice in voices for _ in range(per_other)]
    sentences = [request(text, voice) for text in SENTENCES for voice in voices[::4]]
    with ThreadPoolExecutor(max(2, (os.cpu_count() or 2))) as pool:
        clips = list(pool.map(speak, [*wanted, *others, *sentences], chunksize=8))
    each = len(voices) * per_command
    limit = int(CLIP_SECONDS_MAX * RATE)
    return {
        "commands": [[clip[:limit] for clip in clips[index * each : (index + 1) * each]] for index in range(len(COMMANDS))],
        "others": [clip[:limit] for clip in clips[len(wanted) : len(wanted) + len(others)]],
        "sentences": clips[len(wanted) + len(others) :],
    }
