"""A model that linnet trained, in PyTorch: forward only, and written to be read.

    from transformers import AutoModelForCausalLM, AutoTokenizer
    model = AutoModelForCausalLM.from_pretrained(FOLDER, trust_remote_code=True)
    tokenizer = AutoTokenizer.from_pretrained(FOLDER)

Every kind of attention is here as its formula says it: all pairs of positions at once, or a loop
over positions. linnet computes the same in tiles and chunks; losses agree to 1e-4. There is no
cache, so each generated token reads the text again, and no dropout, so training needs a change.

Shapes: B texts, T positions, C features, H heads of D = C / H features. In the formulas, i is the
position of a query and j <= i that of a key. A position never sees a later one. In a batch, texts
are padded on the left to generate, where the tokenizer pads, or on the right.

The settings in config.json, under "linnet", are the options of linnet's train.
"""

import math
from dataclasses import dataclass
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

EPSILON = 1e-5  # of the norms of heads


class LinnetConfig(PretrainedConfig):
    """linnet: the settings. layers: for each layer its kind of attention, which parts it has, and
    how many numbers the kind takes from the layer. endless: texts may exceed the context."""

    model_type = "linnet"

    def __init__(self, linnet=None, layers=(), endless=False, **kwargs):
        self.linnet = linnet or {}
        self.layers = list(layers)
        self.endless = endless
        super().__init__(**kwargs)


# --- attention: what the kinds share ---


@dataclass
class Heads:
    """What a kind of attention needs besides queries, keys and values."""

    settings: dict
    rotates: bool  # with RoPE
    gates: Optional[Tensor]  # (B, H, T, numbers): a linear function of the layer's input
    rates: Optional[Tensor]  # (B, H, T, numbers): and another one
    own: Optional[Tensor]  # (H, numbers): the kind's own parameters
    i: Tensor  # (T, 1) positions of queries
    j: Tensor  # (1, T) and of keys
    index: Tensor  # (H, 1, 1) of the heads

    def rotate(self, x, at=None):
        """RoPE of x (..., T, D): features c and c + D/2 are the coordinates of a point in a plane,
        rotated by an angle proportional to the position. With --rope-share, pairs from the n-th
        on are not."""
        if not self.rotates:
            return x
        half = x.shape[-1] // 2
        n = int(self.settings["rope-share"] * half + 1e-9)
        at = self.j[0] if at is None else at
        pairs = torch.arange(half, dtype=torch.float64, device="cpu")
        speeds = torch.where(pairs < n, self.settings["rope-base"] ** (-pairs / n), 0)
        angles = at.cpu()[:, None] * speeds
        cos, sin = angles.cos().to(x), angles.sin().to(x)
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


def scores(q, k, h, at=None):
    """s_ij = q_i . k_j / sqrt(D), with keys at the positions `at`"""
    return h.rotate(q) @ h.rotate(k, at).mT / math.sqrt(q.shape[-1])


def softmax_over(seen, q, k, v, h):
    """o_i = sum of w_ij v_j, where w_ij = exp(s_ij) / the sum of those, over j that i sees"""
    return scores(q, k, h).masked_fill(~seen, -math.inf).softmax(-1) @ v


def mean(weights, v, rest=0.0):
    """o_i = sum of w_ij v_j / (rest + sum of w_ij), over j <= i"""
    weights = weights.tril()
    return weights @ v / (weights.sum(-1, keepdim=True) + rest)


def unit(x):
    """x / |x|"""
    return x * (x.square().sum(-1, keepdim=True) + 1e-6).rsqrt()


# --- softmax over all or some of the past ---


def softmax(q, k, v, h):
    """w_ij ~ exp(s_ij)"""
    return softmax_over(h.j <= h.i, q, k, v, h)


def softmax1(q, k, v, h):
    """An extra exp(b) in the denominator; b is 0, or a parameter (--sink)."""
    s = scores(q, k, h).masked_fill(h.j > h.i, -math.inf)
    b = s.new_zeros(len(h.index), 1) if h.own is None else h.own
    sink = b[:, :, None].expand(*s.shape[:-1], 1)
    return torch.cat([s, sink], -1).softmax(-1)[..., :-1] @ v


def fox(q, k, v, h):
    """w_ij ~ exp(s_ij) times the forget gates after j, up to i: sigmoid(gate)"""
    c = F.logsigmoid(h.gates).cumsum(2)
    return (scores(q, k, h) + c - c.mT).masked_fill(h.j > h.i, -math.inf).softmax(-1) @ v


def window(q, k, v, h):
    """The last positions only."""
    return softmax_over((h.j <= h.i) & (h.i - h.j < h.settings["window"]), q, k, v, h)


def strided(q, k, v, h):
    """Even heads: the last `period` positions. Odd heads: every period-th position."""
    period = h.settings["period"]
    even, odd = h.i - h.j < period, (h.i - h.j) % period == 0
    return softmax_over((h.j <= h.i) & torch.where(h.index % 2 == 0, even, odd), q, k, v, h)


