"""Small language models that are trained on kernels of language models, with the facts of `program` in the question."""
