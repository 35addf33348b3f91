"""ResNet-18 and ResNet-34: loads weights by torchvision's names (.pth or .safetensors), and says what pictures show.

    python examples/python/resnet.py resnet18.pth picture.npy [--top 5]

A picture is an array [3, height, width] of floats from 0 to 1. Without a file, --short trains on pictures by chance for a few steps.
"""

import argparse
import pathlib

import numpy as np

import weft
import weft.nn.functional as F
from weft import nn

MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Block(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        if stride != 1 or inputs != width:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, width, 1, stride, bias=False), nn.BatchNorm2d(width))
        else:
            self.downsample = nn.Sequential()

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.downsample(x))


class ResNet(nn.Module):
    def __init__(self, blocks=(2, 2, 2, 2), classes=1000):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        inputs = 64
        for i, count in enumerate(blocks):
            width, stride = 64 << i, 1 if i == 0 else 2
            setattr(self, f"layer{i + 1}", nn.Sequential(Block(inputs, width, stride), *(Block(width, width, 1) for _ in range(count - 1))))
            inputs = width
        self.fc = nn.Linear(inputs, classes)

    @classmethod
    def load(cls, path):
        """The network of a file; its size follows from the names."""
        state = weft.io.load_safetensors(path) if str(path).endswith(".safetensors") else weft.load(path)
        blocks = [1 + max(int(name.split(".")[1]) for name in state if name.startswith(f"layer{i}.")) for i in range(1, 5)]
        model = cls(blocks, state["fc.weight"].shape[0])
        model.load_state_dict(state)
        return model.eval()

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=pathlib.Path, nargs="?")
    parser.add_argument("picture", type=pathlib.Path, nargs="?")
    parser.add_argument("--top", type=int, default=5)
    parser.add_argument("--short", action="store_true", help="a few steps of training on pictures by chance")
    options = parser.parse_args(arguments)
    if options.short or options.weights is None:
        weft.manual_seed(0)
        model, x, y = ResNet((1, 1, 1, 1), 4), weft.randn(8, 3, 32, 32), weft.arange(8) % 4
        optimizer, losses = weft.optim.SGD(model.parameters(), lr=0.02, momentum=0.9), []
        for _ in range(6):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(losses)
        return losses
    picture = weft.from_numpy(np.load(options.picture)).float()
    x = (picture - weft.tensor(MEAN).view(3, 1, 1)) / weft.tensor(SPREAD).view(3, 1, 1)
    with weft.no_grad():
        found = F.softmax(ResNet.load(options.weights)(x.unsqueeze(0))[0], 0).topk(options.top)
    for chance, number in zip(found.values.tolist(), found.indices.tolist()):
        print(f"class {number}: {chance:.1%}")


if __name__ == "__main__":
    main()
