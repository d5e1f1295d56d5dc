"""Speed of linnet and of other programs on this machine, in turns: peers.py BIN FOLDER [TABLE...].

BIN has linnet's programs; FOLDER is for the work. Prints Markdown tables, each figure the median of
ROUNDS measurements (3): training and decoding in tokens per second, and attention alone in
milliseconds. Each of linnet's runs measures the peak of the processor, or its memory bandwidth,
itself. Other programs are PyTorch, as peer.py writes the model, and llama.cpp, if Python has
llama-cpp-python. The tables are train, attention and decode; without one, all. LENGTHS chooses those
of attention."""
import json
import os
import platform
import random
import statistics
import subprocess
import sys

ROUNDS = int(os.environ.get("ROUNDS", "3"))
LENGTHS = [int(n) for n in os.environ.get("LENGTHS", "128 256 512 1024 2048 6000").split()]
HERE = os.path.dirname(os.path.abspath(__file__))
R = "--layers 4 --dim 256 --heads 4 --context 128 --batch 16"
CHARACTERS = "--layers 6 --dim 384 --heads 6 --context 256 --batch 16 --vocab 65"
WORDS = "--layers 8 --dim 512 --heads 8 --context 512 --batch 4 --vocab 50257"
LONG = "--layers 4 --dim 256 --heads 4 --context 4096 --batch 1"
SMALL = "--layers 2 --dim 64 --heads 4 --context 64 --batch 32 --vocab 256"
ARTICLE = "--layers 2 --dim 128 --heads 4 --context 128 --batch 16"
GPT2 = "--layers 12 --dim 768 --heads 12 --context 1024 --vocab 50257"
LLAMA = "--layers 4 --dim 256 --heads 4 --vocab 8192"
# title, shape, preset, attention kinds, steps that are timed
TRAINING = [
    ("R: 4 layers of 256", R, "article", "softmax linear", 10),
    ("R, default recipe", R, "default", "softmax linear", 10),
    ("characters: 6 layers of 384, context 256", CHARACTERS, "article", "softmax", 5),
    ("8 layers of 512, context 512, 50,257 words", WORDS, "article", "softmax", 3),
    ("2 layers of 64, context 64, 256 words", SMALL, "article", "softmax linear", 50),
    ("2 layers of 128", ARTICLE, "article", "softmax linear", 20),
    ("4 layers of 256, context 4,096", LONG, "article", "softmax linear", 5),
    ("GPT-2: 12 layers of 768, context 1,024", GPT2 + " --batch 1", "article", "softmax", 2),
]
# title, shape, preset, positions of batch 1, and those of batch 16
DECODING = [
    ("Llama: 4 layers of 256", LLAMA, "llama", [10, 1000, 60000], [10, 1000]),
    ("GPT-2: 12 layers of 768", GPT2, "article", [10, 1000], [10]),
]
WIDE_FFN = ["--ffn", "0"]  # four times as wide as the model


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: failed\n{done.stderr.strip()}")
    return done.stdout


def torch(*arguments):
    return [float(x) for x in output(sys.executable, f"{HERE}/peer.py", *arguments).split()]


def linnet(*arguments):
    return json.loads(output(f"{BIN}/bench", *arguments, "--json"))


def medians(work):
    """Of each figure of ROUNDS lists."""
    return [statistics.median(figures) for figures in zip(*(work() for _ in range(ROUNDS)))]


def heading(*columns):
    print("| " + " | ".join(columns) + " |")
    print("|" + "".join("---:|" if i else "---|" for i in range(len(columns))))


