"""Train a small network with JAX, on a GPU if the job has one."""

import jax
import jax.numpy as jnp
import toy


def logits(weights, points):
    return jnp.tanh(points @ weights["w1"] + weights["b1"]) @ weights["w2"] + weights["b2"]


def loss_of(weights, points, labels):
    guess = logits(weights, points)
    return jnp.mean(jnp.logaddexp(0, guess) - labels * guess)


@jax.jit
def step(weights, moments, points, labels, rate):
    slopes = jax.grad(loss_of)(weights, points, labels)
    moments = jax.tree.map(lambda moment, slope: 0.9 * moment + slope, moments, slopes)
    return jax.tree.map(lambda weight, moment: weight - rate * moment, weights, moments), moments


def main():
    args = toy.arguments(__doc__).parse_args()
    print(f"training on {jax.devices()[0]}")
    points, labels = toy.data(seed=args.seed)
    first_key, second_key = jax.random.split(jax.random.key(args.seed))
    weights = {
        "w1": jax.random.normal(first_key, (2, args.hidden)),
        "b1": jnp.zeros(args.hidden),
        "w2": jax.random.normal(second_key, (args.hidden, 1)) / args.hidden**0.5,
        "b2": jnp.zeros(1),
    }
    moments = jax.tree.map(jnp.zeros_like, weights)
    report = toy.Report()
    for epoch in range(args.epochs):
        for batch, targets in toy.batches(points, labels, args.batch_size, epoch):
            weights, moments = step(weights, moments, batch, targets, args.learning_rate)
        accuracy = jnp.mean((logits(weights, points) > 0) == (labels > 0.5))
        report.epoch(epoch, float(loss_of(weights, points, labels)), float(accuracy))
    report.close()


if __name__ == "__main__":
    main()
