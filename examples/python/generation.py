"""Texts from a network that says which token comes next: what gpt2.py and llama.py share."""

import argparse
import pathlib

import weft
import weft.nn.functional as F


def chosen(logits, temperature, top_k):
    """The likeliest token of each row, or one drawn by its probability among the `top_k` likeliest."""
    if temperature == 0:
        return logits.argmax(-1, keepdim=True)
    if top_k is not None:
        least = logits.topk(min(top_k, logits.shape[-1]), -1).values[:, -1:]
        logits = logits.masked_fill(logits < least, float("-inf"))
    return weft.multinomial(F.softmax(logits / temperature, -1), 1)


def go_on(step, ids, size, temperature, top_k):
    """Goes on with each row of ids [n, length] up to `size` tokens. step(ids, first) gives the logits of the last of some tokens, which stand at
    `first` (a tensor of one number) and behind it: all of ids at first, then one at a time. Each step has the same plan."""
    written, new, first = [ids], ids, 0
    while first + new.shape[1] < size:
        logits = step(new, weft.tensor([first]))
        first += new.shape[1]
        new = chosen(logits, temperature, top_k).realize()
        written.append(new)
    return weft.cat(written, 1)


def new_caches(layers, shape):
    """Memory for the keys and values of each layer."""
    return [(weft.zeros(shape).realize(), weft.zeros(shape).realize()) for _ in range(layers)]


def options_of(description, source, start, arguments):
    """The command line: where the weights are, what the text starts with, and how it goes on."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(source, type=pathlib.Path, nargs="?")
    parser.add_argument(start[0], default=start[1])
    parser.add_argument("--length", type=int, default=50)
    parser.add_argument("--temperature", type=float, default=0.8, help="0: the likeliest token each time")
    parser.add_argument("--top-k", type=int, default=40)
    parser.add_argument("--short", action="store_true", help="a small model with weights by chance")
    return parser.parse_args(arguments)


def writes_the_same_without_a_cache(model):
    ids = model.generate(weft.tensor([[1, 2, 3], [4, 5, 6]]), 12)
    apart = model(ids).argmax(-1)[:, 2:-1]  # all at once
    print(ids.tolist())
    return weft.equal(ids[:, 3:], apart)
