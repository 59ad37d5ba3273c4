"""Small models as people export them to ONNX: transformers, torchvision, and modules of one's own.

Every row makes a module in evaluation mode with random weights, inputs by name, and the loss that
pleat puts on its first output. Dropout is off; batch statistics are those the module keeps.
"""

import torch
import torch.nn.functional as F
import torchvision
import transformers as hf
from torch import nn

BATCH, SEQ, VOCAB, CLASSES = 4, 12, 96, 10


class Case:
    """A module, its inputs by name (their order is forward's), the loss and its labels."""

    def __init__(self, module, inputs, loss="cross-entropy", constant=(), lr=0.02):
        self.module, self.inputs, self.loss = module.eval(), inputs, loss
        with torch.no_grad():  # exporters make one of weights that are equal, so none may be
            for p in module.parameters():
                if p.min() == p.max():
                    p.add_(0.05 * torch.randn_like(p))
        self.constant = constant  # inputs that pleat knows by their names
        self.lr = lr  # of the steps that are compared
        with torch.no_grad():
            self.shape = module(*inputs.values()).shape
        if loss == "cross-entropy":
            self.label = torch.randint(self.shape[-1], self.shape[:-1])
        else:
            self.label = torch.randn(self.shape)

    def outputs(self):
        return self.module(*self.inputs.values())

    def loss_of(self, y):
        if self.loss == "mse":
            return F.mse_loss(y, self.label)
        return F.cross_entropy(y.reshape(-1, y.shape[-1]), self.label.reshape(-1))


class First(nn.Module):
    """A model of transformers whose arguments are `names`, whose result is one tensor."""

    def __init__(self, model, names, pick, **fixed):
        super().__init__()
        self.model, self.names, self.pick, self.fixed = model, names, pick, fixed

    def forward(self, *inputs):
        out = self.model(**dict(zip(self.names, inputs)), **self.fixed)
        return getattr(out, self.pick)


def ids(rows=BATCH, seq=SEQ):
    """Not 0 or 1, which may pad: PyTorch gives a padding row no gradient, a file cannot say so."""
    return torch.randint(2, VOCAB, (rows, seq))


def image(size):
    return torch.randn(BATCH, 3, size, size)


def positions():
    return torch.arange(SEQ).expand(BATCH, SEQ).contiguous()


# -- transformers ----------------------------------------------------------------------------------

DECODER = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
ENCODER = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
}
VISION = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 32,
    "patch_size": 8,
}


def causal(config, mask=True, pos=False):
    model = hf.AutoModelForCausalLM.from_config(config)
    inputs = {"input_ids": ids()}
    if mask:
        inputs["attention_mask"] = torch.ones(BATCH, SEQ, dtype=torch.int64)
    if pos:
        inputs["position_ids"] = positions()
    module = First(model, list(inputs), "logits", use_cache=False)
    return Case(module, inputs, constant=list(inputs)[1:])


def gpt2(**how):
    config = hf.GPT2Config(vocab_size=VOCAB, n_embd=32, n_layer=2, n_head=4, n_positions=64)
    return causal(config, **how)


def gpt2_plain():
    return gpt2(mask=False)


def gpt2_masked():
    return gpt2(pos=True)


def llama():
    return causal(hf.LlamaConfig(**DECODER))


def mistral():
    return causal(hf.MistralConfig(**DECODER, sliding_window=8))


def qwen2():
    return causal(hf.Qwen2Config(**DECODER))


def mixtral():
    config = hf.MixtralConfig(**DECODER, num_local_experts=4, num_experts_per_tok=2)
    config._experts_implementation = "batched_mm"  # the usual one sorts tokens: no export
    return causal(config)


def encoder(model, n=2):
    names = ["input_ids", "attention_mask", "token_type_ids"][: n + 1]
    make = [ids, lambda: torch.ones(BATCH, SEQ, dtype=torch.int64),
            lambda: torch.zeros(BATCH, SEQ, dtype=torch.int64)]
    inputs = {name: m() for name, m in zip(names, make)}
    return Case(First(model, names, "logits"), inputs, constant=names[1:])


def bert():
    return encoder(hf.BertForMaskedLM(hf.BertConfig(**ENCODER)))


def bert_classes():
    config = hf.BertConfig(**ENCODER, num_labels=CLASSES)
    return encoder(hf.BertForSequenceClassification(config))


def roberta():
    return encoder(hf.RobertaForMaskedLM(hf.RobertaConfig(**ENCODER)), n=1)


def distilbert():
    config = hf.DistilBertConfig(vocab_size=VOCAB, dim=32, hidden_dim=64, n_layers=2, n_heads=4)
    return encoder(hf.DistilBertForMaskedLM(config), n=1)


def t5():
    config = hf.T5Config(vocab_size=VOCAB, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
                         decoder_start_token_id=0)
    names = ["input_ids", "decoder_input_ids"]
    module = First(hf.T5ForConditionalGeneration(config), names, "logits", use_cache=False)
    return Case(module, dict(zip(names, (ids(), ids(seq=8)))))


def vit():
    config = hf.ViTConfig(**VISION, num_labels=CLASSES)
    module = First(hf.ViTForImageClassification(config), ["pixel_values"], "logits")
    return Case(module, {"pixel_values": image(32)})


