"""Train a small network with Keras, on a GPU if the job has one."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # before the import: no banner

import keras
import toy


class EachEpoch(keras.callbacks.Callback):
    """Keras callback that reports each epoch."""

    def __init__(self):
        super().__init__()
        self.report = toy.Report()

    def on_epoch_end(self, epoch, logs=None):
        self.report.epoch(epoch, logs["loss"], logs["binary_accuracy"])

    def on_train_end(self, logs=None):
        self.report.close()


def main():
    args = toy.arguments(__doc__).parse_args()
    keras.utils.set_random_seed(args.seed)
    points, labels = toy.data(seed=args.seed)
    model = keras.Sequential(
        [
            keras.layers.Input((2,)),
            keras.layers.Dense(args.hidden, activation="tanh"),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(
        optimizer=keras.optimizers.SGD(args.learning_rate, momentum=0.9),
        loss="binary_crossentropy",
        metrics=["binary_accuracy"],
    )
    model.fit(
        points,
        labels,
        batch_size=args.batch_size,
        epochs=args.epochs,
        callbacks=[EachEpoch()],
        verbose=0,
    )


if __name__ == "__main__":
    main()
