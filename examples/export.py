"""A small language model over bytes, written in PyTorch for one device, as an ONNX file: python3 export.py"""
import torch
from torch import nn

from pleat_export import export


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norm, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        rows, seq, width = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(rows, seq, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.out(nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, width=32, heads=4, layers=2, vocab=256):
        super().__init__()
        self.embed, self.head = nn.Embedding(vocab, width), nn.Linear(width, vocab)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))

    def forward(self, tokens):
        return self.head(self.blocks(self.embed(tokens)))


torch.manual_seed(0)
tokens = torch.zeros(2, 8, dtype=torch.long)
export(Model(), (tokens,), "tiny.onnx", input_names=["tokens"], output_names=["logits"],
       dynamic_axes={"tokens": {0: "batch", 1: "seq"}})
