"""Writes the exports in test/import/data: NAME.onnx, NAME.safetensors (rows), NAME.json (the losses
and gradient norms of PyTorch's steps, in the form of `pleat train --json`).

test/cli/test_onnx.sh trains them; it needs no PyTorch. Notes that exporters leave in a file are
taken out, as they are most of it.
"""

import argparse
import json
import logging
import os
import sys
import warnings

import onnx
import safetensors.torch
import torch
import transformers as hf
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))
import onnx_models as models
import onnx_parity as parity
import pleat
import pleat_export

STEPS, LR = 5, 0.05
TINY = {"vocab_size": 40, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1}
TINY |= {"num_attention_heads": 2, "max_position_embeddings": 16}


class Block(nn.Module):
    """A residual block with batch norms between a stem and a head, as a ResNet has them."""

    def __init__(self, width=8):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn = nn.BatchNorm2d(width)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1)
        self.a = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn_a = nn.BatchNorm2d(width)
        self.b = nn.Conv2d(width, width, 3, padding=1, groups=2, bias=False)
        self.bn_b = nn.BatchNorm2d(width)
        self.fc = nn.Linear(width, models.CLASSES)

    def forward(self, image):
        x = self.pool(self.bn(self.stem(image)).relu())
        y = self.bn_b(self.b(self.bn_a(self.a(x)).relu()))
        return self.fc((x + y).relu().mean((2, 3)))


def gpt2():
    config = hf.GPT2Config(vocab_size=40, n_embd=8, n_layer=1, n_head=2, n_positions=16)
    return models.causal(config)


def llama():
    return models.causal(hf.LlamaConfig(**TINY, num_key_value_heads=1))


def bert():
    return models.encoder(hf.BertForMaskedLM(hf.BertConfig(**TINY)))


def vit():
    keys = {k: v for k, v in TINY.items() if k not in ("vocab_size", "max_position_embeddings")}
    config = hf.ViTConfig(**keys, image_size=16, patch_size=8, num_labels=models.CLASSES)
    module = models.First(hf.ViTForImageClassification(config), ["pixel_values"], "logits")
    return models.Case(module, {"pixel_values": models.image(16)})


def block():
    module = Block()
    for m in (module.bn, module.bn_a, module.bn_b):
        m.running_mean.normal_(0, 0.1), m.running_var.uniform_(0.5, 1.5)
    return models.Case(module, {"image": models.image(16)})


def lstm():
    module = models.Recurrent(nn.LSTM, bidirectional=True)
    return models.Case(module, {"input_ids": models.ids(seq=5)})


def unet():
    return models.Case(models.Unet(4), {"image": models.image(16)}, "mse")


class Listed(nn.Module):
    """All that pleat_export.py has to tell: names that mislead, ties, scalars, buffers, frozen
    weights, rows that pad, gradients that stop, statistics."""

    def __init__(self, width=8, vocab=40):
        super().__init__()
        self.embed, self.head = nn.Embedding(vocab, width, padding_idx=0), nn.Linear(width, vocab)
        self.head.weight = self.embed.weight
        self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.bn, self.drop = nn.BatchNorm1d(width), nn.Dropout(0.0)
        self.w, self.scale = nn.Parameter(torch.randn(width, width) / 3), nn.Parameter(torch.tensor(0.7))
        self.attn_mask, self.gate = nn.Parameter(torch.randn(width)), nn.Parameter(torch.randn(width))
        self.w_1 = nn.Parameter(torch.randn(width), requires_grad=False)
        self.register_buffer("pe", torch.randn(models.SEQ, width))

    def forward(self, tokens):
        x = self.norm(self.embed(tokens)) * self.scale + self.pe + self.attn_mask
        x = self.bn(x.transpose(1, 2)).transpose(1, 2) + self.w_1
        x = x + self.drop(x @ self.w @ self.w.t()) * self.gate.sigmoid()
        return self.head(self.norm2(x) + (x.round() - x).detach())


def listed():
    case = models.Case(Listed(), {"tokens": models.ids()})
    case.module.train()
    return case


class Merged(nn.Module):
    """What torch.onnx.export(dynamo=True) makes another model of: equal scales, a gate."""

    def __init__(self, width=8, vocab=40):
        super().__init__()
        self.embed, self.head = nn.Embedding(vocab, width), nn.Linear(width, vocab, bias=False)
        self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.gate = nn.Parameter(torch.randn(width))

    def forward(self, tokens):
        x = self.norm(self.embed(tokens)) * self.gate.sigmoid()
        return self.head(self.norm2(x))


def merged():
    case = models.Case(Merged(), {"tokens": models.ids()})
    with torch.no_grad():
        for norm in (case.module.norm, case.module.norm2):
            norm.weight.fill_(1), norm.bias.zero_()
    return case


