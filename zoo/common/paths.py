"""Where things lie: the shipped models, and the working folder of a training."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "models"
WORK = ROOT / ".cache" / "zoo"


def work_folder(name: str, setting: str) -> Path:
    folder = WORK / name / setting
    folder.mkdir(parents=True, exist_ok=True)
    return folder


# Generators take text by themselves: there is no pipeline before them.
GENERATORS = ("storyteller",)


def shipped_folder(name: str) -> Path:
    """The network itself, which takes tensors; the pipeline models/NAME asks it in its users' terms."""
    return MODELS / (name if name in GENERATORS else f"{name}_tensors")
