"""Train a small network with CNTK in Python 2.7, on a GPU if the job has one and CNTK has CUDA."""

from __future__ import division

import cntk
import toy


def network(points, hidden):
    return cntk.layers.Sequential(
        [
            cntk.layers.Dense(hidden, activation=cntk.tanh, init=cntk.normal(1)),
            cntk.layers.Dense(1, activation=cntk.sigmoid),
        ]
    )(points)


def main():
    args = toy.arguments(__doc__).parse_args()
    toy.say("training on {}".format(cntk.use_default_device()))
    cntk.cntk_py.set_fixed_random_seed(args.seed + 1)
    inputs, targets = cntk.input_variable(2), cntk.input_variable(1)
    model = network(inputs, args.hidden)
    loss = cntk.binary_cross_entropy(model, targets)
    wrong = cntk.not_equal(cntk.greater(model, 0.5), targets)
    rate = cntk.learning_parameter_schedule(args.learning_rate, minibatch_size=args.batch_size)
    moment = cntk.momentum_schedule(0.9, minibatch_size=args.batch_size)
    learner = cntk.momentum_sgd(model.parameters, rate, moment, unit_gain=False)
    trainer = cntk.Trainer(model, (loss, wrong), [learner])
    points, labels = toy.data(seed=args.seed)
    report = toy.Report()
    for epoch in range(args.epochs):
        for batch, right in toy.batches(points, labels, args.batch_size, epoch):
            trainer.train_minibatch({inputs: batch, targets: right})
        all_data = {inputs: points, targets: labels}
        report.epoch(epoch, loss.eval(all_data).mean(), 1 - wrong.eval(all_data).mean())
    report.close()


if __name__ == "__main__":
    main()
