"""tritonclient.grpc, unmodified: every call the server offers, every datatype."""

import queue

import grpc
import numpy as np
import pytest
import tritonclient.grpc as triton
from cases import DATATYPES, as_objects, mlp_rows, photo_of_three
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException, triton_to_np_dtype


@pytest.fixture(scope="module")
def client(address):
    with triton.InferenceServerClient(address) as one:
        yield one


def input_of(name, array, datatype):
    one = triton.InferInput(name, list(array.shape), datatype)
    one.set_data_from_numpy(array)
    return one


def test_server(client):
    assert client.is_server_live()
    assert client.is_server_ready()
    metadata = client.get_server_metadata()
    assert metadata.name == "millrace"
    assert "binary_tensor_data" in metadata.extensions
    assert client.get_server_metadata(as_json=True)["version"] == metadata.version


def test_models(client):
    assert client.is_model_ready("mlp")
    assert client.is_model_ready("mlp", "1")
    assert not client.is_model_ready("mlp", "99")
    assert not client.is_model_ready("nobody")
    metadata = client.get_model_metadata("mlp")
    assert [(one.name, one.datatype, list(one.shape)) for one in metadata.inputs] == [("input", "FP32", [-1, 64])]
    assert list(metadata.versions) == ["1"]


def test_configuration(client):
    config = client.get_model_config("mlp").config
    assert (config.name, config.platform, config.max_batch_size) == ("mlp", "onnxruntime_onnx", 64)
    assert [one.name for one in config.output] == ["probabilities"]
    assert config.WhichOneof("scheduling_choice") == "dynamic_batching"
    assert client.get_model_config("mlp", as_json=True)["config"]["input"][0]["data_type"] == "TYPE_FP32"


@pytest.mark.parametrize("datatype", DATATYPES)
def test_every_datatype_raw(client, datatype):
    model, array = DATATYPES[datatype]
    names = client.get_model_metadata(model)
    result = client.infer(model, [input_of(names.inputs[0].name, array, datatype)], request_id="seven")
    output = result.as_numpy(names.outputs[0].name)
    np.testing.assert_array_equal(as_objects(output), as_objects(array))
    assert result.get_response().id == "seven"
    assert result.get_output(names.outputs[0].name).datatype == datatype


CONTENTS = {
    "BOOL": "bool_contents",
    "INT8": "int_contents",
    "INT16": "int_contents",
    "INT32": "int_contents",
    "INT64": "int64_contents",
    "UINT8": "uint_contents",
    "UINT16": "uint_contents",
    "UINT32": "uint_contents",
    "UINT64": "uint64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
    "BYTES": "bytes_contents",
}


@pytest.fixture(scope="module")
def stub(address):
    with grpc.insecure_channel(address) as channel:
        yield service_pb2_grpc.GRPCInferenceServiceStub(channel)


def request_with(client, datatype):
    model, array = DATATYPES[datatype]
    metadata = client.get_model_metadata(model)
    request = service_pb2.ModelInferRequest(model_name=model)
    request.inputs.add(name=metadata.inputs[0].name, datatype=datatype, shape=array.shape)
    return request, array


@pytest.mark.parametrize("datatype", CONTENTS)
def test_every_datatype_typed(client, stub, datatype):
    request, array = request_with(client, datatype)
    values = array.flatten().tolist()
    if datatype == "BYTES":
        values = [value.encode() for value in values]
    getattr(request.inputs[0].contents, CONTENTS[datatype]).extend(values)
    response = stub.ModelInfer(request)
    output = triton.InferResult(response).as_numpy(response.outputs[0].name)
    np.testing.assert_array_equal(as_objects(output), as_objects(array))


def test_both_forms_at_once_are_refused(client, stub):
    request, array = request_with(client, "INT32")
    request.inputs[0].contents.int_contents.extend(array.flatten().tolist())
    request.raw_input_contents.append(array.tobytes())
    with pytest.raises(grpc.RpcError) as caught:
        stub.ModelInfer(request)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    name = request.inputs[0].name
    assert (
        f"contents field must not be specified when using raw_input_contents for '{name}' "
        f"for model '{request.model_name}'" in caught.value.details()
    )


def test_contents_of_another_datatype_are_refused(client, stub):
    request, _ = request_with(client, "FP32")
    request.inputs[0].contents.int_contents.append(1)
    with pytest.raises(grpc.RpcError) as caught:
        stub.ModelInfer(request)
    assert "of type 'INT32', expected datatype 'FP32'" in caught.value.details()


def test_outputs_and_classes(client):
    outputs = [triton.InferRequestedOutput("probabilities", class_count=3)]
    result = client.infer("mlp", [input_of("input", mlp_rows(2), "FP32")], outputs=outputs)
    classes = result.as_numpy("probabilities")
    assert classes.shape == (2, 3)
    value, index, _ = classes[0][0].decode().split(":")
    assert 0 <= float(value) <= 1 and 0 <= int(index) < 10


