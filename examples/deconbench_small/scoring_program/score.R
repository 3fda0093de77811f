# Mean absolute error of the proportions, under the order of the types that fits best.
words <- commandArgs(trailingOnly = TRUE)
given <- words[1]; output <- words[2]

read_matrix <- function(...) as.matrix(read.csv(file.path(given, ...), header = FALSE))
truth <- read_matrix("ref", "proportions.csv")
estimate <- read_matrix("res", "proportions.csv")
if (!identical(dim(truth), dim(estimate)) || any(!is.finite(estimate)))
  stop("proportions.csv must hold finite numbers, one row for each type and one column for each sample")

orders <- function(items) {
  if (length(items) <= 1) return(list(items))
  unlist(lapply(seq_along(items), function(i) lapply(orders(items[-i]), function(rest) c(items[i], rest))), recursive = FALSE)
}
errors <- vapply(orders(seq_len(nrow(truth))), function(order) mean(abs(truth - estimate[order, , drop = FALSE])), 0)
writeLines(sprintf("mae: %.10f", min(errors)), file.path(output, "scores.txt"))
