"""Trains the recipe of the preset `article` in PyTorch, to compare curves and not speed: prints the
validation loss after every epoch and the test perplexity. The model is that of peer.py. By default
all is as in linnet; `--windows fixed` cuts the text into the same windows in every epoch, in place of
windows from another offset each time, and `--start torch` leaves the matrices as torch makes them.

    peer_recipe.py --attn softmax FOLDER      # with ptb.train.txt, ptb.valid.txt and ptb.test.txt
"""
import argparse
import math
from pathlib import Path

import torch
from torch import nn

from peer import Model

EPOCHS, RATE, FLOOR, WARMUP, DECAY = 10, 1e-3, 0.1, 100, 0.1


def read(folder):
    """The three texts as tensors of word numbers."""
    words, texts = {"<eos>": 0}, []
    for split in "train", "valid", "test":
        lines = (folder / f"ptb.{split}.txt").read_text().splitlines()
        stream = [word for line in lines for word in [*line.split(), "<eos>"]]
        texts.append(torch.tensor([words.setdefault(word, len(words)) for word in stream]))
    return len(words), texts


def start_as_linnet(model, layers):
    """GPT-2's: deviations of 0.02, smaller where branches join the residual stream."""
    for name, tensor in model.named_parameters():
        if tensor.ndim == 2 and "blocks" in name:
            joins = name.endswith(("output.weight", "mlp.2.weight"))
            nn.init.normal_(tensor, std=0.02 / math.sqrt(2 * layers if joins else 1))
        elif "blocks" in name and name.endswith("bias"):
            nn.init.zeros_(tensor)


def windows(text, context, offset):
    """Inputs and targets of all windows of the text as a circle that begins at the offset; targets
    that would come twice are -100."""
    count = -(-len(text) // context)
    places = torch.arange(offset, offset + count * context)
    targets = text[places % len(text)]
    targets[len(text):] = -100
    return (text[(places - 1) % len(text)].view(count, context), targets.view(count, context))


def rate_at(step, steps):
    if step < WARMUP:
        return (step + 1) / WARMUP
    along = (step - WARMUP) / (steps - WARMUP)
    return FLOOR + (1 - FLOOR) * (1 + math.cos(math.pi * along)) / 2


@torch.no_grad()
def loss_of(model, text, context, batch=64):
    model.eval()
    inputs, targets = windows(text, context, 0)
    parts = zip(inputs.split(batch), targets.split(batch))
    total = sum(model(i, t).item() * (t >= 0).sum().item() for i, t in parts)
    model.train()
    return total / len(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--attn", choices=["softmax", "linear"], default="softmax")
    parser.add_argument("--windows", choices=["shifted", "fixed"], default="shifted")
    parser.add_argument("--start", choices=["linnet", "torch"], default="linnet")
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    o.preset, o.layers, o.dim, o.heads, o.context, o.batch = "article", 2, 128, 4, 128, 16
    o.dropout, o.input_dropout, o.output_dropout = 0.1, 0.1, 0
    o.vocab, (train, valid, test) = read(o.folder)
    torch.manual_seed(o.seed)
    model = Model(o)
    if o.start == "linnet":
        start_as_linnet(model, o.layers)
    matrices = [p for p in model.parameters() if p.ndim == 2]
    others = [p for p in model.parameters() if p.ndim != 2]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": DECAY},
                                   {"params": others, "weight_decay": 0}],
                                  lr=RATE, betas=(0.9, 0.95))
    steps = EPOCHS * -(-(-(-len(train) // o.context)) // o.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate_at(step, steps))
    losses, best = [], math.inf
    for _ in range(EPOCHS):
        offset = torch.randint(len(train), ()).item() if o.windows == "shifted" else 0
        inputs, targets = windows(train, o.context, offset)
        for rows in torch.randperm(len(inputs)).split(o.batch):
            loss = model(inputs[rows], targets[rows])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
        losses.append(loss_of(model, valid, o.context))
        print(f"{losses[-1]:.3f}", end=" ", flush=True)
        if losses[-1] < best:
            best = losses[-1]
            kept = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model.load_state_dict(kept)
    print(f"test {math.exp(loss_of(model, test, o.context)):.1f}")


main()