def fixed(q, k, v, h):
    """Even heads: the own block of `period` positions. Odd heads: itself, and the last `summary`
    positions of each block."""
    period, summary = h.settings["period"], h.settings["summary"]
    even = h.i // period == h.j // period
    odd = (h.i == h.j) | (h.j % period + summary >= period)
    return softmax_over((h.j <= h.i) & torch.where(h.index % 2 == 0, even, odd), q, k, v, h)


def reformer(q, k, v, h):
    """Keys are the normalised queries. The bucket of a position is the nearest of some random
    directions and their opposites to its query. In each round, i sees the last `near` earlier
    positions of its bucket, or itself if there is none; what it sees twice counts twice."""
    half, near = h.settings["buckets"] // 2, h.settings["near"]
    along = q @ h.own.view(len(h.index), -1, q.shape[-1]).mT  # (B, H, T, rounds * half)
    times = 0
    for one_round in along.split(half, -1):
        bucket = torch.cat([one_round, -one_round], -1).argmax(-1)
        same = (bucket[..., :, None] == bucket[..., None, :]) & (h.j < h.i)
        from_the_end = same.flip(-1).cumsum(-1).flip(-1)
        seen = same & (from_the_end <= near)
        alone = ~seen.any(-1, keepdim=True) & (h.j == h.i)
        times = times + (seen | alone).to(q)
    return (scores(q, unit(q), h) + times.log()).softmax(-1) @ v


# --- softmax over the own block, and summaries of earlier ones ---


