"""Statistics as the unmodified gRPC clients read them."""

import asyncio

import pytest
import tritonclient.grpc as triton
import tritonclient.grpc.aio as aio_module
from cases import mlp_rows
from tritonclient.utils import InferenceServerException


@pytest.fixture(scope="module")
def client(address):
    with triton.InferenceServerClient(address) as one:
        yield one


def mlp_input(rows):
    tensor = triton.InferInput("input", list(rows.shape), "FP32")
    tensor.set_data_from_numpy(rows)
    return tensor


def test_one_request_is_counted_once_in_every_part(client):
    assert "statistics" in client.get_server_metadata().extensions
    (before,) = client.get_inference_statistics("mlp", "1").model_stats
    client.infer("mlp", [mlp_input(mlp_rows(5))])
    (after,) = client.get_inference_statistics("mlp").model_stats
    assert after.inference_count == before.inference_count + 5
    assert after.execution_count == before.execution_count + 1
    for part in ["success", "queue", "compute_input", "compute_infer", "compute_output"]:
        grown = getattr(after.inference_stats, part).count - getattr(before.inference_stats, part).count
        assert grown == 1, part
    assert after.inference_stats.success.ns > before.inference_stats.success.ns
    assert sum(entry.compute_infer.count for entry in after.batch_stats) == after.execution_count


def test_an_unknown_model_is_an_invalid_argument(client):
    with pytest.raises(InferenceServerException, match="requested model 'nobody' is not available") as refused:
        client.get_inference_statistics("nobody")
    assert refused.value.status() == "StatusCode.INVALID_ARGUMENT"


def test_the_asynchronous_client_reads_the_same(address):
    async def scenario():
        async with aio_module.InferenceServerClient(address) as client:
            names = {entry.name for entry in (await client.get_inference_statistics()).model_stats}
            assert "mlp" in names

    asyncio.run(scenario())
