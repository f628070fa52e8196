"""Train a small network, in NumPy alone."""

import numpy as np
import toy


def forward(weights, points):
    hidden = np.tanh(points @ weights["w1"] + weights["b1"])
    return hidden, 1 / (1 + np.exp(-(hidden @ weights["w2"] + weights["b2"])))


def gradients(weights, points, labels):
    """Return the mean cross-entropy, and its derivative by each weight."""
    hidden, guess = forward(weights, points)
    loss = -np.mean(labels * np.log(guess + 1e-9) + (1 - labels) * np.log(1 - guess + 1e-9))
    out = (guess - labels) / len(points)
    back = (out @ weights["w2"].T) * (1 - hidden**2)
    return loss, {"w1": points.T @ back, "b1": back.sum(0), "w2": hidden.T @ out, "b2": out.sum(0)}


def main():
    args = toy.arguments(__doc__).parse_args()
    rng = np.random.default_rng(args.seed)
    points, labels = toy.data(seed=args.seed)
    weights = {
        "w1": rng.normal(0, 1, (2, args.hidden)),
        "b1": np.zeros(args.hidden),
        "w2": rng.normal(0, 1, (args.hidden, 1)) / args.hidden**0.5,
        "b2": np.zeros(1),
    }
    moments = {name: np.zeros_like(weight) for name, weight in weights.items()}
    report = toy.Report()
    for epoch in range(args.epochs):
        for batch, targets in toy.batches(points, labels, args.batch_size, epoch):
            _, slopes = gradients(weights, batch, targets)
            for name in weights:
                moments[name] = 0.9 * moments[name] + slopes[name]
                weights[name] -= args.learning_rate * moments[name]
        loss, _ = gradients(weights, points, labels)
        report.epoch(epoch, loss, np.mean((forward(weights, points)[1] > 0.5) == labels))
    report.close()


if __name__ == "__main__":
    main()
