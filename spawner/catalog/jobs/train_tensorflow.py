"""Train a small network with TensorFlow, step by step, on a GPU if the job has one."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # before the import: no banner

import tensorflow as tf
import toy


def main():
    asked = toy.arguments(__doc__).parse_args()
    tf.random.set_seed(asked.seed)
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, enable=True)
    print(f"GPUs: {len(tf.config.list_physical_devices('GPU'))}")
    points, wanted = (tf.constant(part) for part in toy.data(seed=asked.seed))
    shuffled = tf.data.Dataset.from_tensor_slices((points, wanted)).shuffle(len(points))
    weights = [
        tf.Variable(tf.random.normal((2, asked.hidden))),
        tf.Variable(tf.zeros(asked.hidden)),
        tf.Variable(tf.random.normal((asked.hidden, 1), stddev=asked.hidden**-0.5)),
        tf.Variable(tf.zeros(1)),
    ]

    def logits(some):
        return tf.tanh(some @ weights[0] + weights[1]) @ weights[2] + weights[3]

    def loss_of(some, answers):
        return tf.reduce_mean(
            tf.nn.sigmoid_cross_entropy_with_logits(labels=answers, logits=logits(some))
        )

    @tf.function
    def step(some, answers):
        with tf.GradientTape() as tape:
            loss = loss_of(some, answers)
        for weight, slope in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(3 * asked.learning_rate * slope)

    report = toy.Report()
    for epoch in range(asked.epochs):
        for some, answers in shuffled.batch(asked.batch_size):
            step(some, answers)
        right = (logits(points) > 0) == (wanted > 0.5)
        accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
        report.epoch(epoch, float(loss_of(points, wanted)), float(accuracy))
    report.close()


if __name__ == "__main__":
    main()
