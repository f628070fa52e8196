"""Images per second in inference, by batch size and precision.

int8 turns every linear layer and convolution into a product of 8-bit matrices, with a scale for
each output: the arithmetic of quantized inference, though not the fused kernels of an optimized
engine. Unsupported combinations are shown as a dash, with the reason below the table.
"""

import argparse
import time

import torch
from bench_models import MODELS, computing_in, finish, name_of
from bench_report import Report
from torch import nn
from torch.nn import functional


class Int8Linear(nn.Module):
    """Linear layer on integers: weights by output, inputs by batch, both quantized to 8 bits."""

    def __init__(self, weight, bias):
        super().__init__()
        scale = weight.abs().amax(dim=1).clamp(min=1e-8) / 127
        self.register_buffer("scale", scale)
        self.register_buffer("weight", (weight / scale[:, None]).round().to(torch.int8).t())
        self.register_buffer("bias", bias)

    def forward(self, rows):
        scale = rows.abs().amax().clamp(min=1e-8) / 127
        small = (rows / scale).round().to(torch.int8)
        missing = max(0, 17 - len(small))  # the minimum for the GPU's kernel
        product = torch._int_mm(functional.pad(small, (0, 0, 0, missing)), self.weight)
        result = product[: len(rows)].float() * (scale * self.scale)
        return result if self.bias is None else result + self.bias


class Int8Conv(nn.Module):
    """Convolution as a matrix product over its patches; rows are padded to a multiple of 8."""

    def __init__(self, conv):
        super().__init__()
        self.size, self.stride, self.padding = conv.kernel_size, conv.stride, conv.padding
        weight = conv.weight.detach().flatten(1)
        self.missing = -weight.shape[1] % 8
        self.linear = Int8Linear(
            functional.pad(weight, (0, self.missing)), None if conv.bias is None else conv.bias.data
        )

    def forward(self, images):
        high = (images.shape[2] + 2 * self.padding[0] - self.size[0]) // self.stride[0] + 1
        wide = (images.shape[3] + 2 * self.padding[1] - self.size[1]) // self.stride[1] + 1
        patches = functional.unfold(images, self.size, 1, self.padding, self.stride)
        rows = functional.pad(patches.transpose(1, 2).flatten(0, 1), (0, self.missing))
        result = self.linear(rows).unflatten(0, (len(images), high * wide))
        return result.transpose(1, 2).unflatten(2, (high, wide))


def to_int8(module):
    """Return the same network with 8-bit layers."""
    for name, part in module.named_children():
        if isinstance(part, nn.Conv2d):
            setattr(module, name, Int8Conv(part))
        elif isinstance(part, nn.Linear):
            bias = None if part.bias is None else part.bias.data
            setattr(module, name, Int8Linear(part.weight.detach(), bias))
        else:
            to_int8(part)
    return module


def measure(model, precision, device, batch, args):
    images = torch.randn(batch, 3, args.image_size, args.image_size, device=device)
    computing = "fp32" if precision == "int8" else precision
    with torch.inference_mode(), computing_in(computing, device):
        for step in range(args.warmup + args.steps):
            if step == args.warmup:
                finish(device)
                began = time.perf_counter()
            model(images)
        finish(device)
    spent = time.perf_counter() - began
    return args.steps * batch / spent, spent / args.steps * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=MODELS, default="resnet50")
    parser.add_argument("--batch-sizes", nargs="+", type=int, default=[1, 8, 32, 128])
    parser.add_argument(
        "--precisions", nargs="+", choices=["fp32", "fp16", "bf16", "int8"], default=["fp32"]
    )
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--warmup", type=int, default=5)
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    title = f"Inference, {args.model}, {name_of(device)}, PyTorch {torch.__version__}"
    report = Report(title, ["precision", "batch", "images/s", "ms"])
    torch.backends.cudnn.benchmark = True
    reasons = []
    for precision in args.precisions:
        model = MODELS[args.model]().to(device).eval()
        model = to_int8(model) if precision == "int8" else model
        for batch in args.batch_sizes:
            try:
                report.row(precision, batch, *measure(model, precision, device, batch, args))
            except (RuntimeError, NotImplementedError) as error:
                report.row(precision, batch, None, None)
                reasons.append(f"{precision}, batch {batch}: {str(error).splitlines()[0][:200]}")
    for reason in reasons:
        print(reason)
    report.close(device=name_of(device), image_size=args.image_size, steps=args.steps)


if __name__ == "__main__":
    main()
