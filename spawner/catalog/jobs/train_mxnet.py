"""Train a small network with MXNet's Gluon, on a GPU if the job has one and MXNet has CUDA."""

import mxnet as mx
import numpy as np
import toy
from mxnet import autograd, gluon, nd


def main():
    args = toy.arguments(__doc__).parse_args()
    device = mx.gpu() if mx.context.num_gpus() else mx.cpu()
    toy.say("training on {}".format(device))
    mx.random.seed(args.seed)
    np.random.seed(args.seed)  # Gluon's initial weights come from NumPy's
    points, labels = toy.data(seed=args.seed)
    model = gluon.nn.Sequential()
    model.add(gluon.nn.Dense(args.hidden, activation="tanh"), gluon.nn.Dense(1))
    model.initialize(mx.init.Normal(1), ctx=device)
    trainer = gluon.Trainer(
        model.collect_params(), "sgd", {"learning_rate": args.learning_rate, "momentum": 0.9}
    )
    loss_of = gluon.loss.SigmoidBinaryCrossEntropyLoss()
    all_data = nd.array(points, ctx=device), nd.array(labels, ctx=device)
    report = toy.Report()
    for epoch in range(args.epochs):
        for batch, targets in toy.batches(points, labels, args.batch_size, epoch):
            with autograd.record():
                guess = model(nd.array(batch, ctx=device))
                loss = loss_of(guess, nd.array(targets, ctx=device))
            loss.backward()
            trainer.step(len(batch))
        guess = model(all_data[0])
        accuracy = ((guess.asnumpy() > 0) == (labels > 0.5)).mean()
        report.epoch(epoch, loss_of(guess, all_data[1]).mean().asscalar(), accuracy)
    report.close()


if __name__ == "__main__":
    main()
