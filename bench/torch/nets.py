"""DCGAN, SNGAN and WideNet in plain PyTorch, weights named and shaped as in pleat's checkpoints.

Radford et al., 2016 (DCGAN); Miyato et al., 2018 (SNGAN, the architecture for CIFAR); Xue et al.,
2022 (WideNet). A GAN here is `generator` and `discriminator`, and two losses; the step is gan_step.py's.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

# -- generative adversarial networks ---------------------------------------------------------------


class Stack(nn.Module):
    """Layers in a row that are found by their names."""

    def __init__(self, layers):
        super().__init__()
        for name, layer in layers:
            self.add_module(name, layer)

    def forward(self, x):
        for layer in self.children():
            x = layer(x)
        return x


class Dcgan(nn.Module):
    hinge = False

    def __init__(self, width=64, z=100, size=64, channels=3, **_):
        super().__init__()
        n = int(math.log2(size // 4))
        self.generator = Stack(self.up(n, width, z, channels))
        self.discriminator = Stack(self.down(n, width, channels))

    @staticmethod
    def up(n, width, z, channels):
        yield "deconv0", nn.ConvTranspose2d(z, width << n - 1, 4, 1, 0, bias=False)
        for i in range(1, n + 1):
            c = width << n - i
            yield f"norm{i - 1}", nn.BatchNorm2d(c)
            yield f"relu{i - 1}", nn.ReLU(inplace=True)
            to = c // 2 if i < n else channels
            yield f"deconv{i}", nn.ConvTranspose2d(c, to, 4, 2, 1, bias=False)
        yield "tanh", nn.Tanh()

    @staticmethod
    def down(n, width, channels):
        for i in range(n):
            c = width << i - 1 if i else channels
            yield f"conv{i}", nn.Conv2d(c, width << i, 4, 2, 1, bias=False)
            if i:
                yield f"norm{i}", nn.BatchNorm2d(width << i, track_running_stats=False)
            yield f"leaky{i}", nn.LeakyReLU(0.2, inplace=True)
        yield f"conv{n}", nn.Conv2d(width << n - 1, 1, 4, 1, 0, bias=False)

    def make(self, z):
        return self.generator(z[:, :, None, None])

    def judge(self, x):
        return self.discriminator(x).flatten()

    def prepare(self):
        pass


class BlockUp(nn.Module):
    def __init__(self, c, out):
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(c), nn.BatchNorm2d(out)
        self.conv1, self.conv2 = nn.Conv2d(c, out, 3, 1, 1), nn.Conv2d(out, out, 3, 1, 1)
        self.short = nn.Conv2d(c, out, 1)

    def forward(self, x):
        h = self.conv1(F.interpolate(F.relu(self.norm1(x), inplace=True), scale_factor=2))
        h = self.conv2(F.relu(self.norm2(h), inplace=True))
        return h + self.short(F.interpolate(x, scale_factor=2))


class Generator(nn.Module):
    def __init__(self, width, z, channels):
        super().__init__()
        c = self.c = 4 * width
        self.linear = nn.Linear(z, 16 * c)
        for i in range(3):
            self.add_module(str(i), BlockUp(c, c))
        self.norm, self.conv = nn.BatchNorm2d(c), nn.Conv2d(c, channels, 3, 1, 1)

    def forward(self, z):
        x = self.linear(z).view(-1, 4, 4, self.c).permute(0, 3, 1, 2)
        for i in range(3):
            x = self._modules[str(i)](x)
        return torch.tanh(self.conv(F.relu(self.norm(x), inplace=True)))


class Divided(nn.Module):
    """A layer whose weight is divided by its spectral norm, once a step: prepare()."""

    def __init__(self, *shape):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(shape))
        self.bias = nn.Parameter(torch.empty(shape[0]))
        self.register_buffer("u", torch.empty(shape[0]))

    def prepare(self):
        w = self.weight.flatten(1)
        with torch.no_grad():
            v = F.normalize(self.u @ w, dim=0)
        wv = w @ v
        self.normal = self.weight / wv.norm()
        with torch.no_grad():
            self.u.copy_(F.normalize(wv, dim=0))

    def forward(self, x):
        if self.weight.dim() == 2:
            return F.linear(x, self.normal, self.bias)
        return F.conv2d(x, self.normal, self.bias, padding=self.weight.shape[2] // 2)


class BlockDown(nn.Module):
    def __init__(self, c, out, first, halves):
        super().__init__()
        self.first, self.halves = first, halves
        self.conv1, self.conv2 = Divided(out, c, 3, 3), Divided(out, out, 3, 3)
        self.short = Divided(out, c, 1, 1) if halves or c != out else None

    def forward(self, x):
        h = self.conv2(F.relu(self.conv1(x if self.first else F.relu(x)), inplace=True))
        if self.halves:
            h = F.avg_pool2d(h, 2)
        if self.first and self.halves:
            x = F.avg_pool2d(x, 2)
        if self.short:
            x = self.short(x)
        if not self.first and self.halves:
            x = F.avg_pool2d(x, 2)
        return h + x


class Discriminator(nn.Module):
    def __init__(self, judge, channels):
        super().__init__()
        c = 4 * judge
        for i in range(4):
            self.add_module(str(i), BlockDown(c if i else channels, c, i == 0, i < 2))
        self.linear = Divided(1, c)

    def forward(self, x):
        for i in range(4):
            x = self._modules[str(i)](x)
        return self.linear(F.relu(x).sum((2, 3))).flatten()


class Sngan(nn.Module):
    hinge = True

    def __init__(self, width=64, judge=32, z=128, channels=3, **_):
        super().__init__()
        self.generator = Generator(width, z, channels)
        self.discriminator = Discriminator(judge, channels)

    def make(self, z):
        return self.generator(z)

    def judge(self, x):
        return self.discriminator(x)

    def prepare(self):
        for layer in self.discriminator.modules():
            if isinstance(layer, Divided):
                layer.prepare()


# -- WideNet ---------------------------------------------------------------------------------------


class Shared(nn.Module):
    """What blocks share: attention, router and experts; beside them the norms of each."""

    def __init__(self, layers, hidden, ffn, experts, eps):
        super().__init__()
        names = ("query", "key", "value", "out")
        self.attention = nn.ModuleDict({name: nn.Linear(hidden, hidden) for name in names})
        self.router = nn.Linear(hidden, experts, bias=False)
        up, down = Experts(experts, hidden, ffn), Experts(experts, ffn, hidden)
        self.experts = nn.ModuleDict({"up": up, "down": down})
        for i in range(layers):
            norms = {f"norm{k}": nn.LayerNorm(hidden, eps) for k in (1, 2)}
            self.add_module(str(i), nn.ModuleDict(norms))
        self.norm = nn.LayerNorm(hidden, eps)


class Experts(nn.Module):
    """A layer of each expert, of rows [experts, n, width]."""

    def __init__(self, experts, c, out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(experts, c, out))
        self.bias = nn.Parameter(torch.empty(experts, out))

    def forward(self, x):
        return torch.baddbmm(self.bias[:, None], x, self.weight)


class Widenet(nn.Module):
    def __init__(self, layers=12, hidden=768, ffn=4096, heads=12, experts=4, k=2, capacity=1.2,
                 patch=16, size=224, classes=1000, balance=0.01, eps=1e-6, **_):
        super().__init__()
        tokens = 1 + (size // patch) ** 2
        self.layers, self.heads, self.k, self.balance = layers, heads, k, balance
        self.n_experts, self.slots = experts, int(capacity * tokens * k / experts)
        self.embedding = nn.Conv2d(3, hidden, patch, patch)
        self.pos_embedding = nn.Parameter(torch.empty(tokens, hidden))
        self.encoder = Shared(layers, hidden, ffn, experts, eps)
        self.pre_logits, self.head = nn.Linear(hidden, hidden), nn.Linear(hidden, classes)

    def attend(self, x):
        g, t, m = x.shape
        a = self.encoder.attention
        split = lambda name: a[name](x).view(g, t, self.heads, -1).transpose(1, 2)
        q, k, v = split("query"), split("key"), split("value")
        y = F.scaled_dot_product_attention(q, k, v)
        return a["out"](y.transpose(1, 2).reshape(g, t, m))

    def places(self, ids):
        """The place of each choice [g, t, k] among the rows of all slots, and for each of these its
        token's row; one more row of either is for what has no slot, and no token. First choices of
        all tokens come first."""
        g, t, k = ids.shape
        marks = F.one_hot(ids.transpose(1, 2).reshape(g, k * t), self.n_experts)
        slot = (marks.cumsum(1) * marks).sum(2).view(g, k, t).transpose(1, 2) - 1
        group = torch.arange(g)[:, None, None]
        n = g * self.n_experts * self.slots
        place = (ids * g + group) * self.slots + slot
        place = torch.where(slot < self.slots, place, n)
        rows = torch.full((n + 1,), g * t)
        token = (group * t + torch.arange(t)[None, :, None]).expand(g, t, k)
        rows[place.flatten()] = token.flatten()
        return place, rows[:n], marks.sum(1)

    def route(self, x):
        g, t, m = x.shape
        scores = F.softmax(self.encoder.router(x), -1)
        weight, ids = scores.topk(self.k)
        place, rows, load = self.places(ids)
        nothing = x.new_zeros(1, m)
        y = torch.cat([x.reshape(g * t, m), nothing]).index_select(0, rows)
        y = self.encoder.experts["up"](y.view(self.n_experts, g * self.slots, m))
        y = self.encoder.experts["down"](F.gelu(y, approximate="tanh"))
        y = torch.cat([F.gelu(y, approximate="tanh").view(-1, m), nothing])
        y = y.index_select(0, place.flatten()).view(g * t, self.k, m)
        y = torch.bmm(weight.view(g * t, 1, self.k), y).view(g, t, m)
        even = self.n_experts / (g * t * t * self.k) * (scores.sum(1) * load).sum()
        return y, even

    def forward(self, image, label):
        x = self.embedding(image).flatten(2).transpose(1, 2)
        x = torch.cat([x.new_zeros(len(x), 1, x.shape[2]), x], 1) + self.pos_embedding
        uneven = 0
        for i in range(self.layers):
            norms = self.encoder._modules[str(i)]
            x = x + self.attend(norms["norm1"](x))
            y, even = self.route(norms["norm2"](x))
            x, uneven = x + y, uneven + even
        x = self.encoder.norm(x).mean(1)
        x = self.head(torch.tanh(self.pre_logits(x)))
        return F.cross_entropy(x, label) + self.balance * uneven


def make(name, keys):
    return {"dcgan": Dcgan, "sngan": Sngan, "widenet-b": Widenet}[name](**keys)
