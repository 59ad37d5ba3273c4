"""A PyTorch module as an ONNX file that trains: every parameter, under its name, and a list of them.

    from pleat_export import export
    export(model, (tokens,), "model.onnx", input_names=["tokens"],
           dynamic_axes={"tokens": {0: "batch", 1: "seq"}})

Exporters write files to run, not to train: they fuse batch norms, drop dropout, fold what is
computed of parameters, and keep one of equal values. export() has the module written as it trains,
with values that are unique while it is traced, looks for each parameter and buffer in the file,
gives it its name and its true value, and writes down which of the file's tensors train
(`pleat.tensors` in the file's metadata_props, JSON). What would be lost is an error: ExportError.
Modules in evaluation mode are switched to training; in training mode, all parts stay as they are.
"""

import contextlib
import inspect
import json
import os
import tempfile

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from torch.overrides import TorchFunctionMode

KEY, DETACHED = "pleat.tensors", "pleat.detached"
ONE_FILE = 1 << 30  # bytes of weights, above which they lie in a file of their own beside it


class ExportError(Exception):
    """What the file would have lost, a line for each."""


def export(module, args, path, *, kwargs=None, input_names=None, output_names=None,
           dynamic_axes=None, loss=None, targets=(), exporter=None, opset=None, check=True,
           trusted=()):
    """Write `module`, called as module(*args, **kwargs), to `path`; returns the list it wrote.

    args, kwargs   tensors, or None; those of kwargs are inputs of their names
    input_names    of args; else those of forward's parameters
    output_names   of what forward returns; of a mapping (Hugging Face) the entries to keep, else
                   "logits" or all tensors
    dynamic_axes   {"tokens": {0: "batch", 1: "seq"}}; else dimension 0 of every input is "batch"
    loss, targets  loss(output, *targets) becomes the output; targets are inputs "target", "target1"
    exporter       "torchscript" or "dynamo"; else the first that keeps everything
    trusted        names of autograd.Functions whose gradient is the derivative, as the file's will be
    check          run the file, dropout off, and compare what it gives with the module
    """
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    call = _Call(module, args, kwargs or {}, input_names, output_names, loss, tuple(targets))
    if dynamic_axes is None:
        dynamic_axes = {n: {0: "batch"} for n, x in zip(call.names, call.values) if x.dim()}
    problems = []
    with _training(module), call.patched():
        model = _Model(module)
        with model.kept():
            model.try_out(call, set(trusted))
            with model.unique():
                for name in [exporter] if exporter else ["torchscript", "dynamo"]:
                    try:
                        file = _File(_EXPORTERS[name](module, call, dynamic_axes, opset), model, name)
                        if check:
                            file.compare(call)
                        break
                    except Exception as e:  # an exporter may raise anything
                        lines = str(e).strip().splitlines() or [type(e).__name__]
                        problems.append(f"{name}: " + "\n  ".join(lines[:40] if isinstance(e, ExportError) else lines[:1]))
                else:
                    raise ExportError("\n".join(problems))
        file.restore()
    return file.save(path)


# -- calling the module ----------------------------------------------------------------------------


