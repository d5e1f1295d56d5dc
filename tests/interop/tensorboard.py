"""Reads the event files of a run directory with TensorBoard's own reader and compares every
scalar with log.csv: tensorboard.py RUN. Exits with 1 on any difference."""

import csv
import math
import os
import re
import sys

sys.path.pop(0)  # this directory, where "tensorboard" would be this script

from tensorboard.backend.event_processing import event_accumulator
from tensorboard.plugins.hparams import metadata
from tensorboard.util import tensor_util

COLUMNS = {
    "train/loss": lambda row: row["train_loss"],
    "train/lr": lambda row: row["lr"],
    "train/grad_norm": lambda row: row["grad_norm"],
    "perf/tokens_per_s": lambda row: row["tokens_per_second"],
    "val/loss": lambda row: row["val_loss"],
    "val/perplexity": lambda row: row["val_loss"] and math.exp(float(row["val_loss"])),
    "val/bits_per_byte": lambda row: row["val_bits_per_byte"],
    "val/loss_final": lambda row: row["final_val_loss"],
}


def same(a, b):
    """Whether two single-precision floats agree, one of them written with nine digits."""
    return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 2e-7 * max(abs(a), abs(b))


def expected(rows, column):
    return [(int(row["step"]), float(column(row))) for row in rows if column(row) != ""]


def plain(pairs):
    """Removes the blank that samples.txt puts before a line that begins with #."""
    return [(step, re.sub("(?m)^ #", "#", text)) for step, text in pairs]


def samples_of(path):
    """Pairs of step and text."""
    pairs = []
    if os.path.exists(path):
        for line in open(path, encoding="utf-8", newline="\n"):
            if line.startswith("# step "):
                pairs.append([int(line.split()[2].rstrip(",")), ""])
            else:
                pairs[-1][1] += line
    return pairs


def texts(events, tag):
    if tag not in events.Tags()["tensors"]:
        return []
    found = []
    for event in events.Tensors(tag):
        code = tensor_util.make_ndarray(event.tensor_proto).item().decode("utf-8")
        lines = code.splitlines(keepends=True)
        assert all(line.startswith("    ") for line in lines), "a text is not shown as code"
        found.append([event.step, "".join(line[4:] for line in lines)])
    return found


def number_or_text(text):
    try:
        return float(text)
    except ValueError:
        return text


def table_of_runs(events):
    """The settings that the hparams plugin shows."""
    content = events.PluginTagToContent("hparams")[metadata.SESSION_START_INFO_TAG]
    info = metadata.parse_session_start_info_plugin_data(content)
    assert info.group_name, "runs that differ in the seed are not one group"
    return {name: value.number_value if value.HasField("number_value") else value.string_value
            for name, value in info.hparams.items()}


def main(folder):
    events = event_accumulator.EventAccumulator(
        folder, size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    with open(os.path.join(folder, "log.csv"), newline="") as log:
        rows = list(csv.DictReader(log))
    wrong, compared = 0, 0
    for tag in sorted(set(COLUMNS) | set(events.Tags()["scalars"])):
        wanted = expected(rows, COLUMNS[tag]) if tag in COLUMNS else []
        found = [(event.step, event.value) for event in events.Scalars(tag)] \
            if tag in events.Tags()["scalars"] else []
        compared += len(wanted)
        if [step for step, _ in wanted] != [step for step, _ in found]:
            wrong += 1
            print(f"{folder}: {tag}: {len(found)} points where the log has {len(wanted)}")
            continue
        for (step, value), (_, read) in zip(wanted, found):
            if not same(value, read):
                wrong += 1
                print(f"{folder}: {tag} at step {step}: {read} is not {value}")
    settings = texts(events, "settings")
    with open(os.path.join(folder, "settings.conf"), encoding="utf-8", newline="\n") as file:
        lines = "".join(line for line in file if " = " in line and line[0] != "#")
    if not settings or settings[-1][1] != lines:
        wrong += 1
        print(f"{folder}: the settings differ from settings.conf")
    kept = {name: number_or_text(text)
            for name, text in (line.split(" = ", 1) for line in lines.splitlines())}
    if table_of_runs(events) != kept:
        wrong += 1
        print(f"{folder}: the settings in TensorBoard's table of runs differ from settings.conf")
    samples = plain(texts(events, "sample"))
    if samples and samples != plain(samples_of(os.path.join(folder, "samples.txt"))):
        wrong += 1
        print(f"{folder}: the samples differ from samples.txt")
    print(f"{folder}: {compared} scalars compared, {wrong} mismatches")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Usage: tensorboard.py RUN")
    sys.exit(main(sys.argv[1]))
