"""The files beside model.onnx that make a folder a decoder for servers and libraries: names and fields are Hugging Face's."""

import json
from pathlib import Path

from zoo.storyteller.tokenizer import END, END_ID, VOCABULARY

# Of the network, which has the architecture of Llama. Stated here, so that the evaluation needs no PyTorch.
LAYERS, WIDTH, HEADS, INNER = 6, 192, 6, 576
# Beyond this it was never trained.
CONTEXT_TOKENS = 450

# A request is the last message, with an empty line behind it. The model knows no dialogue.
CHAT_TEMPLATE = "{{ bos_token + (messages[-1]['content'] | trim) + '\\n\\n' }}"

FILES = {
    "config.json": {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": VOCABULARY,
        "hidden_size": WIDTH,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "max_position_embeddings": CONTEXT_TOKENS,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "torch_dtype": "float32",
        "bos_token_id": END_ID,
        "eos_token_id": END_ID,
    },
    # The most probable token each time: the same opening gives the same story.
    "generation_config.json": {"bos_token_id": END_ID, "eos_token_id": END_ID, "do_sample": False},
    "tokenizer_config.json": {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": CONTEXT_TOKENS,
        "bos_token": END,
        "eos_token": END,
        "chat_template": CHAT_TEMPLATE,
    },
}


def file_text(name: str) -> str:
    return json.dumps(FILES[name], indent=2) + "\n"


def write_decoder_files(version: Path) -> None:
    for name in FILES:
        (version / name).write_text(file_text(name))
