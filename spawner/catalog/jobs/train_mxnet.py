"""Train a small network with MXNet's Gluon, on a GPU if job and MXNet's build support it."""

import mxnet as mx
import numpy as np
import toy
from mxnet import autograd, gluon, nd


def main():
    asked = toy.arguments(__doc__).parse_args()
    device = mx.gpu() if mx.context.num_gpus() else mx.cpu()
    toy.say("training on {}".format(device))
    mx.random.seed(asked.seed)
    np.random.seed(asked.seed)  # Gluon's initial weights come from NumPy's
    points, wanted = toy.data(seed=asked.seed)
    model = gluon.nn.Sequential()
    model.add(gluon.nn.Dense(asked.hidden, activation="tanh"), gluon.nn.Dense(1))
    model.initialize(mx.init.Normal(1), ctx=device)
    trainer = gluon.Trainer(
        model.collect_params(), "sgd", {"learning_rate": asked.learning_rate, "momentum": 0.9}
    )
    loss_of = gluon.loss.SigmoidBinaryCrossEntropyLoss()
    everything = nd.array(points, ctx=device), nd.array(wanted, ctx=device)
    report = toy.Report()
    for epoch in range(asked.epochs):
        for some, answers in toy.batches(points, wanted, asked.batch_size, epoch):
            with autograd.record():
                guess = model(nd.array(some, ctx=device))
                loss = loss_of(guess, nd.array(answers, ctx=device))
            loss.backward()
            trainer.step(len(some))
        guess = model(everything[0])
        accuracy = ((guess.asnumpy() > 0) == (wanted > 0.5)).mean()
        report.epoch(epoch, loss_of(guess, everything[1]).mean().asscalar(), accuracy)
    report.close()


if __name__ == "__main__":
    main()
