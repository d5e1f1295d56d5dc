"""Checks that modeling_linnet.py computes what linnet does.

check_modeling.py KINDS OPTIONS [--some] MODEL...: lists of the attention kinds and of train's
options, and directories with an export and with what eval and sample say about it (modeling.sh
writes all of them). Opens each with the Auto classes; compares tokens, losses, logits, and texts.
Exits with 1 if they differ; or, without --some, if no model has a kind or a value of an option."""

import json
import os
import re
import sys
from functools import partial

import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

TOLERANCE = 2e-5  # nats, or logits: less than what a slightly different formula makes

# Settings that do not change what a trained model computes, or what others here check.
OF_TRAINING = """word-dropout ngram-dropout input-dropout dropout attn-dropout output-dropout
    zero-init carry-state""".split()
OF_THE_TEXT = """valid test tokens tokenizer-file trim lowercase vocab-size min-count
    special-tokens""".split()


def read_json(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


def near(what, got, expected):
    """Compares two tensors; returns the largest difference."""
    assert got.shape == expected.shape, f"{what}: shapes {got.shape} and {expected.shape}"
    assert torch.isfinite(got).all(), f"{what}: not finite"
    difference = (got - expected).abs().max().item()
    assert difference <= TOLERANCE, f"{what}: differ by {difference:.1e}"
    return difference


def losses_of(model, ids, before):
    """Of each token, in windows as eval reads them; carried states make one window of all."""
    whole = model.config.linnet["carry-state"]
    length = len(ids) if whole else model.config.max_position_embeddings
    inputs, targets, losses = torch.tensor([before] + ids[:-1]), torch.tensor(ids), []
    for window, labels in zip(inputs.split(length), targets.split(length)):
        logits = model(window[None]).logits[0]
        losses.append(F.cross_entropy(logits, labels, reduction="none"))
    return torch.cat(losses)


def check_losses(folder, model, ids):
    """Those of single tokens are compared in check_texts."""
    assert read_json(folder, "example.json")["ids"] == ids, f"{folder}: other tokens"
    losses = losses_of(model, ids, model.config.eos_token_id)
    whole = torch.tensor(read_json(folder, "eval.json")["loss"])
    return near(f"{folder}: mean loss and eval's", losses.mean(), whole)


def check_labels(folder, model, ids):
    """The loss that transformers trains with, from the start of the text."""
    first, *rest = [model.config.eos_token_id] + ids[: model.config.max_position_embeddings - 1]
    start = torch.tensor([[first, *rest]])
    loss = model(start, labels=start).loss
    near(f"{folder}: loss of labels", loss, losses_of(model, rest, first).mean())


def check_logits(folder, model):
    example = read_json(folder, "example.json")
    read = torch.tensor([example["ids"][-example["tokens_read"] :]])
    near(f"{folder}: logits", model(read).logits[0, -1], torch.tensor(example["logits"]))


def check_texts(folder, model):
    """A text that sample drew, beyond the context, and one of the likeliest tokens."""
    sampled = read_json(folder, "sampled.json")["texts"][0]
    text, got = torch.tensor([[model.config.bos_token_id] + sampled["token_ids"]]), []
    for end in range(1, text.shape[1]):
        read = model.prepare_inputs_for_generation(text[:, :end])
        got.append(model(**read).logits[0, -1].log_softmax(-1)[text[0, end]])
    near(f"{folder}: a text", torch.stack(got), torch.tensor(sampled["log_probabilities"]))
    greedy = read_json(folder, "greedy.json")["texts"][0]["token_ids"]
    prompt = torch.tensor([[model.config.bos_token_id]])
    written = model.generate(prompt, do_sample=False, max_new_tokens=len(greedy))
    assert written[0, 1:].tolist() == greedy, f"{folder}: generate writes another text"


def check_batch(folder, model, tokenizer):
    """Texts of different lengths, one beyond the context, have the logits and continuations of
    each alone."""
    with open("text.txt", encoding="utf-8") as file:
        text = file.read()
    texts = ["the prices", "the", text[:180]]
    batch = tokenizer(texts, padding=True, return_tensors="pt", verbose=False)
    generate = partial(model.generate, do_sample=False, max_new_tokens=4)
    written = generate(**batch)
    assert not batch["attention_mask"].all(), f"{folder}: no padding"
    for row, text in enumerate(texts):
        alone = tokenizer(text, return_tensors="pt", verbose=False)
        assert written[row, -4:].tolist() == generate(**alone)[0, -4:].tolist(), (
            f"{folder}: '{text}' is continued otherwise in a batch")
    short = tokenizer(texts[:2], padding=True, return_tensors="pt")
    alone = tokenizer(texts[1], return_tensors="pt")
    near(f"{folder}: padded", model(**short).logits[1, -1], model(**alone).logits[0, -1])


def check_model(folder):
    model, info = AutoModelForCausalLM.from_pretrained(
        folder, trust_remote_code=True, output_loading_info=True
    )
    assert not any(info.values()), f"{folder}: {info}"
    assert type(model).__name__ == "LinnetForCausalLM", f"{folder}: a {type(model).__name__}"
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    with open("text.txt", encoding="utf-8") as file:
        ids = tokenizer(file.read(), verbose=False)["input_ids"]
    with torch.no_grad():
        difference = check_losses(folder, model, ids)
        check_labels(folder, model, ids)
        check_logits(folder, model)
        check_texts(folder, model)
        check_batch(folder, model, tokenizer)
    print(f"{folder}: mean losses of {len(ids)} tokens differ by {difference:.1e}")
    return model.config


def check_padding(folder):
    """Padding inside of a text, where generate would go on, and texts of nothing else are refused.
    The loss is of tokens alone."""
    model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)
    ids = torch.zeros(1, 3, dtype=torch.long)
    for mask in [1, 1, 0], [0, 0, 0]:
        try:
            model.generate(ids, attention_mask=torch.tensor([mask]), max_new_tokens=2)
        except ValueError:
            continue
        raise AssertionError(f"{folder}: padding is read as text: {mask}")
    padded = model(ids, attention_mask=torch.tensor([[0, 1, 1]]), labels=ids).loss
    near(f"{folder}: loss beside padding", padded, model(ids[:, 1:], labels=ids[:, 1:]).loss)


