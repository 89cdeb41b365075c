"""Open-weights language models trained to forecast, on one GPU: supervised, then by rewards for calibrated answers.

What is learnt comes in through `world.World`; only `pairs`, the world of kernels, and `run` know of kernels.
"""
