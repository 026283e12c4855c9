"""Models of images: classifiers, detectors, and images without a batch."""

import numpy as np

from export_models.export import Builder, Export, normal


def conv(b, value, inputs, outputs, size=3, stride=1, norm=True, relu=True):
    pad = size // 2
    value = b.op(
        "Conv",
        value,
        b.weight(outputs, inputs, size, size),
        b.weight(outputs, scale=0.1),
        kernel_shape=[size, size],
        strides=[stride, stride],
        pads=[pad] * 4,
    )
    if norm:
        ones, zeros = b.const(np.ones(outputs, np.float32)), b.const(np.zeros(outputs, np.float32))
        value = b.op("BatchNormalization", value, ones, zeros, zeros, ones)
    return b.op("Relu", value) if relu else value


def image(b, size=16, name="images"):
    return b.input(name, "float", ["batch", 3, size, size])


def image_feeds(size=16, name="images"):
    return lambda generator, rows: {name: normal(generator, rows, 3, size, size)}


def resnet(opset=11):
    b = Builder(opset)
    value = b.op("MaxPool", conv(b, image(b, 32), 3, 8, 7, 2), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    width = 8
    for stage, outputs in enumerate((16, 32, 64, 64)):
        for block in range(2):
            stride = 2 if stage > 0 and block == 0 else 1
            inner = conv(b, value, width, outputs // 4, 1)
            inner = conv(b, inner, outputs // 4, outputs // 4, 3, stride)
            inner = conv(b, inner, outputs // 4, outputs, 1, relu=False)
            shortcut = conv(b, value, width, outputs, 1, stride, relu=False) if block == 0 else value
            value = b.op("Relu", b.op("Add", inner, shortcut))
            width = outputs
    value = b.op("Flatten", b.op("GlobalAveragePool", value), axis=1)
    b.output(b.op("Gemm", value, b.weight(10, 64), b.weight(10), transB=1), "logits", "float", ["batch", 10])
    return b.model()


def vit():
    b = Builder(17)
    pixels = image(b, 16, "pixel_values")
    patches = b.op("Conv", pixels, b.weight(16, 3, 4, 4), b.weight(16), kernel_shape=[4, 4], strides=[4, 4])
    rows = b.dim(patches, 0)
    tokens = b.op("Transpose", b.reshape(patches, rows, 16, -1), perm=[0, 2, 1])
    first = b.op("Expand", b.weight(1, 1, 16), b.op("Concat", b.dim(pixels, 0), b.ints(1), b.ints(16), axis=0))
    value = b.op("Add", b.op("Concat", first, tokens, axis=1), b.weight(1, 17, 16))
    for _ in range(2):
        value = b.op("Add", value, attention(b, b.layer_norm(value, 16), 16, 2))
        value = b.op("Add", value, feed_forward(b, b.layer_norm(value, 16), 16))
    pooled = b.op("Gather", b.layer_norm(value, 16), b.scalar(0, np.int64), axis=1)
    b.output(b.op("Gemm", pooled, b.weight(10, 16), b.weight(10), transB=1), "logits", "float", ["batch", 10])
    return b.model()


def attention(b, value, width, heads, mask=None):
    """Multi-head attention as the exporter of PyTorch writes it."""
    each = width // heads

    def split(part):
        return b.op("Transpose", b.reshape(part, b.dim(part, 0), b.dim(part, 1), heads, each), perm=[0, 2, 1, 3])

    query, key, content = (split(b.linear(value, width, width)) for _ in range(3))
    scores = b.op("Div", b.op("MatMul", query, b.op("Transpose", key, perm=[0, 1, 3, 2])), b.scalar(np.sqrt(each)))
    if mask is not None:
        scores = b.op("Add", scores, mask)
    mixed = b.op("Transpose", b.op("MatMul", b.op("Softmax", scores, axis=3), content), perm=[0, 2, 1, 3])
    return b.linear(b.reshape(mixed, b.dim(mixed, 0), b.dim(mixed, 1), width), width, width)


def feed_forward(b, value, width):
    hidden = b.linear(value, width, 2 * width)
    gelu = b.op(
        "Mul", b.op("Mul", hidden, b.op("Add", b.op("Erf", b.op("Div", hidden, b.scalar(np.sqrt(2)))), b.scalar(1.0))), b.scalar(0.5)
    )
    return b.linear(gelu, 2 * width, width)


def yolo(b, pixels):
    """Two scales, upsampled by computed sizes, decoded on a grid: boxes [batch, anchors, 4], scores [batch, classes, anchors]."""
    low = conv(b, conv(b, pixels, 3, 8, 3, 2), 8, 8, 3, 2)
    high = conv(b, low, 8, 8, 3, 2)
    sizes = b.op(
        "Concat",
        b.op("Slice", b.op("Shape", high), b.ints(0), b.ints(2), b.ints(0)),
        b.op("Slice", b.op("Shape", low), b.ints(2), b.ints(4), b.ints(0)),
        axis=0,
    )
    up = b.op("Resize", high, "", "", sizes, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    merged = conv(b, b.op("Concat", up, low, axis=1), 16, 8, 3)
    heads = [b.reshape(conv(b, part, 8, 7, 1, norm=False, relu=False), b.dim(part, 0), 7, -1) for part in (merged, high)]
    both = b.op("Concat", *heads, axis=2)
    centre, size, scores = b.op("Split", both, b.ints(2, 2, 3), axis=1, outputs=3)
    grid = np.concatenate(
        [np.stack(np.meshgrid(np.arange(n), np.arange(n)), 0).reshape(1, 2, -1) * (16 / n) for n in (4, 2)], axis=2
    ).astype(np.float32)
    centre = b.op("Add", b.op("Mul", b.op("Sigmoid", centre), b.scalar(4.0)), b.const(grid))
    half = b.op("Mul", b.op("Sigmoid", size), b.scalar(3.0))
    boxes = b.op("Concat", b.op("Sub", centre, half), b.op("Add", centre, half), axis=1)
    return b.op("Transpose", boxes, perm=[0, 2, 1]), b.op("Sigmoid", scores)


def yolo_decoded():
    b = Builder(17)
    boxes, scores = yolo(b, image(b))
    b.output(b.op("Concat", b.op("Transpose", boxes, perm=[0, 2, 1]), scores, axis=1), "output0", "float", ["batch", 7, "anchors"])
    return b.model()


def yolo_nms():
    b = Builder(17)
    boxes, scores = yolo(b, image(b))
    picked = b.op("NonMaxSuppression", boxes, scores, b.ints(5), b.const(np.float32([0.5])), b.const(np.float32([0.3])))
    b.output(picked, "selected", "int64", ["detections", 3])
    columns = b.op("Gather", picked, b.ints(0, 2), axis=1)
    b.output(b.op("GatherND", boxes, columns), "boxes", "float", ["detections", 4])
    return b.model()


def roi_detector():
    b = Builder(17)
    features = conv(b, image(b), 3, 4, 3, 2)
    rois, indices = b.input("rois", "float", ["boxes", 4]), b.input("roi_batch", "int64", ["boxes"])
    pooled = b.op("RoiAlign", features, rois, indices, output_height=2, output_width=2, spatial_scale=0.5, sampling_ratio=2)
    b.output(b.linear(b.op("Flatten", pooled), 16, 3), "scores", "float", ["boxes", 3])
    return b.model()


def roi_feeds(generator, rows):
    corner = generator.uniform(0, 7, size=(2 + rows, 2))
    rois = np.concatenate([corner, corner + generator.uniform(2, 7, size=corner.shape)], axis=1).astype(np.float32)
    return {"images": normal(generator, rows, 3, 16, 16), "rois": rois, "roi_batch": generator.integers(0, rows, size=len(rois))}


def nonzero_detector():
    b = Builder(17)
    scores = b.op("Sigmoid", conv(b, image(b), 3, 2, 3, 4, relu=False))
    places = b.op("Transpose", b.op("NonZero", b.op("Greater", scores, b.scalar(0.5))))
    b.output(places, "places", "int64", ["found", 4])
    b.output(b.op("GatherND", scores, places), "scores", "float", ["found"])
    return b.model()


def height_first():
    b = Builder(17)
    pixels = b.input("image", "float", ["height", "width", 3])
    value = b.unsqueeze(b.op("Transpose", pixels, perm=[2, 0, 1]), 0)
    value = conv(b, conv(b, value, 3, 4), 4, 1, relu=False)
    b.output(b.op("Transpose", b.squeeze(value, 0), perm=[1, 2, 0]), "mask", "float", ["height", "width", 1])
    return b.model()


def uint8_image():
    b = Builder(17)
    pixels = b.input("image", "uint8", ["batch", 16, 16, 3])
    value = b.op("Div", b.op("Cast", b.op("Transpose", pixels, perm=[0, 3, 1, 2]), to=1), b.scalar(255.0))
    value = b.op("Flatten", b.op("GlobalAveragePool", conv(b, value, 3, 8, 3, 2)))
    b.output(b.op("ArgMax", b.linear(value, 8, 4), axis=1, keepdims=0), "label", "int64", ["batch"])
    return b.model()


def pooled_over_all():
    b = Builder(13)
    value = b.reduce_mean(conv(b, image(b), 3, 4, 3, 2), 0, 2, 3, keepdims=0)
    b.output(value, "pooled", "float", [4])
    return b.model()


def flattened():
    b = Builder(13)
    b.output(b.op("Flatten", conv(b, image(b), 3, 1, 3, 4), axis=0), "flat", "float", [1, "values"])
    return b.model()


def u_net():
    b = Builder(14)
    down = conv(b, image(b), 3, 8, 3, 1)
    inner = conv(b, b.op("MaxPool", down, kernel_shape=[2, 2], strides=[2, 2]), 8, 8)
    up = b.op("ConvTranspose", inner, b.weight(8, 8, 2, 2), kernel_shape=[2, 2], strides=[2, 2])
    value = conv(b, b.op("Concat", up, down, axis=1), 16, 2, 1, norm=False, relu=False)
    b.output(b.op("Softmax", value, axis=1), "mask", "float", ["batch", 2, 16, 16])
    return b.model()


def exports():
    yield Export("resnet_like", "ResNet-50", resnet(), image_feeds(32), True)
    yield Export("resnet_like_opset_17", "ResNet-50", resnet(17), image_feeds(32), True)
    yield Export("vit_like", "ViT", vit(), image_feeds(16, "pixel_values"), True)
    yield Export("yolo_decoded", "YOLO", yolo_decoded(), image_feeds(), True)
    yield Export("yolo_nms", "nms", yolo_nms(), image_feeds(), False)
    yield Export("roi_detector", "detection, unequal first dimensions", roi_detector(), roi_feeds, False)
    yield Export("nonzero_detector", "nonzero", nonzero_detector(), image_feeds(), False)
    yield Export("height_first_image", "first axis height", height_first(), lambda g, rows: {"image": normal(g, 4 + rows, 6, 3)}, False)
    yield Export(
        "uint8_image", "image bytes", uint8_image(), lambda g, rows: {"image": g.integers(0, 256, (rows, 16, 16, 3)).astype(np.uint8)}, True
    )
    yield Export("pooled_over_all", "pooled", pooled_over_all(), image_feeds(), False)
    yield Export("flattened", "flatten", flattened(), image_feeds(), False)
    yield Export("u_net", "segmentation", u_net(), image_feeds(), True)
