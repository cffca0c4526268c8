"""What is measured: each workload is one text, run with `fw` = torch and with `fw` = minitorch.

A workload builds its model and data once and returns a function that makes one step; where the step has a loss the
function returns it, so that the two frameworks can be seen to do the same work.
"""

import dataclasses
from collections.abc import Callable

WORKLOADS: dict[str, "Workload"] = {}


@dataclasses.dataclass
class Workload:
    """`size` says which geometric mean it counts in: small ones are dominated by overhead, large ones by arithmetic."""

    name: str
    size: str
    build: Callable


def workload(name: str, size: str):
    def register(build):
        WORKLOADS[name] = Workload(name, size, build)
        return build

    return register


def training_step(fw, model, inputs, target, optimizer):
    """The step everyone writes: forward, loss, backward, update."""

    def step():
        optimizer.zero_grad()
        logits = model(inputs)
        loss = fw.nn.functional.cross_entropy(logits, target)
        loss.backward()
        optimizer.step()
        return loss

    return step


@workload("one recorded mul", "small")
def _(fw):
    a, b = fw.randn(64, requires_grad=True), fw.randn(64, requires_grad=True)
    return lambda: a * b


@workload("(a*b).sum().backward()", "small")
def _(fw):
    a, b = fw.randn(64, requires_grad=True), fw.randn(64, requires_grad=True)

    def step():
        loss = (a * b).sum()
        loss.backward()
        return loss

    return step


def mlp(fw, *widths):
    layers = []
    for i, (n, m) in enumerate(zip(widths, widths[1:], strict=False)):
        layers += [fw.nn.Linear(n, m)] + [fw.nn.ReLU()] * (i < len(widths) - 2)
    return fw.nn.Sequential(*layers)


def mlp_step(fw, widths, batch, optimizer):
    model = mlp(fw, *widths)
    inputs, target = fw.randn(batch, widths[0]), fw.randint(0, widths[-1], (batch,))
    return training_step(fw, model, inputs, target, optimizer(model.parameters()))


@workload("MLP 64-32-32-10, SGD, batch 32", "small")
def _(fw):
    return mlp_step(fw, (64, 32, 32, 10), 32, lambda p: fw.optim.SGD(p, lr=0.01, momentum=0.9))


@workload("MLP 64-32-32-10, Adam, batch 32", "small")
def _(fw):
    return mlp_step(fw, (64, 32, 32, 10), 32, lambda p: fw.optim.Adam(p, lr=0.001))


@workload("MLP 784-128-128-10, Adam, batch 64", "small")
def _(fw):
    return mlp_step(fw, (784, 128, 128, 10), 64, lambda p: fw.optim.Adam(p, lr=0.001))


@workload("MLP 784-1024-1024-10, SGD, batch 256", "large")
def _(fw):
    return mlp_step(fw, (784, 1024, 1024, 10), 256, lambda p: fw.optim.SGD(p, lr=0.01))


@workload("LeNet, 64x1x28x28", "large")
def _(fw):
    nn = fw.nn
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, 10),
    )
    inputs, target = fw.randn(64, 1, 28, 28), fw.randint(0, 10, (64,))
    return training_step(fw, model, inputs, target, fw.optim.SGD(model.parameters(), lr=0.01, momentum=0.9))


@workload("ResNet, 32 channels, 16x3x32x32", "large")
def _(fw):
    nn = fw.nn

    class Block(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.norm1 = nn.BatchNorm2d(channels)
            self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.norm2 = nn.BatchNorm2d(channels)

        def forward(self, x):
            y = self.norm1(self.conv1(x)).relu()
            return (self.norm2(self.conv2(y)) + x).relu()

    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1, bias=False),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        Block(32),
        nn.MaxPool2d(2),
        Block(32),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 10),
    )
    inputs, target = fw.randn(16, 3, 32, 32), fw.randint(0, 10, (16,))
    return training_step(fw, model, inputs, target, fw.optim.SGD(model.parameters(), lr=0.01, momentum=0.9))


def gpt_step(fw, layers, width, heads, length, batch, vocabulary=256):
    nn, F = fw.nn, fw.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = (
                z.view(b, t, heads, c // heads).transpose(1, 2) for z in self.qkv(self.norm1(x)).split(width, dim=2)
            )
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).contiguous().view(b, t, c))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

        def forward(self, tokens):
            x = self.tokens(tokens) + self.places(fw.arange(tokens.shape[1]))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x)).view(-1, vocabulary)

    model = GPT()
    tokens = fw.randint(0, vocabulary, (batch, length + 1))
    optimizer = fw.optim.AdamW(model.parameters(), lr=0.001)
    return training_step(fw, model, tokens[:, :-1], tokens[:, 1:].reshape(-1), optimizer)


@workload("GPT, 4 layers, d=128, T=64, B=16", "large")
def _(fw):
    return gpt_step(fw, layers=4, width=128, heads=4, length=64, batch=16)


@workload("GPT, 2 layers, d=32, T=16, B=4", "small")
def _(fw):
    return gpt_step(fw, layers=2, width=32, heads=2, length=16, batch=4)


@workload("LSTM, 64 hidden, T=32, B=16", "large")
def _(fw):
    nn = fw.nn

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(32, 64, batch_first=True), nn.Linear(64, 10)

        def forward(self, x):
            return self.head(self.lstm(x)[0][:, -1])

    model = Classifier()
    inputs, target = fw.randn(16, 32, 32), fw.randint(0, 10, (16,))
    return training_step(fw, model, inputs, target, fw.optim.Adam(model.parameters(), lr=0.001))


@workload("loader, 2048 samples in batches of 64", "small")
def _(fw):
    data = fw.utils.data.TensorDataset(fw.randn(2048, 64), fw.randint(0, 10, (2048,)))
    loader = fw.utils.data.DataLoader(data, batch_size=64, shuffle=True)

    def epoch():
        for _ in loader:
            pass

    return epoch


@workload("one sample through MLP 64-32-32-10", "small")
def _(fw):
    model, sample = mlp(fw, 64, 32, 32, 10).eval(), fw.randn(1, 64)

    def predict():
        with fw.no_grad():
            return model(sample).argmax(1)

    return predict


@workload("one sample through LeNet", "small")
def _(fw):
    nn = fw.nn
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, 10),
    ).eval()
    sample = fw.randn(1, 1, 28, 28)

    def predict():
        with fw.no_grad():
            return model(sample).argmax(1)

    return predict
