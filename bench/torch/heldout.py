"""Does pleat train models that its tests do not have, as PyTorch does? Many of them, exported.

Every case is a module with random weights. It is exported by examples/pleat_export.py (or, with
--way, by torch's exporters as they come), trained for ten steps of plain SGD by `pleat train` and
by PyTorch, in training mode with dropout off, and the losses, the weights afterwards and the set of
those that moved are compared. Classes:

  ok        losses within 1e-4, weights within 1e-2 of how far they moved, the same ones moved
  rounding  further, but no further from PyTorch in doubles than 4 times PyTorch in floats is, or
            PyTorch in doubles from weights that are stirred by two of a float's last places
  silent    pleat trains another set of tensors
  wrong     other numbers
  refused   pleat says why it does not
  exporter  the exporter failed, or said what the file would have lost
  torch     PyTorch itself cannot

A case is a function in one of the groups below that returns a Case; @case adds it to CASES.
Exit status 6 if one is silent or wrong.
"""

import argparse
import collections
import copy
import fnmatch
import glob
import json
import logging
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings

import safetensors.torch
import torch
import torch.nn.functional as F
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "examples"), HERE]
import pleat  # noqa: E402
import pleat_export  # noqa: E402

BATCH, SEQ, VOCAB, CLASSES, STEPS, STIRS = 4, 12, 96, 10, 10, 8
LIMITS = {"losses": 1e-4, "weights": 1e-2}
KNOWN = ("attention_mask", "token_type_ids", "position_ids", "decoder_attention_mask")


class Case:
    """A module, its inputs by name (kwargs of forward if `by_name`), the loss and its labels.

    loss: "cross-entropy" or "mse" of the first output, or "graph": forward returns the loss."""

    def __init__(self, module, inputs, loss="cross-entropy", lr=0.02, by_name=False, labels=None):
        self.module, self.inputs, self.loss, self.lr = module.train(), inputs, loss, lr
        self.by_name, self.label = by_name, labels
        quiet(module)

    def args(self):
        return ((), self.inputs) if self.by_name else (tuple(self.inputs.values()), {})

    def output(self, module):
        args, kwargs = self.args()
        y = module(*args, **kwargs)
        if hasattr(y, "keys"):
            y = y["logits"] if "logits" in y.keys() else next(iter(y.values()))
        return y[0] if isinstance(y, (tuple, list)) else y

    def prepare(self):
        with torch.no_grad():
            y = self.output(copy.deepcopy(self.module))
        self.shape = y.shape
        if self.label is None and self.loss == "cross-entropy":
            self.label = torch.randint(y.shape[-1], y.shape[:-1])
        elif self.label is None and self.loss == "mse":
            self.label = torch.randn(y.shape)

    def loss_of(self, y):
        if self.loss == "graph":
            return y.sum()
        if self.loss == "mse":
            return F.mse_loss(y, self.label)
        return F.cross_entropy(y.reshape(-1, y.shape[-1]), self.label.reshape(-1))


def quiet(module):
    """No dropout, of any kind: it is random."""
    for m in module.modules():
        for at in (m, getattr(m, "config", None)):
            for k, v in list(vars(at).items()) if at is not None else []:
                if isinstance(v, float) and ("drop" in k or isinstance(m, nn.modules.dropout._DropoutNd)
                                             or k == "p" and type(m).__name__ == "StochasticDepth"):
                    setattr(at, k, 0.0)
                if k == "apply_spec_augment":
                    setattr(at, k, False)


CASES = {}


def case(f):
    CASES[f.__name__] = f
    return f


def add(name, f):
    CASES[name] = f


def ids(rows=BATCH, seq=SEQ):
    return torch.randint(VOCAB, (rows, seq))


def image(size, channels=3):
    return torch.randn(BATCH, channels, size, size)


# -- small modules: an idea each -------------------------------------------------------------------


class Body(nn.Module):
    """l, then f(self, h), then o; tensors given by name are parameters, those in `buffers` not."""

    def __init__(self, f, first, last, /, buffers=(), modules=None, **tensors):
        super().__init__()
        self.l, self.o, self.between = first, last, f
        for n, t in tensors.items():
            if n in buffers:
                self.register_buffer(n, t)
            else:
                setattr(self, n, nn.Parameter(t))
        for n, m in (modules or {}).items():
            setattr(self, n, m)

    def forward(self, x):
        return self.o(self.between(self, self.l(x)))


def rows(name, f, /, wide=8, loss="cross-entropy", x=None, **how):
    """f of [4,8] gives [4,wide]."""

    def make():
        h = {k: (v() if k == "modules" else v) for k, v in how.items()}
        first = nn.Linear(6, 8) if x is None else nn.Identity()
        given = torch.randn(BATCH, 6) if x is None else x()
        return Case(Body(f, first, nn.Linear(wide, 5), **h), {"x": given}, loss)

    add(name, make)


def images(name, f, /, wide=4, size=8, x=None, loss="cross-entropy", **how):
    """f of [4,4,8,8] gives [4,wide,..]; averaged over places."""

    def make():
        h = {k: (v() if k == "modules" else v) for k, v in how.items()}
        body = Body(lambda s, y: f(s, y).flatten(2).mean(2), nn.Conv2d(3, 4, 3, padding=1),
                    nn.Linear(wide, 5), **h)
        return Case(body, {"x": image(size) if x is None else x()}, loss)

    add(name, make)


def words(name, f, /, wide=8, **how):
    """f of [4,12,8] gives [4,12,wide]."""

    def make():
        h = {k: (v() if k == "modules" else v) for k, v in how.items()}
        return Case(Body(f, nn.Embedding(VOCAB, 8), nn.Linear(wide, VOCAB), **h), {"tokens": ids()})

    add(name, make)


R = torch.randn
torch.manual_seed(5)

# Parameters in odd places.
rows("par_scalar0d", lambda s, h: h * s.alpha, alpha=torch.tensor(0.7))
rows("par_scalar0d_add", lambda s, h: h + s.alpha, alpha=torch.tensor(0.7))
rows("par_scalar0d_temp", lambda s, h: h / s.temp, alpha=torch.tensor(0.7), temp=torch.tensor(1.5))
rows("par_scalar0d_exp", lambda s, h: h * s.logit_scale.exp(), logit_scale=torch.tensor(0.2))
rows("par_name_w_1_sub", lambda s, h: h - s.w_1, w_1=R(8))
rows("par_name_w_1_div", lambda s, h: h / s.w_1, w_1=2 + torch.rand(8))
rows("par_name_w_1_pow", lambda s, h: (h.abs() + 0.5) ** s.p_1, p_1=1 + torch.rand(8))
rows("par_name_w_1_mul2", lambda s, h: h * s.w_1, w_1=R(4, 8))
rows("par_name_w_1_where", lambda s, h: torch.where(h > 0, h, s.w_1), w_1=R(8))
rows("par_name_w_1_max", lambda s, h: torch.maximum(h, s.w_1), w_1=R(8) * 0.1)
rows("par_name_w_1_sigmoid", lambda s, h: h * s.w_1.sigmoid(), w_1=R(8))
rows("par_name_w_1_slice", lambda s, h: h * s.w_1[:8], w_1=R(12))
rows("par_name_attn_mask", lambda s, h: h + s.attn_mask, attn_mask=R(8))
rows("par_name_position_ids", lambda s, h: h + s.position_ids, position_ids=R(8))
rows("par_name_masked_bias", lambda s, h: h + s.masked_bias, masked_bias=R(8))
rows("par_name_inv_freq", lambda s, h: h * s.inv_freq, inv_freq=R(8))
rows("par_name_running_mean", lambda s, h: h - s.running_mean, running_mean=R(8))
rows("par_sigmoid_gate", lambda s, h: h * s.gate.sigmoid(), gate=R(8))
rows("par_zeros_gate", lambda s, h: h * (1 + s.gate), gate=torch.zeros(8))
rows("par_ones_two", lambda s, h: h * s.a + F.relu(h) * s.b, a=torch.ones(8), b=torch.ones(8))
rows("par_zeros_same_two", lambda s, h: h * (1 + s.a) + s.b, a=torch.zeros(8), b=torch.zeros(8))
rows("par_weight_of_weight", lambda s, h: h @ (s.a @ s.b), a=R(8, 3), b=R(3, 8))
rows("par_softmax_weight", lambda s, h: h @ s.a.softmax(0), a=R(8, 8))
rows("par_masked_weight", lambda s, h: h @ (s.a * torch.ones(8, 8).tril()), a=R(8, 8))
rows("par_fixed_mask_buffer", lambda s, h: h @ (s.a * s.mask), a=R(8, 8),
     mask=torch.ones(8, 8).tril(), buffers=("mask",))
