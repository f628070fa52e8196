"""Train a small network with TensorFlow, step by step, on a GPU if the job has one."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # before the import: no banner

import tensorflow as tf
import toy


def main():
    args = toy.arguments(__doc__).parse_args()
    tf.random.set_seed(args.seed)
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, enable=True)
    print(f"GPUs: {len(tf.config.list_physical_devices('GPU'))}")
    points, labels = (tf.constant(part) for part in toy.data(seed=args.seed))
    shuffled = tf.data.Dataset.from_tensor_slices((points, labels)).shuffle(len(points))
    weights = [
        tf.Variable(tf.random.normal((2, args.hidden))),
        tf.Variable(tf.zeros(args.hidden)),
        tf.Variable(tf.random.normal((args.hidden, 1), stddev=args.hidden**-0.5)),
        tf.Variable(tf.zeros(1)),
    ]

    def logits(batch):
        return tf.tanh(batch @ weights[0] + weights[1]) @ weights[2] + weights[3]

    def loss_of(batch, targets):
        return tf.reduce_mean(
            tf.nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits(batch))
        )

    @tf.function
    def step(batch, targets):
        with tf.GradientTape() as tape:
            loss = loss_of(batch, targets)
        for weight, slope in zip(weights, tape.gradient(loss, weights), strict=True):
            # without momentum, larger steps are needed
            weight.assign_sub(3 * args.learning_rate * slope)

    report = toy.Report()
    for epoch in range(args.epochs):
        for batch, targets in shuffled.batch(args.batch_size):
            step(batch, targets)
        right = (logits(points) > 0) == (labels > 0.5)
        accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
        report.epoch(epoch, float(loss_of(points, labels)), float(accuracy))
    report.close()


if __name__ == "__main__":
    main()
