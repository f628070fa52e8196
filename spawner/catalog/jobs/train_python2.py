"""Train a small network in NumPy alone, with Python 2.7."""

from __future__ import division

import numpy as np
import toy


def forward(weights, points):
    hidden = np.tanh(points.dot(weights["w1"]) + weights["b1"])
    return hidden, 1 / (1 + np.exp(-(hidden.dot(weights["w2"]) + weights["b2"])))


def gradients(weights, points, labels):
    """Return the mean cross-entropy, and its derivative by each weight."""
    hidden, guess = forward(weights, points)
    loss = -np.mean(labels * np.log(guess + 1e-9) + (1 - labels) * np.log(1 - guess + 1e-9))
    out = (guess - labels) / len(points)
    back = out.dot(weights["w2"].T) * (1 - hidden**2)
    slopes = {"w1": points.T.dot(back), "b1": back.sum(0)}
    slopes.update({"w2": hidden.T.dot(out), "b2": out.sum(0)})
    return loss, slopes


def main():
    args = toy.arguments(__doc__).parse_args()
    random = np.random.RandomState(args.seed)
    points, labels = toy.data(seed=args.seed)
    weights = {
        "w1": random.normal(0, 1, (2, args.hidden)),
        "b1": np.zeros(args.hidden),
        "w2": random.normal(0, 1, (args.hidden, 1)) / args.hidden**0.5,
        "b2": np.zeros(1),
    }
    moments = {name: np.zeros_like(weight) for name, weight in weights.items()}
    report = toy.Report()
    for epoch in range(args.epochs):
        for batch, targets in toy.batches(points, labels, args.batch_size, epoch):
            _, slopes = gradients(weights, batch, targets)
            for name, slope in slopes.items():
                moments[name] = 0.9 * moments[name] + slope
                weights[name] = weights[name] - args.learning_rate * moments[name]
        loss, _ = gradients(weights, points, labels)
        right = (forward(weights, points)[1] > 0.5) == (labels > 0.5)
        report.epoch(epoch, loss, np.mean(right))
    report.close()


if __name__ == "__main__":
    main()
