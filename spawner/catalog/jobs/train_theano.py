"""Train a small network with Theano. The computation is first compiled, and cached in ~/.theano."""

import numpy as np
import theano
import theano.tensor as T
import toy


def network(hidden, seed):
    """Return weights, inputs, and the network's output before the sigmoid."""
    random = np.random.RandomState(seed)
    weights = [
        theano.shared(start.astype(theano.config.floatX))
        for start in (
            random.normal(0, 1, (2, hidden)),
            np.zeros(hidden),
            random.normal(0, hidden**-0.5, (hidden, 1)),
            np.zeros(1),
        )
    ]
    points = T.matrix("points")
    w1, b1, w2, b2 = weights
    return weights, points, T.dot(T.tanh(T.dot(points, w1) + b1), w2) + b2


def descent(loss, weights, rate):
    """Return the updates for one step of gradient descent with momentum."""
    updates = []
    for weight, slope in zip(weights, T.grad(loss, weights)):
        moment = theano.shared(np.zeros_like(weight.get_value()))
        faster = 0.9 * moment - rate * slope
        updates += [(moment, faster), (weight, weight + faster)]
    return updates


def mode_of(args):
    """Return the mode: compiled by g++, or interpreted, which starts at once but runs slower."""
    return theano.Mode("py", "fast_compile") if args.interpreted else None


def main():
    parser = toy.arguments(__doc__)
    parser.add_argument("--interpreted", action="store_true", help="don't compile anything")
    args = parser.parse_args()
    toy.say("training on {}".format(theano.config.device))
    weights, inputs, logits = network(args.hidden, args.seed)
    targets = T.matrix("answers")
    loss = T.mean(T.nnet.softplus(logits) - targets * logits)
    accuracy = T.mean(T.eq(logits > 0, targets > 0.5))
    both = [inputs, targets]
    options = {"mode": mode_of(args), "allow_input_downcast": True}
    updates = descent(loss, weights, args.learning_rate)
    step = theano.function(both, [], updates=updates, **options)
    evaluation = theano.function(both, [loss, accuracy], **options)
    points, labels = toy.data(seed=args.seed)
    report = toy.Report()
    for epoch in range(args.epochs):
        for batch, right in toy.batches(points, labels, args.batch_size, epoch):
            step(batch, right)
        report.epoch(epoch, *evaluation(points, labels))
    report.close()


if __name__ == "__main__":
    main()
