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


def fill(net, points, labels):
    net.blobs["points"].data[...] = points
    net.blobs["wanted"].data[...] = labels


def main():
    parser = toy.arguments(__doc__)
    parser.add_argument("--gpu", action="store_true", help="for a build of Caffe with CUDA")
    args = parser.parse_args()
    mode = "GPU" if args.gpu else "CPU"
    toy.say("training on the {}".format(mode))
    if args.gpu:
        caffe.set_mode_gpu()
    else:
        caffe.set_mode_cpu()
    folder = os.environ.get("PORTAL_LOGDIR", "runs")
    points, labels = toy.data(seed=args.seed)
    net, full_net = (
        write(folder, name, NET.format(count=count, hidden=args.hidden))
        for name, count in (("net.prototxt", args.batch_size), ("whole.prototxt", len(points)))
    )
    settings = SOLVER.format(net=net, rate=args.learning_rate, seed=args.seed, mode=mode)
    solver = caffe.get_solver(write(folder, "solver.prototxt", settings))
    evaluation = caffe.Net(full_net, caffe.TEST)  # the same weights, for all data at once
    evaluation.share_with(solver.net)
    fill(evaluation, points, labels)
    report = toy.Report()
    for epoch in range(args.epochs):
        for batch, targets in toy.batches(points, labels, args.batch_size, epoch):
            fill(solver.net, batch, targets)
            solver.step(1)
        evaluation.forward()
        right = (evaluation.blobs["guess"].data > 0) == (labels > 0.5)
        report.epoch(epoch, evaluation.blobs["loss"].data, np.mean(right))
    report.close()


if __name__ == "__main__":
    main()
