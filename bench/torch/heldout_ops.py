"""Single operators of ONNX with random attributes and shapes: does pleat train them?

Each trial is a graph of one operator over the input x and a few weights: x plus a weight in front,
so that a gradient has to come through, and a weight on the answer. onnxruntime says what the answer
is, and central differences of its loss what the gradients are; `pleat train` says both by one step
of plain SGD. Classes: equal, wrong (the answer), gradient, refused (pleat says why), skip (neither
onnxruntime nor the checker takes it). Exit status 6 if one is wrong.
"""

import argparse
import collections
import logging
import os
import sys
import tempfile
import types

import numpy as np
import onnx
import onnxruntime
import safetensors.torch
import torch
from onnx import TensorProto, helper, numpy_helper

import onnx_parity as parity

ROWS, STEP = 4, 1e-2  # of a batch; of a central difference


class Trial:
    """One random operator: r is its source of numbers, consts its further inputs."""

    def __init__(self, seed):
        self.r = np.random.default_rng(seed)
        self.attrs, self.consts, self.lo, self.hi = {}, [], -1.0, 1.0

    def pick(self, *values):
        return values[self.r.integers(len(values))]

    def size(self, most=6, least=2):
        return int(self.r.integers(least, most + 1))

    def floats(self, *shape):
        return self.r.normal(size=shape).astype(np.float32)


