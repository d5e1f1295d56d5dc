"""The models that linnet trains, as one writes them in PyTorch: prints the tokens per second of a
training step or of decoding, or the milliseconds of attention alone, forward and backward; peers.py
runs it in turns with linnet. `--preset article` is a GPT-2 block and fused AdamW, without dropout;
`default` has what linnet does where nothing is said: RoPE, QK-norm, squared ReLU, a bias of the
logits, dropout of embeddings and output, and Muon for the matrices of the blocks; `llama` has
RMSNorm, SwiGLU and RoPE, without biases. Attention is flash attention, or causal linear attention in
its chunked form; gradients are clipped."""
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


def rotated(x, first=0):
    """RoPE of (B, H, T, D)."""
    half = x.shape[-1] // 2
    frequencies = 10000 ** (-torch.arange(half) / half)
    angles = torch.outer(torch.arange(first, first + x.shape[2]), frequencies)
    a, b = x[..., :half], x[..., half:]
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


class ReluSquared(nn.Module):
    def forward(self, x):
        return F.relu(x).square()


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.gate, self.value, self.out = (nn.Linear(*sizes, bias=False) for sizes in (
            (dim, hidden), (dim, hidden), (hidden, dim)))

    def forward(self, x):
        return self.out(F.silu(self.gate(x)) * self.value(x))


class Block(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.o, dim, bias = o, o.dim, o.preset != "llama"
        self.drop = nn.Dropout(o.dropout)
        norm = nn.LayerNorm if bias else nn.RMSNorm
        self.norm1, self.norm2 = norm(dim), norm(dim)
        self.qkv = nn.Linear(dim, 3 * dim, bias=bias)
        self.output = nn.Linear(dim, dim, bias=bias)
        if o.preset == "llama":
            self.mlp = SwiGLU(dim, 4 * dim)
        else:
            act = nn.GELU() if o.preset == "article" else ReluSquared()
            self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), act, nn.Linear(4 * dim, dim))
        if o.preset == "default":
            self.gain = nn.Parameter(torch.ones(2, o.heads, 1, 1))

    def heads(self, x, first=0):
        """Queries, keys and values, (B, H, T, D) each."""
        q, k, v = (part.unflatten(2, (self.o.heads, -1)).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).chunk(3, dim=2))
        if self.o.preset == "default":
            q, k = (F.rms_norm(y, y.shape[-1:]) * gain for y, gain in zip((q, k), self.gain))
        if self.o.preset != "article":
            q, k = rotated(q, first), rotated(k, first)
        return q, k, v

    def rest(self, x, mixed):
        x = x + self.drop(self.output(mixed.transpose(1, 2).flatten(2)))
        return x + self.drop(self.mlp(self.norm2(x)))

    def forward(self, x):
        q, k, v = self.heads(x)
        return self.rest(x, attention(self.o.attn, q, k, v.to(q.dtype)))

    def step(self, x, keys, values, position):
        """One token of each sequence, with the keys and values of those before: (B, H, T, D)."""
        q, k, v = self.heads(x, position)
        keys[:, :, position], values[:, :, position] = k[:, :, 0], v[:, :, 0]
        seen = slice(0, position + 1)
        return self.rest(x, F.scaled_dot_product_attention(q, keys[:, :, seen], values[:, :, seen]))


class Model(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.tokens = nn.Embedding(o.vocab, o.dim)
        self.positions = nn.Embedding(o.context, o.dim) if o.preset == "article" else None
        for table in filter(None, [self.tokens, self.positions]):
            nn.init.normal_(table.weight, std=0.02)  # else probabilities are denormal, and slow
        self.blocks = nn.ModuleList(Block(o) for _ in range(o.layers))
        self.norm = nn.RMSNorm(o.dim) if o.preset == "llama" else nn.LayerNorm(o.dim)
        self.bias = nn.Parameter(torch.zeros(o.vocab)) if o.preset == "default" else None
        self.drop_input, self.drop_output = nn.Dropout(o.input_dropout), nn.Dropout(o.output_dropout)

    def embed(self, tokens, first=0):
        x = self.tokens(tokens)
        return x + self.positions.weight[first:first + tokens.shape[1]] if self.positions else x

    def logits(self, x):
        return F.linear(x, self.tokens.weight, self.bias)

    def forward(self, inputs, targets):
        x = self.drop_input(self.embed(inputs))
        for block in self.blocks:
            x = block(x)
        x = self.drop_output(self.norm(x))
        return F.cross_entropy(self.logits(x).flatten(0, 1), targets.flatten())

    def step(self, tokens, cache, position):
        x = self.embed(tokens, position)
        for block, (keys, values) in zip(self.blocks, cache):
            x = block.step(x, keys, values, position)
        return self.logits(self.norm(x))


def optimizers(o, model):
    matrices = [p for p in model.blocks.parameters() if p.ndim == 2 and o.preset == "default"]
    inside = set(map(id, matrices))
    others = [p for p in model.parameters() if id(p) not in inside]
    adamw = torch.optim.AdamW(others, lr=1e-3, betas=(0.9, 0.95), fused=True)
    return [adamw] + ([torch.optim.Muon(matrices, lr=1e-3)] if matrices else [])


def timed(work, repeats, warm):
    """Median seconds, after some repeats that warm up."""
    times = []
    for _ in range(repeats + warm):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times[warm:])


def time_training(o):
    model = Model(o)
    each = optimizers(o, model)
    run = torch.compile(model) if o.compile else model
    inputs, targets = torch.randint(o.vocab, (2, o.batch, o.context))

    def step():
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=o.precision == "bf16"):
            loss = run(inputs, targets)
        model.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in each:
            optimizer.step()

    print(f"{o.batch * o.context / timed(step, o.repeats, 3):.0f}")


@torch.no_grad()
def time_decoding(o):
    """Tokens per second at --position, which may be beyond the context of training."""
    o.context = max(o.context, o.position + 1)
    model = Model(o)
    step = torch.compile(model.step) if o.compile else model.step
    shape = 2, o.batch, o.heads, o.position + 1, o.dim // o.heads
    cache = [torch.randn(shape) for _ in range(o.layers)]
    tokens = torch.randint(o.vocab, (o.batch, 1))
    print(f"{o.batch / timed(lambda: step(tokens, cache, o.position), 20 * o.repeats, 10):.0f}")


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
    parser.add_argument("what", choices=["train", "decode", "attention"])
    parser.add_argument("--preset", choices=["article", "default", "llama"], default="article")
    parser.add_argument("--attn", choices=["softmax", "linear"], default="softmax")
    for name, value in [("layers", 4), ("dim", 256), ("heads", 4), ("context", 128), ("batch", 16),
                        ("vocab", 10000), ("position", 10), ("threads", 0), ("repeats", 10)]:
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--precision", choices=["single", "bf16"], default="single")
    parser.add_argument("--compile", action="store_true")
    o = parser.parse_args()
    o.dropout, o.input_dropout, o.output_dropout = (0, 0.1, 0.1) if o.preset == "default" else (0,) * 3
    if o.threads:
        torch.set_num_threads(o.threads)
    torch.manual_seed(1)
    {"train": time_training, "decode": time_decoding, "attention": time_attention}[o.what](o)


if __name__ == "__main__":
    main()
