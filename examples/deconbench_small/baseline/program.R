# Non-negative matrix factorization by multiplicative updates; columns of the proportions are scaled to add up to one.
deconvolve <- function(D, k) {
  T <- D[, round(seq(1, ncol(D), length.out = k))] + 0.01
  A <- matrix(1 / k, k, ncol(D)) + matrix(runif(k * ncol(D), 0, 0.01), k)
  for (round in 1:300) {
    A <- A * (t(T) %*% D) / (t(T) %*% T %*% A + 1e-9)
    A <- sweep(A, 2, colSums(A), "/")
    T <- T * (D %*% t(A)) / (T %*% A %*% t(A) + 1e-9)
  }
  A
}
