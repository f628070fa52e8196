"""Train a small network with CNTK, in Python 2.7; on a GPU if job and build support it."""

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
    asked = toy.arguments(__doc__).parse_args()
    toy.say("training on {}".format(cntk.use_default_device()))
    cntk.cntk_py.set_fixed_random_seed(asked.seed + 1)
    inputs, answers = cntk.input_variable(2), cntk.input_variable(1)
    model = network(inputs, asked.hidden)
    loss = cntk.binary_cross_entropy(model, answers)
    wrong = cntk.not_equal(cntk.greater(model, 0.5), answers)
    rate = cntk.learning_parameter_schedule(asked.learning_rate, minibatch_size=asked.batch_size)
    moment = cntk.momentum_schedule(0.9, minibatch_size=asked.batch_size)
    learner = cntk.momentum_sgd(model.parameters, rate, moment, unit_gain=False)
    trainer = cntk.Trainer(model, (loss, wrong), [learner])
    points, wanted = toy.data(seed=asked.seed)
    report = toy.Report()
    for epoch in range(asked.epochs):
        for some, right in toy.batches(points, wanted, asked.batch_size, epoch):
            trainer.train_minibatch({inputs: some, answers: right})
        everything = {inputs: points, answers: wanted}
        report.epoch(epoch, loss.eval(everything).mean(), 1 - wrong.eval(everything).mean())
    report.close()


if __name__ == "__main__":
    main()
