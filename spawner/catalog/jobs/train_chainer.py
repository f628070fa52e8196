"""Train a small network with Chainer, on a GPU if the job has one and CuPy is installed."""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
import toy


def main():
    asked = toy.arguments(__doc__).parse_args()
    device = chainer.get_device("@cupy:0" if chainer.cuda.available else "@numpy")
    toy.say("training on {}".format(device))
    device.use()
    np.random.seed(asked.seed)
    points, wanted = toy.data(seed=asked.seed)
    wanted = wanted.astype("int32")  # the type for Chainer's cross-entropy
    model = chainer.Sequential(L.Linear(2, asked.hidden), F.tanh, L.Linear(asked.hidden, 1))
    model.to_device(device)
    optimizer = chainer.optimizers.MomentumSGD(asked.learning_rate, momentum=0.9)
    optimizer.setup(model)
    everything = device.send(points), device.send(wanted)
    report = toy.Report()
    for epoch in range(asked.epochs):
        for some, answers in toy.batches(points, wanted, asked.batch_size, epoch):
            guess = model(device.send(some))
            model.cleargrads()
            F.sigmoid_cross_entropy(guess, device.send(answers)).backward()
            optimizer.update()
        with chainer.no_backprop_mode():
            guess = model(everything[0])
            loss = F.sigmoid_cross_entropy(guess, everything[1])
            accuracy = F.binary_accuracy(guess, everything[1])
        report.epoch(epoch, loss.array, accuracy.array)
    report.close()


if __name__ == "__main__":
    main()
