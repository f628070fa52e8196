"""Train a small network with Horovod and TensorFlow, in as many processes as MPI starts."""

import os
import platform

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # before the import: no banner

import horovod.tensorflow as hvd
import tensorflow as tf
import toy


def main():
    args = toy.arguments(__doc__).parse_args()
    hvd.init()
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        tf.config.set_visible_devices(gpus[hvd.local_rank() % len(gpus)], "GPU")
    toy.say("rank {} of {} on {}".format(hvd.rank(), hvd.size(), platform.node()))
    total = hvd.allreduce(tf.range(1.0, 1001.0) * float(hvd.rank() + 1), op=hvd.Sum)
    expected = tf.range(1.0, 1001.0) * (hvd.size() * (hvd.size() + 1) / 2)
    if not bool(tf.reduce_all(total == expected)):
        raise SystemExit("rank {}: the all-reduce gave a wrong sum".format(hvd.rank()))
    tf.random.set_seed(args.seed)
    points, labels = toy.data(seed=args.seed)
    shard = points[hvd.rank() :: hvd.size()], labels[hvd.rank() :: hvd.size()]
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(args.hidden, "tanh"), tf.keras.layers.Dense(1)]
    )
    model.build((None, 2))
    hvd.broadcast_variables(model.variables, root_rank=0)
    loss_of = tf.keras.losses.BinaryCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.SGD(args.learning_rate, momentum=0.9)

    @tf.function
    def step(batch, targets):
        with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
            loss = loss_of(targets, model(batch))
        slopes = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(slopes, model.trainable_variables))

    report = toy.Report(quiet=hvd.rank() > 0)
    for epoch in range(args.epochs):
        for batch, targets in toy.batches(shard[0], shard[1], args.batch_size, epoch):
            step(tf.constant(batch), tf.constant(targets))
        guess = model(points)
        accuracy = tf.reduce_mean(tf.cast((guess > 0) == (labels > 0.5), tf.float32))
        report.epoch(epoch, float(loss_of(labels, guess)), float(accuracy))
    report.close()


if __name__ == "__main__":
    main()
