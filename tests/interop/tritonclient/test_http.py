"""The unmodified synchronous HTTP client against the server."""

import numpy as np
import pytest
import tritonclient.http as client_module
from tritonclient.utils import InferenceServerException

from cases import DATATYPES, JSON_DATATYPES, as_objects, mlp_rows, photo_of_three


@pytest.fixture(scope="module")
def client(server_url):
    with client_module.InferenceServerClient(server_url, concurrency=8) as opened:
        yield opened


def infer_input(name, array, datatype, binary):
    tensor = client_module.InferInput(name, array.shape, datatype)
    tensor.set_data_from_numpy(array, binary_data=binary)
    return tensor


def test_the_server_is_live_and_ready(client):
    assert client.is_server_live()
    assert client.is_server_ready()


def test_server_metadata_names_the_binary_extension(client):
    metadata = client.get_server_metadata()
    assert metadata["name"]
    assert metadata["version"]
    assert "binary_tensor_data" in metadata["extensions"]


@pytest.mark.parametrize("version", ["", "1"])
def test_a_model_is_ready_and_described(client, version):
    assert client.is_model_ready("mlp", version)
    metadata = client.get_model_metadata("mlp", version)
    assert metadata["name"] == "mlp"
    assert metadata["versions"] == ["1"]
    assert metadata["platform"] == "onnxruntime_onnx"
    assert metadata["inputs"][0]["datatype"] == "FP32"
    assert metadata["inputs"][0]["shape"] == [-1, 64]
    config = client.get_model_config("mlp", version)
    assert config["name"] == "mlp"
    assert config["max_batch_size"] > 1
    assert config["input"][0]["data_type"] == "TYPE_FP32"
    assert config["input"][0]["dims"] == [64]


def test_unknown_models_are_refused_by_name(client):
    assert not client.is_model_ready("nobody")
    assert not client.is_model_ready("mlp", "99")
    with pytest.raises(InferenceServerException, match="unknown model: 'nobody'"):
        client.get_model_metadata("nobody")
    with pytest.raises(InferenceServerException, match="'mlp' version 99"):
        client.get_model_config("mlp", "99")


@pytest.mark.parametrize(
    ("datatype", "binary_output"),
    [(name, True) for name in DATATYPES] + [(name, False) for name in JSON_DATATYPES],
)
def test_binary_inputs_come_back_exactly(client, datatype, binary_output):
    model, array = DATATYPES[datatype]
    metadata = client.get_model_metadata(model)
    wanted = [client_module.InferRequestedOutput(metadata["outputs"][0]["name"], binary_data=binary_output)]
    result = client.infer(model, [infer_input(metadata["inputs"][0]["name"], array, datatype, True)], outputs=wanted)
    answer = result.as_numpy(metadata["outputs"][0]["name"])
    np.testing.assert_array_equal(as_objects(answer), array)


@pytest.mark.parametrize("datatype", JSON_DATATYPES)
@pytest.mark.parametrize("binary_output", [True, False])
def test_json_inputs_come_back_exactly(client, datatype, binary_output):
    model, array = DATATYPES[datatype]
    metadata = client.get_model_metadata(model)
    wanted = [client_module.InferRequestedOutput(metadata["outputs"][0]["name"], binary_data=binary_output)]
    result = client.infer(model, [infer_input(metadata["inputs"][0]["name"], array, datatype, False)], outputs=wanted)
    np.testing.assert_array_equal(as_objects(result.as_numpy(metadata["outputs"][0]["name"])), array)


@pytest.mark.parametrize("first_binary", [True, False])
@pytest.mark.parametrize("second_binary", [True, False])
def test_json_and_binary_mix_in_one_request(client, first_binary, second_binary):
    left = np.arange(16, dtype=np.int32).reshape(1, 16)
    right = np.full((1, 16), 3, dtype=np.int32)
    inputs = [infer_input("INPUT0", left, "INT32", first_binary), infer_input("INPUT1", right, "INT32", second_binary)]
    outputs = [
        client_module.InferRequestedOutput("OUTPUT1", binary_data=second_binary),
        client_module.InferRequestedOutput("OUTPUT0", binary_data=first_binary),
    ]
    result = client.infer("add_sub", inputs, outputs=outputs, request_id="mix-1")
    assert result.get_response()["id"] == "mix-1"
    assert [output["name"] for output in result.get_response()["outputs"]] == ["OUTPUT1", "OUTPUT0"]
    np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), left + right)
    np.testing.assert_array_equal(result.as_numpy("OUTPUT1"), left - right)


