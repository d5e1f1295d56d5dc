"""Checks that transformers computes linnet's logits.

check_logits.py MODEL...: directories written by export --example. Opens each with the Auto
classes and compares tokens and logits with the example. Exits with 1 if tokens differ, or logits
by more than rounding."""

import json
import os
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2TokenizerFast
from transformers.utils import logging

ROUNDING = 1e-4


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
    print(f"{folder}: logits of {len(logits)} tokens differ by {difference:.1e} at most,",
          f"the largest being {expected.abs().max().item():.2f}")


if __name__ == "__main__":
    logging.disable_progress_bar()
    for path in sys.argv[1:]:
        check(path)
    sys.exit(0 if sys.argv[1:] else "no folder was named")