class Bags(nn.Module):
    """Bags of as many ids each, and bags that offsets tell."""

    def __init__(self, vocab=40, width=8):
        super().__init__()
        self.sum, self.max = nn.EmbeddingBag(vocab, width, mode="sum"), nn.EmbeddingBag(vocab, width, mode="max")
        self.mean, self.head = nn.EmbeddingBag(vocab, width), nn.Linear(width, models.CLASSES)

    def forward(self, fixed, ids, offsets):
        return self.head((self.sum(fixed) * self.max(fixed) + self.mean(ids, offsets)).tanh())


def bags():
    offsets = torch.arange(models.BATCH) * 2
    inputs = {"fixed": models.ids(seq=3), "ids": models.ids(seq=2).reshape(-1), "offsets": offsets}
    return models.Case(Bags(), inputs)


def export_bags(case, way, path):
    names = list(case.inputs)
    with parity.silence():
        torch.onnx.export(case.module, tuple(case.inputs.values()), path, input_names=names,
                          output_names=["output"], dynamo=way == "dynamo", external_data=False)


def write_bags(case, path):
    """As parity.write_rows; offsets go on where the ids do."""
    rows = {**case.inputs, "label": case.label}
    both = {k: torch.cat([v, v + (len(rows["ids"]) if k == "offsets" else 0)]) for k, v in rows.items()}
    safetensors.torch.save_file(both, path)


FIXTURES = ((gpt2, "ts"), (llama, "dynamo"), (bert, "dynamo"), (vit, "ts"), (block, "ts-raw"),
            (lstm, "ts"), (unet, "dynamo"), (listed, "pleat"), (merged, "dynamo"), (merged, "ts"),
            (bags, "dynamo"), (bags, "ts"))
KEPT = ("pleat.tensors", "pleat.detached", "pkg.torch.onnx.name_scopes",
        "pkg.torch.export.graph_signature.InputSpec.kind", "pkg.onnxscript.optimizer.folded_from",
        "pkg.torch.export.ExportedProgram.graph_signature", "pkg.torch.onnx.class_hierarchy")


def strip_props(x, kept):
    x.ClearField("doc_string")
    props = [p for p in x.metadata_props if p.key in kept]
    del x.metadata_props[:]
    x.metadata_props.extend(props)


def strip_graph(g, kept):
    """Of the bodies of its nodes too: what else is there tells where the exporter ran."""
    info = [v for v in g.value_info if kept and v.metadata_props]
    del g.value_info[:]
    g.value_info.extend(info)
    for v in [g, *g.node, *g.initializer, *g.input, *g.output, *g.value_info]:
        strip_props(v, kept)
    for body in [a.g for n in g.node for a in n.attribute if a.HasField("g")]:
        strip_graph(body, kept)


def strip(path, kept=()):
    m = onnx.load(path)
    strip_props(m, kept)
    strip_graph(m.graph, kept)
    onnx.save(m, path)


def steps_of(case):
    """What `pleat train --json` should say of each step."""
    module = case.module
    optimizer = torch.optim.SGD(module.parameters(), lr=LR)
    for i in range(STEPS):
        optimizer.param_groups[0]["lr"] = pleat.rate({"steps": STEPS, "warmup": 0, "lr": LR}, i)
        loss = case.loss_of(case.outputs())
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.get_total_norm([p.grad for p in module.parameters() if p.grad is not None])
        optimizer.step()
        yield {"step": i + 1, "loss": loss.item(), "grad_norm": norm.item()}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("fixtures", nargs="*", help="default: all")
    p.add_argument("--out", default="test/import/data")
    a = p.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    models.VOCAB = 40
    os.makedirs(a.out, exist_ok=True)
    for make, way in FIXTURES:
        torch.manual_seed(1)
        name = make.__name__ + ("_ts" if make in (merged, bags) and way == "ts" else "")
        if a.fixtures and name not in a.fixtures:
            continue
        case, path = make(), os.path.join(a.out, name)
        if way == "pleat":
            pleat_export.export(case.module, tuple(case.inputs.values()), f"{path}.onnx",
                                input_names=list(case.inputs))
        elif make is bags:
            export_bags(case, way, f"{path}.onnx")
        else:
            parity.export(case, way, f"{path}.onnx")
        strip(f"{path}.onnx", KEPT if make in (listed, merged, bags) else ())
        if make is merged:  # it is refused: nothing is trained
            continue
        if make is bags:
            write_bags(case, f"{path}.safetensors")
        else:
            parity.write_rows(case, f"{path}.safetensors", None)
        os.chmod(f"{path}.safetensors", 0o644)
        with open(f"{path}.json", "w", encoding="utf-8") as f:
            f.writelines(json.dumps(line) + "\n" for line in steps_of(case))
        print(f"{path}.onnx: {os.path.getsize(f'{path}.onnx')} bytes, {way}")


if __name__ == "__main__":
    main()