class _Call:
    """Positional tensors in, tensors out, whatever forward takes and gives."""

    def __init__(self, module, args, kwargs, input_names, output_names, loss, targets):
        params = [n for n, p in inspect.signature(module.forward).parameters.items()
                  if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        more = [f"input{i}" for i in range(len(params), len(args))]
        given = list(input_names or (params + more)[: len(args)])
        self.module, self.n_args, self.loss, self.n_targets = module, len(args), loss, len(targets)
        slots = [(n, x) for n, x in zip(given, args)] + list(kwargs.items())
        slots += [("target" + (str(i) if i else ""), x) for i, x in enumerate(targets)]
        self.slots = [n for n, _ in slots]
        self.fixed = {n: x for n, x in slots if not isinstance(x, torch.Tensor)}  # None, flags
        self.names = [n for n, x in slots if isinstance(x, torch.Tensor)]
        self.values = tuple(x for _, x in slots if isinstance(x, torch.Tensor))
        self.output_names, self.forward = output_names, module.forward

    def __call__(self, *values):
        at = {**self.fixed, **dict(zip(self.names, values))}
        every = [at[n] for n in self.slots]
        n = len(every) - self.n_targets
        y = self.forward(*every[: self.n_args], **dict(zip(self.slots[self.n_args: n], every[self.n_args: n])))
        if self.loss:
            y = self.loss(y, *every[n:])
        if isinstance(y, dict) or hasattr(y, "keys"):
            keys = [k for k in self.output_names or ["logits"] if k in y.keys()]
            y = tuple(y[k] for k in keys) if keys else tuple(y.values())
        out = tuple(t for t in _flat(y) if isinstance(t, torch.Tensor))
        return out if len(out) > 1 else out[0]

    @contextlib.contextmanager
    def patched(self):
        """Parts keep their names, which a module around it would change."""
        self.module.forward = self.__call__
        try:
            yield
        finally:
            del self.module.forward


def _flat(y):
    return [t for x in y for t in _flat(x)] if isinstance(y, (tuple, list)) else [y]


@contextlib.contextmanager
def _training(module):
    modes = {m: m.training for m in module.modules()}
    if not module.training:
        module.train()
    try:
        yield
    finally:
        for m, mode in modes.items():
            m.training = mode


class _Watch(TorchFunctionMode):
    """Counts the calls that drop something out, or that stop a gradient; `off`: nothing is dropped."""

    def __init__(self, off=False):
        super().__init__()
        self.off, self.drops, self.detached, self.hidden = off, 0, 0, set()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs, name = dict(kwargs or {}), getattr(func, "__name__", "")
        if "dropout" in name:
            p = kwargs.get("p", args[1] if len(args) > 1 else 0)
            on = kwargs.get("training", kwargs.get("train", args[2] if len(args) > 2 else True))
            self.drops += p > 0 and on
            if self.off:
                return args[0]
        elif kwargs.get("dropout_p", 0) > 0:  # of attention
            self.drops += bool(kwargs.get("training", True))
            kwargs["dropout_p"] = 0.0 if self.off else kwargs["dropout_p"]
        learns = any(isinstance(x, torch.Tensor) and x.requires_grad for x in args)
        if learns and name == "detach":
            self.detached += 1
        y = func(*args, **kwargs)
        if learns and isinstance(y, torch.Tensor) and y.is_floating_point() and not y.requires_grad:
            if name != "detach" and not torch.is_grad_enabled():
                self.hidden.add(name)
        return y


# -- the module's tensors --------------------------------------------------------------------------


def _own_gradients(outputs):
    """Names of the torch.autograd.Functions on the way back from the outputs."""
    todo, seen, found = [y.grad_fn for y in outputs if y.grad_fn], set(), set()
    while todo:
        f = todo.pop()
        if f in seen:
            continue
        seen.add(f)
        if isinstance(f, torch.autograd.function.BackwardCFunction):
            found.add(type(f).__name__.removesuffix("Backward"))
        todo += [g for g, _ in f.next_functions if g is not None]
    return found


def _key(array):
    a = np.asarray(array)
    a = a if a.dtype.kind in "fiub" else a.astype("float32")  # bfloat16 is no type of numpy
    return str(a.dtype), a.shape, a.tobytes()


def _array(tensor):
    t = tensor.detach().cpu().contiguous()
    return t.float().numpy() if t.dtype == torch.bfloat16 else t.numpy()


class _Model:
    def __init__(self, module):
        self.module, self.names = module, {}  # names: [of one tensor], by its identity
        for name, p in module.named_parameters(remove_duplicate=False):
            self.names.setdefault(id(p), []).append(name)
        self.parameters = {names[0]: p for (_, names), p in
                           zip(self.names.items(), module.parameters(), strict=True)}
        self.buffers = dict(module.named_buffers())
        self.padding = {id(m.weight): m.padding_idx for m in module.modules()
                        if isinstance(m, torch.nn.Embedding) and m.padding_idx is not None}
        self.norms = {n: m for n, m in module.named_modules()
                      if isinstance(m, torch.nn.modules.batchnorm._BatchNorm) and m.running_mean is not None}
        self.statistics = {f"{n}.{b}".lstrip("."): n for n in self.norms for b in ("running_mean", "running_var")}

    @contextlib.contextmanager
    def kept(self):
        """Tracing in training mode moves statistics, and try_out leaves gradients."""
        self.true = {n: t.detach().clone() for n, t in [*self.parameters.items(), *self.buffers.items()]}
        grads, state = [p.grad for p in self.parameters.values()], torch.get_rng_state()
        try:
            yield
        finally:
            with torch.no_grad():
                for n, t in [*self.parameters.items(), *self.buffers.items()]:
                    t.data.copy_(self.true[n])
            for p, g in zip(self.parameters.values(), grads):
                p.grad = g
            torch.set_rng_state(state)

    def try_out(self, call, trusted):
        """Which parameters does the output depend on, and how often is something dropped out?"""
        for p in self.parameters.values():
            p.grad = None
        with _Watch() as seen, torch.enable_grad():
            outputs = _flat(call.module(*call.values))
        total = sum(y.float().sum() for y in outputs if y.requires_grad)
        if isinstance(total, torch.Tensor):
            total.backward()
        self.dropouts, self.detached = seen.drops, seen.detached
        self.used = {n for n, p in self.parameters.items() if p.grad is not None}
        own = _own_gradients(outputs)
        wrong = [f"a gradient of its own: {n}; if it is the derivative, name it in trusted=" for n in sorted(own - trusted)]
        if seen.hidden and not own:
            wrong.append(f"under no_grad: {', '.join(sorted(seen.hidden))} of tensors that learn")
        norms = tuple(f"{n}.".lstrip(".") for n in self.norms)
        wrong += [f"buffer '{n}' changes with every step" for n, b in self.buffers.items()
                  if not torch.equal(b, self.true[n]) and not (norms and n.startswith(norms))]
        if wrong:
            raise ExportError("a file cannot say this:\n  " + "\n  ".join(wrong))

    @contextlib.contextmanager
    def unique(self):
        """No two tensors are equal, so that none is merged and each can be found by its values."""
        self.found, generator = {}, torch.Generator().manual_seed(20)
        with torch.no_grad():
            for n, t in [*self.parameters.items(), *((n, self.buffers[n]) for n in self.statistics)]:
                for _ in range(100):
                    if t.is_floating_point():
                        noise = torch.rand(t.shape, generator=generator, dtype=torch.float64).to(t.device)
                        t.data.copy_(self.true[n].to(t.dtype) + (0.01 + 0.02 * noise).to(t.dtype))
                    if _key(_array(t)) not in self.found:
                        break
                self.found[_key(_array(t))] = n, False
        for n, t in self.parameters.items():
            if t.dim() == 2:
                self.found.setdefault(_key(np.ascontiguousarray(_array(t).T)), (n, True))
        self.shown = {n: t.detach().clone() for n, t in self.buffers.items()}
        yield


# -- exporters -------------------------------------------------------------------------------------


def _run(module, call, **how):
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as null:
        path = os.path.join(folder, "model.onnx")
        with contextlib.redirect_stdout(null):
            torch.onnx.export(module, call.values, path, input_names=call.names,
                              output_names=call.output_names, **how)
        return onnx.load(path)


def _torchscript(module, call, axes, opset):
    opset = opset or 17
    torch.onnx.register_custom_op_symbolic("aten::detach", lambda g, x: g.op("pleat::Detach", x), opset)
    try:
        return _write_torchscript(module, call, axes, opset)
    finally:
        torch.onnx.unregister_custom_op_symbolic("aten::detach", opset)


def _write_torchscript(module, call, axes, opset):
    return _run(module, call, dynamo=False, training=torch.onnx.TrainingMode.PRESERVE,
                do_constant_folding=False, dynamic_axes=axes, opset_version=opset,
                custom_opsets={"pleat": 1})


def _dynamo(module, call, axes, opset):
    sizes = {s: torch.export.Dim(s) for by in axes.values() for s in by.values()}
    shapes = tuple({i: sizes[s] for i, s in axes.get(n, {}).items()} for n in call.names)
    return _run(module, call, dynamo=True, optimize=False, dynamic_shapes=(shapes,),
                opset_version=opset, verbose=False)


_EXPORTERS = {"torchscript": _torchscript, "dynamo": _dynamo}


# -- the file --------------------------------------------------------------------------------------


def _graphs(graph):
    yield graph
    for node in graph.node:
        for a in node.attribute:
            for g in [a.g] if a.type == onnx.AttributeProto.GRAPH else a.graphs:
                yield from _graphs(g)


class _File:
    def __init__(self, proto, model, exporter):
        self.proto, self.graph, self.model, self.exporter = proto, proto.graph, model, exporter
        self.checked = False  # its outputs, against the module's
        self.leaf = {}  # initializers by the module's names
        self.name_leaves()
        self.drop_identities()
        self.train_norms()
        self.stop_gradients()
        self.check()

    def use_instead(self, old, new):
        for g in _graphs(self.graph):
            for node in g.node:
                for i, name in enumerate(node.input):
                    if name == old:
                        node.input[i] = new

    def name_leaves(self):
        buffers = {**self.model.buffers}
        for x in list(self.graph.initializer):
            array = numpy_helper.to_array(x)
            name, turned = self.model.found.get(_key(np.asarray(array)), (None, False))
            if name is None:
                if x.name in buffers:
                    self.leaf[x.name] = x
            elif name in self.leaf or turned:  # a copy
                self.graph.initializer.remove(x)
                self.copies = [*getattr(self, "copies", []), (x.name, name, turned)]
            else:
                self.leaf[name] = x
        for old, name, turned in getattr(self, "copies", []):
            if name not in self.leaf:
                raise ExportError(f"{name}: the file has it only transposed")
            if turned:
                self.graph.node.insert(0, helper.make_node("Transpose", [self.leaf[name].name], [old + ".t"], perm=[1, 0]))
            self.use_instead(old, old + ".t" if turned else self.leaf[name].name)
        taken = {v.name for v in [*self.graph.input, *self.graph.output]}
        taken |= {o for g in _graphs(self.graph) for n in g.node for o in n.output}
        for name, x in self.leaf.items():
            if x.name != name and name not in taken:
                self.use_instead(x.name, name)
                x.name = name
        order = {id(self.leaf[n]): i for i, n in enumerate(n for n in self.model.true if n in self.leaf)}
        leaves = sorted(self.graph.initializer, key=lambda x: order.get(id(x), len(order)))
        leaves = [onnx.TensorProto.FromString(x.SerializeToString()) for x in leaves]
        names = {x.name: n for n, x in self.leaf.items()}
        del self.graph.initializer[:]
        self.graph.initializer.extend(leaves)
        self.leaf = {names[x.name]: x for x in self.graph.initializer if x.name in names}

    def drop_identities(self):
        """Which stand for weights that were equal or tied."""
        files, results = {x.name for x in self.leaf.values()}, {o.name for o in self.graph.output}
        for node in list(self.graph.node):
            if node.op_type == "Identity" and node.input[0] in files and node.output[0] not in results:
                self.use_instead(node.output[0], node.input[0])
                self.graph.node.remove(node)

    def train_norms(self):
        """One exporter writes batch norms that train as if they did not."""
        means = {self.leaf[n].name: m for n, m in self.model.statistics.items()
                 if n in self.leaf and n.endswith("running_mean")}
        for i, node in enumerate(n for n in self.graph.node if n.op_type == "BatchNormalization"):
            norm = self.model.norms.get(means.get(node.input[3]))
            if norm is None or not norm.training or any(a.name == "training_mode" for a in node.attribute if a.i):
                continue
            kept = [a for a in node.attribute if a.name not in ("training_mode", "momentum")]
            del node.attribute[:]
            node.attribute.extend(kept)
            node.attribute.extend([helper.make_attribute("training_mode", 1),
                                   helper.make_attribute("momentum", 1 - (norm.momentum or 0.1))])
            node.output.extend(f"norm{i}.{k}" for k in ("mean", "var")[len(node.output) - 1:])

    def stop_gradients(self):
        """Identities that say so: of what is detached, and of rows that pad."""
        self.detached = 0
        for node in [n for g in _graphs(self.graph) for n in g.node]:
            if node.op_type == "Detach" and node.domain == "pleat":
                node.op_type, node.domain = "Identity", ""
                node.metadata_props.add(key=DETACHED, value="1")
                self.detached += 1
        for o in [o for o in self.proto.opset_import if o.domain == "pleat"]:
            self.proto.opset_import.remove(o)
        rows = {self.leaf[n].name: self.model.padding.get(id(p)) for n, p in self.model.parameters.items()
                if n in self.leaf and p.requires_grad}
        for i, node in reversed(list(enumerate(self.graph.node))):
            if node.op_type != "Gather" or rows.get(node.input[0]) is None:
                continue
            y, ids = node.output[0], node.input[1]
            name = lambda part: f"{y}/padding.{part}"  # noqa: B023
            pad = numpy_helper.from_array(np.array(rows[node.input[0]]), name("row"))
            last = numpy_helper.from_array(np.array([-1]), name("last"))
            self.graph.initializer.extend([pad, last])
            node.output[0] = name("all")
            more = [helper.make_node("Cast", [ids], [name("ids")], to=onnx.TensorProto.INT64),
                    helper.make_node("Equal", [name("ids"), pad.name], [name("is")]),
                    helper.make_node("Unsqueeze", [name("is"), last.name], [name("mask")]),
                    helper.make_node("Identity", [name("all")], [name("still")]),
                    helper.make_node("Where", [name("mask"), name("still"), name("all")], [y])]
            more[3].metadata_props.add(key=DETACHED, value="1")
            for k, n in enumerate(more):
                self.graph.node.insert(i + 1 + k, n)

    def check(self):
        m, nodes = self.model, [n for g in _graphs(self.graph) for n in g.node]
        wrong = [f"parameter '{n}' is not in the file: it was folded into something else"
                 for n, p in m.parameters.items() if p.requires_grad and n in m.used and n not in self.leaf]
        drops = sum(n.op_type == "Dropout" for n in nodes)
        if drops < m.dropouts:
            wrong.append(f"dropout: {m.dropouts} in the module, {drops} in the file")
        if self.detached < m.detached:
            wrong.append(f"detach: {m.detached} in the module, {self.detached} in the file")
        train = {n.input[3] for n in nodes if n.op_type == "BatchNormalization"
                 and any(a.name == "training_mode" and a.i for a in n.attribute)}
        for s, n in m.statistics.items():
            if m.norms[n].training and s in self.leaf and s.endswith("mean") and self.leaf[s].name not in train:
                wrong.append(f"batch norm '{n}': the file has it with fixed statistics")
        if wrong:
            raise ExportError("\n".join(wrong))

    def compare(self, call):
        """What the file gives, against the module: exporters leave things out."""
        proto = onnx.ModelProto.FromString(self.proto.SerializeToString())
        for n in [n for g in _graphs(proto.graph) for n in g.node if n.op_type == "Dropout"]:
            n.op_type = "Identity"
            del n.input[1:], n.output[1:], n.attribute[:]
        feed = {n: x.detach().cpu().numpy() for n, x in zip(call.names, call.values)}
        feed = {v.name: feed[v.name] for v in proto.graph.input if v.name in feed}
        with _Watch(off=True), torch.no_grad():
            wanted = _flat(call.module(*call.values))
        try:
            import onnxruntime as ort
            options = ort.SessionOptions()
            options.log_severity_level = 4
            given = ort.InferenceSession(proto.SerializeToString(), options).run(None, feed)
        except Exception:  # not there, or it does not train batch norms
            try:
                given = ReferenceEvaluator(proto).run(None, feed)
            except Exception:  # nor does the other know all of it
                return
        self.checked = True
        for y, x, v in zip(wanted, given, proto.graph.output):
            y = _array(y)
            off = np.abs(y.astype("float64") - x).max() if y.size and y.shape == x.shape else 0 if not y.size else np.inf
            if not off <= 1e-3 * max(1e-3, np.abs(y).max()):
                raise ExportError(f"output '{v.name}' of the file is {off:.1e} from the module's")

    def restore(self):
        """The true values."""
        for name, x in self.leaf.items():
            array = _array(self.model.true[name]).astype(numpy_helper.to_array(x).dtype)
            if list(array.shape) == list(x.dims):
                x.CopyFrom(numpy_helper.from_array(array, x.name))

    def row(self, name, **more):
        row = {"name": name, "shape": list(self.model.true[name].shape), **more}
        if name in self.leaf and self.leaf[name].name != name:
            row["file"] = self.leaf[name].name
        return row

    def save(self, path):
        m = self.model
        here = {n: p for n, p in m.parameters.items() if n in self.leaf}
        tensors = {
            "format": "pleat.tensors/1",
            "exporter": f"torch {torch.__version__}, {self.exporter}",
            "parameters": [self.row(n, trains=bool(p.requires_grad and p.is_floating_point())) for n, p in here.items()],
            "buffers": [self.row(n, **({"norm": m.statistics[n]} if n in m.statistics else {}))
                        for n in m.buffers if n in self.leaf],
            "ties": [names for names in m.names.values() if len(names) > 1],
            "unused": [n for n in m.parameters if n not in self.leaf],
            "dropouts": m.dropouts,
            "checked": self.checked,
        }
        del self.proto.metadata_props[:]
        helper.set_model_props(self.proto, {KEY: json.dumps(tensors, separators=(",", ":"))})
        large = sum(t.numel() * t.element_size() for t in m.true.values()) > ONE_FILE
        onnx.save(self.proto, path, save_as_external_data=large, location=os.path.basename(path) + ".data")
        return tensors
