"""Compares attention kinds with the operators of flash-linear-attention (fla-core), which carry the
same names: check_kinds.py DIRECTORY. The directory has the cases of interop-cases, in which linnet
computed the outputs in double precision; the operators compute in single precision, position by
position. Each comparison is then repeated with inputs that are a little wrong, which it must notice.
"""

import sys
import warnings
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors import safe_open

warnings.filterwarnings("ignore")

from fla.ops.attn.naive import naive_parallel_attn  # noqa: E402
from fla.ops.based.naive import naive_parallel_based  # noqa: E402
from fla.ops.comba.naive import naive_chunk_comba  # noqa: E402
from fla.ops.forgetting_attn.naive import naive_forgetting_attn  # noqa: E402
from fla.ops.gated_delta_product.naive import naive_recurrent_gated_delta_product  # noqa: E402
from fla.ops.gated_delta_rule.naive import naive_recurrent_gated_delta_rule  # noqa: E402
from fla.ops.gdn2.naive import naive_recurrent_gdn2  # noqa: E402
from fla.ops.generalized_delta_rule.dplr.naive import dplr_recurrence  # noqa: E402
from fla.ops.gla.naive import naive_recurrent_gla  # noqa: E402
from fla.ops.kda.naive import naive_recurrent_kda  # noqa: E402
from fla.ops.simple_gla.naive import naive_recurrent_simple_gla  # noqa: E402

# Of the largest output: rounding in single precision, after up to 131 positions.
TOLERANCE = 1e-5


def unit(x):
    """As the operators' layers norm queries and keys."""
    return x * (x.square().sum(-1, keepdim=True) + 1e-6).rsqrt()


def heads(x):
    """(T, D) to (1, T, 1, D)"""
    return x[None, :, None]


def step_decay(c, gate):
    """The log decays of step sizes."""
    return -c["params"][0, 0].exp() * F.softplus(gate)


def state(c, width):
    """(1, 1, D, Dv), or None. linnet's state has more behind these, for some kinds."""
    if "state" not in c:
        return None
    values = c["v"].shape[-1]
    return c["state"][0, : width * values].view(1, 1, width, values)


def rate(c, gate):
    return gate.sigmoid() * (2 if c["negative-eigenvalues"] == "yes" else 1)


# --- the kinds, each by the operator of its name ---


def softmax(c):
    return naive_parallel_attn(heads(c["q"]), heads(c["k"]), heads(c["v"]))[0]


def window(c):
    return naive_parallel_attn(
        heads(c["q"]), heads(c["k"]), heads(c["v"]), window_size=int(c["window"])
    )[0]


def fox(c):
    g = F.logsigmoid(c["gates"])[None]
    return naive_forgetting_attn(heads(c["q"]), heads(c["k"]), heads(c["v"]), g)


def taylor2(c):
    q, k, v = (c[name][None, None] for name in "qkv")
    return naive_parallel_based(q, k, v)


def fading(c, k, g):
    out = naive_recurrent_simple_gla(
        heads(c["q"]), heads(k), heads(c["v"]), g[None], initial_state=state(c, k.shape[-1])
    )
    return out[0]


def retention(c):
    keep = 1 - 2.0 ** (-5 - int(c["index"]))
    return fading(c, c["k"], torch.full_like(c["q"][:, :1], keep).log())


def gated(c):
    return fading(c, c["k"], F.logsigmoid(c["gates"]) / 16)


def mamba2(c):
    """The state-space dual: keys are multiplied by step sizes; D v is added."""
    out = fading(c, F.softplus(c["gates"]) * c["k"], step_decay(c, c["gates"]))
    out = out * c["q"].shape[-1] ** 0.5
    return out + c["params"][0, 1] * heads(c["v"])


def by_features(c, q, k, g):
    out = naive_recurrent_gla(
        heads(q), heads(k), heads(c["v"]), heads(g), initial_state=state(c, k.shape[-1])
    )
    return out[0]


def gla(c):
    return by_features(c, c["q"], c["k"], F.logsigmoid(c["gates"]) / 16)


def hgrn2(c):
    """Cases are of the first of two layers, whose lower bound is 0, or of the second."""
    least = c["params"].sigmoid() if "params" in c else 0
    f = least + (1 - least) * c["k"].sigmoid()
    return by_features(c, F.silu(c["q"]), 1 - f, f.log().clamp(min=-4))


def delta_rule(c, q, beta, g):
    k = unit(c["k"])
    out = naive_recurrent_gated_delta_rule(
        heads(unit(q)),
        heads(k),
        heads(c["v"]),
        beta[None],
        g[None],
        initial_state=state(c, k.shape[-1]),
    )
    return out[0]


def delta(c):
    beta = rate(c, c["gates"])
    return delta_rule(c, c["q"], beta, torch.zeros_like(beta))


def gated_delta(c):
    return delta_rule(c, c["q"], rate(c, c["gates"][:, :1]), step_decay(c, c["gates"][:, 1:]))


