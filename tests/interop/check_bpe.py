"""Checks that linnet learns byte-pair encoding as Python's "tokenizers" does.

check_bpe.py TEXT SIZE MODEL [SPECIAL]: the training text, --vocab-size, a directory that export
wrote, and a special token.
The vocabulary and the merges must be equal, and MODEL's other two files must give the same ids.
check_bpe.py classes FILE: FILE is data/tokenizers/unicode.c. Its classes must be those of the splitter, for
every character. check_bpe.py print: prints the table for the installed version.
Exits with 1 on any difference."""

import json
import os
import re
import sys

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

OTHER, LETTER, NUMBER, SPACE = range(4)
CODES = 0x110000


def learn(text, size, special):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        show_progress=False,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator([text], trainer)
    return tokenizer


def model_of(text):
    model = json.loads(text)["model"]
    pairs = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in model["merges"]]
    return model["vocab"], pairs


def check_learning(path, size, folder, *special):
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read().removeprefix("\ufeff").replace("\r\n", "\n")  # as linnet reads it
    expected = learn(text, int(size), list(special))
    with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as file:
        vocabulary, merges = model_of(file.read())
    expected_vocabulary, expected_merges = model_of(expected.to_str())
    for rank, (a, b) in enumerate(zip(merges, expected_merges)):
        assert a == b, f"{folder}: merge {rank} is {a}, should be {b}"
    assert len(merges) == len(expected_merges), f"{folder}: {len(merges)} merges"
    assert vocabulary == expected_vocabulary, f"{folder}: another vocabulary"
    ours = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    joined = "".join(part + text[:1000] for part in special)
    assert ours.encode(joined).ids == expected.encode(joined).ids, f"{folder}: special tokens differ"
    pair = models.BPE.from_file(
        os.path.join(folder, "vocab.json"), os.path.join(folder, "merges.txt")
    )
    again = Tokenizer(pair)
    again.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    assert again.encode(text).ids == expected.encode(text).ids, f"{folder}: vocab.json differs"
    print(f"{folder}: {len(merges)} merges are those of tokenizers")


def class_of(code):
    words = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str
    if 0xD800 <= code < 0xE000:  # surrogates are no characters
        return OTHER
    for kind, beside in (LETTER, "a"), (NUMBER, "1"), (OTHER, "."):
        if len(words(beside + chr(code) + beside)) == 1:
            return kind
    return SPACE


def changes():
    """Where the class changes, as data/tokenizers/unicode.c has it."""
    last = None
    for code in range(CODES):
        kind = class_of(code)
        if kind != last:
            yield 4 * code + kind
        last = kind


def check_classes(path):
    with open(path, encoding="utf-8") as file:
        table = file.read().split("changes[] = {")[1].split("}")[0]
    here = [int(number, 16) for number in re.findall(r"0x[0-9a-f]+", table)]
    there = list(changes())
    for a, b in zip(here, there):
        assert a == b, f"{path}: U+{a // 4:04X} has class {a % 4}; U+{b // 4:04X} has {b % 4}"
    assert len(here) == len(there), f"{path}: {len(here)} ranges, should be {len(there)}"
    print(f"{path}: the classes of {CODES} characters are those of tokenizers")


if __name__ == "__main__":
    if sys.argv[1] == "print":
        print(" ".join(f"{change:#x}," for change in changes()))
    elif sys.argv[1] == "classes":
        check_classes(sys.argv[2])
    else:
        check_learning(*sys.argv[1:])
