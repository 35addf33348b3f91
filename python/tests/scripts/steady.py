"""Numbers that are the same in every framework, for the scripts beside this file: no random generator is asked."""

import torch


def noise(*shape, seed=0):
    """Numbers in [-1, 1] without a pattern: the sines of squares."""
    count = torch.arange(torch.Size(shape).numel(), dtype=torch.float64)
    return torch.sin((count + 1000 * seed + 1) ** 2).reshape(shape).float()


@torch.no_grad()
def start(model):
    """Starts matrices with numbers that shrink with their number of inputs. Vectors stay: a bias of 0, the 1 of a norm."""
    for seed, parameter in enumerate(model.parameters()):
        if parameter.dim() > 1:
            parameter.copy_(noise(*parameter.shape, seed=seed) * (3 / parameter[0].numel()) ** 0.5)
        elif parameter.min() != 1:
            parameter.zero_()
    return model
