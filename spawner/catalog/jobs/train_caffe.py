"""Train a small network with Caffe: a net and a solver as text files, and Caffe's own solver.

The files stay in the log folder, for use with `caffe train --solver=...`.
"""

import os

import caffe
import numpy as np
import toy

NET = """
layer {{ name: "data" type: "Input" top: "points" top: "wanted"
        input_param {{ shape {{ dim: {count} dim: 2 }} shape {{ dim: {count} dim: 1 }} }} }}
layer {{ name: "hidden" type: "InnerProduct" bottom: "points" top: "hidden"
        inner_product_param {{ num_output: {hidden}
                               weight_filler {{ type: "gaussian" std: 1 }} }} }}
layer {{ name: "tanh" type: "TanH" bottom: "hidden" top: "hidden" }}
layer {{ name: "guess" type: "InnerProduct" bottom: "hidden" top: "guess"
        inner_product_param {{ num_output: 1 weight_filler {{ type: "xavier" }} }} }}
layer {{ name: "loss" type: "SigmoidCrossEntropyLoss" bottom: "guess" bottom: "wanted"
        top: "loss" }}
"""
SOLVER = """
net: "{net}" type: "SGD" base_lr: {rate} momentum: 0.9 lr_policy: "fixed" random_seed: {seed}
max_iter: 1000000000 solver_mode: {mode} snapshot_after_train: false
"""


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def fill(net, points, wanted):
    net.blobs["points"].data[...] = points
    net.blobs["wanted"].data[...] = wanted


def main():
    parser = toy.arguments(__doc__)
    parser.add_argument("--gpu", action="store_true", help="for a build of Caffe with CUDA")
    asked = parser.parse_args()
    mode = "GPU" if asked.gpu else "CPU"
    toy.say("training on the {}".format(mode))
    if asked.gpu:
        caffe.set_mode_gpu()
    else:
        caffe.set_mode_cpu()
    folder = os.environ.get("PORTAL_LOGDIR", "runs")
    points, wanted = toy.data(seed=asked.seed)
    net, whole = (
        write(folder, name, NET.format(count=count, hidden=asked.hidden))
        for name, count in (("net.prototxt", asked.batch_size), ("whole.prototxt", len(points)))
    )
    settings = SOLVER.format(net=net, rate=asked.learning_rate, seed=asked.seed, mode=mode)
    solver = caffe.get_solver(write(folder, "solver.prototxt", settings))
    look = caffe.Net(whole, caffe.TEST)  # the same weights, for all data at once
    look.share_with(solver.net)
    fill(look, points, wanted)
    report = toy.Report()
    for epoch in range(asked.epochs):
        for some, answers in toy.batches(points, wanted, asked.batch_size, epoch):
            fill(solver.net, some, answers)
            solver.step(1)
        look.forward()
        right = (look.blobs["guess"].data > 0) == (wanted > 0.5)
        report.epoch(epoch, look.blobs["loss"].data, np.mean(right))
    report.close()


if __name__ == "__main__":
    main()