rows("par_buffer_mean_std", lambda s, h: (h - s.mean) / s.std, mean=R(8), std=1 + torch.rand(8),
     buffers=("mean", "std"))
words("par_buffer_pe", lambda s, h: h + s.pe, pe=R(SEQ, 8), buffers=("pe",))
rows("par_buffer_fb", lambda s, h: h @ s.fb, fb=R(8, 8), buffers=("fb",))
rows("par_buffer_running_max", lambda s, h: h / s.running_max, running_max=1 + torch.rand(8),
     buffers=("running_max",))
rows("par_buffer_scale", lambda s, h: h * s.scale, scale=R(8), buffers=("scale",))
rows("par_buffer_weight", lambda s, h: h @ s.weight, weight=R(8, 8), buffers=("weight",))
rows("par_named_scale", lambda s, h: h * s.scale, scale=R(8))
rows("par_int_index_param", lambda s, h: h * s.w[torch.arange(8).flip(0)], w=R(8))
rows("par_clamped_param", lambda s, h: h * s.w.clamp(0.1, 0.9), w=torch.rand(8))
rows("par_normed_param", lambda s, h: h @ F.normalize(s.a, dim=0), a=R(8, 8))
rows("par_arcface", lambda s, h: F.normalize(h) @ F.normalize(s.a).t(), a=R(8, 8))
rows("par_reused", lambda s, h: h @ s.w @ s.w, w=R(8, 8) / 3)
rows("par_reused_t", lambda s, h: h @ s.w @ s.w.t(), w=R(8, 8) / 3)
rows("par_tied_transposed", lambda s, h: F.relu(h @ s.w) @ s.w.t(), w=R(8, 4))
rows("par_unused", lambda s, h: h, unused=R(8, 8))
rows("par_stack", lambda s, h: h @ torch.stack([s.a, s.b]).sum(0), a=R(8, 8), b=R(8, 8))
rows("par_cat", lambda s, h: F.linear(h, torch.cat([s.a, s.b])), a=R(3, 8), b=R(5, 8))
rows("par_outer", lambda s, h: h @ torch.outer(s.a, s.b), a=R(8), b=R(8))
rows("par_complex_gate", lambda s, h: h * torch.sin(s.f) + torch.cos(s.f), f=R(8))
rows("par_list", lambda s, h: sum(h * p for p in s.ps),
     modules=lambda: {"ps": nn.ParameterList([R(8) for _ in range(3)])})
rows("par_dict", lambda s, h: h * s.ps["a"] + s.ps["b"],
     modules=lambda: {"ps": nn.ParameterDict({"a": R(8), "b": R(8)})})
rows("par_fresh_bias", lambda s, h: s.n(s.b(s.m(h))),
     modules=lambda: {"m": nn.Linear(8, 8), "b": nn.LayerNorm(8), "n": nn.LayerNorm(8)})
rows("par_lora", lambda s, h: h @ s.w + h @ s.a @ s.b, w=R(8, 8), a=R(8, 2), b=torch.zeros(2, 8))
rows("par_prelu_1", lambda s, h: s.p(h), modules=lambda: {"p": nn.PReLU()})
rows("par_prelu_8", lambda s, h: s.p(h), modules=lambda: {"p": nn.PReLU(8)})
rows("par_layer_scale", lambda s, h: h + s.gamma * F.gelu(h), gamma=1e-2 * torch.ones(8))
rows("par_f64_param", lambda s, h: h * s.a.float(), a=R(8).double())
rows("par_bf16_param", lambda s, h: h * s.a.float(), a=R(8).bfloat16())
rows("par_f16_buffer", lambda s, h: h * s.a.float(), a=R(8).half(), buffers=("a",))
words("par_pos_table", lambda s, h: h + s.pos[:SEQ], pos=R(20, 8))
words("par_pos_embedding", lambda s, h: h + s.pos(torch.arange(SEQ)),
      modules=lambda: {"pos": nn.Embedding(20, 8)})
words("par_pos_ids_buffer", lambda s, h: h + s.pos(s.position_ids[:, :SEQ]),
      position_ids=torch.arange(20)[None], buffers=("position_ids",),
      modules=lambda: {"pos": nn.Embedding(20, 8)})
words("par_cls_token", lambda s, h: torch.cat([s.cls.expand(len(h), -1, -1), h], 1)[:, 1:] + s.cls,
      cls=R(1, 1, 8))
words("par_memory", lambda s, h: (h @ s.k.t()).softmax(-1) @ s.v, k=R(7, 8), v=R(7, 8))
words("par_rel_bias", lambda s, h: ((h @ h.mT) + s.bias).softmax(-1) @ h, bias=R(SEQ, SEQ))


@case
def par_frozen():
    body = Body(lambda s, h: h * s.a, nn.Linear(6, 8), nn.Linear(8, 5), a=R(8))
    body.a.requires_grad_(False)
    body.l.bias.requires_grad_(False)
    return Case(body, {"x": R(BATCH, 6)})


@case
def par_input_named_like():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.x, self.l = nn.Parameter(R(6)), nn.Linear(6, 5)

        def forward(self, x):
            return self.l(x * self.x)

    return Case(Named(), {"x": R(BATCH, 6)})


class Tied(nn.Module):
    def __init__(self, head):
        super().__init__()
        self.e, self.m = nn.Embedding(VOCAB, 8), nn.Linear(8, 8)
        self.head = nn.Linear(8, VOCAB, bias=head)
        self.head.weight = self.e.weight

    def forward(self, x):
        return self.head(F.gelu(self.m(self.e(x))))


add("tied_head", lambda: Case(Tied(False), {"tokens": ids()}))
add("tied_head_bias", lambda: Case(Tied(True), {"tokens": ids()}))