def comba(c):
    """The chunked operator, which looks up before the decay, as the authors' kernels do; the recurrent
    one looks up behind it."""
    s, d = c["params"][0, 1].sigmoid(), c["params"][0, 2]
    k = unit(c["k"])
    return naive_chunk_comba(
        heads(unit(c["q"] - d * s * c["k"])),
        heads(k),
        heads(c["v"]),
        heads(s * k),
        step_decay(c, c["gates"][:, 1:])[None],
        rate(c, c["gates"][:, :1])[None],
        initial_state=state(c, k.shape[-1]),
    )[0]


def deltaproduct(c):
    steps, width = int(c["steps"]), c["k"].shape[-1]
    names = [str(j) if j > 1 else "" for j in range(1, steps + 1)]
    k = torch.stack([unit(c["k" + name]) for name in names], 1).flatten(0, 1)
    v = torch.stack([c["v" + name] for name in names], 1).flatten(0, 1)
    return naive_recurrent_gated_delta_product(
        heads(unit(c["q"])),
        heads(k),
        heads(v),
        step_decay(c, c["gates"][:, steps:])[None],
        rate(c, c["gates"][:, :steps]).flatten()[None, :, None],
        width**-0.5,
        initial_state=state(c, width),
        num_householder=steps,
    )[0]


def kda(c):
    k = unit(c["k"])
    return naive_recurrent_kda(
        heads(unit(c["q"])),
        heads(k),
        heads(c["v"]),
        heads(step_decay(c, c["gates"]).clamp(min=-4)),
        rate(c, c["rates"])[None],
        initial_state=state(c, k.shape[-1]),
    )[0]


def gdn2(c):
    k = unit(c["k"])
    b, w = c["rates"].split([k.shape[-1], c["v"].shape[-1]], -1)
    return naive_recurrent_gdn2(
        heads(unit(c["q"])),
        heads(k),
        heads(c["v"]),
        heads(step_decay(c, c["gates"]).clamp(min=-4)),
        heads(rate(c, b)),
        heads(w.sigmoid()),
        initial_state=state(c, k.shape[-1]),
    )[0]


def rwkv7(c):
    m, e, _ = c["params"].chunk(3, -1)
    a, k = c["rates"].sigmoid(), c["k"]
    h = unit(k * m)
    rows = (c["q"] * k.shape[-1] ** 0.5, k * (1 + (a - 1) * e), c["v"], -h, h * a)
    q, k, v, alpha, beta = (x[None, None] for x in rows)
    g = -0.6065306597126334 * c["gates"].sigmoid()
    start = state(c, k.shape[-1])
    return dplr_recurrence(q, k, v, alpha, beta, g[None, None], initial_state=start)[0]


KINDS = {
    "softmax": softmax,
    "window": window,
    "fox": fox,
    "taylor2": taylor2,
    "retention": retention,
    "gated": gated,
    "mamba2": mamba2,
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

# Operators that continue from no state.
WITHOUT_STATE = ("window", "taylor2")

# --- comparing ---


def read(path):
    with safe_open(path, "pt") as file:
        return {**file.metadata(), **{name: file.get_tensor(name).float() for name in file.keys()}}


def distance(kind, case):
    """Of the outputs, as a share of the largest."""
    out = KINDS[kind](case).reshape(case["out"].shape)
    return ((out - case["out"]).abs().max() / case["out"].abs().max()).item()


def mutations(case):
    """The case with one input that is a little wrong."""
    if "gates" in case:
        yield "a gate off by 0.05", {**case, "gates": case["gates"] + 0.05}
    if "rates" in case:
        yield "a rate off by 0.05", {**case, "rates": case["rates"] + 0.05}
    yield "a reversed key", {**case, "k": case["k"].flip(-1)}
    yield "late values", {**case, "v": case["v"].roll(1, 0)}


def main():
    good = bad = 0
    for path in sorted(Path(sys.argv[1]).glob("*.safetensors")):
        kind = path.name.rsplit("-", 1)[0]
        if kind not in KINDS:
            continue
        case = read(path)
        if kind in WITHOUT_STATE and "state" in case:
            continue
        found = distance(kind, case)
        worst[kind] = max(worst.get(kind, 0), found)
        if found > TOLERANCE:
            print(f"failed: {path.name}: {found:.1e} of the largest output")
            bad += 1
        good += found <= TOLERANCE
        if len(case["q"]) < 2 or case["strong"] == "yes":
            continue  # what is forgotten at once shows little
        for what, mutated in mutations(case):
            noticed = distance(kind, mutated) > 10 * TOLERANCE
            if not noticed:
                print(f"failed: {path.name}: {what} is not noticed")
                bad += 1
            good += noticed
    for kind, found in worst.items():
        print(f"{kind}: at most {found:.1e} of the largest output")
    print(f"{good} passed, {bad} failed")
    sys.exit(bad > 0)


worst = {}
main()
