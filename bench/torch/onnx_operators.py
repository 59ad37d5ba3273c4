"""Writes test/import/data/operators.onnx: single operators, with what PyTorch makes of them.

Case NAME reads the graph's input NAME, of zeros, plus numbers of its own. The graph's outputs are
NAME.error, the largest difference from PyTorch's answer; NAME.loss, a weighted sum of the answer;
and NAME.gradient, PyTorch's gradient of that to the input. test/import/test_operators.c compares.
"""

import argparse

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import helper, numpy_helper

OPSET = 20
CASES = {}


class Build:
    """Nodes of a case: op() adds one and gives the name of its first output."""

    def __init__(self, name):
        self.name, self.nodes, self.n = name, [], 0

    def label(self):
        self.n += 1
        return f"{self.name}.{self.n}"

    def constant(self, value, name=None):
        array = value.detach().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        name = name or self.label()
        self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array)))
        return name

    def op(self, op, *inputs, outputs=1, out=None, **attrs):
        names = ["" if x is None else x if isinstance(x, str) else self.constant(x) for x in inputs]
        outs = [out] if out else [self.label() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, names, outs, **attrs))
        return outs[0] if outputs == 1 else outs


def case(name, shape, answer, build):
    CASES[name] = (shape, answer, build)


def ints(*values):
    return np.asarray(values, np.int64)


# -- resizing --------------------------------------------------------------------------------------


def resize(name, mode, scale=None, size=None, **how):
    """As PyTorch's exporter says it: the scale if there is one, else the size."""
    kind = {"bilinear": "linear", "bicubic": "cubic", "nearest": "nearest"}[mode]
    attrs = {"mode": kind, "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    if mode != "nearest":
        corners = how.get("align_corners")
        attrs["coordinate_transformation_mode"] = "align_corners" if corners else "pytorch_half_pixel"
    if how.get("antialias"):
        attrs |= {"antialias": 1, "exclude_outside": 1}
    by = [None, np.asarray([1, 1, scale, scale], np.float32)] if scale else [None, None, ints(1, 1, *size or ())]
    case(name, (1, 1, 10, 7), lambda x: F.interpolate(x, scale_factor=scale, size=size, mode=mode, **how),
         lambda b, x: b.op("Resize", x, *by, **attrs))


for s in (0.6, 0.7, 1.3):
    resize(f"resize_nearest_{s}", "nearest", s)
    for m in ("bilinear", "bicubic"):
        resize(f"resize_{m}_corners_{s}", m, s, align_corners=True)
        resize(f"resize_{m}_{s}", m, s)
resize("resize_bicubic_size", "bicubic", size=(4, 9))
resize("resize_bilinear_antialias", "bilinear", size=(4, 5), antialias=True)

# -- places ----------------------------------------------------------------------------------------

GRID = torch.from_numpy(np.random.default_rng(7).uniform(-1.4, 1.4, (1, 3, 4, 2)).astype(np.float32))


def grid(mode, padding, corners):
    name = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    case(f"grid_{mode}_{padding}_{corners}", (1, 2, 4, 5),
         lambda x: F.grid_sample(x, GRID, mode, padding, bool(corners)),
         lambda b, x: b.op("GridSample", x, GRID, mode=name, padding_mode=padding, align_corners=corners))


for m in ("bilinear", "nearest", "bicubic"):
    for p, c in (("zeros", 0), ("border", 1), ("reflection", 0), ("reflection", 1)):
        grid(m, p, c)
PICTURE = torch.from_numpy(np.random.default_rng(8).normal(size=(1, 2, 4, 5)).astype(np.float32))
case("grid_places", (1, 3, 4, 2), lambda g: F.grid_sample(PICTURE, g, align_corners=False),
     lambda b, g: b.op("GridSample", PICTURE, g, mode="linear"))

# -- windows ---------------------------------------------------------------------------------------

TWO = {"kernel_shape": [2, 2], "strides": [2, 2]}


def maximum(x):
    return F.max_pool2d(x, 2, return_indices=True)


def unpooled(b, x):
    y, at = b.op("MaxPool", x, outputs=2, **TWO)
    return b.op("MaxUnpool", y, at, **TWO)


def indices(b, x):
    y, at = b.op("MaxPool", x, outputs=2, **TWO)
    return b.op("Mul", y, b.op("Cast", at, to=onnx.TensorProto.FLOAT))


case("max_indices", (1, 1, 4, 6), lambda x: maximum(x)[0] * maximum(x)[1], indices)
case("max_unpool", (2, 3, 4, 6), lambda x: F.max_unpool2d(*maximum(x), 2), unpooled)
for counts in (0, 1):
    case(f"average_ceil_{counts}", (1, 2, 8, 7),
         lambda x, counts=counts: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=bool(counts)),
         lambda b, x, counts=counts: b.op("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4,
                                          ceil_mode=1, count_include_pad=counts))
