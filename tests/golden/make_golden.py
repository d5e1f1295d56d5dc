"""Computes values.txt with PyTorch: two tiny models implemented a second time.

    python3 tests/golden/make_golden.py >tests/golden/values.txt

It is independent of linnet's code: the equations come from the READMEs and the papers, and PyTorch
computes the derivatives in double precision. Weights and tokens follow a formula that
tests/test_golden.c repeats, so the file does not store them. Each record is a line

    CASE WHAT NAME COUNT

and a line of COUNT numbers: the last logits of each text, the loss (the sum over all tokens),
the gradient of every tensor, every tensor after three steps of AdamW, and the loss after fifty.
The texts are longer than a chunk of linnet's linear attention.
"""

import math

import torch
from torch.nn.functional import cross_entropy, elu, gelu, layer_norm, silu

BATCH, LENGTH, LAYERS, HEADS, WIDTH, INNER, VOCABULARY = 2, 70, 2, 3, 6, 10, 11
STEPS, MORE_STEPS = 3, 47
RATE, BETAS, EPSILON, DECAY, CLIP = 0.01, (0.9, 0.95), 1e-4, 0.1, 0.25

# "usual": pre-norm, GELU, learned positions, tied head; "other": the opposite of each.
CASES = {"softmax": "usual", "linear": "other"}


def shapes(usual):
    """The tensors by name, in the order of the parameter table."""
    yield "wte.weight", (VOCABULARY, WIDTH)
    if usual:
        yield "wpe.weight", (LENGTH, WIDTH)
    for layer in range(LAYERS):
        for part, shape in (
            ("ln_1.weight", (WIDTH,)),
            ("ln_1.bias", (WIDTH,)),
            ("attn.c_attn.weight", (WIDTH, 3 * WIDTH)),
            ("attn.c_attn.bias", (3 * WIDTH,)),
            ("attn.c_proj.weight", (WIDTH, WIDTH)),
            ("attn.c_proj.bias", (WIDTH,)),
            ("ln_2.weight", (WIDTH,)),
            ("ln_2.bias", (WIDTH,)),
            ("mlp.c_fc.weight", (WIDTH, INNER if usual else 2 * INNER)),
            ("mlp.c_fc.bias", (INNER if usual else 2 * INNER,)),
            ("mlp.c_proj.weight", (INNER, WIDTH)),
            ("mlp.c_proj.bias", (WIDTH,)),
        ):
            yield f"h.{layer}.{part}", shape
    if usual:
        yield "ln_f.weight", (WIDTH,)
        yield "ln_f.bias", (WIDTH,)
    else:
        yield "lm_head.weight", (VOCABULARY, WIDTH)
        yield "lm_head.bias", (VOCABULARY,)


def start(row, name, shape):
    """Initial weights: fractions that a float represents exactly."""
    gain = 1 if "ln_" in name and name.endswith("weight") else 0
    values = [
        ((7 * i * i + 37 * i + 23 * row) % 101 - 50) / 128 + gain for i in range(math.prod(shape))
    ]
    return torch.tensor(values, dtype=torch.float64).reshape(shape).requires_grad_()


def tokens():
    rows = torch.arange(BATCH * LENGTH)
    inputs, targets = (7 * rows + 3) % VOCABULARY, (3 * rows * rows + 1) % VOCABULARY
    return inputs.reshape(BATCH, LENGTH), targets


def rotate(x):
    """Rotary position encoding of (batch, heads, time, width), rotating pairs of half features."""
    half = x.shape[-1] // 2
    rates = 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = torch.arange(LENGTH, dtype=torch.float64)[:, None] * rates
    a, b = x[..., :half], x[..., half:]
    return torch.cat(
        (a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), -1
    )


def attention(kind, q, k, v):
    past = torch.ones(LENGTH, LENGTH, dtype=torch.float64).tril()
    if kind == "softmax":
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        return scores.masked_fill(past == 0, -math.inf).softmax(-1) @ v
    q, k = elu(q) + 1, elu(k) + 1
    weights = rotate(q) @ rotate(k).transpose(-1, -2) * past
    total = (q @ k.transpose(-1, -2) * past).sum(-1, keepdim=True)
    return weights @ v / (total + 1e-6)


def mix(kind, w, layer, x):
    def heads(t):
        return t.reshape(BATCH, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2)

    h = f"h.{layer}.attn."
    qkv = x @ w[h + "c_attn.weight"] + w[h + "c_attn.bias"]
    y = attention(kind, *(heads(part) for part in qkv.split(WIDTH, -1)))
    y = y.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH)
    return y @ w[h + "c_proj.weight"] + w[h + "c_proj.bias"]


def feed(usual, w, layer, x):
    h = f"h.{layer}.mlp."
    inner = x @ w[h + "c_fc.weight"] + w[h + "c_fc.bias"]
    if usual:
        inner = gelu(inner, approximate="tanh")
    else:
        gate, up = inner.split(INNER, -1)
        inner = silu(gate) * up
    return inner @ w[h + "c_proj.weight"] + w[h + "c_proj.bias"]


def logits_of(kind, usual, w, inputs):
    def norm(name, x):
        return layer_norm(x, (WIDTH,), w[name + ".weight"], w[name + ".bias"], 1e-5)

    x = w["wte.weight"][inputs]
    if usual:
        x = x + w["wpe.weight"]
    for layer in range(LAYERS):
        first, second = f"h.{layer}.ln_1", f"h.{layer}.ln_2"
        if usual:
            x = x + mix(kind, w, layer, norm(first, x))
            x = x + feed(usual, w, layer, norm(second, x))
        else:
            x = norm(first, x + mix(kind, w, layer, x))
            x = norm(second, x + feed(usual, w, layer, x))
    if usual:
        return norm("ln_f", x) @ w["wte.weight"].T
    return x @ w["lm_head.weight"].T + w["lm_head.bias"]


def tell(case, what, name, values):
    values = values.detach().flatten().tolist()
    print(case, what, name, len(values))
    print(*(f"{value:.13g}" for value in values))


def optimizer(w):
    return torch.optim.AdamW(
        [
            {"params": [p for p in w.values() if p.ndim == 2], "weight_decay": DECAY},
            {"params": [p for p in w.values() if p.ndim == 1], "weight_decay": 0},
        ],
        lr=RATE,
        betas=BETAS,
        eps=EPSILON,
    )


def train(w, adam, steps, loss_of):
    """Steps on the mean loss per token, with gradient clipping."""
    for _ in range(steps):
        adam.zero_grad()
        (loss_of() / (BATCH * LENGTH)).backward()
        length = math.sqrt(sum(float((p.grad**2).sum()) for p in w.values()))
        for p in w.values():
            p.grad *= min(1, CLIP / length)
        adam.step()


def main():
    inputs, targets = tokens()
    for kind, build in CASES.items():
        usual = build == "usual"
        names = enumerate(shapes(usual))
        w = {name: start(row, name, shape) for row, (name, shape) in names}

        def loss_of():
            logits = logits_of(kind, usual, w, inputs)
            return cross_entropy(logits.reshape(-1, VOCABULARY), targets, reduction="sum")

        loss = loss_of()
        loss.backward()
        tell(kind, "logits", "last", logits_of(kind, usual, w, inputs)[:, -1])
        tell(kind, "loss", "all", loss)
        for name, p in w.items():
            tell(kind, "gradient", name, p.grad)
        adam = optimizer(w)
        train(w, adam, STEPS, loss_of)
        for name, p in w.items():
            tell(kind, "trained", name, p)
        train(w, adam, MORE_STEPS, loss_of)
        tell(kind, "loss", "later", loss_of())


main()
