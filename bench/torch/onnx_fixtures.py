"""Writes the exports in test/import/data: NAME.onnx, NAME.safetensors (rows), NAME.json (the losses
and gradient norms of PyTorch's steps, in the form of `pleat train --json`).

test/cli/test_onnx.sh trains them; it needs no PyTorch. Notes that exporters leave in a file are
taken out, as they are most of it.
"""

import argparse
import json
import logging
import os
import warnings

import onnx
import torch
import transformers as hf
from torch import nn

import onnx_models as models
import onnx_parity as parity
import pleat

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


FIXTURES = ((gpt2, "ts"), (llama, "dynamo"), (bert, "dynamo"), (vit, "ts"), (block, "ts-raw"),
            (lstm, "ts"), (unet, "dynamo"))


def strip(path):
    m = onnx.load(path)
    del m.graph.value_info[:], m.graph.metadata_props[:], m.metadata_props[:]
    for n in m.graph.node:
        n.ClearField("doc_string")
        del n.metadata_props[:]
    for v in list(m.graph.initializer) + list(m.graph.input) + list(m.graph.output):
        v.ClearField("doc_string")
        del v.metadata_props[:]
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
        norm = torch.nn.utils.get_total_norm([p.grad for p in module.parameters()])
        optimizer.step()
        yield {"step": i + 1, "loss": loss.item(), "grad_norm": norm.item()}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--out", default="test/import/data")
    a = p.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    models.VOCAB = 40
    os.makedirs(a.out, exist_ok=True)
    for make, way in FIXTURES:
        torch.manual_seed(1)
        case, path = make(), os.path.join(a.out, make.__name__)
        parity.export(case, way, f"{path}.onnx")
        strip(f"{path}.onnx")
        parity.write_rows(case, f"{path}.safetensors", None)
        os.chmod(f"{path}.safetensors", 0o644)
        with open(f"{path}.json", "w", encoding="utf-8") as f:
            f.writelines(json.dumps(line) + "\n" for line in steps_of(case))
        print(f"{path}.onnx: {os.path.getsize(f'{path}.onnx')} bytes, {way}")


if __name__ == "__main__":
    main()