for n in (3, 5):  # of an even number PyTorch has the middle elsewhere than ONNX
    case(f"lrn_{n}", (2, 6, 3), lambda x, n=n: F.local_response_norm(x, n, 0.5, 0.75, 2.0),
         lambda b, x, n=n: b.op("LRN", x, size=n, alpha=0.5, beta=0.75, bias=2.0))
case("columns", (2, 12, 9), lambda x: F.fold(x, (5, 5), (2, 2), 1, 1, 2),
     lambda b, x: b.op("Col2Im", x, ints(5, 5), ints(2, 2), pads=[1] * 4, strides=[2, 2]))

# -- sums ------------------------------------------------------------------------------------------

OTHER = torch.from_numpy(np.random.default_rng(9).normal(size=(3, 4)).astype(np.float32))


def einsum(name, equation, shape, *others):
    case(f"einsum_{name}", shape, lambda x: torch.einsum(equation, x, *others),
         lambda b, x: b.op("Einsum", x, *others, equation=equation))


einsum("diagonal", "bii->bi", (2, 3, 3))
einsum("trace", "...ii->...", (2, 2, 3, 3))
einsum("sum", "ij->i", (3, 4))
einsum("implied", "ji", (3, 4))
einsum("four", "ij,ij,kj,ik->k", (3, 4), OTHER, torch.eye(4) + 1, OTHER)
einsum("dots", "...i,ji->...j", (2, 2, 4), OTHER)
case("fourier", (2, 6, 1), lambda x: torch.view_as_real(torch.fft.fft(x[..., 0])), lambda b, x: b.op("DFT", x, None, ints(1).reshape(())))
case("fourier_back", (2, 6, 2), lambda x: torch.view_as_real(torch.fft.ifft(torch.view_as_complex(x))),
     lambda b, x: b.op("DFT", x, None, ints(1).reshape(()), inverse=1))
case("fourier_side", (2, 5, 1), lambda x: torch.view_as_real(torch.fft.rfft(x[..., 0], 8)),
     lambda b, x: b.op("DFT", x, ints(8).reshape(()), ints(1).reshape(()), onesided=1))

# -- parts -----------------------------------------------------------------------------------------

case("slice_back", (3, 7), lambda x: x[:, torch.arange(5, 0, -2)],
     lambda b, x: b.op("Slice", x, ints(5), ints(0), ints(1), ints(-2)))
case("slice_flip", (3, 4), lambda x: x.flip(0, 1),
     lambda b, x: b.op("Slice", x, ints(-1, -1), ints(-99, -99), ints(0, 1), ints(-1, -1)))
case("slice_empty", (3, 4), lambda x: 2 * x,
     lambda b, x: b.op("Concat", b.op("Add", x, x), b.op("Slice", x, ints(4), ints(9), ints(1)), axis=1))
case("split_empty", (3, 4), lambda x: torch.cat([x[:, 3:], x[:, :3]], 1),
     lambda b, x: b.op("Concat", *b.op("Split", x, ints(3, 1, 0), axis=1, outputs=3)[1::-1], axis=1))


def parts(b, x):
    s = b.op("SplitToSequence", x, ints(3, 1, 0), axis=1)
    return b.op("Concat", *(b.op("SequenceAt", s, ints(k).reshape(())) for k in (1, 0, 2)), axis=1)


case("sequence_empty", (3, 4), lambda x: torch.cat([x[:, 3:], x[:, :3]], 1), parts)

# -- scattering ------------------------------------------------------------------------------------

AT = torch.tensor([[3, 0, 5], [1, 1, 2]])  # of the last dimension; rows of it are fewer than x's
U = torch.from_numpy(np.random.default_rng(6).normal(size=(2, 3)).astype(np.float32))
HOW = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


