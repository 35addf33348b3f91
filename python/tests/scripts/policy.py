"""REINFORCE on a walk along a line: the policy learns to go to the right. The dice are thrown by formula."""

from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from steady import noise, start
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1, self.affine2 = nn.Linear(3, 32), nn.Linear(32, 3)
        self.saved_log_probs, self.entropies, self.rewards = [], [], []

    def forward(self, x):
        return F.softmax(self.affine2(torch.tanh(self.affine1(x))), dim=1)


policy = start(Policy())
policy.affine2.weight.data.mul_(0.1)
optimizer = optim.Adam(policy.parameters(), lr=2e-2)
eps = torch.finfo(torch.float32).eps


def select_action(state, die):
    probs = policy(torch.tensor(state).unsqueeze(0))
    m = Categorical(probs)
    action = (probs.detach().cumsum(dim=1) < die).sum(dim=1)  # what sample() does, with a die that every framework throws alike
    policy.saved_log_probs.append(m.log_prob(action))
    policy.entropies.append(m.entropy())
    return action.item()


def finish_episode(gamma=0.9):
    R, returns = 0, deque()
    for r in policy.rewards[::-1]:
        R = r + gamma * R
        returns.appendleft(R)
    returns = torch.tensor(returns)
    advantages = (returns - 3) / (returns.std() + eps)
    losses = [-log_prob * advantage for log_prob, advantage in zip(policy.saved_log_probs, advantages)]
    optimizer.zero_grad()
    loss = torch.cat(losses).mean() - 0.01 * torch.cat(policy.entropies).mean()
    loss.backward()
    optimizer.step()
    del policy.rewards[:], policy.saved_log_probs[:], policy.entropies[:]
    return loss.item()


for episode in range(1, 13):
    place, seen = 0.0, 0
    for step, die in enumerate((noise(20, seed=episode) + 1).div(2).tolist()):
        action = select_action([place / 10, step / 20, 1.0], die)
        place += action - 1
        policy.rewards.append(float(action - 1))
        seen += action == 2
    print(f"Episode {episode} place {place:.0f} steps to the right {seen} loss {finish_episode():.6f}")