def test_rows_agree_with_single_requests(client):
    rows = mlp_rows(8)
    together = client.infer("mlp", [input_of("input", rows, "FP32")]).as_numpy("probabilities")
    for index in range(8):
        alone = client.infer("mlp", [input_of("input", rows[index : index + 1], "FP32")]).as_numpy("probabilities")
        np.testing.assert_allclose(together[index], alone[0], rtol=1e-5, atol=1e-6)


def test_asynchronous_inference(client):
    results = queue.Queue()
    for _ in range(50):
        inputs = [input_of("input", mlp_rows(1), "FP32")]
        client.async_infer("mlp", inputs, lambda result, error: results.put((result, error)))
    for _ in range(50):
        result, error = results.get(timeout=30)
        assert error is None
        assert result.as_numpy("probabilities").shape == (1, 10)


@pytest.mark.parametrize("algorithm", ["gzip", "deflate"])
def test_compressed_inference(client, algorithm):
    inputs = [input_of("input", mlp_rows(32), "FP32")]
    plain = client.infer("mlp", inputs).as_numpy("probabilities")
    packed = client.infer("mlp", inputs, compression_algorithm=algorithm).as_numpy("probabilities")
    np.testing.assert_array_equal(plain, packed)


def test_a_large_tensor(client):
    array = np.random.default_rng(1).standard_normal((1, 2_000_000)).astype(np.float32)
    names = client.get_model_metadata("identity_fp32")
    result = client.infer("identity_fp32", [input_of(names.inputs[0].name, array, "FP32")])
    np.testing.assert_array_equal(result.as_numpy(names.outputs[0].name), array)


@pytest.mark.parametrize(
    ("run", "status", "message"),
    [
        (lambda c: c.infer("nobody", []), "NOT_FOUND", "Request for unknown model: 'nobody' is not found"),
        (lambda c: c.get_model_config("nobody"), "NOT_FOUND", "Request for unknown model: 'nobody' is not found"),
        (lambda c: c.get_model_metadata("mlp", "9"), "NOT_FOUND", "'mlp' version 9 is not found"),
        (lambda c: c.infer("mlp", []), "INVALID_ARGUMENT", "expected 1 inputs but got 0 inputs for model 'mlp'"),
        (
            lambda c: c.infer("mlp", [input_of("input", np.zeros((1, 63), np.float32), "FP32")]),
            "INVALID_ARGUMENT",
            "unexpected shape for input 'input' for model 'mlp'. Expected [-1,64], got [1,63]",
        ),
        (
            lambda c: c.infer("mlp", [input_of("input", np.zeros((1, 64), np.int32), "INT32")]),
            "INVALID_ARGUMENT",
            "inference input 'input' data-type is 'INT32', but model 'mlp' expects 'FP32'",
        ),
        (
            lambda c: c.infer("mlp", [input_of("input", np.zeros((65, 64), np.float32), "FP32")]),
            "INVALID_ARGUMENT",
            "inference request batch-size must be <= 64 for 'mlp'",
        ),
        (lambda c: c.get_trace_settings("mlp"), "UNIMPLEMENTED", "this server has no method"),
    ],
)
def test_refusals(client, run, status, message):
    with pytest.raises(InferenceServerException) as caught:
        run(client)
    assert caught.value.status() == f"StatusCode.{status}"
    assert message in caught.value.message()


def test_a_deadline(client):
    with pytest.raises(InferenceServerException) as caught:
        client.infer("slow", slow_inputs(client), client_timeout=0.05)
    assert "Deadline" in caught.value.message() or "DEADLINE" in str(caught.value.status())


def slow_inputs(client):
    inputs = []
    for one in client.get_model_metadata("slow").inputs:
        shape = [1 if size < 0 else size for size in one.shape]
        inputs.append(input_of(one.name, np.full(shape, 500, dtype=triton_to_np_dtype(one.datatype)), one.datatype))
    return inputs


def test_a_pipeline_reads_a_photograph(client):
    result = client.infer("digits", [input_of("image", photo_of_three(), "BYTES")])
    assert result.as_numpy("label").tolist() == [b"three"]
    assert result.as_numpy("digit").tolist() == [3]
    assert result.as_numpy("probability")[0] > 0.8


def test_a_pipeline_refuses_what_is_no_photograph(client):
    torn = np.array([photo_of_three()[0][:900]], dtype=np.object_)
    with pytest.raises(InferenceServerException, match="input 'image' cannot be decoded") as refusal:
        client.infer("digits", [input_of("image", torn, "BYTES")])
    assert refusal.value.status() == "StatusCode.INVALID_ARGUMENT"
