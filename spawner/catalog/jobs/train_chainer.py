"""Train a small network with Chainer, on a GPU if the job has one and CuPy is installed."""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
import toy


def main():
    args = toy.arguments(__doc__).parse_args()
    device = chainer.get_device("@cupy:0" if chainer.cuda.available else "@numpy")
    toy.say("training on {}".format(device))
    device.use()
    np.random.seed(args.seed)
    points, labels = toy.data(seed=args.seed)
    labels = labels.astype("int32")  # the type for Chainer's cross-entropy
    model = chainer.Sequential(L.Linear(2, args.hidden), F.tanh, L.Linear(args.hidden, 1))
    model.to_device(device)
    optimizer = chainer.optimizers.MomentumSGD(args.learning_rate, momentum=0.9)
    optimizer.setup(model)
    all_data = device.send(points), device.send(labels)
    report = toy.Report()
    for epoch in range(args.epochs):
        for batch, targets in toy.batches(points, labels, args.batch_size, epoch):
            guess = model(device.send(batch))
            model.cleargrads()
            F.sigmoid_cross_entropy(guess, device.send(targets)).backward()
            optimizer.update()
        with chainer.no_backprop_mode():
            guess = model(all_data[0])
            loss = F.sigmoid_cross_entropy(guess, all_data[1])
            accuracy = F.binary_accuracy(guess, all_data[1])
        report.epoch(epoch, loss.array, accuracy.array)
    report.close()


if __name__ == "__main__":
    main()
