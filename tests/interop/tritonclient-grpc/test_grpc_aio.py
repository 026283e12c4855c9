"""tritonclient.grpc.aio, unmodified."""

import asyncio

import numpy as np
import pytest
import tritonclient.grpc.aio as triton
from cases import DATATYPES, as_objects, mlp_rows
from tritonclient.grpc import InferInput
from tritonclient.utils import InferenceServerException


def run(address, scenario):
    async def connected():
        async with triton.InferenceServerClient(address) as client:
            await scenario(client)

    asyncio.run(connected())


def input_of(name, array, datatype):
    one = InferInput(name, list(array.shape), datatype)
    one.set_data_from_numpy(array)
    return one


def test_server_and_models(address):
    async def scenario(client):
        assert await client.is_server_live()
        assert await client.is_server_ready()
        assert await client.is_model_ready("mlp")
        assert not await client.is_model_ready("nobody")
        assert (await client.get_server_metadata()).name == "millrace"
        assert (await client.get_model_metadata("mlp")).inputs[0].name == "input"
        assert (await client.get_model_config("mlp")).config.max_batch_size == 64

    run(address, scenario)


@pytest.mark.parametrize("datatype", DATATYPES)
def test_every_datatype(address, datatype):
    model, array = DATATYPES[datatype]

    async def scenario(client):
        names = await client.get_model_metadata(model)
        result = await client.infer(model, [input_of(names.inputs[0].name, array, datatype)])
        np.testing.assert_array_equal(as_objects(result.as_numpy(names.outputs[0].name)), as_objects(array))

    run(address, scenario)


def test_many_at_once(address):
    async def scenario(client):
        inputs = [input_of("input", mlp_rows(1), "FP32")]
        results = await asyncio.gather(*(client.infer("mlp", inputs, request_id=str(at)) for at in range(200)))
        assert [result.get_response().id for result in results] == [str(at) for at in range(200)]
        first = results[0].as_numpy("probabilities")
        for result in results:
            np.testing.assert_allclose(result.as_numpy("probabilities"), first, rtol=1e-5, atol=1e-6)

    run(address, scenario)


def test_refusal(address):
    async def scenario(client):
        with pytest.raises(InferenceServerException) as caught:
            await client.infer("nobody", [])
        assert caught.value.status() == "StatusCode.NOT_FOUND"

    run(address, scenario)