@case
def tied_autoencoder():
    class Auto(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(6, 3), nn.Linear(3, 6)
            self.b.weight = nn.Parameter(R(6, 3))

        def forward(self, x):
            return F.linear(torch.tanh(self.a(x)), self.a.weight.t(), self.b.bias)

    return Case(Auto(), {"x": R(BATCH, 6)}, "mse")


@case
def tied_layers():
    one = nn.Linear(8, 8)
    return Case(nn.Sequential(nn.Linear(6, 8), one, nn.ReLU(), one, nn.Tanh(), one, nn.Linear(8, 5)),
                {"x": R(BATCH, 6)})


# Losses inside.


def lossy(name, f, /, n=6, label=None, **tensors):
    class Lossy(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(n, 5)
            for k, v in tensors.items():
                setattr(self, k, nn.Parameter(v))

        def forward(self, x, y):
            return f(self, self.l(x), y)

    add(name, lambda: Case(Lossy(), {"x": R(BATCH, n),
                                     "y": torch.randint(5, (BATCH,)) if label is None else label()}, "graph"))


lossy("loss_ce", lambda s, h, y: F.cross_entropy(h, y))
lossy("loss_ce_smooth", lambda s, h, y: F.cross_entropy(h, y, label_smoothing=0.1))
lossy("loss_ce_sum", lambda s, h, y: F.cross_entropy(h, y, reduction="sum"))
lossy("loss_ce_ignore", lambda s, h, y: F.cross_entropy(h, y, ignore_index=2))
lossy("loss_ce_weight", lambda s, h, y: F.cross_entropy(h, y, weight=torch.tensor([1.0, 2, 3, 1, 2])))
lossy("loss_nll", lambda s, h, y: F.nll_loss(h.log_softmax(-1), y))
lossy("loss_ce_soft", lambda s, h, y: F.cross_entropy(h, y), label=lambda: torch.rand(BATCH, 5).softmax(-1))
lossy("loss_mse", lambda s, h, y: F.mse_loss(h, y), label=lambda: R(BATCH, 5))
lossy("loss_l1", lambda s, h, y: F.l1_loss(h, y), label=lambda: R(BATCH, 5))
lossy("loss_huber", lambda s, h, y: F.huber_loss(h, y), label=lambda: R(BATCH, 5))
lossy("loss_smooth_l1", lambda s, h, y: F.smooth_l1_loss(h, y), label=lambda: R(BATCH, 5))
lossy("loss_bce", lambda s, h, y: F.binary_cross_entropy_with_logits(h, y), label=lambda: torch.rand(BATCH, 5))
lossy("loss_kl", lambda s, h, y: F.kl_div(h.log_softmax(-1), y, reduction="batchmean"),
      label=lambda: torch.rand(BATCH, 5).softmax(-1))
lossy("loss_hinge", lambda s, h, y: (1 - h * y).clamp(min=0).mean(), label=lambda: R(BATCH, 5).sign())
lossy("loss_cosine", lambda s, h, y: 1 - F.cosine_similarity(h, y).mean(), label=lambda: R(BATCH, 5))
lossy("loss_focal", lambda s, h, y: ((1 - h.softmax(-1).gather(1, y[:, None])) ** 2
                                     * -h.log_softmax(-1).gather(1, y[:, None])).mean())
lossy("loss_dice", lambda s, h, y: 1 - (2 * (h.sigmoid() * y).sum() + 1) / (h.sigmoid().sum() + y.sum() + 1),
      label=lambda: torch.rand(BATCH, 5).round())
lossy("loss_uncertainty", lambda s, h, y: (F.mse_loss(h, y) * torch.exp(-s.v) + s.v).sum(),
      label=lambda: R(BATCH, 5), v=torch.zeros(2))
lossy("loss_l2_reg", lambda s, h, y: F.cross_entropy(h, y) + 0.1 * s.l.weight.pow(2).sum())
lossy("loss_contrastive", lambda s, h, y: F.cross_entropy(F.normalize(h) @ F.normalize(h).t() * s.t.exp(),
                                                          torch.arange(BATCH)), t=torch.tensor(1.0))
lossy("loss_triplet", lambda s, h, y: F.relu((h - y).pow(2).sum(1) - (h + y).pow(2).sum(1) + 1).mean(),
      label=lambda: R(BATCH, 5))
lossy("loss_logcosh", lambda s, h, y: (F.softplus(-2 * (h - y)) + (h - y) - math.log(2)).mean(),
      label=lambda: R(BATCH, 5))
lossy("loss_gaussian_nll", lambda s, h, y: F.gaussian_nll_loss(h, y, s.v.exp().expand(BATCH, 5)),
      label=lambda: R(BATCH, 5), v=torch.zeros(5))
lossy("loss_poisson_nll", lambda s, h, y: F.poisson_nll_loss(h, y), label=lambda: torch.rand(BATCH, 5))

# Modules of torch.nn.
for n, make, wide in (
    ("linear", lambda: nn.Linear(8, 8, bias=False), 8),
    ("layer_norm", lambda: nn.LayerNorm(8), 8),
    ("layer_noaffine", lambda: nn.LayerNorm(8, elementwise_affine=False), 8),
    ("layer_nobias", lambda: nn.LayerNorm(8, bias=False), 8),
    ("rms_norm", lambda: nn.RMSNorm(8), 8),
    ("batch_norm1d", lambda: nn.BatchNorm1d(8), 8),
    ("batch_norm1d_noaffine", lambda: nn.BatchNorm1d(8, affine=False), 8),
    ("batch_norm1d_momentum", lambda: nn.BatchNorm1d(8, momentum=0.3), 8),
    ("batch_norm1d_nostats", lambda: nn.BatchNorm1d(8, track_running_stats=False), 8),
    ("weight_norm", lambda: nn.utils.parametrizations.weight_norm(nn.Linear(8, 8)), 8),
    ("weight_norm_old", lambda: nn.utils.weight_norm(nn.Linear(8, 8)), 8),
    ("glu", lambda: nn.GLU(), 4),
    ("dropout", lambda: nn.Dropout(0.5), 8),
    ("alpha_dropout", lambda: nn.AlphaDropout(0.5), 8),
    ("multihead", lambda: Attend(), 8),
    ("softmax", lambda: nn.Softmax(-1), 8),
    ("log_softmax", lambda: nn.LogSoftmax(-1), 8),
    ("swiglu", lambda: SwiGlu(), 8),
):
    rows(f"mod_{n}", lambda s, h: s.m(h), wide=wide, modules=lambda make=make: {"m": make()})


class SwiGlu(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        return self.c(F.silu(self.a(x)) * self.b(x))


class Attend(nn.Module):
    def __init__(self, **how):
        super().__init__()
        self.a = nn.MultiheadAttention(8, 2, batch_first=True, **how)

    def forward(self, x):
        y = x if x.dim() == 3 else x[:, None]
        y = self.a(y, y, y, need_weights=False)[0]
        return y if x.dim() == 3 else y[:, 0]


class Second(nn.Module):
    """The sequence of a recurrent layer's results."""

    def __init__(self, m):
        super().__init__()
        self.m = m

    def forward(self, x):
        return self.m(x)[0]


for n, make, wide in (
    ("lstm", lambda: Second(nn.LSTM(8, 6, batch_first=True)), 6),
    ("lstm_two", lambda: Second(nn.LSTM(8, 6, 2, batch_first=True)), 6),
    ("lstm_both", lambda: Second(nn.LSTM(8, 6, batch_first=True, bidirectional=True)), 12),
    ("lstm_nobias", lambda: Second(nn.LSTM(8, 6, batch_first=True, bias=False)), 6),
    ("lstm_proj", lambda: Second(nn.LSTM(8, 10, batch_first=True, proj_size=6)), 6),
    ("gru", lambda: Second(nn.GRU(8, 6, batch_first=True)), 6),
    ("gru_both", lambda: Second(nn.GRU(8, 6, 2, batch_first=True, bidirectional=True)), 12),
    ("rnn", lambda: Second(nn.RNN(8, 6, batch_first=True)), 6),
    ("rnn_relu", lambda: Second(nn.RNN(8, 6, batch_first=True, nonlinearity="relu")), 6),
    ("attention", lambda: Attend(), 8),
    ("attention_bias_kv", lambda: Attend(add_bias_kv=True), 8),
    ("encoder_layer", lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 8),
    ("encoder_layer_first", lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True), 8),
    ("encoder", lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2,
                                              enable_nested_tensor=False), 8),
):
    words(f"seq_{n}", lambda s, h: s.m(h), wide=wide, modules=lambda make=make: {"m": make()})

for n, make, wide in (
    ("conv", lambda: nn.Conv2d(4, 6, 3, 2, 1), 6),
    ("conv_group", lambda: nn.Conv2d(4, 8, 3, groups=2, bias=False), 8),
    ("conv_depth", lambda: nn.Conv2d(4, 8, 3, groups=4, dilation=2), 8),
    ("conv_circular", lambda: nn.Conv2d(4, 4, 3, padding=1, padding_mode="circular"), 4),
    ("conv_reflect", lambda: nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect"), 4),
    ("conv_same", lambda: nn.Conv2d(4, 4, 4, padding="same"), 4),
    ("conv_transpose", lambda: nn.ConvTranspose2d(4, 6, 3, 2, 1, 1), 6),
    ("conv_weight_norm", lambda: nn.utils.parametrizations.weight_norm(nn.Conv2d(4, 4, 3)), 4),
    ("batch_norm", lambda: nn.BatchNorm2d(4), 4),
    ("conv_batch_norm", lambda: nn.Sequential(nn.Conv2d(4, 6, 3, bias=False), nn.BatchNorm2d(6), nn.ReLU()), 6),
    ("instance_norm", lambda: nn.InstanceNorm2d(4), 4),
    ("instance_norm_affine", lambda: nn.InstanceNorm2d(4, affine=True), 4),
    ("group_norm", lambda: nn.GroupNorm(2, 4), 4),
    ("group_noaffine", lambda: nn.GroupNorm(2, 4, affine=False), 4),
    ("layer_chw", lambda: nn.LayerNorm([4, 8, 8]), 4),
    ("lrn", lambda: nn.LocalResponseNorm(2), 4),
    ("max_pool", lambda: nn.MaxPool2d(3, 2, 1), 4),
    ("max_pool_ceil", lambda: nn.MaxPool2d(3, 2, ceil_mode=True), 4),
    ("avg_pool", lambda: nn.AvgPool2d(3, 2, 1), 4),
    ("avg_pool_ceil", lambda: nn.AvgPool2d(3, 2, 1, ceil_mode=True), 4),
    ("avg_pool_nopad", lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), 4),
    ("ada_avg", lambda: nn.AdaptiveAvgPool2d(2), 4),
    ("ada_avg_odd", lambda: nn.AdaptiveAvgPool2d(3), 4),
    ("ada_max", lambda: nn.AdaptiveMaxPool2d(2), 4),
    ("lp_pool", lambda: nn.LPPool2d(2, 2), 4),
    ("pixel_shuffle", lambda: nn.PixelShuffle(2), 1),
    ("pixel_unshuffle", lambda: nn.PixelUnshuffle(2), 16),
    ("up_nearest", lambda: nn.Upsample(scale_factor=2), 4),
    ("up_bilinear", lambda: nn.Upsample(scale_factor=2, mode="bilinear"), 4),
    ("up_bilinear_align", lambda: nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), 4),
    ("up_bicubic", lambda: nn.Upsample(scale_factor=2, mode="bicubic"), 4),
    ("up_size", lambda: nn.Upsample(size=(5, 11), mode="bilinear"), 4),
    ("zero_pad", lambda: nn.ZeroPad2d((1, 2, 0, 1)), 4),
    ("reflect_pad", lambda: nn.ReflectionPad2d(2), 4),
    ("replicate_pad", lambda: nn.ReplicationPad2d(2), 4),
    ("channel_shuffle", lambda: nn.ChannelShuffle(2), 4),
    ("unfold", lambda: nn.Unfold(3, padding=1), 36),
    ("dropout2d", lambda: nn.Dropout2d(0.5), 4),
):
    images(f"img_{n}", lambda s, y: s.m(y), wide=wide, modules=lambda make=make: {"m": make()})