def swin():
    config = hf.SwinConfig(image_size=32, patch_size=2, embed_dim=16, depths=[2, 2],
                           num_heads=[2, 4], window_size=4, num_labels=CLASSES)
    module = First(hf.SwinForImageClassification(config), ["pixel_values"], "logits")
    return Case(module, {"pixel_values": image(32)})


def clip():
    text = dict(ENCODER, eos_token_id=VOCAB - 1, bos_token_id=0)
    config = hf.CLIPConfig(text_config=text, vision_config=VISION, projection_dim=16)
    names = ["input_ids", "pixel_values", "attention_mask"]
    module = First(hf.CLIPModel(config), names, "logits_per_image")
    tokens = ids()
    tokens[:, -1] = VOCAB - 1
    ones = torch.ones(BATCH, SEQ, dtype=torch.int64)
    return Case(module, dict(zip(names, (tokens, image(32), ones))), "mse", names[2:])


# -- torchvision -----------------------------------------------------------------------------------


def vision(name, size, **how):
    module = torchvision.models.get_model(name, weights=None, num_classes=CLASSES, **how)
    for m in module.modules():  # statistics that are not 0 and 1
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.1)
            m.running_var.uniform_(0.5, 1.5)
    return Case(module, {"image": image(size)}, lr=0.0002)


def resnet18():
    return vision("resnet18", 64)


def shrunk(name, size, channels):
    """With a head for small images, which has no window larger than what it sees."""
    module = torchvision.models.get_model(name, weights=None)
    module.avgpool = nn.AdaptiveAvgPool2d(1)
    head = (nn.Linear(channels, 64), nn.ReLU(), nn.Dropout(), nn.Linear(64, CLASSES))
    module.classifier = nn.Sequential(*head)
    return Case(module, {"image": image(size)}, lr=0.0002)


def vgg11():
    return shrunk("vgg11", 32, 512)


def alexnet():
    return shrunk("alexnet", 64, 256)


def mobilenet_v2():
    return vision("mobilenet_v2", 64)


def mobilenet_v3():
    return vision("mobilenet_v3_small", 64)


def mnasnet():
    return vision("mnasnet0_5", 64)


def efficientnet_b0():
    return vision("efficientnet_b0", 64)


def inception_v3():
    return vision("inception_v3", 96, aux_logits=False, init_weights=False)


def googlenet():
    return vision("googlenet", 64, aux_logits=False, init_weights=False)


def densenet():
    return vision("densenet121", 64)


def swin_torchvision():
    module = torchvision.models.SwinTransformer(
        patch_size=[2, 2], embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=[4, 4],
        num_classes=CLASSES)
    return Case(module, {"image": image(32)})


# -- modules of one's own --------------------------------------------------------------------------


class Double(nn.Sequential):
    def __init__(self, n_in, n_out):
        super().__init__(nn.Conv2d(n_in, n_out, 3, padding=1), nn.GroupNorm(2, n_out), nn.SiLU(),
                         nn.Conv2d(n_out, n_out, 3, padding=1), nn.ReLU())


class Unet(nn.Module):
    """Two levels; one grows by a transposed convolution, one by interpolation."""

    def __init__(self, width=8):
        super().__init__()
        self.a, self.b = Double(3, width), Double(width, 2 * width)
        self.c = Double(2 * width, 4 * width)
        self.up = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.d, self.e = Double(4 * width, 2 * width), Double(3 * width, width)
        self.out = nn.Conv2d(width, 2, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(F.max_pool2d(a, 2))
        c = self.c(F.max_pool2d(b, 2))
        d = self.d(torch.cat([self.up(c), b], 1))
        up = F.interpolate(d, scale_factor=2, mode="bilinear", align_corners=False)
        return self.out(self.e(torch.cat([up, a], 1)))


def unet():
    return Case(Unet(), {"image": image(32)}, "mse")


class Recurrent(nn.Module):
    def __init__(self, kind, **how):
        super().__init__()
        self.table = nn.Embedding(VOCAB, 16)
        self.cells = kind(16, 24, batch_first=True, **how)
        self.head = nn.Linear(48 if how.get("bidirectional") else 24, CLASSES)

    def forward(self, x):
        return self.head(self.cells(self.table(x))[0][:, -1])


def lstm():
    return Case(Recurrent(nn.LSTM, num_layers=2), {"input_ids": ids()})


def bilstm():
    return Case(Recurrent(nn.LSTM, bidirectional=True), {"input_ids": ids()})


def gru():
    return Case(Recurrent(nn.GRU), {"input_ids": ids()})


def rnn():
    return Case(Recurrent(nn.RNN), {"input_ids": ids()})


def encoder_layer():
    layer = nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True, norm_first=True)
    layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    body = nn.Sequential(nn.Embedding(VOCAB, 32), layers, nn.Linear(32, VOCAB))
    for p in layers.parameters():  # which start as copies of one layer's
        p.data.add_(0.02 * torch.randn_like(p))
    return Case(body, {"input_ids": ids()})


MODELS = (
    gpt2, gpt2_plain, gpt2_masked, llama, mistral, qwen2, mixtral, bert, bert_classes, roberta,
    distilbert, t5, vit, swin, clip, resnet18, vgg11, alexnet, mobilenet_v2, mobilenet_v3, mnasnet,
    efficientnet_b0, inception_v3, googlenet, densenet, swin_torchvision, unet, lstm, bilstm, gru,
    rnn, encoder_layer,
)
CASES = {f.__name__: f for f in MODELS}
