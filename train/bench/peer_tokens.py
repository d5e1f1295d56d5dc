"""Byte-pair encoding by linnet and by Python's tokenizers on the same text, one after the other.

peer_tokens.py BIN FOLDER TEXT [ENTRIES]: BIN has linnet's programs, FOLDER is for the work; TEXT is
repeated up to MEGABYTES (100). Prints a Markdown table: learning ENTRIES (8192) tokens with all
processors, and encoding on one thread; seconds, CPU seconds and peak memory of each process.
"""

import os
import shutil
import sys
import time

MEGABYTES = int(os.environ.get("MEGABYTES", "100"))


def learn(text, entries, out):
    from tokenizers import ByteLevelBPETokenizer

    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train([text], vocab_size=int(entries), min_frequency=1, show_progress=False)
    tokenizer.save(out)


def encode(text, tokenizer):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(tokenizer)
    count = 0
    with open(text, encoding="utf-8", newline="") as file:
        while lines := file.readlines(1 << 20):
            count += sum(len(encoding.ids) for encoding in tokenizer.encode_batch_fast(lines))
    print(count, file=sys.stderr)


def repeat(source, path):
    """Copies by parts: memory that this process has held counts in its children's peak."""
    if not os.path.getsize(source):
        sys.exit(f"{source}: is empty")
    with open(path, "wb") as out:
        while out.tell() < MEGABYTES * 1000000:
            with open(source, "rb") as file:
                shutil.copyfileobj(file, out)


def measure(*command, **environment):
    """Runs a command; returns its seconds, CPU seconds and peak memory in MB."""
    start = time.monotonic()
    child = os.posix_spawn(command[0], command, {**os.environ, **environment},
                           file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return (time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6)


def row(title, ours, theirs):
    print(f"| {title} | {ours[0]:.1f} s, CPU {ours[1]:.1f} s, {ours[2]:.0f} MB "
          f"| {theirs[0]:.1f} s, CPU {theirs[1]:.1f} s, {theirs[2]:.0f} MB "
          f"| {theirs[0] / ours[0]:.1f} |", flush=True)


def compare(programs, folder, source, entries="8192"):
    text, own, theirs = (os.path.join(folder, name) for name in ("text", "linnet", "theirs.json"))
    shutil.rmtree(own, ignore_errors=True)
    repeat(source, text)
    tokens, python = os.path.join(programs, "tokens"), (sys.executable, os.path.abspath(__file__))
    print(f"| {MEGABYTES} MB | linnet | tokenizers | times as fast |\n|---|---|---|---:|")
    row(f"learning {entries} tokens",
        measure(tokens, "train", "--vocab-size", entries, "--out", own, text),
        measure(*python, "learn", text, entries, theirs))
    row("encoding, one thread",
        measure(tokens, "encode", "--threads", "1", "--tokenizer-file", own, "--out",
                os.path.join(own, "text.bin"), text),
        measure(*python, "encode", text, os.path.join(own, "tokenizer.json"),
                RAYON_NUM_THREADS="1"))
    os.remove(text)


{"learn": learn, "encode": encode}.get(sys.argv[1], compare)(
    *sys.argv[2 if sys.argv[1] in ("learn", "encode") else 1:])