for scale in (0.6, 0.75, 1.3, 1.5, 2.5):
    for mode, align in (("nearest", None), ("bilinear", False), ("bilinear", True)):
        images(f"interp_{mode}_{align}_{scale}", lambda s, y, k=scale, m=mode, al=align: F.interpolate(
            y, scale_factor=k, mode=m, align_corners=al))
images("img_blur_buffer", lambda s, y: F.conv2d(y, s.filt, padding=1, groups=4),
       filt=torch.rand(4, 1, 3, 3), buffers=("filt",))
images("img_mean_std", lambda s, y: (y - s.mean) / s.std, mean=R(1, 4, 1, 1), std=1 + torch.rand(1, 4, 1, 1),
       buffers=("mean", "std"))
images("img_se", lambda s, y: y * s.m(y), modules=lambda: {"m": nn.Sequential(
    nn.AdaptiveAvgPool2d(1), nn.Conv2d(4, 2, 1), nn.ReLU(), nn.Conv2d(2, 4, 1), nn.Sigmoid())})
images("img_flip", lambda s, y: y.flip(-1) * 0.5 + y)
images("img_roll", lambda s, y: y.roll((1, 2), (2, 3)) * y)
images("img_grid_sample", lambda s, y: F.grid_sample(
    y, torch.rand(1, 5, 5, 2, generator=torch.Generator().manual_seed(3)).expand(len(y), -1, -1, -1) * 2 - 1,
    align_corners=False))
images("bn_running_frozen", lambda s, y: s.m(y), modules=lambda: {"m": frozen_norm()})
images("bn_cumulative", lambda s, y: s.m(y), modules=lambda: {"m": nn.BatchNorm2d(4, momentum=None)})
images("bn_two", lambda s, y: s.b(F.relu(s.a(y))), modules=lambda: {"a": nn.BatchNorm2d(4), "b": nn.BatchNorm2d(4)})


def frozen_norm():
    m = nn.BatchNorm2d(4)
    m.running_mean.normal_()
    m.running_var.uniform_(0.5, 2)
    m.frozen = True  # Case puts all into training mode; see below
    return m


