"""Sine waves continued by two LSTM cells in double precision, with LBFGS and its closure."""

import torch
import torch.nn as nn
import torch.optim as optim
from steady import noise, start


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1, self.lstm2 = nn.LSTMCell(1, 12), nn.LSTMCell(12, 12)
        self.linear = nn.Linear(12, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t, c_t, h_t2, c_t2 = (torch.zeros(input.size(0), 12, dtype=torch.double) for _ in range(4))
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for _ in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


waves = torch.sin(torch.arange(16).double() / 2 + 3 * noise(6, 1).double())
input, target = waves[2:, :-1], waves[2:, 1:]
seq = start(Sequence()).double()
criterion = nn.MSELoss()
optimizer = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=5, line_search_fn="strong_wolfe")
for i in range(3):

    def closure():
        optimizer.zero_grad()
        loss = criterion(seq(input), target)
        print(f"loss {loss.item():.8f}")
        loss.backward()
        return loss

    optimizer.step(closure)
with torch.no_grad():
    pred = seq(waves[:2, :-1], future=5)
    print(f"test loss {criterion(pred[:, :-5], waves[:2, 1:]).item():.8f} future {tuple(pred.shape)}")
