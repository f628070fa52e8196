"""Train a small network with Sonnet and TensorFlow, on a GPU if the job has one."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # before the import: no banner

import sonnet as snt
import tensorflow as tf
import toy


def main():
    args = toy.arguments(__doc__).parse_args()
    tf.random.set_seed(args.seed)
    toy.say("GPUs: {}".format(len(tf.config.list_physical_devices("GPU"))))
    points, labels = toy.data(seed=args.seed)
    model = snt.nets.MLP([args.hidden, 1], activation=tf.tanh)
    optimizer = snt.optimizers.Momentum(args.learning_rate, momentum=0.9)

    def loss_of(batch, targets):
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=model(batch))
        return tf.reduce_mean(losses)

    @tf.function
    def step(batch, targets):
        with tf.GradientTape() as tape:
            loss = loss_of(batch, targets)
        weights = model.trainable_variables
        optimizer.apply(tape.gradient(loss, weights), weights)

    loss_of(points, labels)  # a module makes its variables when it is first called
    report = toy.Report()
    for epoch in range(args.epochs):
        for batch, targets in toy.batches(points, labels, args.batch_size, epoch):
            step(tf.constant(batch), tf.constant(targets))
        right = (model(points) > 0) == (labels > 0.5)
        accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
        report.epoch(epoch, loss_of(points, labels), accuracy)
    report.close()


if __name__ == "__main__":
    main()
