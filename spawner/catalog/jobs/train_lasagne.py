"""Train a small network with Lasagne. Theano first compiles the computation, and caches it."""

import lasagne
import numpy as np
import theano
import theano.tensor as T
import toy
from lasagne.layers import DenseLayer, InputLayer, get_all_params, get_output


def mode_of(args):
    """Return the mode: compiled by g++, or interpreted, which starts at once but runs slower."""
    return theano.Mode("py", "fast_compile") if args.interpreted else None


def main():
    parser = toy.arguments(__doc__)
    parser.add_argument("--interpreted", action="store_true", help="don't compile anything")
    args = parser.parse_args()
    toy.say("training on {}".format(theano.config.device))
    lasagne.random.set_rng(np.random.RandomState(args.seed))
    inputs, targets = T.matrix("inputs"), T.matrix("answers")
    hidden = DenseLayer(
        InputLayer((None, 2), inputs), args.hidden, nonlinearity=lasagne.nonlinearities.tanh
    )
    model = DenseLayer(hidden, 1, nonlinearity=lasagne.nonlinearities.sigmoid)
    guess = T.clip(get_output(model), 1e-7, 1 - 1e-7)
    loss = lasagne.objectives.binary_crossentropy(guess, targets).mean()
    accuracy = T.mean(T.eq(guess > 0.5, targets > 0.5))
    weights = get_all_params(model, trainable=True)
    updates = lasagne.updates.momentum(loss, weights, args.learning_rate, momentum=0.9)
    both = [inputs, targets]
    options = {"mode": mode_of(args), "allow_input_downcast": True}
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
