"""An LSTM that learns the next letter of words of different lengths: packed for the network, padded for the loss."""

import torch
import torch.nn as nn
from steady import start
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

WORDS = "warp weft loom thread shuttle selvedge twill satin heddle bobbin yarn spindle reed treadle tapestry".split()
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
letters = ["<pad>", "<end>", *sorted(set("".join(WORDS)))]
index = {letter: number for number, letter in enumerate(letters)}


class Model(nn.Module):
    def __init__(self, count, width=24, hidden=40):
        super().__init__()
        self.embedding = nn.Embedding(count, width, padding_idx=0)
        self.lstm = nn.LSTM(width, hidden, num_layers=2, batch_first=True)
        self.out = nn.Linear(hidden, count)

    def forward(self, words, lengths):
        packed = pack_padded_sequence(self.embedding(words), lengths, batch_first=True, enforce_sorted=False)
        hidden, _ = self.lstm(packed)
        hidden, sizes = pad_packed_sequence(hidden, batch_first=True)
        assert torch.equal(sizes, lengths)
        return self.out(hidden)


def collate(words):
    codes = [torch.tensor([index[letter] for letter in word] + [1]) for word in words]
    lengths = torch.tensor([len(code) - 1 for code in codes])
    padded = pad_sequence(codes, batch_first=True)
    target = padded[:, 1:].clone()
    target[target == 0] = -100
    return padded[:, :-1].to(device), lengths, target.to(device)


loader = torch.utils.data.DataLoader(WORDS, batch_size=5, collate_fn=collate)
model = start(Model(len(letters))).to(device)
with torch.no_grad():
    model.embedding.weight[0].zero_()
optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss(ignore_index=-100)

for epoch in range(6):
    total, count = 0.0, 0
    for words, lengths, target in loader:
        model.zero_grad()
        loss = criterion(model(words, lengths).transpose(1, 2), target)
        loss.backward()
        torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)
        optimizer.step()
        total, count = total + loss.item() * int(lengths.sum()), count + int(lengths.sum())
    print(f"epoch {epoch + 1} loss {total / count:.6f}")
assert not model.embedding.weight[0].any()
