"""Checks that linnet computes what transformers does with the models that it imports.

check_import.py BIN TEXT TOKENIZER: makes small random models in the current directory, imports
each, and compares the logits. Then exports it again: transformers opens the export without code
of its own, and its tensors are the same to the bit. TOKENIZER is a directory with tokenizer.json.
"""

import json
import os
import shutil
import subprocess
import sys

import torch
from safetensors.torch import load_file
from transformers import (AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, GPT2TokenizerFast,
                          GPTNeoXConfig, GPTNeoXForCausalLM, LlamaConfig, LlamaForCausalLM,
                          PreTrainedTokenizerFast)
from transformers.utils import logging

ROUNDING = 1e-4
TOKENS = 300

# By name: class, config, and how it is saved.
GPT2 = dict(vocab_size=TOKENS, n_positions=32, n_embd=24, n_layer=3, n_head=4, bos_token_id=0,
            eos_token_id=0)
NEOX = dict(vocab_size=TOKENS, max_position_embeddings=32, hidden_size=48, num_hidden_layers=2,
            num_attention_heads=3, intermediate_size=80, bos_token_id=0, eos_token_id=0)
LLAMA = dict(vocab_size=TOKENS, max_position_embeddings=32, hidden_size=48, num_hidden_layers=2,
             num_attention_heads=4, intermediate_size=56, bos_token_id=0, eos_token_id=0)


def rope(base, **more):
    return {"rope_parameters": {"rope_type": "default", "rope_theta": base, **more}}


MODELS = {
    "gpt2": (GPT2LMHeadModel, GPT2Config(**GPT2), {}),
    "gpt2-saved": (GPT2LMHeadModel, GPT2Config(**GPT2), {"tokenizer": GPT2TokenizerFast}),
    "gpt2-untied": (GPT2LMHeadModel, GPT2Config(**GPT2, tie_word_embeddings=False, n_inner=40,
                                                activation_function="relu"), {}),
    "gpt2-erf": (GPT2LMHeadModel, GPT2Config(**GPT2, activation_function="gelu",
                                             layer_norm_epsilon=1e-3), {}),
    "gpt2-half": (GPT2LMHeadModel, GPT2Config(**GPT2), {"dtype": torch.float16}),
    "gpt2-bfloat": (GPT2LMHeadModel, GPT2Config(**GPT2), {"dtype": torch.bfloat16}),
    "gpt2-shards": (GPT2LMHeadModel, GPT2Config(**GPT2), {"shard": "20KB"}),
    "gpt2-bare": (GPT2LMHeadModel, GPT2Config(**GPT2), {"bare": True}),
    "gpt2-padded": (GPT2LMHeadModel, GPT2Config(**{**GPT2, "vocab_size": TOKENS + 5}), {}),
    "neox": (GPTNeoXForCausalLM, GPTNeoXConfig(**NEOX), {}),
    "neox-serial": (GPTNeoXForCausalLM, GPTNeoXConfig(
        **NEOX, use_parallel_residual=False, hidden_act="gelu_new",
        **rope(500.0, partial_rotary_factor=1.0)), {"dtype": torch.float16}),
    "neox-tied": (GPTNeoXForCausalLM, GPTNeoXConfig(
        **NEOX, tie_word_embeddings=True, attention_bias=False, layer_norm_eps=1e-6,
        **rope(10000.0, partial_rotary_factor=0.5)), {}),
    "neox-scaling": (GPTNeoXForCausalLM, GPTNeoXConfig(**NEOX, **rope(
        500.0, partial_rotary_factor=1.0)), {"json": {
            "rope_scaling": {"type": "default"}, "rope_parameters": None, "rotary_pct": 0.5,
            "rotary_emb_base": 300.0}}),
    "llama": (LlamaForCausalLM, LlamaConfig(**LLAMA), {}),
    "llama-grouped": (LlamaForCausalLM, LlamaConfig(
        **LLAMA, num_key_value_heads=2, **rope(500000.0), rms_norm_eps=1e-5),
        {"dtype": torch.bfloat16}),
    "llama-tied": (LlamaForCausalLM, LlamaConfig(
        **LLAMA, num_key_value_heads=1, tie_word_embeddings=True, attention_bias=True), {}),
    "llama-scaling": (LlamaForCausalLM, LlamaConfig(**LLAMA, **rope(500.0)), {"json": {
        "rope_scaling": {"rope_type": "default"}, "rope_parameters": None, "rope_theta": 300.0,
        "rotary_pct": 0.5, "rotary_emb_base": 20.0}}),
    "llama-biased": (LlamaForCausalLM, LlamaConfig(**LLAMA, mlp_bias=True, attention_bias=True),
                     {"shard": "50KB", "tokenizer": PreTrainedTokenizerFast}),
}


