"""Is the ONNX file the same function as the module, and does a row's answer stay the same in any company?"""

import numpy as np
import torch

from zoo.common.session import open_session, run

DIFFERENCE_MAX = 1e-4
BATCHED_DIFFERENCE_MAX = 1e-5


def torch_outputs(module, inputs: dict, output_names) -> dict:
    module.eval().cpu().float()
    with torch.no_grad():
        answer = module(*[torch.from_numpy(array) for array in inputs.values()])
    if isinstance(answer, torch.Tensor):
        answer = (answer,)
    return {name: tensor.numpy() for name, tensor in zip(output_names, answer)}


def largest_difference(left: dict, right: dict) -> float:
    return max(float(np.max(np.abs(left[name].astype(np.float64) - right[name].astype(np.float64)), initial=0.0)) for name in left)


def compare(module, path, inputs: dict, output_names) -> None:
    """Raises unless the file agrees with the module, and a batch agrees with its rows run one at a time."""
    session = open_session(path)
    batched = run(session, inputs)
    difference = largest_difference(torch_outputs(module, inputs, output_names), batched)
    rows = next(iter(inputs.values())).shape[0]
    singles = [run(session, {name: array[row : row + 1] for name, array in inputs.items()}) for row in range(rows)]
    joined = {name: np.concatenate([single[name] for single in singles]) for name in batched}
    batched_difference = largest_difference(batched, joined)
    print(f"ONNX against PyTorch {difference:.2e}, batched against single {batched_difference:.2e} ({rows} rows)")
    if difference > DIFFERENCE_MAX:
        raise SystemExit(f"{path} differs from PyTorch by {difference:.2e}, more than {DIFFERENCE_MAX:.0e}")
    if batched_difference > BATCHED_DIFFERENCE_MAX:
        raise SystemExit(f"{path} gives a row other numbers in a batch: {batched_difference:.2e}")
