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


def feed(points, wanted):
    workspace.FeedBlob("points", points)
    workspace.FeedBlob("wanted", wanted)


def main():
    asked = toy.arguments(__doc__).parse_args()
    workspace.GlobalInit(["caffe2", "--caffe2_log_level=2"])
    points, wanted = toy.data(seed=asked.seed)
    feed(points, wanted)
    model = model_helper.ModelHelper("train")
    model.param_init_net.Proto().device_option.random_seed = asked.seed + 1  # 0 is any
    model.AddGradientOperators([add_network(model, asked.hidden)])
    optimizer.build_sgd(model, asked.learning_rate, policy="fixed", momentum=0.9)
    look = model_helper.ModelHelper("look", init_params=False)
    add_network(look, asked.hidden)
    workspace.RunNetOnce(model.param_init_net)
    workspace.CreateNet(model.net)
    workspace.CreateNet(look.net)
    report = toy.Report()
    for epoch in range(asked.epochs):
        for some, answers in toy.batches(points, wanted, asked.batch_size, epoch):
            feed(some, answers)
            workspace.RunNet(model.net)
        feed(points, wanted)
        workspace.RunNet(look.net)
        right = (workspace.FetchBlob("guess") > 0) == (wanted > 0.5)
        report.epoch(epoch, workspace.FetchBlob("loss"), np.mean(right))
    report.close()


if __name__ == "__main__":
    main()