def elements(how):
    at = AT if how != "none" else torch.tensor([[3, 0, 5], [1, 4, 2]])
    case(f"scatter_{how}", (3, 6), lambda x: x.scatter_reduce(1, at, U, HOW[how]) if how in HOW else x.scatter(1, at, U),
         lambda b, x: b.op("ScatterElements", x, at, U, axis=1, reduction=how))
    case(f"scatter_updates_{how}", (2, 3), lambda u: U.repeat(2, 2).scatter_reduce(1, at, u, HOW[how]) if how in HOW else U.repeat(2, 2).scatter(1, at, u),
         lambda b, u: b.op("ScatterElements", U.repeat(2, 2), at, u, axis=1, reduction=how))


for h in ("none", *HOW):
    elements(h)
case("scatter_zero", (2, 3), lambda u: (U + 2).scatter_reduce(1, torch.tensor([[0, 0, 1], [2, 2, 2]]), torch.tensor([[0.0, 1, 1], [0, 1, 0]]) * u, "prod"),
     lambda b, u: b.op("ScatterElements", U + 2, torch.tensor([[0, 0, 1], [2, 2, 2]]), b.op("Mul", u, np.asarray([[0.0, 1, 1], [0, 1, 0]])), axis=1, reduction="mul"))


def replaced(x, index, u):
    y = x.clone()
    y[index] = u
    return y


PAIRS = torch.tensor([[[0, 1], [0, 2]], [[1, 1], [1, 2]]])  # a block of the first two dimensions
MIXED = torch.tensor([[2, 0], [0, -1], [1, 1]])
V = torch.from_numpy(np.random.default_rng(5).normal(size=(2, 2, 3)).astype(np.float32))
case("scatter_block", (2, 4, 3), lambda x: replaced(x, (slice(None), slice(1, 3)), V),
     lambda b, x: b.op("ScatterND", x, PAIRS, V))
case("scatter_block_updates", (2, 2, 3), lambda u: torch.cat([V, V], 1).index_put((PAIRS[..., 0], PAIRS[..., 1]), u, accumulate=True),
     lambda b, u: b.op("ScatterND", torch.cat([V, V], 1), PAIRS, u, reduction="add"))
case("scatter_rows", (3, 4), lambda x: replaced(x, (MIXED[:, 0], MIXED[:, 1]), torch.tensor([5.0, 6, 7])),
     lambda b, x: b.op("ScatterND", x, MIXED, np.asarray([5.0, 6, 7])))
case("scatter_rows_add", (3, 4), lambda x: x.index_add(0, torch.tensor([2, 0, 2]), 2 * x),
     lambda b, x: b.op("ScatterND", x, ints(2, 0, 2).reshape(3, 1), b.op("Add", x, x), reduction="add"))
case("gather_batch", (2, 3, 4), lambda x: torch.stack([x[i][PAIRS[i, :, 0] + 1, PAIRS[i, :, 1]] for i in range(2)]),
     lambda b, x: b.op("GatherND", x, PAIRS + torch.tensor([1, 0]), batch_dims=1))

# -- jumps -----------------------------------------------------------------------------------------

for name, f in {"Round": torch.round, "Floor": torch.floor, "Ceil": torch.ceil, "Sign": torch.sign}.items():
    case(name.lower(), (3, 4), lambda x, f=f: x * f(x), lambda b, x, name=name: b.op("Mul", x, b.op(name, x)))
for fmod in (0, 1):
    case(f"mod_{fmod}", (3, 4), lambda x, fmod=fmod: (torch.fmod if fmod else torch.remainder)(OTHER * 3, x + torch.sign(x)),
         lambda b, x, fmod=fmod: rest(b, OTHER * 3, b.op("Add", x, b.op("Sign", x)), fmod))


def rest(b, x, y, fmod):
    if fmod:
        return b.op("Mod", x, y, fmod=1)
    return b.op("Sub", x, b.op("Mul", y, b.op("Floor", b.op("Div", x, y))))


def normalized(b, x):
    return b.op("Div", x, b.op("Clip", b.op("ReduceL2", x, ints(1)), np.float32(1e-12)))


