"""GPT-2 and ResNet-50 in plain PyTorch, weights named and shaped as in pleat's checkpoints.

Radford et al., 2019 (GPT-2: tied head, tanh GELU); He et al., 2016 (ResNet, stride on the 3x3).
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Dense(nn.Module):
    """y = x W + b with W [in, out], as GPT-2's published checkpoints store it."""

    def __init__(self, n_in, n_out, std):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_in, n_out) * std)
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return F.linear(x, self.weight.t(), self.bias)


class Attention(nn.Module):
    def __init__(self, hidden, heads, layers):
        super().__init__()
        self.heads = heads
        self.c_attn = Dense(hidden, 3 * hidden, 0.02)
        self.c_proj = Dense(hidden, hidden, 0.02 / math.sqrt(2 * layers))

    def forward(self, x):
        b, s, m = x.shape
        q, k, v = (
            t.view(b, s, self.heads, m // self.heads).transpose(1, 2)
            for t in self.c_attn(x).split(m, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(b, s, m))


class Mlp(nn.Module):
    def __init__(self, hidden, layers):
        super().__init__()
        self.c_fc = Dense(hidden, 4 * hidden, 0.02)
        self.c_proj = Dense(4 * hidden, hidden, 0.02 / math.sqrt(2 * layers))

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Decoder(nn.Module):
    def __init__(self, hidden, heads, layers):
        super().__init__()
        self.ln_1 = nn.LayerNorm(hidden, eps=1e-5)
        self.attn = Attention(hidden, heads, layers)
        self.ln_2 = nn.LayerNorm(hidden, eps=1e-5)
        self.mlp = Mlp(hidden, layers)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt2(nn.Module):
    def __init__(self, layers=12, hidden=768, heads=12, vocab=50257, seq=128, **_):
        super().__init__()
        self.wte = nn.Embedding(vocab, hidden)
        self.wpe = nn.Embedding(seq, hidden)
        self.h = nn.ModuleList(Decoder(hidden, heads, layers) for _ in range(layers))
        self.ln_f = nn.LayerNorm(hidden, eps=1e-5)
        for table in (self.wte, self.wpe):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe.weight
        for block in self.h:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


class Bottleneck(nn.Module):
    def __init__(self, n_in, width, stride):
        super().__init__()
        n_out = 4 * width
        self.conv1 = nn.Conv2d(n_in, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, n_out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(n_out)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride > 1 or n_in != n_out:
            self.downsample = nn.Sequential(
                nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out)
            )

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return self.relu(y + (self.downsample(x) if self.downsample else x))


class Resnet50(nn.Module):
    def __init__(self, width=64, classes=1000, **_):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        n = width
        for i, depth in enumerate((3, 4, 6, 3)):
            blocks = []
            for k in range(depth):
                blocks.append(Bottleneck(n, width << i, 2 if i and not k else 1))
                n = 4 * width << i
            setattr(self, f"layer{i + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(n, classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, image, label):
        x = self.maxpool(self.relu(self.bn1(self.conv1(image))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return F.cross_entropy(self.fc(x.mean((2, 3))), label)


def make(name, keys):
    return {"gpt2": Gpt2, "resnet50": Resnet50}[name](**keys)


def make_optimizer(model, a, **how):
    """AdamW or SGD with momentum; weight decay only for tensors of two and more dimensions."""
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() <= 1]
    groups = [
        {"params": matrices, "weight_decay": a["decay"]},
        {"params": vectors, "weight_decay": 0.0},
    ]
    if a["optimizer"] == "sgd":
        return torch.optim.SGD(groups, lr=a["lr"], momentum=a["momentum"], **how)
    return torch.optim.AdamW(
        groups, lr=a["lr"], betas=(a["beta1"], a["beta2"]), eps=a["eps"], **how
    )


def set_rate(optimizer, lr):
    for group in optimizer.param_groups:
        group["lr"] = lr
