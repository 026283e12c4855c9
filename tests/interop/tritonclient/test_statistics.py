"""Statistics as the unmodified HTTP clients read them."""

import asyncio

import pytest
import tritonclient.http as client_module
import tritonclient.http.aio as aio_module
from tritonclient.utils import InferenceServerException

from cases import mlp_rows

PARTS = ["success", "fail", "queue", "compute_input", "compute_infer", "compute_output", "cache_hit", "cache_miss"]


@pytest.fixture(scope="module")
def client(server_url):
    with client_module.InferenceServerClient(server_url) as opened:
        yield opened


def mlp_input(rows):
    tensor = client_module.InferInput("input", rows.shape, "FP32")
    tensor.set_data_from_numpy(rows)
    return tensor


def test_the_extension_is_advertised(client):
    assert "statistics" in client.get_server_metadata()["extensions"]


def test_one_request_is_counted_once_in_every_part(client):
    (before,) = client.get_inference_statistics("mlp", "1")["model_stats"]
    client.infer("mlp", [mlp_input(mlp_rows(5))])
    (after,) = client.get_inference_statistics("mlp")["model_stats"]
    assert (after["name"], after["version"]) == ("mlp", "1")
    assert after["inference_count"] == before["inference_count"] + 5
    assert after["execution_count"] == before["execution_count"] + 1
    assert after["last_inference"] > 1_600_000_000_000
    for part in PARTS:
        assert set(after["inference_stats"][part]) == {"count", "ns"}
    for part in ["success", "queue", "compute_input", "compute_infer", "compute_output"]:
        assert after["inference_stats"][part]["count"] == before["inference_stats"][part]["count"] + 1
    assert after["inference_stats"]["success"]["ns"] > before["inference_stats"]["success"]["ns"]
    runs = {entry["batch_size"]: entry["compute_infer"]["count"] for entry in after["batch_stats"]}
    assert runs[5] >= 1
    assert sum(runs.values()) == after["execution_count"]
    (memory,) = after["memory_usage"]
    assert memory["type"] == "CPU" and memory["byte_size"] > 1_000_000


def test_all_models_are_listed_without_a_name(client):
    names = {entry["name"] for entry in client.get_inference_statistics()["model_stats"]}
    assert "mlp" in names and len(names) > 3


def test_an_unknown_model_is_refused_with_400(client):
    with pytest.raises(InferenceServerException, match="requested model 'nobody' is not available") as refused:
        client.get_inference_statistics("nobody")
    assert refused.value.status() == "400"


def test_the_asynchronous_client_reads_the_same(server_url):
    async def scenario():
        async with aio_module.InferenceServerClient(server_url) as client:
            (entry,) = (await client.get_inference_statistics("mlp", "1"))["model_stats"]
            assert set(PARTS) <= set(entry["inference_stats"])

    asyncio.run(scenario())
