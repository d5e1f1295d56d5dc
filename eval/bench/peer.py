"""The model that linnet trains, as one writes it in PyTorch: prints the tokens per second of a
training step. A GPT-2 block with flash attention, or causal linear attention in its chunked form,
fused AdamW and gradient clipping; peers.sh runs it in turns with linnet."""
import argparse
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F


def linear_attention(q, k, v, chunk=64):
    """Sums over the earlier chunks as a state, products within a chunk; all (B, H, T, D)."""
    batch, heads, length, dim = q.shape
    chunk = chunk if length % chunk == 0 else length
    q, k, v = (x.reshape(batch, heads, -1, chunk, dim) for x in (F.elu(q) + 1, F.elu(k) + 1, v))
    outer, total = k.transpose(-1, -2) @ v, k.sum(3, keepdim=True)
    state, norm = outer.cumsum(2) - outer, total.cumsum(2) - total
    weights = (q @ k.transpose(-1, -2)).tril()
    denominator = weights.sum(-1, keepdim=True) + (q * norm).sum(-1, keepdim=True)
    return ((weights @ v + q @ state) / denominator).reshape(batch, heads, length, dim)


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
        if self.attention == "linear":
            mixed = linear_attention(q, k, v)
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attn", choices=["softmax", "linear"], default="softmax")
    for name, value in [("layers", 4), ("dim", 256), ("heads", 4), ("context", 128),
                        ("batch", 16), ("vocab", 10000), ("threads", 0), ("repeats", 10)]:
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--precision", choices=["single", "bf16"], default="single")
    parser.add_argument("--compile", action="store_true")
    o = parser.parse_args()
    if o.threads:
        torch.set_num_threads(o.threads)
    torch.manual_seed(1)
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


main()
