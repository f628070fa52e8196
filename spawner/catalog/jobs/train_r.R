# Train a small network in R alone. The data are points in the plane; the label is whether a point
# lies in a circle. Prints a line for each epoch, and saves the same figures in metrics.csv.

argument <- function(name, default) {
  # Return the value of --name=VALUE, a number.
  given <- grep(paste0("^--", name, "="), commandArgs(trailingOnly = TRUE), value = TRUE)
  if (length(given) == 0) return(default)
  value <- suppressWarnings(as.numeric(sub("^[^=]*=", "", given[1])))
  if (is.na(value)) stop("--", name, " must be a number")
  value
}

epochs <- argument("epochs", 20)
rate <- argument("learning-rate", 0.1)
size <- argument("batch-size", 32)
neurons <- argument("hidden", 16)
set.seed(argument("seed", 0))

count <- 512
points <- matrix(runif(2 * count, -1, 1), count)
wanted <- as.numeric(sqrt(rowSums(points^2)) < 0.7)
weights <- list(
  w1 = matrix(rnorm(2 * neurons), 2), b1 = rep(0, neurons),
  w2 = matrix(rnorm(neurons)) / sqrt(neurons), b2 = 0
)
moments <- lapply(weights, function(weight) 0 * weight)

forward <- function(weights, some) {
  hidden <- tanh(sweep(some %*% weights$w1, 2, weights$b1, "+"))
  list(hidden = hidden, guess = plogis(as.vector(hidden %*% weights$w2) + weights$b2))
}

gradients <- function(weights, some, answers) {
  now <- forward(weights, some)
  out <- (now$guess - answers) / nrow(some)
  back <- (out %*% t(weights$w2)) * (1 - now$hidden^2)
  list(w1 = t(some) %*% back, b1 = colSums(back), w2 = t(now$hidden) %*% out, b2 = sum(out))
}

cat("epoch      loss  accuracy\n")
metrics <- data.frame()
for (epoch in seq_len(epochs) - 1) {
  order <- sample(count)
  for (at in seq(1, by = size, length.out = count %/% size)) {
    some <- order[at:(at + size - 1)]
    slopes <- gradients(weights, points[some, , drop = FALSE], wanted[some])
    moments <- Map(function(moment, slope) 0.9 * moment + slope, moments, slopes)
    weights <- Map(function(weight, moment) weight - rate * moment, weights, moments)
  }
  guess <- forward(weights, points)$guess
  loss <- -mean(wanted * log(guess + 1e-9) + (1 - wanted) * log(1 - guess + 1e-9))
  accuracy <- mean((guess > 0.5) == (wanted > 0.5))
  cat(sprintf("%5d  %8.4f  %8.3f\n", epoch, loss, accuracy))
  flush(stdout())
  metrics <- rbind(metrics, data.frame(epoch = epoch, loss = loss, accuracy = accuracy))
}
write.csv(metrics, file.path(Sys.getenv("PORTAL_LOGDIR", "."), "metrics.csv"), row.names = FALSE)
