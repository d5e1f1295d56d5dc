"""Checks that an exported tokenizer encodes and decodes like linnet.

check_tokens.py MODEL PLAIN: two directories exported from one run with one --example, MODEL for
transformers and PLAIN with --plain. Exits with 1 on any difference."""

import json
import os
import sys

from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel


def read_json(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


def written(ids, vocabulary):
    """The text that linnet's sample prints for these tokens; of wordpunct, without the guesses
    where no blank is."""
    if vocabulary["words"] is None:
        return bytes(ids).decode("utf-8")
    if vocabulary["tokens"] == "bpe":
        return ByteLevel().decode([vocabulary["words"][token] for token in ids])
    separator = " " if vocabulary["tokens"] in ("word", "wordpunct") else ""
    text = ""
    for token in ids:
        if token == vocabulary["eos"]:
            text += "\n"
        elif text == "" or text.endswith("\n"):
            text += vocabulary["words"][token]
        else:
            text += separator + vocabulary["words"][token]
    return text


def check_ids(got, expected, name):
    for place, (a, b) in enumerate(zip(got, expected)):
        assert a == b, f"{name}: token {place} is {a}, should be {b}"
    assert len(got) == len(expected), f"{name}: {len(got)} tokens, should be {len(expected)}"


def check(model, plain):
    example = read_json(plain, "example.json")
    vocabulary = read_json(plain, "vocabulary.json")
    assert example == read_json(model, "example.json"), f"{model}: not the example of {plain}"
    tokenizer = Tokenizer.from_file(os.path.join(model, "tokenizer.json"))
    assert tokenizer.get_vocab_size() == vocabulary["count"], f"{model}: another size"
    check_ids(tokenizer.encode(example["text"]).ids, example["ids"], model)
    expected = written(example["ids"], vocabulary)
    assert tokenizer.decode(example["ids"]) == expected, f"{model}: decodes to other text"
    config = read_json(model, "tokenizer_config.json")
    pad = tokenizer.token_to_id(config["pad_token"])
    special = {token["content"] for token in read_json(model, "tokenizer.json")["added_tokens"]
               if token["special"]}
    assert pad is not None and pad != vocabulary["eos"], f"{model}: pads with {pad}"
    assert special == set() if config["split_special_tokens"] else config["pad_token"] in special
    print(f"{model}: {len(example['ids'])} tokens are encoded and decoded alike")


if __name__ == "__main__":
    check(*sys.argv[1:])
