"""Runs the Python example of the library and compares its logits with those of export --example.

check_library.py README RUN EXAMPLE: the document with the example, the run to open in place of
that of the document, and the example.json of that run, of a text that begins with the line end that
linnet_start stands for. Exits with 1 on any difference."""

import json
import re
import sys

document, run, path = sys.argv[1:]
with open(document, encoding="utf-8") as file:
    code = re.search(r"```python\n(import ctypes.*?)```", file.read(), re.DOTALL).group(1)
with open(path, encoding="utf-8") as file:
    expected = json.load(file)

text = expected["text"].removeprefix("\n")
for pattern, value in ((r'b"runs/[^"]*"', run), (r'(?<=text = )b"[^"]*"', text)):
    code, count = re.subn(pattern, repr(value.encode()).replace("\\", r"\\"), code)
    if count != 1:
        sys.exit(f"{document}: the example has {count} times {pattern}")

names = {}
exec(code, names)
tokens = names["tokens"][: names["count"]].tolist()
if tokens != expected["ids"]:
    sys.exit(f"tokens {tokens}, but export has {expected['ids']}")
# Nine digits of a float are exact.
logits = names["numpy"].array(expected["logits"], "float32")
if not (logits == names["logits"]).all():
    sys.exit(f"logits differ by up to {abs(logits - names['logits']).max()}")
print(f"The library in Python: {len(logits)} logits after {len(tokens)} tokens are those of export.")
