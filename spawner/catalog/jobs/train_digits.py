"""Train an image classifier with the components of DIGITS, without its web server.

Its tools convert a folder of images, with one subfolder per class, to databases, and Caffe trains
LeNet on them. Runs with Python 2.7, in an image that has DIGITS and its Caffe. Without a folder,
images are generated.
"""

from __future__ import division, print_function

import argparse
import os
import random
import subprocess
import sys

from PIL import Image, ImageDraw

NET = """
layer {{ name: "data" type: "Data" top: "data" top: "label" include {{ phase: TRAIN }}
        transform_param {{ scale: 0.00390625 }}
        data_param {{ source: "{train}" batch_size: {batch} backend: LMDB }} }}
layer {{ name: "data" type: "Data" top: "data" top: "label" include {{ phase: TEST }}
        transform_param {{ scale: 0.00390625 }}
        data_param {{ source: "{val}" batch_size: {batch} backend: LMDB }} }}
layer {{ name: "conv1" type: "Convolution" bottom: "data" top: "conv1" convolution_param {{
        num_output: 20 kernel_size: 5 weight_filler {{ type: "xavier" }} }} }}
layer {{ name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
        pooling_param {{ pool: MAX kernel_size: 2 stride: 2 }} }}
layer {{ name: "conv2" type: "Convolution" bottom: "pool1" top: "conv2" convolution_param {{
        num_output: 50 kernel_size: 5 weight_filler {{ type: "xavier" }} }} }}
layer {{ name: "pool2" type: "Pooling" bottom: "conv2" top: "pool2"
        pooling_param {{ pool: MAX kernel_size: 2 stride: 2 }} }}
layer {{ name: "ip1" type: "InnerProduct" bottom: "pool2" top: "ip1" inner_product_param {{
        num_output: 500 weight_filler {{ type: "xavier" }} }} }}
layer {{ name: "relu1" type: "ReLU" bottom: "ip1" top: "ip1" }}
layer {{ name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2" inner_product_param {{
        num_output: {classes} weight_filler {{ type: "xavier" }} }} }}
layer {{ name: "accuracy" type: "Accuracy" bottom: "ip2" bottom: "label" top: "accuracy"
        include {{ phase: TEST }} }}
layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }}
"""
SOLVER = """
net: "{net}" base_lr: {rate} momentum: 0.9 weight_decay: 0.0001 lr_policy: "fixed"
display: {steps} max_iter: {most} test_interval: {steps} test_iter: {tests}
snapshot: {most} snapshot_prefix: "{folder}/lenet" solver_mode: {mode}
"""


def make_images(folder, count=200, size=28):
    """Generate images of discs and squares at random positions."""
    for kind in ("disc", "square"):
        os.makedirs(os.path.join(folder, kind))
        for number in range(count):
            picture = Image.new("L", (size, size), random.randint(0, 60))
            width = random.randint(8, 16)
            left, top = (random.randint(0, size - width) for _ in "xy")
            box = [left, top, left + width, top + width]
            pen = ImageDraw.Draw(picture)
            draw = pen.ellipse if kind == "disc" else pen.rectangle
            draw(box, fill=random.randint(120, 255))
            picture.save(os.path.join(folder, kind, "{}.png".format(number)))


def tool(name, *arguments):
    subprocess.check_call([sys.executable, "-m", "digits.tools." + name] + list(arguments))


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


def count_lines(path):
    with open(path) as file:
        return sum(1 for line in file if line.strip())


def databases(images, folder, size):
    """Create LMDBs of three quarters of the images and of the rest; return their counts.

    The result also contains the number of classes.
    """
    labels, lists = os.path.join(folder, "labels.txt"), {}
    for part in ("train", "val"):
        lists[part] = os.path.join(folder, part + ".txt")
    tool(
        "parse_folder", images, labels, "--train_file", lists["train"],
        "--val_file", lists["val"], "--percent_val", "25",
    )  # fmt: skip
    for part, listed in lists.items():
        options = [listed, os.path.join(folder, part), str(size), str(size)]
        tool("create_db", *(options + ["--channels", "1", "--shuffle", "--backend", "lmdb"]))
    return count_lines(lists["train"]), count_lines(lists["val"]), count_lines(labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", help="a folder with a folder of images for each class")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--learning-rate", type=float, default=0.01)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--gpu", action="store_true")
    args = parser.parse_args()
    folder = os.path.join(os.environ.get("PORTAL_LOGDIR", "runs"), "digits")
    os.makedirs(folder)
    images = args.images or os.path.join(folder, "images")
    if not args.images:
        make_images(images)
    train, val, classes = databases(images, folder, 28)
    batch = min(args.batch_size, val)
    steps = max(train // batch, 1)
    net = NET.format(
        train=folder + "/train", val=folder + "/val", batch=batch, classes=classes
    )  # fmt: skip
    settings = SOLVER.format(
        net=write(os.path.join(folder, "net.prototxt"), net),
        rate=args.learning_rate, steps=steps, most=steps * args.epochs,
        tests=max(val // batch, 1), folder=folder, mode="GPU" if args.gpu else "CPU",
    )  # fmt: skip
    solver = write(os.path.join(folder, "solver.prototxt"), settings)
    print("{} images of {} classes; {} for validation".format(train, classes, val))
    sys.stdout.flush()
    options = ["--gpu=0"] if args.gpu else []
    sys.exit(subprocess.call(["caffe", "train", "--solver=" + solver] + options))


if __name__ == "__main__":
    main()