@pytest.mark.parametrize("request_encoding", [None, "gzip", "deflate"])
@pytest.mark.parametrize("response_encoding", [None, "gzip", "deflate"])
def test_both_directions_compress(client, request_encoding, response_encoding):
    rows = mlp_rows(8)
    plain = client.infer("mlp", [infer_input("input", rows, "FP32", True)])
    squeezed = client.infer(
        "mlp",
        [infer_input("input", rows, "FP32", True)],
        request_compression_algorithm=request_encoding,
        response_compression_algorithm=response_encoding,
    )
    name = plain.get_response()["outputs"][0]["name"]
    np.testing.assert_allclose(squeezed.as_numpy(name), plain.as_numpy(name), atol=1e-6)


def test_a_batch_equals_its_rows_one_by_one(client):
    rows = mlp_rows(16)
    name = client.get_model_metadata("mlp")["outputs"][0]["name"]
    together = client.infer("mlp", [infer_input("input", rows, "FP32", True)]).as_numpy(name)
    for index in range(len(rows)):
        alone = client.infer("mlp", [infer_input("input", rows[index : index + 1], "FP32", True)]).as_numpy(name)
        np.testing.assert_allclose(alone[0], together[index], atol=1e-6)


def test_asynchronous_calls_of_the_thread_pool(client):
    rows = mlp_rows(1)
    pending = [client.async_infer("mlp", [infer_input("input", rows, "FP32", True)], request_id=str(i)) for i in range(32)]
    answers = [call.get_result() for call in pending]
    assert sorted(answer.get_response()["id"] for answer in answers) == sorted(str(i) for i in range(32))


def test_classification_names_the_best_classes(client):
    rows = mlp_rows(2)
    name = client.get_model_metadata("mlp")["outputs"][0]["name"]
    full = client.infer("mlp", [infer_input("input", rows, "FP32", True)]).as_numpy(name)
    wanted = [client_module.InferRequestedOutput(name, class_count=3)]
    classes = client.infer("mlp", [infer_input("input", rows, "FP32", True)], outputs=wanted).as_numpy(name)
    assert classes.shape == (2, 3)
    for row in range(2):
        best = classes[row][0].decode().split(":")
        assert int(best[1]) == int(np.argmax(full[row]))
        assert float(best[0]) == pytest.approx(float(np.max(full[row])), abs=1e-6)


@pytest.mark.parametrize(
    ("shape", "datatype", "message"),
    [((1, 63), "FP32", "unexpected shape for input"), ((1, 64), "FP64", "data-type is 'FP64'"), ((65, 64), "FP32", "batch-size must be <=")],
)
def test_wrong_inputs_are_refused_with_the_reason(client, shape, datatype, message):
    array = np.zeros(shape, dtype=np.float64 if datatype == "FP64" else np.float32)
    with pytest.raises(InferenceServerException, match=message) as refusal:
        client.infer("mlp", [infer_input("input", array, datatype, True)])
    assert refusal.value.status() == "400"


def test_a_pipeline_reads_a_photograph(client):
    result = client.infer("digits", [infer_input("image", photo_of_three(), "BYTES", True)])
    assert result.as_numpy("label").tolist() == [b"three"]
    assert result.as_numpy("digit").tolist() == [3]
    assert result.as_numpy("probability")[0] > 0.8


def test_a_pipeline_refuses_what_is_no_photograph(client):
    torn = np.array([photo_of_three()[0][:900]], dtype=np.object_)
    with pytest.raises(InferenceServerException, match="input 'image' cannot be decoded") as refusal:
        client.infer("digits", [infer_input("image", torn, "BYTES", True)])
    assert refusal.value.status() == "400"
