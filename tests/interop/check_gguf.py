"""Checks GGUF files: check_gguf.py PROMPT NAME...

NAME.gguf is a model, NAME a plain export of it with an example and, in greedy.json, the text that
sample continues PROMPT with, and NAME-odd one with an example that is hard to tokenize. Reads the file with the package "gguf" and compares settings,
tokens and tensors with those of the plain export; with llama-cpp-python, if it is installed, also
the tokens, the logits and the continuation. Exits with 1 if anything differs."""

import json
import os
import sys

import numpy as np
from gguf import GGUFReader
from safetensors.numpy import load_file

try:
    import llama_cpp
except ImportError:
    llama_cpp = None

# llama.cpp takes GELU from a table in half precision.
ROUNDING = {"gelu": 3e-3, "swiglu": 1e-5}
ARCHITECTURES = {"gpt2": "gpt2", "neox": "gptneox", "llama": "llama"}


def read_json(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


def positions(settings):
    """The table of fixed positions, as the papers have it."""
    context, width = settings["context"], settings["dim"]
    table = np.zeros((context, width), np.float32)
    if settings["pos"] == "sinusoidal":
        angles = np.arange(context)[:, None] * 10000.0 ** -(np.arange(0, width, 2) / width)
        table[:, 0::2], table[:, 1::2] = np.sin(angles), np.cos(angles)
    return table


def rotated(rows, architecture, settings):
    """Rows of queries or keys in the order of llama.cpp: pairs that rotate are (i, i + D/2) here."""
    heads, width = settings["heads"], settings["dim"] // settings["heads"]
    rows = rows.reshape(heads, 2, width // 2, -1)
    if architecture == "llama":
        return rows.swapaxes(1, 2).reshape(heads * width, -1)
    pairs = int(settings["rope-share"] * (width // 2))
    parts = rows[:, 0, :pairs], rows[:, 1, :pairs], rows[:, 0, pairs:], rows[:, 1, pairs:]
    return np.concatenate(parts, axis=1).reshape(heads * width, -1)


def layers_of(tensors, prefix, name, biases):
    """Weight, with a row for each output, and bias of a linear layer or norm."""
    weight = tensors.pop(f"{prefix}{name}.weight")
    bias = tensors.pop(f"{prefix}{name}.bias", None)
    weight = weight.T if weight.ndim == 2 else weight
    return weight, np.zeros(len(weight), np.float32) if bias is None and biases else bias


def expected_tensors(tensors, architecture, settings):
    biases = architecture != "llama"
    expected = {}

    def put(name, weight, bias=None):
        expected[f"{name}.weight"] = weight
        if bias is not None:
            expected[f"{name}.bias"] = bias.reshape(-1)

    embedding = tensors.pop("wte.weight")
    put("token_embd", embedding)
    if architecture == "gpt2":
        table = tensors.pop("wpe.weight", None)
        put("position_embd", positions(settings) if table is None else table)
    if "lm_head.weight" in tensors or architecture == "gptneox":
        put("output", tensors.pop("lm_head.weight", embedding))
    put("output_norm", *layers_of(tensors, "", "ln_f", biases))
    for layer in range(settings["layers"]):
        here, there = f"h.{layer}.", f"blk.{layer}."
        for name, its_name in (
            ("ln_1", "attn_norm"),
            ("ln_2", "ffn_norm"),
            ("attn.c_proj", "attn_output"),
            ("mlp.c_proj", "ffn_down"),
        ):
            put(there + its_name, *layers_of(tensors, here, name, biases))
        weight, bias = layers_of(tensors, here, "attn.c_attn", biases)
        weights = np.split(weight, 3)
        columns = [None] * 3 if bias is None else np.split(bias, 3)
        if architecture != "gpt2":
            for part in range(2):
                weights[part] = rotated(weights[part], architecture, settings)
                if bias is not None:
                    columns[part] = rotated(columns[part], architecture, settings).reshape(-1)
        if architecture == "llama":
            for part, name in enumerate("qkv"):
                put(f"{there}attn_{name}", weights[part], columns[part])
        else:
            put(f"{there}attn_qkv", np.concatenate(weights), np.concatenate(columns))
        weight, bias = layers_of(tensors, here, "mlp.c_fc", biases)
        if architecture == "llama":
            columns = [None] * 2 if bias is None else np.split(bias, 2)
            put(f"{there}ffn_gate", np.split(weight, 2)[0], columns[0])
            put(f"{there}ffn_up", np.split(weight, 2)[1], columns[1])
        else:
            put(f"{there}ffn_up", weight, bias)
    assert not tensors, f"left over: {list(tensors)}"
    return expected


def check_tensors(reader, folder, architecture, settings):
    tensors = load_file(os.path.join(folder, "model.safetensors"))
    expected = expected_tensors(tensors, architecture, settings)
    found = {tensor.name: tensor for tensor in reader.tensors}
    assert found.keys() == expected.keys(), found.keys() ^ expected.keys()
    for name, tensor in found.items():
        assert tensor.tensor_type.name == "F32", name
        assert list(tensor.shape) == list(reversed(expected[name].shape)), f"{name}: {tensor.shape}"
        computed = name == "position_embd.weight" and settings["pos"] == "sinusoidal"
        near = 1e-6 if computed else 0
        assert np.abs(tensor.data - expected[name]).max() <= near, f"{name} differs"
    return len(found)


def check_settings(reader, folder, architecture, settings):
    vocabulary = read_json(folder, "vocabulary.json")
    values = {key: field.contents() for key, field in reader.fields.items()}
    norm = "layer_norm_rms_epsilon" if architecture == "llama" else "layer_norm_epsilon"
    expected = {
        "general.architecture": architecture,
        "general.file_type": 0,
        f"{architecture}.vocab_size": vocabulary["count"],
        f"{architecture}.context_length": settings["context"],
        f"{architecture}.embedding_length": settings["dim"],
        f"{architecture}.feed_forward_length": settings["ffn"],
        f"{architecture}.block_count": settings["layers"],
        f"{architecture}.attention.head_count": settings["heads"],
        f"{architecture}.attention.{norm}": np.float32(settings["norm-eps"]),
    }
    if architecture != "gpt2":
        width = settings["dim"] // settings["heads"]
        expected[f"{architecture}.rope.dimension_count"] = int(width * settings["rope-share"])
        expected[f"{architecture}.rope.freq_base"] = np.float32(settings["rope-base"])
    if architecture == "gptneox":
        expected["gptneox.use_parallel_residual"] = settings["parallel"]
    if settings["tokens"] not in ("bpe", "byte"):
        expected["tokenizer.ggml.model"] = "none"
    else:
        expected["tokenizer.ggml.model"] = "gpt2"
        expected["tokenizer.ggml.pre"] = "gpt-2"
        expected["tokenizer.ggml.bos_token_id"] = vocabulary["eos"]
        expected["tokenizer.ggml.eos_token_id"] = vocabulary["eos"]
        expected["tokenizer.ggml.add_bos_token"] = True
        assert len(values["tokenizer.ggml.tokens"]) == vocabulary["count"]
    if settings["tokens"] == "bpe":
        expected["tokenizer.ggml.tokens"] = vocabulary["words"]
        expected["tokenizer.ggml.merges"] = [
            " ".join(pair) if isinstance(pair, list) else pair
            for pair in read_json(folder, "tokenizer.json")["model"]["merges"]
        ]
        types = values["tokenizer.ggml.token_type"]
        assert types == [3 if word == "<|endoftext|>" else 1 for word in vocabulary["words"]]
    for key, value in expected.items():
        assert values.get(key) == value, f"{key} is {values.get(key)}, should be {value}"


def logits_of(model):
    last = llama_cpp.llama_get_logits_ith(model._ctx.ctx, -1)
    return np.ctypeslib.as_array(last, shape=(model.n_vocab(),)).copy()


def check_in_llama_cpp(name, prompt, settings):
    """Computes with a cache in single precision."""
    example, greedy = read_json(name, "example.json"), read_json(name, "greedy.json")
    single = llama_cpp.GGML_TYPE_F32
    model = llama_cpp.Llama(
        f"{name}.gguf", n_ctx=settings["context"], type_k=single, type_v=single, verbose=False
    )
    ids = example["ids"]
    assert example["tokens_read"] == len(ids) < settings["context"]
    vocabulary = read_json(name, "vocabulary.json")
    if settings["tokens"] in ("bpe", "byte"):
        for hard in example, read_json(f"{name}-odd", "example.json"):
            text = hard["text"].encode()
            assert model.tokenize(text, add_bos=False) == hard["ids"], "other tokens"
            assert model.detokenize(hard["ids"]) == text, "another text"
        assert model.tokenize(prompt.encode())[0] == vocabulary["eos"], "texts begin otherwise"
        beginning = model.tokenize(prompt.encode())
    else:
        words = prompt.split() if settings["tokens"] == "word" else prompt
        beginning = [vocabulary["words"].index(word) for word in ["<eos>", *words]]
    model.eval(ids)
    difference = np.abs(logits_of(model) - np.array(example["logits"])).max()
    assert difference <= ROUNDING[settings["act"]], f"logits differ by {difference}"
    model.reset()
    model.eval(beginning)
    written = []
    for _ in greedy["texts"][0]["token_ids"]:
        written.append(int(logits_of(model).argmax()))
        model.eval(written[-1:])
    assert written == greedy["texts"][0]["token_ids"], f"it continues with {written}"
    return f"; logits in llama.cpp within {difference:.1e}, and the same {len(written)} tokens"


def check(name, prompt):
    settings = read_json(name, "settings.json")
    architecture = ARCHITECTURES[name.split("-")[0]]
    reader = GGUFReader(f"{name}.gguf")
    check_settings(reader, name, architecture, settings)
    count = check_tensors(reader, name, architecture, settings)
    more = check_in_llama_cpp(name, prompt, settings) if llama_cpp else ""
    print(f"{name}.gguf: {count} tensors as in linnet{more}")


if __name__ == "__main__":
    for path in sys.argv[2:]:
        check(path, sys.argv[1])
    sys.exit(0 if sys.argv[2:] else "no model was named")
