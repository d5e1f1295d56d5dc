"""Checks that transformers computes linnet's logits.

check_logits.py MODEL...: directories written by export --example. Opens each with the Auto
classes and compares tokens and logits with the example. Exits with 1 if tokens differ, or logits
by more than rounding."""

import json
import os
import sys
from functools import partial

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2TokenizerFast
from transformers.utils import logging

ROUNDING = 1e-4


def check_batch(folder, model, tokenizer, text):
    """Texts of different lengths are padded, and are continued as each of them alone."""
    texts, length = [text, "x", text[:5]], 4
    generate = partial(model.generate, do_sample=False, max_new_tokens=length)
    batch = generate(**tokenizer(texts, padding=True, return_tensors="pt"))
    for text, tokens in zip(texts, batch.tolist()):
        alone = generate(**tokenizer(text, return_tensors="pt"))[0].tolist()
        assert tokens[-length:] == alone[-length:], f"{folder}: '{text}' differs in a batch"


def check(folder):
    with open(os.path.join(folder, "example.json"), encoding="utf-8") as file:
        example = json.load(file)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model, info = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
    assert not any(info.values()), f"{folder}: {info}"
    ids = tokenizer(example["text"], verbose=False)["input_ids"]
    assert ids == example["ids"], f"{folder}: other tokens"
    if os.path.exists(os.path.join(folder, "merges.txt")):
        gpt2 = GPT2TokenizerFast.from_pretrained(folder)
        assert gpt2(example["text"], verbose=False)["input_ids"] == ids, f"{folder}: as GPT-2's"
    with torch.no_grad():
        logits = model(torch.tensor([ids[-example["tokens_read"] :]])).logits[0, -1]
    expected = torch.tensor(example["logits"])
    assert logits.shape == expected.shape, f"{folder}: {len(logits)} logits"
    difference = (logits - expected).abs().max().item()
    assert difference <= ROUNDING, f"{folder}: logits differ by {difference}"
    beginning = torch.tensor([ids[:1]])
    model.generate(beginning, attention_mask=torch.ones_like(beginning))
    check_batch(folder, model, tokenizer, example["text"][:8])
    print(f"{folder}: logits of {len(logits)} tokens differ by {difference:.1e} at most,",
          f"the largest being {expected.abs().max().item():.2f}")


if __name__ == "__main__":
    logging.disable_progress_bar()
    for path in sys.argv[1:]:
        check(path)
    sys.exit(0 if sys.argv[1:] else "no folder was named")
