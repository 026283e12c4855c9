"""Writes decoders as folders that can be served, and generates with ONNX Runtime on the files as they are."""

import json
import string

import numpy as np
import onnxruntime

from decoder_graphs import CONTEXT, VOCABULARY, decoder

LETTERS = (string.ascii_letters + string.digits)[:VOCABULARY]


def write_folder(folder, form, seed):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "model.onnx"
    path.write_bytes(decoder(form, seed).SerializeToString())
    model = {"type": "BPE", "vocab": {letter: at for at, letter in enumerate(LETTERS)}, "merges": []}
    tokenizer = {"version": "1.0", "decoder": {"type": "Fuse"}, "model": model, "added_tokens": []}
    tokenizer |= {"normalizer": None, "pre_tokenizer": None, "post_processor": None}
    config = {
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": VOCABULARY,
        "num_attention_heads": form.heads,
        "num_key_value_heads": form.cache_heads,
        "head_dim": form.head_size,
        "max_position_embeddings": CONTEXT,
    }
    for name, content in [
        ("tokenizer.json", tokenizer),
        ("config.json", config),
        ("generation_config.json", {"do_sample": False}),
    ]:
        (folder / name).write_text(json.dumps(content))
    return path


class Exported:
    """The file as it was written: one text, no padding, a prompt in one run and then token by token."""

    def __init__(self, path, form):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.form = form
        self.outputs = [output.name for output in self.session.get_outputs()]
        self.caches = {}
        for given in self.session.get_inputs():
            if given.name.startswith("past"):
                self.caches[given.name] = self.empty(given)
        self.names = {given.name for given in self.session.get_inputs()}

    def empty(self, given):
        form = self.form
        sizes = {"batch": 1, "past": 0, "heads": form.cache_heads, "size": form.head_size}
        kind = np.float16 if "float16" in given.type else np.float32
        return np.zeros([sizes.get(size, size) for size in given.shape], kind)

    def present_of(self, past):
        """Names of a form have the same number and part."""
        form = self.form
        for layer in range(form.layers):
            for part in ("key", "value"):
                if form.past_names.format(layer=layer, part=part, letter=part[0]) == past:
                    return form.present_names.format(layer=layer, part=part, letter=part[0])
        raise KeyError(past)

    def generated(self, prompt, count):
        """Logits of each step; goes on with the most probable token."""
        tokens = [LETTERS.index(letter) for letter in prompt]
        caches, read, steps = dict(self.caches), 0, []
        while len(steps) < count:
            end = read + 1 if self.form.tokens == 1 else len(tokens)
            feeds = {
                "input_ids": np.array([tokens[read:end]], np.int64),
                "attention_mask": np.ones([1, end], np.int64),
                "position_ids": np.arange(read, end, dtype=np.int64)[None],
                "num_logits_to_keep": np.array(1, np.int64),
                "seqlens_k": np.array([end - 1], np.int32),
                "total_sequence_length": np.array(end, np.int32),
            }
            feeds = {name: value for name, value in feeds.items() if name in self.names} | caches
            given = dict(zip(self.outputs, self.session.run(None, feeds)))
            caches = {past: given[self.present_of(past)] for past in caches}
            read = end if caches else 0
            if end == len(tokens):
                logits = given["logits"][0, -1].astype(np.float64)
                steps.append(logits)
                tokens.append(int(np.argmax(logits)))
        return steps
