"""Training: models learnt from the corpus of measured kernels."""