def randomise(model):
    """Weights that differ enough to matter, norms and biases too."""
    for name, values in model.named_parameters():
        gain = "norm" in name or "ln_" in name
        mean = 1.0 if gain and name.endswith("weight") else 0.0
        torch.nn.init.normal_(values, mean, 0.2)


def make(name, tokenizer):
    kind, config, how = MODELS[name]
    torch.manual_seed(len(name))
    model = kind(config)
    randomise(model)
    model.to(how.get("dtype", torch.float32))
    saved = model.transformer if how.get("bare") else model
    saved.save_pretrained(name, max_shard_size=how.get("shard", "1GB"))
    if how.get("bare"):
        model.config.architectures = ["GPT2LMHeadModel"]
        model.config.save_pretrained(name)
    if "json" in how:  # as other programs may have written it
        path = os.path.join(name, "config.json")
        with open(path, encoding="utf-8") as file:
            settings = json.load(file)
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**settings, **how["json"]}, file)
    if "tokenizer" in how:
        how["tokenizer"].from_pretrained(tokenizer).save_pretrained(name)
    else:
        shutil.copy(os.path.join(tokenizer, "tokenizer.json"), name)
    # Read again, since a conversion and its return would round the angles of RoPE.
    return kind.from_pretrained(name, dtype=torch.float32).eval()


def tensors_of(folder):
    tensors = {}
    for file in os.listdir(folder):
        if file.endswith(".safetensors"):
            tensors.update(load_file(os.path.join(folder, file)))
    return tensors


def expected_tensors(name, model):
    """What an export of the imported model must have: fp32, with all heads of keys and values."""
    config, expected = model.config, {}
    prefix = model.base_model_prefix + "."
    for key, values in tensors_of(name).items():
        values = values.float()
        groups = getattr(config, "num_key_value_heads", 0)
        if groups and ("k_proj" in key or "v_proj" in key):
            shape = values.shape
            values = values.view(groups, -1, *shape[1:])
            values = values.repeat_interleave(config.num_attention_heads // groups, 0)
            values = values.reshape(-1, *shape[1:])
        bare = not key.startswith((prefix, "lm_head", "embed_out"))
        expected[prefix + key if bare else key] = values
    return expected


def logits_of(model, example):
    ids = torch.tensor([example["ids"][-example["tokens_read"]:]])
    with torch.no_grad():
        return model(ids).logits[0, -1].float()


def check_logits(name, model, example, what):
    expected, logits = logits_of(model, example), torch.tensor(example["logits"])
    assert logits.shape == expected.shape, f"{name}: {len(logits)} logits"
    difference = (logits - expected).abs().max().item()
    assert difference <= ROUNDING, f"{name}: {what}: logits differ by {difference}"
    return difference, expected.abs().max().item()


def check_tensors(name, model, export):
    expected, exported = expected_tensors(name, model), tensors_of(export)
    if getattr(model.config, "attention_bias", None) is False and "neox" in name:
        added = exported.keys() - expected.keys()  # biases of the attention
        assert all((exported.pop(key) == 0).all() for key in added), name
    assert exported.keys() == expected.keys(), f"{name}: {exported.keys() ^ expected.keys()}"
    for key, values in expected.items():
        same = torch.equal(values.view(torch.int32), exported[key].view(torch.int32))
        assert same, f"{name}: {key} differs"


def check(name, programs, text, tokenizer):
    def run(program, *arguments):
        subprocess.run([os.path.join(programs, program), *arguments], check=True,
                       stdout=subprocess.DEVNULL)

    model = make(name, tokenizer)
    run("import", name, f"{name}-run")
    run("export", "--example", text, f"{name}-run", f"{name}-again")
    with open(os.path.join(f"{name}-again", "example.json"), encoding="utf-8") as file:
        example = json.load(file)
    difference, largest = check_logits(name, model, example, "imported")
    check_tensors(name, model, f"{name}-again")
    again, info = AutoModelForCausalLM.from_pretrained(f"{name}-again", output_loading_info=True)
    assert not any(info.values()), f"{name}: {info}"
    assert isinstance(again, type(model)), f"{name}: exported as {type(again).__name__}"
    check_logits(name, again, example, "exported again")
    print(f"{name}: imported: logits differ by {difference:.1e} at most, the largest being",
          f"{largest:.2f}; exported again: the same tensors")


if __name__ == "__main__":
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    for chosen in sys.argv[4:] or MODELS:
        check(chosen, *sys.argv[1:4])