# Operators.
for n, f in {
    "abs": torch.abs, "neg": torch.neg, "exp": torch.exp, "log": lambda h: (h.abs() + 1).log(),
    "sqrt": lambda h: (h.abs() + 1).sqrt(), "rsqrt": lambda h: (h.abs() + 1).rsqrt(), "sin": torch.sin,
    "cos": torch.cos, "tan": lambda h: (h * 0.1).tan(), "atan": torch.atan, "asinh": torch.asinh,
    "erf": torch.erf, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "relu": F.relu, "relu6": F.relu6,
    "gelu": F.gelu, "gelu_tanh": lambda h: F.gelu(h, approximate="tanh"), "silu": F.silu, "elu": F.elu,
    "selu": F.selu, "celu": F.celu, "mish": F.mish, "softplus": F.softplus,
    "softplus_beta": lambda h: F.softplus(h, beta=2), "softsign": F.softsign, "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid, "hardtanh": F.hardtanh, "leaky_relu": F.leaky_relu,
    "logsigmoid": F.logsigmoid, "softshrink": F.softshrink, "hardshrink": F.hardshrink,
    "tanhshrink": F.tanhshrink, "threshold": lambda h: F.threshold(h, 0.1, 0.2),
    "pow2": lambda h: h**2, "pow3": lambda h: h**3, "reciprocal": lambda h: 1 / (h.abs() + 1),
    "clamp": lambda h: h.clamp(-0.3, 0.4), "round_ste": lambda h: h + (h.round() - h).detach(),
    "floor": lambda h: h + h.floor(), "round": lambda h: h + h.round(), "sign": lambda h: h + h.sign(),
    "fmod": lambda h: h.fmod(0.5), "remainder": lambda h: h.remainder(0.5), "prod": lambda h: h * h.prod(1, keepdim=True),
    "cumsum": lambda h: h.cumsum(1), "max": lambda h: h + h.max(1, keepdim=True)[0],
    "min": lambda h: h + h.amin(1, keepdim=True), "mean": lambda h: h - h.mean(1, keepdim=True),
    "var": lambda h: h / (1 + h.var(1, keepdim=True)), "std": lambda h: h / (1 + h.std(1, keepdim=True)),
    "norm": lambda h: h / h.norm(dim=1, keepdim=True), "logsumexp": lambda h: h - h.logsumexp(1, keepdim=True),
    "softmax": lambda h: h.softmax(1), "sort": lambda h: h.sort(1)[0], "topk": lambda h: F.pad(h.topk(3, 1)[0], (0, 5)),
    "flip": lambda h: h + h.flip(1) * 0.5, "roll": lambda h: h + h.roll(2, 1), "gather": lambda h: h.gather(1, torch.arange(8).flip(0)[None].expand(len(h), -1)),
    "index_select": lambda h: h.index_select(1, torch.tensor([3, 1, 0, 2, 5, 4, 7, 7])),
    "scatter_add": lambda h: torch.zeros_like(h).scatter_add(1, torch.tensor([[0, 0, 1, 2, 3, 3, 3, 7]]).expand(len(h), -1), h),
    "scatter": lambda h: torch.zeros_like(h).scatter(1, torch.arange(8).flip(0)[None].expand(len(h), -1), h),
    "index_add": lambda h: torch.zeros_like(h).index_add(1, torch.tensor([0, 0, 1, 2, 3, 3, 3, 7]), h),
    "slice_assign": lambda h: slice_assign(h), "masked_fill": lambda h: h.masked_fill(h > 0.3, 0.1),
    "where": lambda h: torch.where(h > 0, h, 0.1 * h), "tril": lambda h: h.tril(), "einsum": lambda h: torch.einsum("bi,bj->bi", h, h),
    "outer": lambda h: (h[:, :, None] * h[:, None]).sum(2), "bmm": lambda h: (h[:, :, None] @ h[:, None]).mean(2),
    "chunk": lambda h: torch.cat(h.chunk(2, 1)[::-1], 1), "split_uneven": lambda h: torch.cat(h.split([3, 5], 1)[::-1], 1),
    "stack": lambda h: torch.stack([h, h * 2], 2).sum(2), "repeat": lambda h: h.repeat(1, 2)[:, ::2],
    "repeat_interleave": lambda h: h.repeat_interleave(2, 1)[:, :8], "expand": lambda h: h[:, None].expand(-1, 3, -1).mean(1),
    "permute": lambda h: h.reshape(len(h), 2, 4).permute(0, 2, 1).reshape(len(h), 8), "unfold": lambda h: h.unfold(1, 3, 1).sum(2).repeat(1, 2)[:, :8],
    "one_hot": lambda h: h * F.one_hot(torch.arange(len(h)) % 8, 8), "cdist": lambda h: torch.cdist(h, h.detach() + 1).sum(1, keepdim=True) * h * 0.1,
    "diff": lambda h: F.pad(h.diff(dim=1), (0, 1)), "lerp": lambda h: torch.lerp(h, h * h, 0.3), "addcmul": lambda h: torch.addcmul(h, h, h, value=0.2),
    "meshgrid": lambda h: h + torch.meshgrid(torch.arange(8.0), torch.arange(8.0), indexing="ij")[0].sum(0) * 0.01,
    "int_arith": lambda h: h + (torch.arange(8) // 3 % 2) * 0.5, "eye": lambda h: h @ (torch.eye(8) + 0.1),
    "atan2": lambda h: torch.atan2(h, h.abs() + 1), "maximum": lambda h: torch.maximum(h, h * 0.5), "renorm": lambda h: h.renorm(2, 0, 0.5),
    "detach": lambda h: h * h.detach(), "rfft": lambda h: torch.fft.rfft(h, n=14).abs(), "einsum_diag": lambda h: torch.einsum("bii->bi", h[:, :, None] * h[:, None]),
    "logcumsumexp": lambda h: h.logcumsumexp(1), "trunc": lambda h: h + h.trunc(), "ceil": lambda h: h + h.ceil(), "erfinv_like": lambda h: h.clamp(-0.9, 0.9).atanh(),
    "kron": lambda h: torch.kron(h, torch.ones(1, 2))[:, ::2], "nan_to_num": torch.nan_to_num, "addmm": lambda h: torch.addmm(h, h @ h.t(), h, beta=0.5, alpha=0.1),
}.items():
    rows(f"op_{n}", lambda s, h, f=f: f(h))


def slice_assign(h):
    y = h.clone()
    y[:, 2:4] = h[:, 4:6] * 2
    return y


class Bag(nn.Module):
    def __init__(self, mode):
        super().__init__()
        self.m, self.o = nn.EmbeddingBag(VOCAB, 8, mode=mode), nn.Linear(8, 5)

    def forward(self, x):
        return self.o(self.m(x))


for mode in ("mean", "sum", "max"):
    add(f"mod_embedding_bag_{mode}", lambda mode=mode: Case(Bag(mode), {"x": ids(BATCH, 5)}))
add("mod_embedding_padding", lambda: Case(nn.Sequential(
    nn.Embedding(VOCAB, 8, padding_idx=0), nn.Linear(8, VOCAB)), {"x": ids()}))


@case
def mod_two_inputs():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.t, self.i, self.o = nn.Embedding(VOCAB, 8), nn.Linear(6, 8), nn.Linear(8, 5)

        def forward(self, tokens, x=None):
            return self.o(self.t(tokens).mean(1) + self.i(x))

    return Case(Two(), {"tokens": ids(), "x": R(BATCH, 6)}, by_name=True)


@case
def mod_unet():
    class Unet(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, 2, 1)
            self.n, self.u, self.c = nn.BatchNorm2d(16), nn.ConvTranspose2d(16, 8, 2, 2), nn.Conv2d(16, 2, 1)

        def forward(self, x):
            a = F.relu(self.a(x))
            return self.c(torch.cat([a, self.u(F.relu(self.n(self.b(a))))], 1))

    return Case(Unet(), {"x": image(16)}, "mse")


@case
def mod_conv1d():
    body = nn.Sequential(nn.Conv1d(3, 8, 3), nn.BatchNorm1d(8), nn.ReLU(), nn.Conv1d(8, 8, 3, groups=8),
                         nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 5))
    return Case(body, {"x": R(BATCH, 3, 20)})


@case
def mod_conv3d():
    body = nn.Sequential(nn.Conv3d(2, 4, 3), nn.BatchNorm3d(4), nn.ReLU(), nn.MaxPool3d(2), nn.Flatten(),
                         nn.Linear(32, 5))
    return Case(body, {"x": R(BATCH, 2, 6, 6, 6)})


@case
def mod_spectral_norm():
    return Case(nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(6, 8)), nn.Linear(8, 5)),
                {"x": R(BATCH, 6)})


@case
def mod_bilinear():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.b = nn.Bilinear(6, 6, 5)

        def forward(self, x):
            return self.b(x, x * 2)

    return Case(Two(), {"x": R(BATCH, 6)})


@case
def mod_transformer():
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Embedding(VOCAB, 8)
            self.t = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
            self.o = nn.Linear(8, VOCAB)

        def forward(self, source, target):
            return self.o(self.t(self.e(source), self.e(target)))

    return Case(Both(), {"source": ids(), "target_ids": ids()})


@case
def mod_diffusion():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.t, self.b = nn.Linear(6, 16), nn.Linear(8, 16), nn.Linear(16, 6)

        def forward(self, x, t):
            f = torch.exp(-math.log(1e4) * torch.arange(4) / 4)
            e = torch.cat([(t * f).sin(), (t * f).cos()], -1)
            return self.b(F.silu(self.a(x) + self.t(e)))

    return Case(Net(), {"x": R(BATCH, 6), "t": torch.rand(BATCH, 1)}, "mse")


@case
def mod_nerf():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(24, 16), nn.Linear(16, 4)

        def forward(self, x):
            f = 2.0 ** torch.arange(4)
            y = (x[..., None] * f).flatten(1)
            return self.b(F.relu(self.a(torch.cat([y.sin(), y.cos()], -1))))

    return Case(Net(), {"x": R(BATCH, 3)}, "mse")


@case
def mod_gcn():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 5)
            self.register_buffer("adj", torch.rand(7, 7).round() + torch.eye(7))

        def forward(self, x):
            a = self.adj / self.adj.sum(1, keepdim=True)
            return self.b(a @ F.relu(self.a(a @ x)))

    return Case(Net(), {"x": R(BATCH, 7, 6)})


@case
def mod_pointnet():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Sequential(nn.Conv1d(3, 8, 1), nn.BatchNorm1d(8), nn.ReLU(), nn.Conv1d(8, 8, 1))
            self.o = nn.Linear(8, 5)

        def forward(self, x):
            return self.o(self.a(x.mT).amax(2))

    return Case(Net(), {"x": R(BATCH, 9, 3)})


@case
def mod_moe():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.g, self.w, self.o = nn.Linear(6, 3), nn.Parameter(R(3, 6, 8)), nn.Linear(8, 5)

        def forward(self, x):
            p = self.g(x).softmax(-1)
            return self.o(torch.einsum("be,bi,eij->bj", p, x, self.w))

    return Case(Net(), {"x": R(BATCH, 6)})


# -- transformers ----------------------------------------------------------------------------------

SMALL = {"vocab_size": VOCAB, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
         "num_attention_heads": 4, "max_position_embeddings": 64}
GROUPED = {**SMALL, "num_key_value_heads": 2, "pad_token_id": 0}
VISION = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
          "image_size": 32, "patch_size": 8, "num_labels": CLASSES}


def hf():
    import transformers

    return transformers


def language(name, auto="AutoModelForCausalLM", like=SMALL, **more):
    """A model of text, by the name of its configuration."""

    def make():
        keys = {k: v for k, v in {**like, **more}.items() if v is not None}
        config = getattr(hf(), name + "Config")(**keys)
        model = getattr(hf(), auto).from_config(config)
        if hasattr(model.config, "use_cache"):
            model.config.use_cache = False
        inputs = {"input_ids": ids()}
        if config.is_encoder_decoder:
            inputs["decoder_input_ids"] = ids(seq=8)
        return Case(model, inputs, by_name=True)

    return make