def resize(t):
    t.shape = (2, t.size(), t.size())
    t.attrs["mode"] = t.pick("nearest", "linear", "cubic")
    t.attrs["coordinate_transformation_mode"] = t.pick(
        "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
    if t.attrs["mode"] == "nearest":
        t.attrs["nearest_mode"] = t.pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    if t.attrs["mode"] == "cubic":
        t.attrs |= {"cubic_coeff_a": t.pick(-0.5, -0.75), "exclude_outside": t.pick(0, 1)}
    if t.pick(0, 1):
        t.consts = [None, np.asarray([1, 1, *t.r.choice([0.5, 0.6, 0.75, 1.3, 1.5, 2.0], 2)], np.float32)]
    else:
        t.consts = [None, None, np.asarray([ROWS, 2, t.size(9), t.size(9)], np.int64)]


def grid_sample(t):
    t.shape = (2, t.size(), t.size())
    t.attrs = {"mode": t.pick("linear", "nearest", "cubic"), "align_corners": t.pick(0, 1),
               "padding_mode": t.pick("zeros", "border", "reflection")}
    t.consts = [t.r.uniform(-1.5, 1.5, (ROWS, t.size(), t.size(), 2)).astype(np.float32)]


def scatter_elements(t):
    t.shape, axis = (t.size(), t.size()), t.pick(1, 2, -1)
    how = t.pick("none", "add", "mul", "max", "min")
    n = t.shape[axis if axis < 0 else axis - 1]
    count = t.size(n, 1)
    shape = [ROWS, *t.shape]
    shape[axis] = count
    ids = np.argsort(t.r.uniform(size=[n if i == axis % 3 else s for i, s in enumerate(shape)]), axis)
    t.consts = [np.take(ids, range(count), axis) - t.pick(0, n), t.floats(*shape)]
    t.attrs = {"axis": axis, "reduction": how}


def scatter_nd(t):
    t.shape = (t.size(), t.size())
    at = [(i, j) for i in range(ROWS) for j in range(t.shape[0])]
    n = t.size(len(at), 1)
    t.consts = [np.asarray(t.r.permutation(at)[:n], np.int64), t.floats(n, t.shape[1])]
    t.attrs = {"reduction": t.pick("none", "add", "mul", "max", "min")}


def slices(t):
    t.shape = (t.size(7, 3), t.size(7, 3))
    step = t.pick(-3, -2, -1, 1, 2, 3)
    ends = (int(t.r.integers(0, 2)), t.pick(99, t.shape[1]))
    start, end = ends if step > 0 else (t.pick(-1, 99), t.pick(0, -99))
    t.consts = [np.asarray([x], np.int64) for x in (start, end, t.pick(2, -1), step)]


def average_pool(t):
    t.shape, k = (2, t.size(9, 5), t.size(9, 5)), t.size(3)
    t.attrs = {"kernel_shape": [k, t.size(3)], "strides": [t.size(3, 1), t.size(3, 1)],
               "pads": [int(x) for x in t.r.integers(0, 2, 4)], "ceil_mode": t.pick(0, 1),
               "count_include_pad": t.pick(0, 1)}


def einsum(t):
    equation = t.pick("bii->bi", "bij->b", "bij,jk->bik", "bij,bij->b", "bii", "bij,jk,kl->bil")
    n = t.size(4)
    t.shape, t.attrs = (n, n), {"equation": equation}
    t.consts = [t.floats(ROWS, n, n) if term == "bij" else t.floats(n, n)
                for term in equation.split("->")[0].split(",")[1:]]


def dft(t):
    t.shape = (t.size(), t.size(), t.pick(1, 2))
    one = t.shape[2] == 1 and t.pick(0, 1)
    length = None if t.pick(0, 1) else np.asarray(t.size(8), np.int64)
    t.consts = [length, np.asarray(t.pick(1, 2, -2), np.int64)]
    t.attrs = {"onesided": 1} if one else {"inverse": t.pick(0, 1)}


def lrn(t):
    t.shape = (t.size(), t.size(), t.size())
    t.attrs = {"size": t.pick(1, 3, 5), "alpha": t.pick(0.1, 0.9), "beta": t.pick(0.5, 0.75), "bias": t.pick(1.0, 2.0)}


def col2im(t):
    k, image = (t.size(3), t.size(3)), (t.size(6, 4), t.size(6, 4))
    pads, strides = [t.pick(0, 1)] * 4, [t.size(2, 1), t.size(2, 1)]
    steps = [(s + 2 * pads[0] - a) // d + 1 for s, a, d in zip(image, k, strides)]
    t.shape = (2 * k[0] * k[1], steps[0] * steps[1])
    t.consts = [np.asarray(image, np.int64), np.asarray(k, np.int64)]
    t.attrs = {"pads": pads, "strides": strides}


def reduce_prod(t):
    t.shape = (t.size(4), t.size(4))
    t.consts = [np.asarray([t.pick(1, 2, -1)], np.int64)]
    t.attrs = {"keepdims": t.pick(0, 1)}


def gather_nd(t):
    n = t.size(4)
    t.shape, t.attrs = (t.size(), t.size()), {"batch_dims": 1}
    t.consts = [t.r.integers(0, t.shape[0], (ROWS, n, 1))]


OPERATORS = {"Resize": resize, "GridSample": grid_sample, "ScatterElements": scatter_elements, "ScatterND": scatter_nd,
             "Slice": slices, "AveragePool": average_pool, "Einsum": einsum, "DFT": dft, "LRN": lrn, "Col2Im": col2im,
             "ReduceProd": reduce_prod, "GatherND": gather_nd}


def build(op, t):
    """y = op(x + a) c, where a and c are weights; or why there is none."""
    OPERATORS[op](t)
    nodes, names, keep = [], ["sum"], []
    a = numpy_helper.from_array(t.floats(*t.shape), "m.a")
    for k, value in enumerate(t.consts):
        names.append("" if value is None else f"const{k}")
        if value is not None:
            nodes.append(helper.make_node("Constant", [], [names[-1]], value=numpy_helper.from_array(np.asarray(value))))
    nodes += [helper.make_node("Add", ["x", "m.a"], ["sum"]), helper.make_node(op, names, ["y"], **t.attrs)]
    info = lambda n, s: helper.make_tensor_value_info(n, TensorProto.FLOAT, s)
    opset = helper.make_opsetid("", 20)

    def model(result, keep):
        graph = helper.make_graph(nodes + keep, "trial", [info("x", [ROWS, *t.shape])], [info(result, None)], [a])
        return helper.make_model(graph, opset_imports=[opset], ir_version=9)

    x = t.floats(ROWS, *t.shape)
    (y,) = onnxruntime.InferenceSession(model("y", []).SerializeToString()).run(None, {"x": x})
    if y.ndim < 1 or y.shape[0] != ROWS or not np.isfinite(y).all():
        raise ValueError(f"an answer of shape {y.shape}")
    keep = [helper.make_node("Mul", ["y", "m.c"], ["output"])]
    m = model("output", keep)
    m.graph.initializer.append(numpy_helper.from_array(t.floats(*y.shape[1:]), "m.c"))
    return m, x


def loss_of(m, x, target):
    (y,) = onnxruntime.InferenceSession(m.SerializeToString()).run(None, {"x": x})
    return float(((y.astype(np.float64) - target) ** 2).mean()), y


def nudged(m, name, i, by):
    copy = onnx.ModelProto()
    copy.CopyFrom(m)
    (w,) = (w for w in copy.graph.initializer if w.name == name)
    value = numpy_helper.to_array(w).copy()
    value.reshape(-1)[i] += by
    w.CopyFrom(numpy_helper.from_array(value, name))
    return copy


def slope(m, x, target, name, i):
    """None where the loss bends within the step."""
    near = [loss_of(nudged(m, name, i, k * STEP), x, target)[0] for k in (-2, -1, 1, 2)]
    fine, coarse = (near[2] - near[1]) / (2 * STEP), (near[3] - near[0]) / (4 * STEP)
    return fine if abs(fine - coarse) <= 0.02 * abs(fine) + 1e-4 else None


def trial(pleat, op, seed, folder):
    t = Trial(seed)
    try:
        m, x = build(op, t)
    except Exception as e:  # onnxruntime raises many
        return "skip", str(e).splitlines()[0][:150]
    _, y = loss_of(m, x, 0)
    target = y + t.floats(*y.shape)
    loss, _ = loss_of(m, x, target)
    path, a = f"{folder}/{op}.onnx", types.SimpleNamespace(pleat=pleat)
    onnx.save(m, path)
    case = types.SimpleNamespace(loss="mse")
    rows = {k: torch.from_numpy(np.concatenate([v, v])) for k, v in (("x", x), ("target", target))}
    safetensors.torch.save_file(rows, f"{path}.safetensors")
    try:
        before, _ = parity.weights_after(a, case, path, f"{path}.safetensors", 0)
        after, (found, *_) = parity.weights_after(a, case, path, f"{path}.safetensors", 1)
    except parity.Wrong as e:
        return "refused", str(e)
    if abs(found - loss) > 1e-4 * loss:
        return "wrong", f"the loss is {found:.6g}, not {loss:.6g}"
    for name in ("m.a", "m.c"):
        ours = ((before[name] - after[name]) / parity.BIG).numpy().reshape(-1)
        for i in t.r.permutation(ours.size)[:4]:
            want = slope(m, x, target, name, i)
            if want is not None and abs(want - ours[i]) > 0.02 * abs(want) + 1e-2 * np.abs(ours).max() + 1e-3:
                return "gradient", f"{name}[{i}] is {ours[i]:.5g}, not {want:.5g}"
    return "equal", ""


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("operators", nargs="*", metavar="OPERATOR", help=f"of: {', '.join(OPERATORS)}; default: all")
    p.add_argument("--pleat", default="build/pleat", help="the binary")
    p.add_argument("--trials", type=int, default=20, help="of each operator")
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    logging.disable(logging.WARNING)
    onnxruntime.set_default_logger_severity(4)
    classes = collections.Counter()
    for op in a.operators or OPERATORS:
        for k in range(a.trials):
            with tempfile.TemporaryDirectory() as folder:
                kind, why = trial(os.path.abspath(a.pleat), op, a.seed * 1000 + k, folder)
            classes[kind] += 1
            if kind != "equal":
                t = Trial(a.seed * 1000 + k)
                OPERATORS[op](t)
                print(f"{kind}: {op} {k} of {t.shape} {t.attrs}: {why}", flush=True)
    print(", ".join(f"{k} {n}" for k, n in sorted(classes.items())))
    sys.exit(6 if classes["wrong"] or classes["gradient"] else 0)


if __name__ == "__main__":
    main()
