"""ResNet-50 and AlexNet according to their papers, in PyTorch, and the precisions to run them in.

ResNet: He et al. 2015, with the stride in the 3x3 convolution, as is usual since. AlexNet:
Krizhevsky 2014, the one-column network. Neither needs pretrained weights.
"""

import contextlib

import torch
from torch import nn


class Bottleneck(nn.Module):
    """Block of 1x1, 3x3 and 1x1 convolutions with a shortcut connection."""

    def __init__(self, inside, width, stride):
        super().__init__()
        outside = 4 * width
        self.steps = nn.Sequential(
            nn.Conv2d(inside, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, outside, 1, bias=False),
            nn.BatchNorm2d(outside),
        )
        self.around = nn.Identity()
        if stride != 1 or inside != outside:
            self.around = nn.Sequential(
                nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside)
            )

    def forward(self, images):
        return torch.relu(self.steps(images) + self.around(images))


def resnet50(classes=1000):
    layers = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]
    inside = 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for number in range(count):
            layers.append(Bottleneck(inside, width, stride if number == 0 else 1))
            inside = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, classes))


def alexnet(classes=1000):
    def convolution(inside, outside, size, stride=1, padding=0):
        return nn.Conv2d(inside, outside, size, stride, padding), nn.ReLU(inplace=True)

    return nn.Sequential(
        *convolution(3, 64, 11, 4, 2),
        nn.MaxPool2d(3, 2),
        *convolution(64, 192, 5, 1, 2),
        nn.MaxPool2d(3, 2),
        *convolution(192, 384, 3, 1, 1),
        *convolution(384, 256, 3, 1, 1),
        *convolution(256, 256, 3, 1, 1),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        nn.AdaptiveAvgPool2d(6),
        nn.Flatten(),
        nn.Dropout(),
        nn.Linear(9216, 4096),
        nn.ReLU(inplace=True),
        nn.Dropout(),
        nn.Linear(4096, 4096),
        nn.ReLU(inplace=True),
        nn.Linear(4096, classes),
    )


MODELS = {"resnet50": resnet50, "alexnet": alexnet}
PRECISIONS = {"fp32": None, "fp16": torch.float16, "bf16": torch.bfloat16}


def computing_in(precision, device):
    """Return a context for mixed precision; fp32 is plain fp32, without TF32."""
    if PRECISIONS[precision] is None:
        return contextlib.nullcontext()
    return torch.autocast(device.type, PRECISIONS[precision])


def finish(device):
    """Wait for the GPUs, which work asynchronously, before reading the clock."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def name_of(device):
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
