"""Train a small network with Caffe2, on the processor."""

import numpy as np
import toy
from caffe2.python import brew, model_helper, optimizer, workspace


def add_network(model, hidden):
    """Add the network's operators; a second model with the same names shares the weights."""
    wide = {"weight_init": ("GaussianFill", {"std": 1.0})}
    first = brew.tanh(model, brew.fc(model, "points", "first", 2, hidden, **wide), "hidden")
    guess = brew.fc(model, first, "guess", hidden, 1)
    losses = model.net.SigmoidCrossEntropyWithLogits([guess, "wanted"], "losses")
    return model.net.AveragedLoss(losses, "loss")


def feed(points, labels):
    workspace.FeedBlob("points", points)
    workspace.FeedBlob("wanted", labels)


def main():
    args = toy.arguments(__doc__).parse_args()
    workspace.GlobalInit(["caffe2", "--caffe2_log_level=2"])
    points, labels = toy.data(seed=args.seed)
    feed(points, labels)
    model = model_helper.ModelHelper("train")
    model.param_init_net.Proto().device_option.random_seed = args.seed + 1  # 0 means a random one
    model.AddGradientOperators([add_network(model, args.hidden)])
    optimizer.build_sgd(model, args.learning_rate, policy="fixed", momentum=0.9)
    evaluation = model_helper.ModelHelper("evaluation", init_params=False)
    add_network(evaluation, args.hidden)
    workspace.RunNetOnce(model.param_init_net)
    workspace.CreateNet(model.net)
    workspace.CreateNet(evaluation.net)
    report = toy.Report()
    for epoch in range(args.epochs):
        for batch, targets in toy.batches(points, labels, args.batch_size, epoch):
            feed(batch, targets)
            workspace.RunNet(model.net)
        feed(points, labels)
        workspace.RunNet(evaluation.net)
        right = (workspace.FetchBlob("guess") > 0) == (labels > 0.5)
        report.epoch(epoch, workspace.FetchBlob("loss"), np.mean(right))
    report.close()


if __name__ == "__main__":
    main()
