"""The model that linnet trains, as one writes it in PyTorch: prints the tokens per second of a
training step, or the milliseconds of attention alone, forward and backward. A GPT-2 block with flash
attention, or causal linear attention in its chunked form, fused AdamW and gradient clipping; peers.sh
runs it in turns with linnet."""
import argparse
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F


def linear_attention(q, k, v, chunk=64):
    """Sums over the earlier chunks as a state, products within a chunk; all (B, H, T, D)."""
    batch, heads, length, dim = q.shape
    q, k = F.elu(q) + 1, F.elu(k) + 1
    if length % chunk:  # padded with zeros, which add nothing
        q, k, v = (F.pad(x, (0, 0, 0, -length % chunk)) for x in (q, k, v))
    q, k, v = (x.reshape(batch, heads, -1, chunk, dim) for x in (q, k, v))
    outer, total = k.transpose(-1, -2) @ v, k.sum(3, keepdim=True)
    state, norm = outer.cumsum(2) - outer, total.cumsum(2) - total
    weights = (q @ k.transpose(-1, -2)).tril()
    denominator = weights.sum(-1, keepdim=True) + (q * norm).sum(-1, keepdim=True)
    mixed = (weights @ v + q @ state) / (denominator + 1e-6)
    return mixed.flatten(2, 3)[:, :, :length]


def attention(kind, q, k, v):
    if kind == "linear":
        return linear_attention(q, k, v)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class Block(nn.Module):
    def __init__(self, dim, heads, attention):
        super().__init__()
        self.heads, self.attention = heads, attention
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.output = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).chunk(3, dim=2))
        mixed = attention(self.attention, q, k, v)
        x = x + self.output(mixed.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.tokens = nn.Embedding(o.vocab, o.dim)
        self.positions = nn.Embedding(o.context, o.dim)
        self.blocks = nn.Sequential(*(Block(o.dim, o.heads, o.attn) for _ in range(o.layers)))
        self.norm = nn.LayerNorm(o.dim)

    def forward(self, inputs, targets):
        x = self.tokens(inputs) + self.positions.weight[:inputs.shape[1]]
        logits = self.norm(self.blocks(x)) @ self.tokens.weight.t()
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def time_training(o):
    model = Model(o)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), fused=True)
    run = torch.compile(model) if o.compile else model
    inputs, targets = torch.randint(o.vocab, (2, o.batch, o.context))
    times = []
    for _ in range(o.repeats + 3):  # the first three warm up
        start = time.perf_counter()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=o.precision == "bf16"):
            loss = run(inputs, targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        times.append(time.perf_counter() - start)
    print(f"{o.batch * o.context / statistics.median(times[3:]):.0f}")


def time_attention(o):
    shape = o.batch, o.heads, o.context, o.dim // o.heads
    q, k, v = (torch.randn(shape, requires_grad=True) for _ in range(3))
    gradient = torch.randn(shape)
    forward, backward = [], []
    for _ in range(o.repeats + 1):  # the first warms up
        start = time.perf_counter()
        mixed = attention(o.attn, q, k, v)
        middle = time.perf_counter()
        mixed.backward(gradient)
        forward.append(middle - start)
        backward.append(time.perf_counter() - middle)
    print(*(f"{1e3 * statistics.median(times[1:]):.4f}" for times in (forward, backward)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attn", choices=["softmax", "linear"], default="softmax")
    for name, value in [("layers", 4), ("dim", 256), ("heads", 4), ("context", 128),
                        ("batch", 16), ("vocab", 10000), ("threads", 0), ("repeats", 10)]:
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--precision", choices=["single", "bf16"], default="single")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--attention-alone", action="store_true")
    o = parser.parse_args()
    if o.threads:
        torch.set_num_threads(o.threads)
    torch.manual_seed(1)
    if o.attention_alone:
        time_attention(o)
    else:
        time_training(o)


main()