MASK = np.asarray([[1, 1, 1, 1], [1, 0, 1, 1], [0, 1, 0, 1]], np.float32)  # none, one and two zeros
case("product", (3, 4), lambda x: (x * torch.from_numpy(MASK)).prod(1),
     lambda b, x: b.op("ReduceProd", b.op("Mul", x, MASK), ints(1), keepdims=0))


ROWS = np.asarray([[1, 1, 1, 1], [0, 0, 0, 0], [0, 1, 0, 1]], np.float32)  # a norm that is 0 has gradient 0
case("norm", (3, 4), lambda x: F.normalize(x * torch.from_numpy(ROWS), dim=1),
     lambda b, x: normalized(b, b.op("Mul", x, ROWS)))


# -- attention -------------------------------------------------------------------------------------

R = np.random.default_rng(99)
KEYS, VALUES = (R.normal(size=(1, 2, 5, 3)).astype(np.float32) for _ in range(2))
LATER = np.triu(np.ones((5, 5), bool), 1)
LOW = np.finfo(np.float32).min
MASKS = {"later": LATER, "later_but_one": np.triu(np.ones((5, 5), bool), 2), "earlier": LATER.T}


def attended(x, hides=None, bias=None):
    s = x @ torch.from_numpy(KEYS).transpose(2, 3) * 0.5
    if hides is not None:
        s = s.masked_fill(torch.from_numpy(hides), LOW)
    if bias is not None:
        s = s + torch.from_numpy(bias)
    return s.softmax(-1) @ torch.from_numpy(VALUES)


def attend(b, x, mask):
    s = b.op("MatMul", x, b.op("Transpose", KEYS, perm=[0, 1, 3, 2]))
    p = b.op("Softmax", mask(b.op("Mul", s, np.float32(0.5))), axis=-1)
    return b.op("MatMul", p, VALUES)


case("attention", (1, 2, 5, 3), attended, lambda b, x: attend(b, x, lambda s: s))
for name, hides in MASKS.items():
    case(f"attention_{name}_added", (1, 2, 5, 3), lambda x, h=hides: attended(x, h),
         lambda b, x, h=hides: attend(b, x, lambda s: b.op("Add", s, np.where(h, LOW, 0).astype(np.float32))))
    case(f"attention_{name}_chosen", (1, 2, 5, 3), lambda x, h=hides: attended(x, h),
         lambda b, x, h=hides: attend(b, x, lambda s: b.op("Where", h, LOW, s)))
    case(f"attention_{name}_spared", (1, 2, 5, 3), lambda x, h=hides: attended(x, h),
         lambda b, x, h=hides: attend(b, x, lambda s: b.op("Where", ~h, s, LOW)))
SLOPE = np.where(LATER, LOW, -np.arange(5)).astype(np.float32)  # not a mask alone: ALiBi's
case("attention_biased", (1, 2, 5, 3), lambda x: attended(x, bias=SLOPE),
     lambda b, x: attend(b, x, lambda s: b.op("Add", s, SLOPE)))


# -- the file --------------------------------------------------------------------------------------


def write(path):
    nodes, inputs, outputs = [], [], []
    for seed, (name, (shape, answer, build)) in enumerate(CASES.items()):
        r = np.random.default_rng(seed)
        x = torch.from_numpy(r.normal(size=shape).astype(np.float32)).requires_grad_(True)
        y = answer(x)
        w = torch.from_numpy(r.normal(size=tuple(y.shape)).astype(np.float32))
        (y * w).sum().backward()
        b = Build(name)
        result = build(b, b.op("Add", name, x))
        b.op("ReduceMax", b.op("Abs", b.op("Sub", result, y)), out=f"{name}.error", keepdims=0)
        b.op("ReduceSum", b.op("Mul", result, w), out=f"{name}.loss", keepdims=0)
        b.op("Identity", x.grad, out=f"{name}.gradient")
        nodes += b.nodes
        value = lambda n, s=None: helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s)
        inputs.append(value(name, shape))
        outputs += [value(f"{name}.error", []), value(f"{name}.loss", []), value(f"{name}.gradient", shape)]
    graph = helper.make_graph(nodes, "operators", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    print(f"{len(CASES)} cases, {len(model.SerializeToString())} bytes")


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("path", nargs="?", default="test/import/data/operators.onnx")
    write(p.parse_args().path)
