"""Learns by reward alone which of ten arms pays best: REINFORCE with a baseline, on many bandits at once.

    python examples/python/bandit.py [--steps 1000] [--short]

The policy is a softmax over ten numbers per bandit. Arms are drawn with Gumbel's trick: argmax(logits + noise) has the softmax's
probabilities. A step is traced with weft.jit: it draws, pays, and learns in a few kernels.
"""

import argparse

import weft
import weft.nn.functional as F


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--bandits", type=int, default=500)
    parser.add_argument("--short", action="store_true", help="300 steps on 200 bandits")
    options = parser.parse_args(arguments)
    steps, bandits = (300, 200) if options.short else (options.steps, options.bandits)

    weft.manual_seed(0)
    worth = weft.randn(bandits, 10).realize()  # the mean reward of each arm: what is to be found out
    best = worth.argmax(1).realize()
    logits = weft.zeros(bandits, 10, requires_grad=True)
    baseline = weft.zeros(bandits)
    optimizer = weft.optim.SGD([logits], lr=0.2)

    @weft.jit
    def step():
        gumbel = -(-weft.rand(bandits, 10).clamp(min=1e-7).log()).log()
        arm = (logits.detach() + gumbel).argmax(1, keepdim=True)
        reward = (worth.gather(1, arm) + weft.randn(bandits, 1)).squeeze(1)
        advantage = reward - baseline
        baseline.copy_(baseline + 0.05 * advantage)
        optimizer.zero_grad()
        loss = -(F.log_softmax(logits, 1).gather(1, arm).squeeze(1) * advantage).sum()
        loss.backward()
        optimizer.step()
        return reward.mean(), (arm.squeeze(1) == best).float().mean()

    print("  step   reward   best arm chosen")
    for i in range(1, steps + 1):
        reward, chosen = step()
        if i in (1, 10, 100, 300) or i == steps:
            print(f"{i:6} {reward.item():8.3f} {chosen.item():14.0%}", flush=True)
    print(f"the most that can be had: {worth.max(1).values.mean().item():.3f}")
    share = (logits.argmax(1) == best).float().mean().item()
    print(f"{share:.0%} of {bandits} bandits were seen through")
    return share


if __name__ == "__main__":
    main()