def row(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def succeeds(*command):
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def precisions():
    tiny = "gemm --precision bf16 --dim 32 --repeats 1"
    return ["single", "bf16"] if succeeds(f"{BIN}/bench", *tiny.split()) else ["single"]


def train(shape, preset, kind, precision, repeats):
    shape = [*shape.split(), "--attn", kind, "--precision", precision, "--repeats", str(repeats)]
    recipe = ["--preset", preset, *WIDE_FFN, "--dropout", "0", "--input-dropout", "0", "--optimizer",
              "adamw"] if preset == "article" else []

    def measure():
        ours = linnet("train", *recipe, *shape)
        theirs = [torch("train", "--preset", preset, *how, *shape)[0] for how in ([], ["--compile"])]
        return (ours["tokens_per_second"], 100 * ours["utilisation"],
                100 * ours["optimizer_utilisation"], ours["peak_gflops"], *theirs)

    return medians(measure)


def training_table():
    print("Training, tokens per second. A share of the peak counts the products of the model; those of "
          "Muon are beside it.\n")
    heading("model", "attention", "precision", "linnet", "of the peak, GFLOP/s", "PyTorch",
            "`torch.compile`", "linnet / the faster")
    available = precisions()
    for title, shape, preset, kinds, repeats in TRAINING:
        for kind in kinds.split():
            for precision in available:
                ours, share, muon, peak, eager, compiled = train(shape, preset, kind, precision, repeats)
                row(title, kind, precision, f"{ours:,.0f}",
                    f"{share:.0f} %" + (f" + {muon:.0f} %" if muon else "") + f" of {peak:,.0f}",
                    f"{eager:,.0f}", f"{compiled:,.0f}", f"{ours / max(eager, compiled):.2f}")


def attend(kind, length):
    shape = ["--dim", "64", "--heads", "1", "--batch", "32", "--repeats", "5"]

    def measure():
        ours = linnet("attention", *shape, "--n", str(length), "--kinds", kind)["rows"][0]
        theirs = torch("attention", *shape, "--attn", kind, "--context", str(length))
        return ours["forward_ms"], ours["backward_ms"], ours["forward_utilisation"], *theirs

    return medians(measure)


def attention_table():
    print("Causal attention alone, 32 sequences, one head of 64: forward + backward in ms, and the ratio "
          "of each.\n")
    heading("length", "softmax: linnet", "of the peak", "PyTorch", "ratio", "linear: linnet", "PyTorch",
            "ratio")
    for length in LENGTHS:
        cells = []
        for kind in "softmax", "linear":
            forward, backward, share, peer_forward, peer_backward = attend(kind, length)
            cells.append(f"{forward:.2f} + {backward:.2f}")
            if kind == "softmax":  # whose backward pass has 2.5 times the products of the forward pass
                cells.append(f"{100 * 3.5 * share * forward / (forward + backward):.0f} %")
            cells += [f"{peer_forward:.2f} + {peer_backward:.2f}",
                      f"{peer_forward / forward:.1f}, {peer_backward / backward:.1f}"]
        row(f"{length:,}", *cells)


def model_for_llama(shape, preset):
    """A file of llama.cpp with a model of one step, on words of random letters: its vocabulary is as
    large as asked for."""
    text, run, file = (os.path.join(FOLDER, preset + end) for end in (".txt", ".run", ".gguf"))
    if not os.path.exists(file):
        draw = random.Random(1)
        with open(text, "w", encoding="utf-8") as out:
            for _ in range(200000):
                out.write("".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=8)) + " ")
        words = shape.replace("--vocab", "--vocab-size").split()
        output(f"{BIN}/train", "--quiet", "--preset", preset, *WIDE_FFN, *words, "--tokens",
               "bpe", "--batch", "1", "--steps", "1", "--run", run, text)
        output(f"{BIN}/export", "--gguf", run, file)
    return file


def decode(shape, preset, batch, position, llama):
    of_both = ["decode", "--preset", preset, *shape.split(), "--batch", str(batch)]

    def measure():
        ours = linnet(*of_both, *WIDE_FFN, "--positions", str(position))["rows"][0]
        peer = [*of_both, "--position", str(position)]
        theirs = [torch(*peer, *how)[0] for how in ([], ["--compile"])]
        if llama:
            file = model_for_llama(shape, preset)
            theirs.append(float(output(sys.executable, f"{HERE}/peer_llama.py", file, str(batch),
                                       str(position))))
        return ours["tokens_per_second"], 100 * ours["of_bandwidth"], *theirs

    return medians(measure)


def decoding_table():
    llama = succeeds(sys.executable, "-c", "import llama_cpp")
    print("Decoding, tokens per second, softmax, single precision, also for keys and values. A share of "
          "the bandwidth counts the weights and the state, read once.\n")
    heading("model", "batch", "position", "linnet", "of the bandwidth", "PyTorch", "`torch.compile`",
            "llama.cpp", "linnet / the fastest")
    for title, shape, preset, ones, sixteens in DECODING:
        for batch, position in [(1, p) for p in ones] + [(16, p) for p in sixteens]:
            ours, share, *theirs = decode(shape, preset, batch, position, llama)
            cells = [f"{x:,.0f}" for x in theirs] + ["-"] * (not llama)
            row(title, str(batch), f"{position:,}", f"{ours:,.0f}", f"{share:.0f} %", *cells,
                f"{ours / max(theirs):.2f}")


TABLES = {"train": training_table, "attention": attention_table, "decode": decoding_table}

if __name__ == "__main__":
    BIN, FOLDER, *chosen = sys.argv[1:]
    version = output(sys.executable, "-c", "import torch; print(torch.__version__)").strip()
    processor = next((line.split(": ")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                      if line.startswith("model name")), platform.machine())
    print(f"{os.cpu_count()} processors of {processor}, PyTorch {version}.")
    for chosen_table in chosen or TABLES:
        print()
        TABLES[chosen_table]()
