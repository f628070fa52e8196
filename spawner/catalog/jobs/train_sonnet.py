"""Train a small network with Sonnet and TensorFlow, on a GPU if the job has one."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # before the import: no banner

import sonnet as snt
import tensorflow as tf
import toy


def main():
    asked = toy.arguments(__doc__).parse_args()
    tf.random.set_seed(asked.seed)
    toy.say("GPUs: {}".format(len(tf.config.list_physical_devices("GPU"))))
    points, wanted = toy.data(seed=asked.seed)
    model = snt.nets.MLP([asked.hidden, 1], activation=tf.tanh)
    optimizer = snt.optimizers.Momentum(asked.learning_rate, momentum=0.9)

    def loss_of(some, answers):
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=answers, logits=model(some))
        return tf.reduce_mean(losses)

    @tf.function
    def step(some, answers):
        with tf.GradientTape() as tape:
            loss = loss_of(some, answers)
        weights = model.trainable_variables
        optimizer.apply(tape.gradient(loss, weights), weights)

    loss_of(points, wanted)  # a module makes its variables when it is first called
    report = toy.Report()
    for epoch in range(asked.epochs):
        for some, answers in toy.batches(points, wanted, asked.batch_size, epoch):
            step(tf.constant(some), tf.constant(answers))
        right = (model(points) > 0) == (wanted > 0.5)
        accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
        report.epoch(epoch, loss_of(points, wanted), accuracy)
    report.close()


if __name__ == "__main__":
    main()
