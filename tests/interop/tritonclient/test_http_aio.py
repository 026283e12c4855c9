"""The unmodified asyncio HTTP client against the server."""

import asyncio

import numpy as np
import pytest
import tritonclient.http.aio as client_module
from tritonclient.utils import InferenceServerException

from cases import DATATYPES, JSON_DATATYPES, as_objects, mlp_rows


def with_client(server_url, body):
    async def run():
        async with client_module.InferenceServerClient(server_url) as client:
            return await body(client)

    return asyncio.run(run())


def infer_input(name, array, datatype, binary):
    tensor = client_module.InferInput(name, array.shape, datatype)
    tensor.set_data_from_numpy(array, binary_data=binary)
    return tensor


def test_health_metadata_and_config(server_url):
    async def body(client):
        assert await client.is_server_live()
        assert await client.is_server_ready()
        assert await client.is_model_ready("mlp")
        assert not await client.is_model_ready("nobody")
        assert "binary_tensor_data" in (await client.get_server_metadata())["extensions"]
        assert (await client.get_model_metadata("mlp"))["name"] == "mlp"
        assert (await client.get_model_config("mlp", "1"))["max_batch_size"] > 1
        with pytest.raises(InferenceServerException, match="unknown model: 'nobody'"):
            await client.get_model_metadata("nobody")

    with_client(server_url, body)


@pytest.mark.parametrize(
    ("datatype", "binary"), [(name, True) for name in DATATYPES] + [(name, False) for name in JSON_DATATYPES]
)
def test_every_datatype_comes_back_exactly(server_url, datatype, binary):
    async def body(client):
        model, array = DATATYPES[datatype]
        metadata = await client.get_model_metadata(model)
        output = metadata["outputs"][0]["name"]
        wanted = [client_module.InferRequestedOutput(output, binary_data=binary)]
        result = await client.infer(model, [infer_input(metadata["inputs"][0]["name"], array, datatype, binary)], outputs=wanted)
        np.testing.assert_array_equal(as_objects(result.as_numpy(output)), array)

    with_client(server_url, body)


def test_many_at_once_get_their_own_answers(server_url):
    rows = mlp_rows(64)

    async def body(client):
        name = (await client.get_model_metadata("mlp"))["outputs"][0]["name"]
        together = (await client.infer("mlp", [infer_input("input", rows, "FP32", True)])).as_numpy(name)
        calls = [client.infer("mlp", [infer_input("input", rows[i : i + 1], "FP32", True)]) for i in range(64)]
        for index, answer in enumerate(await asyncio.gather(*calls)):
            np.testing.assert_allclose(answer.as_numpy(name)[0], together[index], atol=1e-6)

    with_client(server_url, body)
