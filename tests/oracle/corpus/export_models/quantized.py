"""What onnxruntime's own tools make of a model: dynamic and static quantization."""

import pathlib
import tempfile

import numpy as np
import onnx
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_dynamic,
    quantize_static,
)

from export_models import text, vision
from export_models.export import Builder, Export, normal


class Readings(CalibrationDataReader):
    def __init__(self, feeds):
        generator = np.random.default_rng(4)
        self._left = iter([feeds(generator, 2) for _ in range(6)])

    def get_next(self):
        return next(self._left, None)


def mlp(opset=13):
    b = Builder(opset)
    x = b.input("x", "float", ["batch", 8])
    value = b.op("Relu", b.linear(x, 8, 16))
    b.output(b.linear(value, 16, 3), "y", "float", ["batch", 3])
    return b.model()


def convolution():
    b = Builder(13)
    value = vision.conv(b, vision.image(b), 3, 8, 3, 2, norm=False)
    value = b.op("Flatten", b.op("GlobalAveragePool", vision.conv(b, value, 8, 8, 3, norm=False)))
    b.output(b.op("Gemm", value, b.weight(4, 8), b.weight(4), transB=1), "logits", "float", ["batch", 4])
    return b.model()


def quantized(model, quantize, **options):
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder) / "in.onnx", pathlib.Path(folder) / "out.onnx"
        onnx.save(model, source)
        quantize(str(source), str(target), **options)
        return onnx.load(target)


def mlp_feeds(generator, rows):
    return {"x": normal(generator, rows, 8)}


def exports():
    image = vision.image_feeds()
    yield Export("dynamic_mlp", "quantize_dynamic", quantized(mlp(), quantize_dynamic), mlp_feeds, False)
    yield Export(
        "dynamic_mlp_uint8", "quantize_dynamic", quantized(mlp(), quantize_dynamic, weight_type=QuantType.QUInt8), mlp_feeds, False
    )
    yield Export("dynamic_bert", "quantize_dynamic", quantized(text.bert(14), quantize_dynamic), text.tokens, False)
    yield Export("dynamic_conv", "quantize_dynamic", quantized(convolution(), quantize_dynamic, weight_type=QuantType.QUInt8), image, False)
    yield Export("dynamic_lstm", "quantize_dynamic", quantized(text.recurrent_classifier("LSTM"), quantize_dynamic), text.series, False)
    for name, form in (("qdq", QuantFormat.QDQ), ("qoperator", QuantFormat.QOperator)):
        for stem, model, feeds in (("mlp", mlp(), mlp_feeds), ("conv", convolution(), image)):
            made = quantized(model, quantize_static, calibration_data_reader=Readings(feeds), quant_format=form)
            yield Export(f"static_{name}_{stem}", "quantize_static", made, feeds, True)
