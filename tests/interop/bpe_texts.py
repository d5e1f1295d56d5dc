"""Writes texts that are hard for byte-pair encoding: bpe_texts.py DIRECTORY.

ties.txt: words of few letters, so that many pairs are equally frequent and runs overlap.
mixed.txt: scripts, emoji, numbers, contractions, and every white-space character."""

import os
import random
import sys

draw = random.Random(5)


def word_of(letters, most):
    return "".join(draw.choice(letters) for _ in range(draw.randint(1, most)))


def ties():
    words = [word_of("ab", 9) for _ in range(300)]
    words += [draw.choice("abc") * draw.randint(1, 40) for _ in range(100)]
    return "\n".join(" ".join(draw.choice(words) for _ in range(8)) for _ in range(800)) + "\n"


LETTERS = [
    "aábcdeéèfghiíjklmnñoóöpqrstuúüvwxyzßÅŁ",
    "абвгдеёжзийклмнопрстуфхцчшщъыьэюяЖ",
    "ابتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "αβγδεζηθικλμνξοπρςΩ",
    "हिन्दीभाषा",
    "가나다라마바사",
    [chr(0x4E00 + i) for i in range(80)],
    ["😀", "👍🏽", "👩‍👩‍👧", "🇩🇪", "❤️", "🐦"],
    "0123456789٠١٢٣²½Ⅷ〇",
    ".,;:!?()[]{}\"'-–—…«»%€$#@&*+=<>/\\|~^`_\x7f\ufffd",
]
CONTRACTIONS = "it's don't we're I've I'm they'll he'd 'S 'LL ''s ' 're x'ver o'd".split()
SPACES = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"
    + "".join(chr(code) for code in range(0x2000, 0x200B))
    + "\x1c\x1d\x1e\x1f\u200b\ufeff\u180e"  # these are not white space here
)


def mixed():
    parts = []
    for _ in range(60000):
        if draw.random() < 0.1:
            parts.append(draw.choice(CONTRACTIONS))
        else:
            letters = draw.choice(LETTERS)
            parts.append(word_of(letters[: draw.choice([5, 12, 99])], 9))
        kind = draw.random()
        if kind < 0.6:
            parts.append(" ")
        elif kind < 0.8:
            parts.append("\n")
        elif kind < 0.9:
            parts.append(word_of(SPACES, 5))
    return "".join(parts) + "\n"


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8", newline="") as file:
        file.write(text)


if __name__ == "__main__":
    write(sys.argv[1], "ties.txt", ties())
    write(sys.argv[1], "mixed.txt", mixed())