def near_and_far(q, k, keys, rank, h):
    """The weights of one softmax over the positions of the own block up to i, and over the entries
    of earlier blocks, keys (B, H, blocks * rank, D). An entry stands for length / rank positions;
    RoPE puts it at the end of its block."""
    length = h.settings["segment"]
    own = (h.j <= h.i) & (h.i // length == h.j // length)
    near = scores(q, k, h).masked_fill(~own, -math.inf)
    block = torch.arange(keys.shape[2], device=q.device) // rank
    far = scores(q, keys, h, (block + 1) * length - 1) + math.log(length / rank)
    far = far.masked_fill(block >= h.i // length, -math.inf)
    far, near = torch.cat([far, near], -1).softmax(-1).split([keys.shape[2], k.shape[2]], -1)
    return near, far


def blocks_of(x, h):
    """The whole blocks: (B, H, blocks, length, D)"""
    length = h.settings["segment"]
    blocks = x.shape[2] // length
    return x[:, :, : blocks * length].unflatten(2, (blocks, length))


def compressed(q, k, v, e, f, h):
    """A block of `length` positions counts as r entries, with weighted sums of its keys and values:
    K~ = E K and V~ = F V; E and F are (H, r, length)."""
    keys = (e[:, None] @ blocks_of(k, h)).flatten(2, 3)
    values = (f[:, None] @ blocks_of(v, h)).flatten(2, 3)
    near, far = near_and_far(q, k, keys, e.shape[-2], h)
    return near @ v + far @ values


def linformer(q, k, v, h):
    """E and F are parameters."""
    e, f = h.own.view(len(h.index), 2, h.settings["rank"], h.settings["segment"]).unbind(1)
    return compressed(q, k, v, e, f, h)


def pooled(q, k, v, h):
    """One entry: the mean."""
    length = h.settings["segment"]
    e = q.new_full((1, 1, length), 1 / length)
    return compressed(q, k, v, e, e, h)


def pseudoinverse(a):
    """Of A, whose rows sum to 1, by six steps of an iteration from A^T / its largest column sum."""
    z, one = a.mT / a.sum(-2).amax(-1)[..., None, None], torch.eye(a.shape[-1]).to(a)
    for _ in range(6):
        az = a @ z
        z = z @ (13 * one - az @ (15 * one - az @ (7 * one - az))) / 4
    return z


def nystrom(q, k, v, h):
    """Blocks have landmarks, the means q~ and k~ of their queries and keys. For queries after b
    blocks, the values of these are A^+ F, where A^+ is the pseudoinverse of A, and
    A = softmax of q~_l . k~_m / sqrt(D) over the landmarks m             (b, b)
    F = softmax of q~_l . k_j / sqrt(D) over the b blocks' positions j, times V  (b, D)"""
    length, root = h.settings["segment"], math.sqrt(q.shape[-1])
    q_mean, k_mean = blocks_of(q, h).mean(3), blocks_of(k, h).mean(3)
    near, far = near_and_far(q, k, k_mean, 1, h)
    out = near @ v
    for b in range(1, k_mean.shape[2] + 1):
        past, own = slice(b * length), slice(b * length, (b + 1) * length)
        a = (q_mean[:, :, :b] @ k_mean[:, :, :b].mT / root).softmax(-1)
        f = (q_mean[:, :, :b] @ k[:, :, past].mT / root).softmax(-1) @ v[:, :, past]
        out[:, :, own] += far[:, :, own, :b] @ (pseudoinverse(a) @ f)
    return out


# --- features: w_ij = f(q_i) . f(k_j), which factors sums over the past ---


def mean_by_features(q, k, v, h, rest=0.0):
    """RoPE rotates features above the fraction bar only: rotated ones could sum to 0 below it."""
    sums = (q @ k.mT).tril().sum(-1, keepdim=True) + rest
    return (h.rotate(q) @ h.rotate(k).mT).tril() @ v / sums


def linear(q, k, v, h):
    """f(x) = elu(x) + 1"""
    return mean_by_features(F.elu(q) + 1, F.elu(k) + 1, v, h, rest=1e-6)


def relu(q, k, v, h):
    """f(x) = max(x, 0) + 1/1000"""
    return mean_by_features(q.relu() + 1e-3, k.relu() + 1e-3, v, h)


def sqrelu(q, k, v, h):
    """f(x) = max(x, 0)^2 + 1/1000, with x scaled to mean square 1"""
    q, k = (x.shape[-1] * unit(x).relu().square() + 1e-3 for x in (q, k))
    return mean_by_features(q, k, v, h)


def exponential(q, k, v, h):
    """f(x) = exp(x / D^(1/4)), with exponents clipped to +-15"""
    q, k = ((x / x.shape[-1] ** 0.25).clamp(-15, 15).exp() for x in (q, k))
    return mean_by_features(q, k, v, h)


def softmaxfeat(q, k, v, h):
    """f(x) = softmax(x / D^(1/4)) over the features"""
    q, k = ((x / x.shape[-1] ** 0.25).softmax(-1) for x in (q, k))
    return mean_by_features(q, k, v, h, rest=1e-10)


def efficient(q, k, v, h):
    """For each feature c a softmax of k_jc over the positions j <= i, with the sum z_ic:
    w_ij = sum over c of softmax(q_i)_c exp(k_jc) / z_ic"""
    k = k.clamp(-15, 15).exp()
    return (q.softmax(-1) / k.cumsum(2) @ k.mT).tril() @ v


def taylor(q, k, v, h):
    """w_ij = 1 + tau cos(q_i, k_j): the first two terms of the exponential's series"""
    cosine = h.rotate(unit(q)) @ h.rotate(unit(k)).mT
    return mean(1 + h.settings["tau"] * cosine, v, rest=1e-6)


def shorten(x):
    """x / D^(1/4), of at most length 6"""
    x = x / x.shape[-1] ** 0.25
    return x * (6 / x.norm(dim=-1, keepdim=True)).clamp(max=1)


def taylor2(q, k, v, h):
    """w_ij = 1 + s + s^2 / 2, s = q_i . k_j / sqrt(D): the first three terms"""
    s = shorten(h.rotate(q)) @ shorten(h.rotate(k)).mT
    return mean(1 + s + s * s / 2, v)


def performer(q, k, v, h):
    """One feature for each of some random directions d: f(x) = exp(d . u - |u|^2 / 2), where
    u = x / D^(1/4). On average over d, f(q) f(k) is exp(q . k / sqrt(D))."""
    directions = h.own.view(len(h.index), -1, q.shape[-1])
    q, k = (h.rotate(x) / x.shape[-1] ** 0.25 for x in (q, k))
    log_q, log_k = (u @ directions.mT - u.square().sum(-1, keepdim=True) / 2 for u in (q, k))
    of_q = (log_q - log_q.amax(-1, keepdim=True)).exp()  # the largest cancels in the mean
    return mean(of_q @ (log_k.exp() + 1e-12).mT, v)


def hedgehog(q, k, v, h):
    """Softmax in blocks of 64, relative to the largest score m_i, and f(q_i) . f(k_j) before the
    block, in one mean; f(x) = softmax(W x) and softmax(-W x), with a W for q and one for k"""
    w = h.own.view(len(h.index), 2, q.shape[-1], q.shape[-1]).mT
    own = (h.j <= h.i) & (h.i // 64 == h.j // 64)
    near = scores(q, k, h).masked_fill(~own, -math.inf)
    near = (near - near.amax(-1, keepdim=True)).exp()
    q, k = h.rotate(q) @ w[:, 0], h.rotate(k) @ w[:, 1]
    of_q, of_k = (torch.cat([u.softmax(-1), (-u).softmax(-1)], -1) for u in (q, k))
    return mean(torch.where(own, near, of_q @ of_k.mT), v)


# --- recurrences: a state S (D, D), which each position changes and then reads ---


def recurrence(q, k, v, keep, find=None, erase=None):
    """S_i = a_i S_(i-1) + k_i^T v_i and o_i = q_i S_i; keep is a (.., T, 1), or (.., T, D) for a
    decay of each row. With the delta rule, what the decayed state S' has under `find` is removed
    under `erase`: S_i = S' - erase_i^T (find_i S') + k_i^T v_i."""
    state, out = k.new_zeros(*k.shape[:2], k.shape[-1], v.shape[-1]), []
    for i in range(k.shape[2]):
        at = slice(i, i + 1)
        state = keep[:, :, at].mT * state
        found = 0 if find is None else erase[:, :, at].mT @ (find[:, :, at] @ state)
        state = state + k[:, :, at].mT @ v[:, :, at] - found
        out.append(q[:, :, at] @ state)
    return torch.cat(out, 2)


def fading(q, k, v, keep, h):
    """A decaying sum, of q / sqrt(D) and k."""
    return recurrence(h.rotate(q) / math.sqrt(q.shape[-1]), h.rotate(k), v, keep)


def retention(q, k, v, h):
    """a = 1 - 2^(-5 - index of the head)"""
    keep = 1 - 2.0 ** (-5 - h.index)
    return fading(q, k, v, keep.to(q).expand(*q.shape[:3], 1), h)


def gated(q, k, v, h):
    """a_i = sigmoid(gate)^(1/16)"""
    return fading(q, k, v, h.gates.sigmoid() ** (1 / 16), h)


def gla(q, k, v, h):
    """The same with a gate for each row of the state, which counts as -64 or more."""
    return fading(q, k, v, h.gates.clamp(min=-64).sigmoid() ** (1 / 16), h)


def hgrn2(q, k, v, h):
    """f = l + (1 - l) sigmoid(k) is the decay of each row, and 1 - f the key; l is the sigmoid of a
    parameter, and 0 in the first layer. A decay below exp(-4) counts as that."""
    least = 0 if h.own is None else h.own[:, None].sigmoid()
    f = least + (1 - least) * k.sigmoid()
    keep = f.clamp(min=math.exp(-4))
    return recurrence(F.silu(q) / math.sqrt(q.shape[-1]), 1 - f, v, keep)


def steps(gate, h):
    """Step sizes, and the decays exp(-A step); the first parameter is log A."""
    step = F.softplus(gate)
    return step, (-h.own[:, :1, None].exp() * step).exp()


def mamba2(q, k, v, h):
    """Positions are written by their step size; d v is added to the output."""
    step, keep = steps(h.gates, h)
    return recurrence(h.rotate(q), h.rotate(step * k), v, keep) + h.own[:, 1:, None] * v


def mamba3(q, k, v, h):
    """S_i = a S_(i-1) + l t k_i^T v_i + (1 - l) t a k_(i-1)^T v_(i-1), the sum of two recurrences.
    q and k turn by t pi tanh(gates) from position to position."""
    step, keep = steps(h.gates[..., :1], h)
    share, half = h.gates[..., 1:2].sigmoid(), q.shape[-1] // 2
    angles = (step * math.pi * h.gates[..., 2:].tanh()).cumsum(2)
    cos, sin = angles.cos(), angles.sin()

    def turn(x):
        a, b, rest = x.split([half, half, x.shape[-1] - 2 * half], -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos, rest], -1)

    q, k = turn(h.rotate(q)), turn(h.rotate(k))
    k_before, v_before = (F.pad(x, (0, 0, 1, -1)) for x in (k, v))
    out = recurrence(q, share * step * k, v, keep)
    out = out + recurrence(q, (1 - share) * step * keep * k_before, v_before, keep)
    return out + h.own[:, 1:, None] * v


def rate(gate, h):
    """The rate at which the delta rule writes, or erases."""
    return gate.sigmoid() * (2 if h.settings["negative-eigenvalues"] else 1)


def unit_query(q, h):
    """Of length 1, over sqrt(D)"""
    return unit(h.rotate(q)) / math.sqrt(q.shape[-1])


def delta_rule(q, k, v, keep, b, h):
    """Writes the difference between v and what is stored, at the rate b: k^T b (v - k S'), where k
    has length 1."""
    k = unit(h.rotate(k))
    return recurrence(unit_query(q, h), k, b * v, keep, k, b * k)


def delta(q, k, v, h):
    """Without decay."""
    b = rate(h.gates, h)
    return delta_rule(q, k, v, torch.ones_like(b), b, h)


def gated_delta(q, k, v, h):
    """With the decay of step sizes, softplus(second gate)."""
    return delta_rule(q, k, v, steps(h.gates[..., 1:], h)[1], rate(h.gates[..., :1], h), h)


def comba(q, k, v, h):
    """The lookup is weaker by s = sigmoid(second parameter) and reads the state before its decay:
    s k S_(i-1) = (s / a) k S'. Queries are corrected before they get the length 1: q - d s k, where
    d is the third parameter."""
    s, d = h.own[:, 1:2, None].sigmoid(), h.own[:, 2:, None]
    keep, b = steps(h.gates[..., 1:], h)[1], rate(h.gates[..., :1], h)
    q, k = unit_query(q - d * s * k, h), unit(h.rotate(k))
    return recurrence(q, k, b * v, keep, s / keep * k, b * k)


def deltaproduct(q, k, v, h):
    """Several rows for each position, with keys k and values v (B, H, rows, T, D): only the first
    decays, and the last has the query. Gates are the rates of the rows, then the decay."""
    rows = h.gates.shape[-1] - 1
    if rows == 1:
        k, v = k[:, :, None], v[:, :, None]
    b, gate = h.gates.split([rows, 1], -1)
    keep = F.pad(steps(gate, h)[1], (0, rows - 1), value=1.0).flatten(2)[..., None]
    k, v = (x.transpose(2, 3).flatten(2, 3) for x in (unit(h.rotate(k)), v))
    b = rate(b, h).flatten(2)[..., None]
    q = unit_query(q, h).repeat_interleave(rows, 2)
    return recurrence(q, k, b * v, keep, k, b * k)[:, :, rows - 1 :: rows]


def kda(q, k, v, h):
    """The delta rule with a decay of each row, which is at least exp(-4)."""
    keep = steps(h.gates, h)[1].clamp(min=math.exp(-4))
    return delta_rule(q, k, v, keep, rate(h.rates, h), h)


def gdn2(q, k, v, h):
    """With a rate b of erasing for each feature of the key, and w of writing for each of the value:
    S_i = S' + k^T (w v - (b k) S')"""
    b, w = h.rates.split([k.shape[-1], v.shape[-1]], -1)
    keep, k = steps(h.gates, h)[1].clamp(min=math.exp(-4)), unit(h.rotate(k))
    return recurrence(unit_query(q, h), k, w.sigmoid() * v, keep, rate(b, h) * k, k)


def rwkv7(q, k, v, h):
    """The lookup reads the state before its decay: m is k times parameters, of length 1, and
    S_i = w S_(i-1) - (a m)^T (m S_(i-1)) + (k (1 + (a - 1) c))^T v"""
    w, a = h.gates.sigmoid(), h.rates.sigmoid()
    of_m, c, _ = h.own[:, None].chunk(3, -1)
    keep, k = (-w / math.sqrt(math.e)).exp(), h.rotate(k)
    m = unit(k * of_m)
    return recurrence(h.rotate(q), k * (1 + (a - 1) * c), v, keep, m / keep, a * m)


def rwkv7_bonus(q, k, v, h):
    """What a position reads of its own pair, with weights p of features: (q . p (k (1 + (a - 1) c))) v"""
    _, c, p = h.own[:, None].chunk(3, -1)
    written = h.rotate(k) * (1 + (h.rates.sigmoid() - 1) * c)
    return (h.rotate(q) * p * written).sum(-1, keepdim=True) * v


KINDS = {
    "softmax": softmax,
    "softmax1": softmax1,
    "fox": fox,
    "window": window,
    "strided": strided,
    "fixed": fixed,
    "reformer": reformer,
    "linformer": linformer,
    "pooled": pooled,
    "nystrom": nystrom,
    "linear": linear,
    "relu": relu,
    "sqrelu": sqrelu,
    "exp": exponential,
    "softmaxfeat": softmaxfeat,
    "efficient": efficient,
    "taylor": taylor,
    "taylor2": taylor2,
    "performer": performer,
    "hedgehog": hedgehog,
    "retention": retention,
    "gated": gated,
    "mamba2": mamba2,
    "mamba3": mamba3,
    "gla": gla,
    "hgrn2": hgrn2,
    "delta": delta,
    "gated-delta": gated_delta,
    "comba": comba,
    "deltaproduct": deltaproduct,
    "kda": kda,
    "gdn2": gdn2,
    "rwkv7": rwkv7,
}

# Outputs of kinds that are added behind the norm.
BONUSES = {"rwkv7": rwkv7_bonus}


# --- layers ---


def parameter(*shape):
    """Filled from model.safetensors."""
    return nn.Parameter(torch.zeros(*shape))


class Linear(nn.Module):
    """y = x W + b, W (inputs, outputs); or without b"""

    def __init__(self, inputs, outputs, bias=True):
        super().__init__()
        self.weight = parameter(inputs, outputs)
        self.bias = parameter(outputs) if bias else None

    def forward(self, x):
        y = x @ self.weight
        return y if self.bias is None else y + self.bias


class Norm(nn.Module):
    """LayerNorm: (x - mean) / sqrt(variance + epsilon) gain + bias, over the features; or RMSNorm:
    x / sqrt(mean square + epsilon) gain"""

    def __init__(self, config):
        super().__init__()
        width, settings = config.hidden_size, config.linnet
        self.epsilon, self.rms = settings["norm-eps"], settings["rms-norm"]
        self.weight = parameter(width)
        self.bias = parameter(width) if settings["bias"] and not self.rms else None

    def forward(self, x):
        if self.rms:
            return rms_norm(x, self.epsilon) * self.weight
        return F.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.epsilon)


class Weight(nn.Module):
    """A tensor with a name of its own; what it does stands where it is used."""

    def __init__(self, *shape):
        super().__init__()
        self.weight = parameter(*shape)


def wide(x):
    """Attention is computed in float32 at least: decays near 1 and large exponents need it."""
    return x if x is None else x.to(torch.promote_types(x.dtype, torch.float32))


def rms_norm(x, epsilon=EPSILON):
    """x / sqrt(mean square + epsilon)"""
    return x * (x.square().mean(-1, keepdim=True) + epsilon).rsqrt()


class Convolution(nn.Module):
    """A causal convolution of each feature: h_t = sum of w_n x_(t - 3 + n) + b, alone (plain), with
    SiLU behind it, or in a sum with x (residual)"""

    def __init__(self, features, form, biased):
        super().__init__()
        self.weight, self.form = parameter(4, features), form
        self.bias = parameter(features) if biased else None

    def forward(self, x):
        count, length = len(self.weight), x.shape[1]
        before = F.pad(x, (0, 0, count - 1, 0))
        h = sum(self.weight[n] * before[:, n : n + length] for n in range(count))
        h = h if self.bias is None else h + self.bias
        return {"plain": h, "silu": F.silu(h), "residual": x + h}[self.form]


def low_rank(inputs, rank, outputs, bias=True):
    """Two linear layers in a row, or one without a rank; no layers without outputs."""
    if not outputs:
        return None, None
    return Linear(inputs, rank, False) if rank else None, Linear(rank or inputs, outputs, bias)


class Attention(nn.Module):
    """Everything around the kind, and the kind. What a model does not have is None."""

    def __init__(self, config, index):
        super().__init__()
        width, heads = config.hidden_size, config.num_attention_heads
        layer, self.settings, self.heads = config.layers[index], config.linnet, heads
        self.layer, own, bias = layer, layer["own"], self.settings["bias"]
        self.key_heads = layer["key-heads"]
        keys, values = self.key_heads * layer["key-width"], heads * layer["value-width"]
        self.copies = layer["copies"]
        self.widths = [keys, self.copies * keys, self.copies * values]
        self.kind = KINDS[layer["attn"]]
        self.c_attn, self.c_proj = Linear(width, sum(self.widths), bias), Linear(values, width, bias)
        convolution = Convolution(sum(self.widths), layer["conv"], layer["conv-bias"])
        self.conv = convolution if layer["conv"] != "no" else None
        self.gate_in, self.gate = low_rank(width, layer["gate-rank"], layer["gates"] * heads)
        self.rate_in, self.rate = low_rank(width, layer["rate-rank"], layer["rates"] * heads)
        self.own = parameter(heads, own) if own else None
        self.norm = Weight(values) if layer["head-norm"] else None
        if self.norm and layer["group-norm"]:
            self.norm.bias = parameter(values)
        self.qk_norm = Weight(2 * self.key_heads) if layer["qk-norm"] else None
        self.mix_gate_in, self.mix_gate = low_rank(
            width, layer["mix-gate-rank"], layer["mix-gates"] * heads
        )
        self.value_mix = parameter(1) if layer["value-mix"] else None
        shares = 6 if layer["out-gate"] != "no" else 5
        self.token_shift = parameter(shares, width) if layer["token-shift"] else None
        outputs = values if layer["out-gate"] != "no" else 0
        self.out_gate_in, self.out_gate = low_rank(
            width, layer["out-gate-rank"], outputs, layer["out-gate-bias"]
        )
        self.channels = min(12, width)
        self.head_gate = Weight(self.channels, heads) if self.settings["head-gate"] else None

    def split(self, x, heads=None):
        """(B, T, H n) to (B, H, T, n); or (B, T, n) if all heads share them"""
        x = x.unflatten(-1, (heads or self.heads, -1)).transpose(1, 2)
        return x.expand(-1, self.heads, -1, -1)

    def split_copies(self, x, heads=None):
        """(B, T, n H D) to (B, H, n, T, D); without n if that is 1"""
        if self.copies == 1:
            return self.split(x, heads)
        return x.unflatten(-1, (self.copies, self.heads, -1)).permute(0, 3, 2, 1, 4)

    def inputs(self, u):
        """What queries, keys, values, gates, rates and output gate are computed from: u, or with a
        token shift their mixes of u and the u before."""
        if self.token_shift is None:
            return [u] * 6
        before = F.pad(u, (0, 0, 1, 0))[:, :-1]
        return [u + share * (before - u) for share in self.token_shift] + [u]

    def project(self, inputs):
        """Queries, keys and values side by side."""
        if self.token_shift is None:
            return self.c_attn(inputs[0])
        return torch.cat([self.c_attn(x).split(self.widths, -1)[i] for i, x in enumerate(inputs[:3])], -1)

    def gate_of_output(self, u):
        """f(z), 1 without a gate; a plain gate has its sigmoid in front of the second layer."""
        if self.out_gate is None:
            return 1
        low = u if self.out_gate_in is None else self.out_gate_in(u)
        if self.layer["out-gate"] == "plain":
            return self.out_gate(low.sigmoid())
        return {"sigmoid": torch.sigmoid, "silu": F.silu}[self.layer["out-gate"]](self.out_gate(low))

    def gates(self, u, u_rates):
        """The gates, and the rates."""
        low = u if self.gate_in is None else self.gate_in(u)
        gates = self.gate and self.split(self.gate(low.tanh() if self.layer["gate-tanh"] else low))
        low = u_rates if self.rate_in is None else self.rate_in(u_rates)
        return wide(gates), wide(self.rate and self.split(self.rate(low)))

    def norm_and_gate(self, y, bonus, gate):
        """Of heads y (B, T, H, D), as (B, T, H D): a norm of each, or of all together, and the output
        gate, behind the norm or before it."""
        if self.norm is None:
            return (y.flatten(2) + bonus) * gate
        if self.layer["group-norm"]:
            n = F.layer_norm(y, y.shape[-1:], eps=EPSILON * y.shape[-1]).flatten(2)
            return (n * self.norm.weight + self.norm.bias + bonus) * gate
        if not self.layer["norms-all-heads"]:
            return (rms_norm(y).flatten(2) * self.norm.weight + bonus) * gate
        if self.layer["gates-first"]:
            return rms_norm(y.flatten(2) * gate) * self.norm.weight
        return rms_norm(y.flatten(2)) * self.norm.weight * gate

    def around(self, u, u_rates):
        positions = torch.arange(u.shape[1], device=u.device)
        gates, rates = self.gates(u, u_rates)
        return Heads(
            settings=self.settings,
            rotates=self.layer["rotates"],
            gates=gates,
            rates=rates,
            own=wide(self.own),
            i=positions[:, None],
            j=positions[None, :],
            index=torch.arange(self.heads, device=u.device)[:, None, None],
        )

    def forward(self, u, first_v):
        """Returns the output, and the values of the first layer."""
        inputs = self.inputs(u)
        qkv = self.project(inputs)
        if self.conv is not None:
            qkv = self.conv(qkv)
        q, k, v = qkv.split(self.widths, -1)
        q, k = self.split(q, self.key_heads), self.split_copies(k, self.key_heads)
        v = self.split_copies(v)
        last = v if self.copies == 1 else v[:, :, -1]
        first_v = last if first_v is None else first_v
        if self.value_mix is not None:
            last = (1 - self.value_mix) * last + self.value_mix * first_v
            v = last if self.copies == 1 else torch.cat([v[:, :, :-1], last[:, :, None]], 2)
        if self.mix_gate is not None:
            share = self.split(self.mix_gate(self.mix_gate_in(inputs[2]))).sigmoid()
            v = v + share * (first_v - v)
        if self.qk_norm is not None:
            q_gain, k_gain = self.qk_norm.weight.view(2, self.key_heads, 1, 1)
            q, k = q_gain * rms_norm(q), k_gain * rms_norm(k)
        of_kind = (*(wide(x) for x in (q, k, v)), self.around(*inputs[3:5]))
        y, bonus = self.kind(*of_kind).to(u).transpose(1, 2), 0
        if self.layer["bonus"]:
            bonus = BONUSES[self.layer["attn"]](*of_kind).to(u).transpose(1, 2).flatten(2)
        y = self.norm_and_gate(y, bonus, self.gate_of_output(inputs[5]))
        if self.head_gate is not None:
            factors = 2 * (u[..., : self.channels] @ self.head_gate.weight).sigmoid()
            y = (y.unflatten(-1, (self.heads, -1)) * factors[..., None]).flatten(2)
        return self.c_proj(y), first_v


def swiglu(x):
    a, b = x.chunk(2, -1)
    return F.silu(a) * b


ACTIVATIONS = {
    "gelu": lambda x: F.gelu(x, approximate="tanh"),
    "gelu-erf": F.gelu,
    "relu": F.relu,
    "relu2": lambda x: F.relu(x).square(),
    "swiglu": swiglu,
}


class MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, hidden, settings = config.hidden_size, config.intermediate_size, config.linnet
        self.activation, bias = ACTIVATIONS[settings["act"]], settings["bias"]
        self.c_fc = Linear(width, hidden * (2 if settings["act"] == "swiglu" else 1), bias)
        self.c_proj = Linear(hidden, width, bias)

    def forward(self, u):
        return self.c_proj(self.activation(self.c_fc(u)))


class Block(nn.Module):
    """pre-norm: x + sublayer(norm(x)), where with --parallel both sublayers read the same x.
    post-norm: norm(x + sublayer(x))."""

    def __init__(self, config, index):
        super().__init__()
        self.pre, self.parallel = config.linnet["norm"] == "pre", config.linnet["parallel"]
        self.ln_1, self.ln_2 = Norm(config), Norm(config)
        self.attn, self.mlp = Attention(config, index), MLP(config)

    def forward(self, x, first_v):
        y, first_v = self.attn(self.ln_1(x) if self.pre else x, first_v)
        if self.pre:
            y = x + y
            return y + self.mlp(self.ln_2(x if self.parallel else y)), first_v
        y = self.ln_1(x + y)
        return self.ln_2(y + self.mlp(y)), first_v


# --- the model ---


def sinusoids(length, width):
    """sin and cos, in turns, of the position times 10000^(-2c / C)"""
    features = torch.arange(width, device="cpu")
    angles = torch.arange(length, device="cpu")[:, None] * 10000.0 ** (-(features // 2 * 2).double() / width)
    return torch.where(features % 2 == 0, angles.sin(), angles.cos())


def ngram_slots(ids, order, rows):
    """The rows of the table for the last 2 .. order tokens, and whether there are so many.
    Products wrap at 2^64, of which the lowest 32 bits are right."""
    h = torch.zeros_like(ids)
    for n in range(order):
        before = F.pad(ids % 0xFFFFFF + 1, (n, 0))[:, : ids.shape[1]]
        h = ((h ^ before) * 0x9E3779B1) & 0xFFFFFFFF
        h = h ^ (h >> 15)
        if n > 0:
            yield h % rows, before > 0


class Transformer(nn.Module):
    """Tokens to features; the names of the tensors are GPT-2's."""

    def __init__(self, config):
        super().__init__()
        width, self.positions = config.hidden_size, config.linnet["pos"]
        self.wte = nn.Embedding(config.vocab_size, width)
        learned = self.positions == "learned"
        self.wpe = Weight(config.max_position_embeddings, width) if learned else None
        self.order, rows = config.linnet["ngrams"], config.linnet["ngram-rows"]
        self.ngrams = nn.Embedding(rows, width) if self.order > 1 else None
        self.h = nn.ModuleList(Block(config, index) for index in range(config.num_hidden_layers))
        self.ln_f = Norm(config) if config.linnet["norm"] == "pre" else None

    def forward(self, ids):
        x, length, first_v = self.wte(ids), ids.shape[1], None
        if self.wpe is not None:
            if length > (end := len(self.wpe.weight)):
                raise ValueError(f"{length} tokens, but the learned positions end at {end}")
            x = x + self.wpe.weight[:length]
        elif self.positions == "sinusoidal":
            x = x + sinusoids(length, x.shape[-1]).to(x)
        if self.ngrams is not None:
            for slots, known in ngram_slots(ids, self.order, len(self.ngrams.weight)):
                x = x + self.ngrams(slots) * known[..., None]
        for block in self.h:
            x, first_v = block(x, first_v)
        return x if self.ln_f is None else self.ln_f(x)


class Head(nn.Module):
    """logits = W x + b. Tied models take W from the embedding; b is optional."""

    def __init__(self, config):
        super().__init__()
        tied, biased = config.linnet["tied"], config.linnet["head-bias"] != "no"
        self.weight = None if tied else parameter(config.vocab_size, config.hidden_size)
        self.bias = parameter(config.vocab_size) if biased else None
        self.cap = config.linnet["logit-cap"]

    def forward(self, x, embedding):
        logits = F.linear(x, embedding if self.weight is None else self.weight, self.bias)
        return self.cap * torch.tanh(logits / self.cap) if self.cap else logits


class LinnetForCausalLM(PreTrainedModel, GenerationMixin):
    config_class = LinnetConfig
    base_model_prefix = "transformer"
    accepts_loss_kwargs = False  # the loss is a mean: Trainer divides it by accumulation steps

    def __init__(self, config):
        super().__init__(config)
        self.transformer, self.lm_head = Transformer(config), Head(config)
        self.post_init()

    def _init_weights(self, module):
        """All weights come from a file."""

    def get_input_embeddings(self):
        return self.transformer.wte

    def get_output_embeddings(self):
        """None, so that transformers leaves tied weights to Head."""

    def read(self, ids, mask):
        """Logits. Texts with padding on the left are read without it, those of one length together,
        so that each begins at position 0."""
        before, logits = (mask.cumsum(-1) == 0).sum(-1), None
        if (mask.sum(-1) == 0).any():
            raise ValueError("a text of the batch has no tokens; give it the bos token")
        if ((mask.diff(dim=-1) > 0).sum(-1) > (before > 0)).any():
            raise ValueError("padding between tokens; generate needs padding_side='left'")
        for n in before.unique().tolist():
            x = self.transformer(ids[before == n, n:])
            part = self.lm_head(x, self.transformer.wte.weight)
            logits = part.new_zeros(*ids.shape, part.shape[-1]) if logits is None else logits
            logits[before == n, n:] = part
        return logits

    def forward(self, input_ids, attention_mask=None, labels=None, return_dict=None, **_):
        """labels are the ids themselves, -100 where the loss leaves a token out."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask.long()
        logits, loss = self.read(input_ids, mask), None
        if labels is not None:
            targets = labels[:, 1:].masked_fill(mask[:, :-1] == 0, -100)
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten())
        output = CausalLMOutput(loss=loss, logits=logits)
        return output.to_tuple() if return_dict is False else output

    def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **_):
        """Of a text longer than the context, a model reads the end, unless it is endless: as linnet
        does, it forgets all but half a context whenever the context is full."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask.long()
        if not self.config.endless:
            context = self.config.max_position_embeddings
            forgotten = context - context // 2
            excess = (mask.sum(-1, keepdim=True) - context).clamp(min=0)
            start = -(-excess // forgotten) * forgotten
            mask = mask * (mask.cumsum(-1) > start)
        first = mask.any(0).long().argmax()
        return {"input_ids": input_ids[:, first:], "attention_mask": mask[:, first:]}