def check_distrust(folder):
    """Without trust in its code the tokenizer opens (standard input is empty, so that nothing is
    asked), and the model does not."""
    trusted = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    plain = AutoTokenizer.from_pretrained(folder)
    assert plain.get_vocab() == trusted.get_vocab(), f"{folder}: another tokenizer"
    try:
        AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=False)
    except ValueError:
        return
    raise AssertionError(f"{folder}: opens without its code")


def check_saving(folder):
    """What transformers saves opens again, with the same weights."""
    model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)
    model.save_pretrained("saved")
    again, info = AutoModelForCausalLM.from_pretrained(
        "saved", trust_remote_code=True, output_loading_info=True
    )
    assert not any(info.values()), f"saved: {info}"
    state = again.state_dict()
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, state[name]), f"saved: {name} differs"


def values_in_help(text, name):
    """The names that an option can have, or None if it takes something else."""
    entry = re.search(rf"^  --{name} [A-Z]+\s(.*(?:\n {{20,}}.*)*)", text, re.MULTILINE)
    words = " ".join(entry.group(1).split()) if entry else ""
    listed = re.search(r": ([a-z0-9-]+(?:, [a-z0-9-]+)+) \(default", words)
    return listed and set(listed.group(1).split(", ")) - {"auto"}


def check_complete(kinds, options, configs):
    """Every kind, every listed value of an option, and two values of any other."""
    seen = {}
    for config in configs:
        for name, value in config.linnet.items():
            seen.setdefault(name, set()).add(value)
    layers = {layer["attn"] for config in configs for layer in config.layers}
    assert kinds and layers == kinds, f"kinds without a model: {kinds - layers}"
    for name in seen.keys() - set(OF_TRAINING + OF_THE_TEXT + ["attn"]):
        values = values_in_help(options, name)
        if values:
            assert values <= seen[name], f"no model with --{name} {values - seen[name]}"
        else:
            assert len(seen[name]) > 1, f"all models have --{name} {seen[name]}"
    print(f"{len(configs)} models have all {len(kinds)} kinds and all of {len(seen)} settings")


def main(kinds, options, *models):
    with open(kinds, encoding="utf-8") as file:
        names = {line.split()[0] for line in file}
    some = models[0] == "--some"
    configs = [check_model(folder) for folder in models[some:]]
    check_distrust(models[-1])
    check_padding(models[-1])
    check_saving(models[-1])
    if not some:
        with open(options, encoding="utf-8") as file:
            check_complete(names, file.read(), configs)


if __name__ == "__main__":
    logging.disable_progress_bar()
    torch.set_num_threads(1)  # the models are tiny
    main(*sys.argv[1:])
