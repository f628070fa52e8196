"""Train a small network with JAX, on a GPU if the job has one."""

import jax
import jax.numpy as jnp
import toy


def logits(weights, points):
    return jnp.tanh(points @ weights["w1"] + weights["b1"]) @ weights["w2"] + weights["b2"]


def loss_of(weights, points, wanted):
    guess = logits(weights, points)
    return jnp.mean(jnp.logaddexp(0, guess) - wanted * guess)


@jax.jit
def step(weights, moments, points, wanted, rate):
    slopes = jax.grad(loss_of)(weights, points, wanted)
    moments = jax.tree.map(lambda moment, slope: 0.9 * moment + slope, moments, slopes)
    return jax.tree.map(lambda weight, moment: weight - rate * moment, weights, moments), moments


def main():
    asked = toy.arguments(__doc__).parse_args()
    print(f"training on {jax.devices()[0]}")
    points, wanted = toy.data(seed=asked.seed)
    one, two = jax.random.split(jax.random.key(asked.seed))
    weights = {
        "w1": jax.random.normal(one, (2, asked.hidden)),
        "b1": jnp.zeros(asked.hidden),
        "w2": jax.random.normal(two, (asked.hidden, 1)) / asked.hidden**0.5,
        "b2": jnp.zeros(1),
    }
    moments = jax.tree.map(jnp.zeros_like, weights)
    report = toy.Report()
    for epoch in range(asked.epochs):
        for some, answers in toy.batches(points, wanted, asked.batch_size, epoch):
            weights, moments = step(weights, moments, some, answers, asked.learning_rate)
        accuracy = jnp.mean((logits(weights, points) > 0) == (wanted > 0.5))
        report.epoch(epoch, float(loss_of(weights, points, wanted)), float(accuracy))
    report.close()


if __name__ == "__main__":
    main()
