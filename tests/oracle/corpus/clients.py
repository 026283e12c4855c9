"""Three ways to ask for the same: REST with JSON, REST with binary tensors, gRPC. Each takes and gives arrays of numpy by name."""

import http.client
import json
import threading

import grpc
import numpy as np
from tritonclient.grpc import service_pb2
from tritonclient.utils import (
    deserialize_bytes_tensor,
    np_to_triton_dtype,
    serialize_byte_tensor,
    triton_to_np_dtype,
)

TIMEOUT_SECONDS = 20


class Refused(Exception):
    """The server answered, but not with tensors."""


def _bytes_of(array):
    if array.dtype == np.object_:
        return serialize_byte_tensor(array).item() if array.size > 0 else b""
    return np.ascontiguousarray(array).tobytes()


def _array_of(datatype, shape, content):
    if datatype == "BYTES":
        return deserialize_bytes_tensor(content).reshape(shape)
    return np.frombuffer(content, dtype=triton_to_np_dtype(datatype)).reshape(shape)


class Rest:
    """Keeps a connection for each thread that calls."""

    def __init__(self, address):
        self._address = address
        self._local = threading.local()

    def _post(self, model, body, headers):
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = http.client.HTTPConnection(self._address, timeout=TIMEOUT_SECONDS)
        connection.request("POST", f"/v2/models/{model}/infer", body, headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise Refused(f"{answer.status} {content.decode(errors='replace')}")
        return answer.headers, content


class RestJson(Rest):
    def infer(self, model, feeds):
        inputs = [
            {"name": name, "datatype": np_to_triton_dtype(array.dtype), "shape": list(array.shape), "data": np.atleast_1d(array).tolist()}
            for name, array in feeds.items()
        ]
        body = json.dumps({"inputs": inputs}).encode()
        _, content = self._post(model, body, {"Content-Type": "application/json"})
        return {output["name"]: self._output(output) for output in json.loads(content)["outputs"]}

    @staticmethod
    def _output(output):
        dtype = np.object_ if output["datatype"] == "BYTES" else triton_to_np_dtype(output["datatype"])
        return np.array(output["data"], dtype=dtype).reshape(output["shape"])


class RestBinary(Rest):
    def infer(self, model, feeds):
        parts = {name: _bytes_of(array) for name, array in feeds.items()}
        inputs = [
            {
                "name": name,
                "datatype": np_to_triton_dtype(array.dtype),
                "shape": list(array.shape),
                "parameters": {"binary_data_size": len(parts[name])},
            }
            for name, array in feeds.items()
        ]
        header = json.dumps({"inputs": inputs, "parameters": {"binary_data_output": True}}).encode()
        sizes = {"Inference-Header-Content-Length": str(len(header)), "Content-Type": "application/octet-stream"}
        headers, content = self._post(model, b"".join([header, *parts.values()]), sizes)
        length = int(headers.get("Inference-Header-Content-Length", len(content)))
        answers, place = {}, length
        for output in json.loads(content[:length])["outputs"]:
            size = output["parameters"]["binary_data_size"]
            answers[output["name"]] = _array_of(output["datatype"], output["shape"], content[place : place + size])
            place += size
        return answers


class Grpc:
    def __init__(self, address):
        options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        self._channel = grpc.insecure_channel(address, options=options)
        self._infer = self._channel.unary_unary(
            "/inference.GRPCInferenceService/ModelInfer",
            request_serializer=service_pb2.ModelInferRequest.SerializeToString,
            response_deserializer=service_pb2.ModelInferResponse.FromString,
        )

    def infer(self, model, feeds):
        request = service_pb2.ModelInferRequest(model_name=model)
        for name, array in feeds.items():
            request.inputs.add(name=name, datatype=np_to_triton_dtype(array.dtype), shape=list(array.shape))
            request.raw_input_contents.append(_bytes_of(array))
        try:
            answer = self._infer(request, timeout=TIMEOUT_SECONDS)
        except grpc.RpcError as error:
            raise Refused(f"{error.code().name} {error.details()}") from None
        contents = zip(answer.outputs, answer.raw_output_contents)
        return {output.name: _array_of(output.datatype, list(output.shape), content) for output, content in contents}


def clients_of(addresses):
    return {"json": RestJson(addresses["http"]), "binary": RestBinary(addresses["http"]), "grpc": Grpc(addresses["grpc"])}
