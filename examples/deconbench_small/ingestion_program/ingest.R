# Reads the mixtures, calls the participant's deconvolve(), and writes the proportions.
words <- commandArgs(trailingOnly = TRUE)
given <- words[1]; output <- words[2]; submission <- words[3]

source(file.path(submission, "program.R"))
D <- as.matrix(read.csv(file.path(given, "mixtures.csv"), header = FALSE))
k <- as.integer(readLines(file.path(given, "types.txt")))
set.seed(1)
A <- deconvolve(D, k)
if (!is.matrix(A) || nrow(A) != k || ncol(A) != ncol(D))
  stop(sprintf("deconvolve must return a matrix of %d rows and %d columns", k, ncol(D)))
write.table(A, file.path(output, "proportions.csv"), sep = ",", row.names = FALSE, col.names = FALSE)
