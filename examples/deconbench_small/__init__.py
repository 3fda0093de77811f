"""Deconvolution of mixed cells; programs and submissions are in R."""