def vision(name, auto="AutoModelForImageClassification", size=32, like=VISION, lr=0.02, **more):
    def make():
        config = getattr(hf(), name + "Config")(**{k: v for k, v in {**like, **more}.items() if v is not None})
        return Case(getattr(hf(), auto).from_config(config), {"pixel_values": image(size)}, by_name=True, lr=lr)

    return make


MASKED, CLASSIFY = "AutoModelForMaskedLM", "AutoModelForSequenceClassification"
TO_TEXT = "AutoModelForSeq2SeqLM"
BART = {"vocab_size": VOCAB, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_position_embeddings": 64,
        "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2}
GPT = {"vocab_size": VOCAB, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
for n, make in {
    "gpt2": language("GPT2", like=GPT), "gptj": language("GPTJ", like=GPT, rotary_dim=4),
    "gpt_neo": language("GPTNeo", like={"vocab_size": VOCAB, "hidden_size": 32, "num_layers": 2, "num_heads": 4,
                        "max_position_embeddings": 64, "attention_types": [[["global", "local"], 1]]}),
    "gpt_neox": language("GPTNeoX"), "gpt_bigcode": language("GPTBigCode", like=GPT), "opt": language(
        "OPT", ffn_dim=64, word_embed_proj_dim=32), "bloom": language("Bloom", like={"vocab_size": VOCAB, "hidden_size": 32,
                                                                      "n_layer": 2, "n_head": 4}),
    "falcon": language("Falcon", intermediate_size=None), "falcon_alibi": language("Falcon", intermediate_size=None, alibi=True),
    "mpt": language("Mpt", like={"vocab_size": VOCAB, "d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64}),
    "ctrl": language("CTRL", like=GPT, dff=64), "codegen": language("CodeGen", like=GPT, rotary_dim=4),
    "llama": language("Llama", like=GROUPED), "mistral": language("Mistral", like=GROUPED, sliding_window=8),
    "qwen2": language("Qwen2", like=GROUPED), "qwen3": language("Qwen3", like=GROUPED, head_dim=8),
    "gemma": language("Gemma", like=GROUPED, head_dim=8), "gemma2": language("Gemma2", like=GROUPED, head_dim=8),
    "gemma3": language("Gemma3Text", like=GROUPED, head_dim=8), "phi": language("Phi"),
    "phi3": language("Phi3", like=GROUPED), "olmo": language("Olmo", like=GROUPED), "olmo2": language("Olmo2", like=GROUPED),
    "cohere": language("Cohere", like=GROUPED), "stablelm": language("StableLm", like=GROUPED),
    "starcoder2": language("Starcoder2", like=GROUPED), "nemotron": language("Nemotron", like=GROUPED),
    "granite": language("Granite", like=GROUPED), "glm": language("Glm", like=GROUPED, head_dim=8),
    "helium": language("Helium", like=GROUPED, head_dim=8), "persimmon": language("Persimmon"),
    "xglm": language("XGLM", like={"vocab_size": VOCAB, "d_model": 32, "ffn_dim": 64, "num_layers": 2, "attention_heads": 4,
                                   "max_position_embeddings": 64}),
    "biogpt": language("BioGpt"), "mamba": language("Mamba", like={"vocab_size": VOCAB, "hidden_size": 32, "num_hidden_layers": 2,
                                                                  "state_size": 4}),
    "rwkv": language("Rwkv", like={"vocab_size": VOCAB, "hidden_size": 32, "num_hidden_layers": 2, "context_length": 64}),
    "bert": language("Bert", MASKED), "bert_classes": language("Bert", CLASSIFY, num_labels=CLASSES),
    "roberta": language("Roberta", MASKED), "distilbert": language("DistilBert", MASKED, like={
        "vocab_size": VOCAB, "dim": 32, "hidden_dim": 64, "n_layers": 2, "n_heads": 4, "max_position_embeddings": 64}),
    "albert": language("Albert", MASKED, embedding_size=16), "electra": language("Electra", MASKED, embedding_size=16),
    "deberta": language("Deberta", MASKED, relative_attention=True, pos_att_type=["c2p", "p2c"]),
    "deberta_v2": language("DebertaV2", MASKED, relative_attention=True, pos_att_type=["c2p", "p2c"]),
    "mpnet": language("MPNet", MASKED), "convbert": language("ConvBert", MASKED, embedding_size=16),
    "squeezebert": language("SqueezeBert", MASKED, embedding_size=32), "xlm_roberta": language("XLMRoberta", MASKED),
    "camembert": language("Camembert", MASKED), "ernie": language("Ernie", MASKED), "fnet": language("FNet", MASKED),
    "mobilebert": language("MobileBert", MASKED, embedding_size=16, true_hidden_size=32, intra_bottleneck_size=16),
    "roformer": language("RoFormer", MASKED, embedding_size=32), "nystromformer": language(
        "Nystromformer", MASKED, segment_means_seq_len=12, num_landmarks=4), "xlnet": language("XLNet", like={
            "vocab_size": VOCAB, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64}),
    "modernbert": language("ModernBert", MASKED, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2),
    "t5": language("T5", TO_TEXT, like={"vocab_size": VOCAB, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4,
                                        "decoder_start_token_id": 0}),
    "mt5": language("MT5", TO_TEXT, like={"vocab_size": VOCAB, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4,
                                          "decoder_start_token_id": 0}),
    "bart": language("Bart", TO_TEXT, like=BART), "pegasus": language("Pegasus", TO_TEXT, like=BART),
    "mbart": language("MBart", TO_TEXT, like=BART), "marian": language("Marian", TO_TEXT, like=BART),
    "blenderbot": language("Blenderbot", TO_TEXT, like=BART), "m2m100": language("M2M100", TO_TEXT, like=BART),
    "vit": vision("ViT"), "deit": vision("DeiT"), "beit": vision("Beit"), "data2vec_vision": vision("Data2VecVision"),
    "dinov2": vision("Dinov2"), "vit_msn": vision("ViTMSN"), "swin": vision("Swin", like={
        "image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4, "num_labels": CLASSES}),
    "swinv2": vision("Swinv2", like={"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4],
                                     "window_size": 4, "num_labels": CLASSES}),
    "convnext": vision("ConvNext", like={"hidden_sizes": [8, 16, 16, 16], "depths": [1, 1, 1, 1], "num_labels": CLASSES}, size=64),
    "convnextv2": vision("ConvNextV2", like={"hidden_sizes": [8, 16, 16, 16], "depths": [1, 1, 1, 1], "num_labels": CLASSES}, size=64),
    "resnet_hf": vision("ResNet", like={"embedding_size": 8, "hidden_sizes": [8, 16, 16, 16], "depths": [1, 1, 1, 1],
                                        "layer_type": "basic", "num_labels": CLASSES}, size=64, lr=2e-4),
    "regnet_hf": vision("RegNet", like={"embedding_size": 8, "hidden_sizes": [8, 16, 16, 16], "depths": [1, 1, 1, 1],
                                        "groups_width": 4, "num_labels": CLASSES}, size=64, lr=2e-4),
    "bit": vision("Bit", like={"embedding_size": 8, "hidden_sizes": [16, 16, 32, 32], "depths": [1, 1, 1, 1], "num_groups": 4,
                               "num_labels": CLASSES}, size=64, lr=2e-4),
    "poolformer": vision("PoolFormer", like={"hidden_sizes": [8, 16, 16, 16], "depths": [1, 1, 1, 1], "num_labels": CLASSES}, size=64),
    "pvt": vision("Pvt", like={"image_size": 64, "hidden_sizes": [8, 16, 16, 16], "depths": [1, 1, 1, 1],
                               "num_attention_heads": [1, 2, 2, 2], "num_labels": CLASSES}, size=64),
    "levit": vision("Levit", like={"image_size": 64, "hidden_sizes": [16, 16, 16], "num_attention_heads": [2, 2, 2],
                                   "depths": [1, 1, 1], "key_dim": [4, 4, 4], "num_labels": CLASSES}, size=64, lr=2e-4),
    "mobilevit": vision("MobileViT", like={"image_size": 64, "hidden_sizes": [16, 16, 16], "neck_hidden_sizes": [8, 8, 8, 8, 16, 16, 32],
                                           "num_attention_heads": 2, "num_labels": CLASSES}, size=64, lr=2e-4),
    "segformer": vision("Segformer", like={"hidden_sizes": [8, 16, 16, 16], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 2, 2, 2],
                                           "decoder_hidden_size": 16, "num_labels": CLASSES}, size=64),
    "mobilenet_v1_hf": vision("MobileNetV1", like={"image_size": 64, "depth_multiplier": 0.25, "num_labels": CLASSES}, size=64, lr=2e-4),
    "efficientformer_like": vision("FocalNet", like={"image_size": 32, "patch_size": 2, "embed_dim": 8, "depths": [1, 1], "focal_levels": [1, 1],
                                                     "focal_windows": [3, 3], "hidden_sizes": [8, 16], "num_labels": CLASSES}),
}.items():
    add(n, make)


# -- torchvision and timm --------------------------------------------------------------------------


def tv(name, size=64, lr=2e-4, **how):
    def make():
        import torchvision

        return Case(torchvision.models.get_model(name, weights=None, num_classes=CLASSES, **how), {"image": image(size)}, lr=lr)

    return make


def timm(name, size=64, lr=2e-4, **how):
    def make():
        import timm as lib

        return Case(lib.create_model(name, num_classes=CLASSES, **how), {"image": image(size)}, lr=lr)

    return make


FIXED = {"img_size": 64}
for n in ("alexnet", "vgg11_bn", "resnet18", "resnet50", "wide_resnet50_2", "resnext50_32x4d", "densenet121", "mobilenet_v2",
          "mobilenet_v3_small", "mobilenet_v3_large", "mnasnet0_5", "shufflenet_v2_x0_5", "squeezenet1_1", "efficientnet_b0",
          "efficientnet_v2_s", "regnet_x_400mf", "regnet_y_400mf", "convnext_tiny", "swin_t", "swin_v2_t"):
    add(f"tv_{n}", tv(n, 224 if n == "alexnet" else 64))
add("tv_vit", tv("vit_b_32", 64, image_size=64))
add("tv_maxvit", lambda: tv_maxvit())
add("tv_googlenet", tv("googlenet", 96, aux_logits=False, init_weights=False))
add("tv_inception_v3", tv("inception_v3", 96, aux_logits=False, init_weights=False))


def tv_maxvit():
    import torchvision

    m = torchvision.models.MaxVit(input_size=(64, 64), stem_channels=8, partition_size=2, block_channels=[8, 16], block_layers=[1, 1],
                                  head_dim=4, stochastic_depth_prob=0.0, num_classes=CLASSES)
    return Case(m, {"image": image(64)}, lr=2e-4)


for n, how in {
    "resnet10t": {}, "resnetblur18": {}, "skresnet18": {}, "selecsls42b": {}, "res2net50_26w_4s": {}, "ecaresnet26t": {}, "seresnet18": {},
    "gernet_s": {}, "repvgg_a0": {}, "mobileone_s0": {}, "ghostnet_050": {}, "repghostnet_050": {}, "hardcorenas_a": {}, "mixnet_s": {},
    "rexnet_100": {}, "ese_vovnet19b_slim": {}, "xception41": {}, "dla34": {}, "hrnet_w18_small": {}, "cspresnet50": {}, "cspdarknet53": {},
    "darknetaa53": {}, "nf_resnet50": {}, "nfnet_f0": {}, "regnetz_b16": {}, "lcnet_050": {}, "tinynet_e": {}, "mobilenetv4_conv_small": {},
    "fbnetc_100": {}, "spnasnet_100": {}, "semnasnet_050": {}, "efficientnet_lite0": {}, "edgenext_xx_small": {}, "mobilevit_xxs": {},
    "mobilevitv2_050": {}, "fastvit_t8": {}, "efficientvit_m0": {}, "efficientvit_b0": {}, "levit_128s": {"size": 224}, "poolformer_s12": {},
    "convmixer_768_32": {}, "mixer_s32_224": FIXED, "gmlp_ti16_224": FIXED, "resmlp_12_224": FIXED, "deit_tiny_patch16_224": FIXED,
    "cait_xxs24_224": FIXED, "beit_base_patch16_224": FIXED, "xcit_nano_12_p16_224": FIXED, "pit_ti_224": {"size": 224},
    "coat_lite_tiny": FIXED, "twins_pcpvt_small": FIXED, "pvt_v2_b0": {}, "convit_tiny": FIXED, "crossvit_tiny_240": {"size": 240},
    "tnt_s_patch16_224": FIXED, "swinv2_cr_tiny_224": {"size": 224}, "coatnet_pico_rw_224": FIXED, "botnet26t_256": FIXED, "halonet26t": {"size": 128},
    "eva02_tiny_patch14_224": {"img_size": 56, "size": 56}, "volo_d1_224": {"size": 224}, "visformer_tiny": FIXED, "nest_tiny": {"size": 224},
    "sequencer2d_s": {"size": 224}, "starnet_s1": {}, "inception_next_atto": {}, "hgnet_tiny": {}, "vit_tiny_patch16_224": FIXED,
}.items():
    how = dict(how)
    add(f"timm_{n}", timm(n, how.pop("size", how.get("img_size", 64)), **how))


# -- exporting, training and comparing -------------------------------------------------------------


class Outcome(Exception):
    def __init__(self, kind, why):
        super().__init__(why)
        self.kind = kind


def export(case, path, way):
    args, kwargs = case.args()
    names = list(case.inputs)
    if way.startswith("ts") or way.startswith("dynamo"):
        case.module.eval()
        how = {"dynamo": False, "opset_version": 17, "dynamic_axes": {n: {0: "batch"} for n in names}}
        if way.startswith("dynamo"):
            how = {"dynamo": True, "external_data": False, "optimize": way == "dynamo"}
        torch.onnx.export(case.module, args, path, kwargs=kwargs, input_names=names, **how)
        case.module.train()
        return {}
    axes = {n: {0: "batch"} for n in names}
    try:
        return pleat_export.export(case.module, args, path, kwargs=kwargs, input_names=names, dynamic_axes=axes,
                                   trusted=("GeLUFunction",))
    except pleat_export.ExportError:
        return pleat_export.export(case.module, args, path, kwargs=kwargs, input_names=names, dynamic_axes={},
                                   trusted=("GeLUFunction",))


def run(a, case, path, data, steps, lr, save):
    c = [a.pleat, "train", f"{path}:loss={case.loss}" + ("" if case.static else f",batch={BATCH}"),
         "--data", data, "--data-order", "file"]
    c += ["--train-share", "0.5", "--optimizer", "sgd", "--momentum", "0", "--decay", "0", "--clip", "0"]
    c += ["--lr", str(lr), "--steps", str(steps), "--eval-batches", "0", "--threads", "1", "--json", "--save", save]
    p = subprocess.run(c + a.more, capture_output=True, text=True, check=False)
    if p.returncode:
        last = (p.stderr.strip() or "?").splitlines()
        first = next((x for x in last if x.startswith("error")), last[-1])
        kind = "refused" if p.returncode in (3, 4, 5) else "wrong"
        raise Outcome(kind, f"exit {p.returncode}: {first[:300]}")
    lines = [json.loads(line) for line in p.stdout.splitlines() if line.startswith("{")]
    (file,) = glob.glob(f"{save}/*.safetensors")
    states = safetensors.torch.load_file(file)
    weights = {k: v for k, v in states.items() if not k.endswith(".momentum") or k[:-9] not in states}
    names = case.module.state_dict()  # a name that pleat needs for itself gets "_" behind it
    weights = {k[:-1] if k[:-1] in names and k not in names else k: v for k, v in weights.items()}
    return [x["loss"] for x in lines if "loss" in x], weights


def reference(case):
    module, rates = copy.deepcopy(case.module), rates_of(case)
    trained = [p for p in module.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=rates[0])
    losses = []
    for rate in rates:
        optimizer.param_groups[0]["lr"] = rate
        loss = case.loss_of(case.output(module))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, module.state_dict()


def doubled(case, stir=0):
    """The same in doubles: what floats round off. With a stir each weight starts up to two of a float's last places away."""
    twin = copy.copy(case)
    twin.module = copy.deepcopy(case.module).double()
    random = torch.Generator().manual_seed(stir)
    for p in twin.module.parameters() if stir else ():
        p.data *= 1 + 2**-22 * (2 * torch.rand(p.shape, generator=random, dtype=torch.float64) - 1)
    twin.inputs = {k: v.double() if v.is_floating_point() else v for k, v in case.inputs.items()}
    if case.label is not None and case.label.is_floating_point():
        twin.label = case.label.double()
    kept = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return reference(twin)[0]
    finally:
        torch.set_default_dtype(kept)


def apart(x, y):
    return max(abs(p - q) / max(abs(q), 1e-3) for p, q in zip(x, y, strict=True))


def rates_of(case):
    return [pleat.rate({"steps": STEPS, "warmup": 0, "lr": case.lr}, i) for i in range(STEPS)]


def moved(before, after):
    return {k: (after[k].double() - x.double()) for k, x in before.items()
            if k in after and x.shape == after[k].shape and x.is_floating_point() and not torch.equal(x, after[k])}


def compare_sets(case, ours, theirs):
    """Tensors that moved here and there; those of rounding alone do not count."""
    largest = max((d.abs().max().item() for d in theirs.values()), default=0)
    real = {k for k, d in theirs.items() if d.abs().max() > 1e-5 * largest}
    alias = {}
    for names in tied(case.module):
        alias |= {n: names[0] for n in names}
    moves = {k for k, d in ours.items() if d.abs().max() > 1e-5 * largest}
    ours, real, all_theirs, moves = ({alias.get(k, k) for k in s} for s in (ours, real, theirs, moves))
    extra, lost = sorted(moves - all_theirs), sorted(real - ours)
    if extra:
        raise Outcome("silent", f"trains what PyTorch does not: {' '.join(extra)[:200]}")
    if lost:
        raise Outcome("silent", f"does not train: {' '.join(lost)[:200]}")
    return largest


def tied(module):
    names = collections.defaultdict(list)
    for n, p in module.named_parameters(remove_duplicate=False):
        names[id(p)].append(n)
    return [n for n in names.values() if len(n) > 1]


def weights_apart(ours, theirs, largest):
    worst, where = 0.0, ""
    for k in ours.keys() & theirs.keys():
        scale = max(theirs[k].abs().max().item(), 1e-3 * largest)
        error = (ours[k] - theirs[k]).abs().max().item() / scale
        if not error <= worst:
            worst, where = error, k
    return worst, where


def check(a, case, folder, way):
    path = os.path.join(folder, "model.onnx")
    try:
        for m in case.module.modules():
            if getattr(m, "frozen", False):
                m.eval()
        case.prepare()
        losses, after = reference(case)
    except Exception as e:
        raise Outcome("torch", f"{type(e).__name__}: {str(e).splitlines()[0][:200]}") from e
    before = {k: v.clone() for k, v in case.module.state_dict().items()}
    try:
        listed = export(case, path, way)
    except Exception as e:
        raise Outcome("exporter", f"{type(e).__name__}: {str(e)[:300]}".replace("\n", " ")) from e
    import onnx

    dims = [d for v in onnx.load(path, load_external_data=False).graph.input for d in v.type.tensor_type.shape.dim[:1]]
    case.static = not any(d.dim_param for d in dims)
    data = os.path.join(folder, "rows.safetensors")
    given = {k: v for k, v in case.inputs.items() if k not in KNOWN}
    if case.loss != "graph":
        given["target" if case.loss == "mse" else "targets" if len(case.shape) == 3 else "label"] = case.label
    safetensors.torch.save_file({k: torch.cat([v, v]).contiguous() for k, v in given.items()}, data)
    _, first = run(a, case, path, data, 0, case.lr, os.path.join(folder, "s0"))
    ours, last = run(a, case, path, data, STEPS, case.lr, os.path.join(folder, "s1"))
    row = {"losses": apart(ours, losses), "first": abs(ours[0] - losses[0]), "exporter": listed.get("exporter", way).split(", ")[-1]}
    d_ours, d_theirs = moved(first, last), moved(before, after)
    largest = compare_sets(case, d_ours, d_theirs)
    row["weights"], where = weights_apart(d_ours, d_theirs, largest)
    wrong = [f"{k} {row[k]:.1e}" for k, limit in LIMITS.items() if not row[k] <= limit]
    if wrong:
        why = ", ".join(wrong) + f" ({where}); first loss {row['first']:.1e}"
        exact = doubled(case)
        theirs, here = apart(losses, exact), apart(ours, exact)
        stirred = max(apart(doubled(case, k), exact) for k in range(1, 1 + STIRS)) if here > 4 * theirs else 0
        raise Outcome("rounding" if here <= 4 * max(theirs, stirred) else "wrong",
                      f"{why}; from doubles {here:.1e}, PyTorch's floats {theirs:.1e}"
                      + (f", stirred doubles {stirred:.1e}" if stirred else ""))
    return row


def one(a, name):
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.manual_seed(a.seed)
    with tempfile.TemporaryDirectory() as folder:
        try:
            try:
                made = CASES[name]()
            except Exception as e:
                raise Outcome("torch", f"{type(e).__name__}: {str(e).splitlines()[0][:200]}") from e
            return {"class": "ok", **check(a, made, a.keep or folder, a.way)}
        except Outcome as e:
            return {"class": e.kind, "why": str(e)}


def forked(a, name):
    """In a process of its own: a case may crash, hang or change the libraries."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        signal.alarm(a.seconds)
        null = os.open(os.devnull, os.O_WRONLY)
        if not a.loud:
            os.dup2(null, 1), os.dup2(null, 2)
        try:
            row = one(a, name)
        except BaseException as e:
            row = {"class": "torch", "why": f"{type(e).__name__}: {e}"[:300]}
        os.write(write, json.dumps(row).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"class": "exporter", "why": f"crashed, or more than {a.seconds} s"}


def show(name, row):
    cells = [name, row["class"], row.get("exporter", "")]
    cells += [f"{row[k]:.0e}" if k in row else "" for k in ("losses", "weights")]
    print("| " + " | ".join(cells) + f" | {row.get('why', '').replace('|', '/')} | {row['seconds']:.0f} |", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("cases", nargs="*", metavar="CASE", help="names or globs; default: all")
    p.add_argument("--pleat", default="build/pleat", help="the binary")
    p.add_argument("--way", default="pleat", help="pleat (pleat_export.py), ts, dynamo or dynamo-raw")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--seconds", type=int, default=300, help="for each case")
    p.add_argument("--keep", metavar="DIR", help="where the files stay")
    p.add_argument("--loud", action="store_true", help="what the exporters print")
    p.add_argument("--list", action="store_true", help="the cases' names")
    p.add_argument("--more", default="", help="further options of pleat train")
    a = p.parse_args()
    a.more = a.more.split()
    a.pleat = os.path.abspath(a.pleat)
    names = [n for n in CASES if not a.cases or any(fnmatch.fnmatch(n, c) for c in a.cases)]
    if a.list:
        print("\n".join(names))
        return
    torch.set_num_threads(1)
    for lib in ("onnx", "onnxscript", "torchvision", "timm", "transformers"):
        try:
            __import__(lib)
        except ImportError:
            print(f"{lib} is not there", file=sys.stderr)
    print("| case | class | exporter | losses | weights | why | seconds |\n" + "|---" * 7 + "|")
    count = collections.Counter()
    for name in names:
        since = time.time()
        row = forked(a, name)
        row["seconds"] = time.time() - since
        count[row["class"]] += 1
        show(name, row)
    print("\n" + ", ".join(f"{k} {n}" for k, n in count.most_common()))
    sys.exit(6 if count["silent"] + count["wrong"] else 0)


if __name__ == "__main__":
    main()
