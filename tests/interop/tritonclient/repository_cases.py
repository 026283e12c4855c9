"""Triton's model repository calls as stories that every one of its clients tells: HTTP and gRPC, blocking and asynchronous."""

import inspect
import json
import pathlib
import shutil

import numpy as np
import pytest
from tritonclient.utils import InferenceServerException

ROOT = pathlib.Path(__file__).resolve().parents[3]


ENSEMBLE = """
platform: "ensemble" max_batch_size: 8
input { name: "input" data_type: TYPE_FP32 dims: 64 }
output { name: "probabilities" data_type: TYPE_FP32 dims: 10 }
ensemble_scheduling { step {
  model_name: "mlp" model_version: -1
  input_map { key: "input" value: "input" } output_map { key: "probabilities" value: "probabilities" }
} }
"""


def write_explicit_repository(folder):
    """Two models, and an ensemble of one of them."""
    for name in ("mlp", "add_sub"):
        shutil.copytree(ROOT / "tests" / "models" / name, folder / name)
    (folder / "only_step").mkdir()
    (folder / "only_step" / "config.pbtxt").write_text(ENSEMBLE)


class Repository:
    """One client, whichever it is: what it answers is awaited where that is needed, and read as JSON."""

    def __init__(self, client, module):
        self.client = client
        self.module = module
        self.is_grpc = "grpc" in type(client).__module__

    async def ask(self, method, *arguments, **named):
        answer = getattr(self.client, method)(*arguments, **named)
        return await answer if inspect.isawaitable(answer) else answer

    async def index(self):
        if not self.is_grpc:
            return await self.ask("get_model_repository_index")
        answer = await self.ask("get_model_repository_index", as_json=True)
        return answer.get("models", [])

    async def states(self, model):
        return [(entry.get("version"), entry.get("state")) for entry in await self.index() if entry["name"] == model]

    async def config(self, model):
        if not self.is_grpc:
            return await self.ask("get_model_config", model)
        return (await self.ask("get_model_config", model, as_json=True))["config"]

    async def load(self, model, **named):
        await self.ask("load_model", model, **named)

    async def unload(self, model, **named):
        await self.ask("unload_model", model, **named)

    async def ready(self, model, version=""):
        return await self.ask("is_model_ready", model, version)

    async def probabilities(self, model, rows):
        tensor = self.module.InferInput("input", list(rows.shape), "FP32")
        tensor.set_data_from_numpy(rows)
        return (await self.ask("infer", model, [tensor])).as_numpy("probabilities")


async def the_index_has_names_only_before_a_load(repository):
    assert await repository.states("mlp") == [(None, None)]
    assert {"name": "add_sub"} in await repository.index()
    assert not await repository.ready("mlp")


async def a_model_is_loaded_used_and_unloaded(repository):
    await repository.load("mlp")
    assert await repository.states("mlp") == [("1", "READY")]
    assert await repository.ready("mlp", "1")
    rows = np.zeros((3, 64), dtype=np.float32)
    assert (await repository.probabilities("mlp", rows)).shape == (3, 10)
    await repository.unload("mlp")
    assert not await repository.ready("mlp")
    assert ("1", "READY") not in await repository.states("mlp")
    with pytest.raises(InferenceServerException):
        await repository.probabilities("mlp", rows)


async def a_configuration_may_be_brought(repository):
    await repository.load("mlp")
    config = await repository.config("mlp")
    rows_max = int(config["max_batch_size"])
    await repository.load("mlp", config=json.dumps({**config, "max_batch_size": 2, "dynamic_batching": {}}))
    assert int((await repository.config("mlp"))["max_batch_size"]) == 2
    with pytest.raises(InferenceServerException, match="batch-size must be <= 2"):
        await repository.probabilities("mlp", np.zeros((3, 64), dtype=np.float32))
    # A load without a configuration keeps it; an unload ends it.
    await repository.load("mlp")
    assert int((await repository.config("mlp"))["max_batch_size"]) == 2
    await repository.unload("mlp")
    await repository.load("mlp")
    assert int((await repository.config("mlp"))["max_batch_size"]) == rows_max
    await repository.unload("mlp")


async def an_unknown_model_is_unloaded_without_an_error(repository):
    await repository.unload("nobody")
    assert await repository.states("nobody") == []


async def an_ensemble_is_loaded_with_its_steps(repository):
    await repository.load("only_step")
    assert await repository.ready("only_step") and await repository.ready("mlp")
    rows = np.zeros((3, 64), dtype=np.float32)
    assert (await repository.probabilities("only_step", rows)).shape == (3, 10)
    await repository.unload("only_step", unload_dependents=True)
    assert not await repository.ready("only_step") and not await repository.ready("mlp")


async def files_may_be_brought_under_a_name_of_their_own(repository):
    await repository.load("mlp")
    rows = np.linspace(-1, 1, 128, dtype=np.float32).reshape(2, 64)
    expected = await repository.probabilities("mlp", rows)
    config = {**(await repository.config("mlp")), "name": "brought"}
    # Only files of versions can be brought, and the labels are none.
    for output in config["output"]:
        output.pop("label_filename", None)
    content = (ROOT / "tests" / "models" / "mlp" / "1" / "model.onnx").read_bytes()
    await repository.load("brought", config=json.dumps(config), files={"file:1/model.onnx": content})
    assert await repository.states("brought") == [("1", "READY")]
    np.testing.assert_allclose(await repository.probabilities("brought", rows), expected, atol=1e-6)
    await repository.unload("brought")
    await repository.unload("mlp")


async def a_load_that_fails_leaves_the_old_model_serving(repository):
    await repository.load("mlp")
    rows = np.zeros((1, 64), dtype=np.float32)
    expected = await repository.probabilities("mlp", rows)
    with pytest.raises(InferenceServerException):
        await repository.load("mlp", config="{not json")
    config = json.dumps(await repository.config("mlp"))
    with pytest.raises(InferenceServerException):
        await repository.load("mlp", config=config, files={"file:1/model.onnx": b"no model at all"})
    np.testing.assert_allclose(await repository.probabilities("mlp", rows), expected, atol=1e-6)
    await repository.unload("mlp")


async def what_is_wrong_is_refused(repository):
    with pytest.raises(InferenceServerException, match="nobody"):
        await repository.load("nobody")
    with pytest.raises(InferenceServerException, match="add the parameter config"):
        await repository.load("mlp", files={"file:1/model.onnx": b"x"})


STORIES = [
    the_index_has_names_only_before_a_load,
    a_model_is_loaded_used_and_unloaded,
    a_configuration_may_be_brought,
    an_unknown_model_is_unloaded_without_an_error,
    an_ensemble_is_loaded_with_its_steps,
    files_may_be_brought_under_a_name_of_their_own,
    a_load_that_fails_leaves_the_old_model_serving,
    what_is_wrong_is_refused,
]
