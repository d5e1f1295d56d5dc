"""Checks that the safetensors library reads linnet's files.

check_tensors.py FILE...: every tensor from the library must have exactly the bytes that the header
places in the file. Exits with 1 on any difference."""

import json
import sys

import numpy
from safetensors import safe_open

TYPES = {"F32": "<f4", "F64": "<f8", "U8": "u1"}


def tensors_by_hand(path):
    """The tensors and the metadata, parsed without the library."""
    data = open(path, "rb").read()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        numbers = numpy.frombuffer(data[start + begin : start + end], TYPES[entry["dtype"]])
        tensors[name] = numbers.reshape(entry["shape"])
    return tensors, metadata


def check(path):
    expected, metadata = tensors_by_hand(path)
    with safe_open(path, framework="numpy") as file:
        assert file.metadata() == metadata, f"{path}: other metadata"
        assert metadata["format"] == "pt", f"{path}: no format"
        assert set(file.keys()) == set(expected), f"{path}: other names"
        for name, numbers in expected.items():
            tensor = file.get_tensor(name)
            about = f"{path}: {name}"
            assert tensor.shape == numbers.shape, f"{about}: shape {tensor.shape}"
            assert tensor.dtype == numbers.dtype, f"{about}: type {tensor.dtype}"
            assert tensor.tobytes() == numbers.tobytes(), f"{about}: other numbers"
    print(f"{path}: {len(expected)} tensors are identical")


if __name__ == "__main__":
    for file_path in sys.argv[1:]:
        check(file_path)
    sys.exit(0 if sys.argv[1:] else "no file was named")
